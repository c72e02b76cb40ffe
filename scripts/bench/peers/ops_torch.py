"""Milliseconds of processor time of single ops in torch on one thread: what scripts/bench/ops.lua --peers reads.

The same ops on the same shapes, the least of some rounds, every round on tensors not seen before.
Run: python ops_torch.py --out FILE [--rounds n]
"""
import argparse, time

import torch

SQUARE, TALL, WIDE, SMALL = (2000, 2000), (100000, 10), (10, 100000), (20000, 64)
FLAT, CUBE, POINTS = (1000000,), (100, 200, 100), (4000, 3)

CASES = [
    ("x + y", SQUARE, lambda x, y: x + y),
    ("x % y", SQUARE, lambda x, y: x % y),
    ("x % 0.7", SQUARE, lambda x, y: x % 0.7),
    ("erf", SQUARE, lambda x, y: torch.erf(x)),
    ("exp", SQUARE, lambda x, y: torch.exp(x)),
    ("log", SQUARE, lambda x, y: torch.log(torch.abs(x))),
    ("tanh", SQUARE, lambda x, y: torch.tanh(x)),
    ("where", SQUARE, lambda x, y: torch.where(x > 0, x, y)),
    ("outer", SQUARE, lambda x, y: x[:, 0][:, None] * y[0, :][None, :]),
    ("matvec", SQUARE, lambda x, y: x @ y[0]),
    ("cat 1", SQUARE, lambda x, y: torch.cat([x, y], 0)),
    ("cat 2", SQUARE, lambda x, y: torch.cat([x, y], 1)),
    ("stack 1", SQUARE, lambda x, y: torch.stack([x, y], 0)),
    ("stack 3", SQUARE, lambda x, y: torch.stack([x, y], 2)),
    ("cat 2", TALL, lambda x, y: torch.cat([x, y], 1)),
    ("copy", SQUARE, lambda x, y: x.clone()),
    ("-x", SQUARE, lambda x, y: -x),
    ("-x transposed", SQUARE, lambda x, y: (-x.t()).contiguous()),
    ("-x transposed", TALL, lambda x, y: (-x.t()).contiguous()),
    ("-x transposed", WIDE, lambda x, y: (-x.t()).contiguous()),
    ("x + y transposed", SQUARE, lambda x, y: x + y.t()),
    ("-x permuted 3 1 2", CUBE, lambda x, y: (-x.permute(2, 0, 1)).contiguous()),
    ("-x permuted 2 1 3", CUBE, lambda x, y: (-x.permute(1, 0, 2)).contiguous()),
    ("-x permuted 3 2 1", CUBE, lambda x, y: (-x.permute(2, 1, 0)).contiguous()),
    ("-x every second row", SQUARE, lambda x, y: -x[::2]),
    ("-x every second column", SQUARE, lambda x, y: -x[:, ::2]),
    ("-x flipped 2", SQUARE, lambda x, y: -x.flip(1)),
    ("topk 10 of rows", SQUARE, lambda x, y: torch.topk(x, 10, 1)),
    ("topk 10 of columns", SQUARE, lambda x, y: torch.topk(x, 10, 0)),
    ("topk 10", FLAT, lambda x, y: torch.topk(x, 10, 0)),
    ("5 nearest of points", POINTS, lambda x, y: torch.topk(torch.cdist(x, y), 5, 1, largest=False)),
]

REDUCE = {
    "sum": lambda x, d: x.sum(d),
    "mean": lambda x, d: x.mean(d),
    "var": lambda x, d: x.var(d),
    "max": lambda x, d: x.amax(d),
    "argmax": lambda x, d: x.argmax(d),
    "logsumexp": lambda x, d: x.logsumexp(d),
    "softmax": lambda x, d: x.softmax(d),
    "log_softmax": lambda x, d: x.log_softmax(d),
}

for shape in (SQUARE, TALL, WIDE, SMALL, CUBE):
    last = len(shape)
    for axis in ((1, last) if shape is SQUARE else (last,)):
        for name, f in REDUCE.items():
            CASES.append((f"{name} {axis}", shape, lambda x, y, f=f, axis=axis: f(x, axis - 1)))
CASES.append(("sum", SQUARE, lambda x, y: x.sum()))
CASES.append(("sum 2 of x * 3", SQUARE, lambda x, y: (x * 3).sum(1)))
CASES.append(("sum 1 and 3", CUBE, lambda x, y: x.sum((0, 2))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    torch.set_num_threads(1)
    lines = []
    for name, dtype in (("f32", torch.float32), ("f64", torch.float64)):
        best = {}
        for round in range(args.rounds):
            for op, shape, f in CASES:
                label = f"{op}, {' x '.join(map(str, shape))}"
                if args.only not in label:
                    continue
                torch.manual_seed(round)
                x, y = torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
                start = time.process_time()
                result = f(x, y)
                best[label] = min(best.get(label, 1e9), time.process_time() - start)
                del result
        lines += [f'{name},"{label}",{seconds * 1e3:.4f}' for label, seconds in best.items()]
    with open(args.out, "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
