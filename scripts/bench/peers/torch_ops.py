"""Values and gradients of expressions in torch, in f64, for the cases in a folder.

Run: torch_ops.py FOLDER. Line k of FOLDER/cases.txt is "INPUTS EXPRESSION"; the inputs a, b, c, ... are k_1.npy, k_2.npy, ...
Results are k_out_1.npy, ...; where there is k_bar.npy, the gradients of sum(result 1 * bar) by the inputs of floats are
k_grad_1.npy, ... Numbers of floats are widened to f64 before anything is computed. spec/tensor/torch_spec.lua does so.
"""
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F


def loaded(path):
    x = torch.from_numpy(np.load(path))
    return x.double().requires_grad_() if x.is_floating_point() else x


def plain(x):
    x = torch.as_tensor(x).detach()
    return (x.double() if x.is_floating_point() else x.long()).contiguous().numpy()


def run(folder, k, count, expression):
    inputs = [loaded(folder / f"{k}_{i + 1}.npy") for i in range(count)]
    names = dict(zip("abcdefgh", inputs), torch=torch, F=F, inf=float("inf"))
    results = eval(expression, names)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    for j, x in enumerate(results):
        np.save(folder / f"{k}_out_{j + 1}.npy", plain(x))
    bar = folder / f"{k}_bar.npy"
    if bar.exists():
        results[0].backward(torch.from_numpy(np.load(bar)).double().reshape(results[0].shape))
        for i, x in enumerate(inputs):
            if x.requires_grad:
                np.save(folder / f"{k}_grad_{i + 1}.npy", plain(torch.zeros_like(x) if x.grad is None else x.grad))


def main():
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    for k, line in enumerate((folder / "cases.txt").read_text().splitlines(), 1):
        count, expression = line.split(" ", 1)
        try:
            run(folder, k, int(count), expression)
        except Exception as e:
            raise SystemExit(f"case {k}: {expression}: {e}")


main()
