"""GPyTorch's exact GP on the customary regression sets: the rows that scripts/bench/uci.lua prints beside ours.

Same model, splits, start and noise floor as uci.lua: Matern 3/2 with a lengthscale per column under a ScaleKernel, zero
mean, Gaussian noise >= 1e-4; start at lengthscales 1, output scale 1, noise 0.1; everything standardised on the training
rows (ddof 0).
Methods: lbfgs = scipy's L-BFGS-B through flattened parameters with its default tolerances, as BoTorch's fit_gpytorch_mll does;
adam = torch's Adam, lr 0.1, 100 steps, as GPyTorch's tutorials do. chol factors in f64; cg is GPyTorch's own path above
max_cholesky_size with its default settings (f32 unless --dtype f64), evaluated with the Cholesky-free predictive mean.
Run: python uci_gpytorch.py --data FOLDER --out peers.csv [--splits 10] [--methods lbfgs,adam] [--path chol|cg] [set ...]
"""
import argparse, csv, gzip, math, os, time, warnings

warnings.filterwarnings("ignore")
import gpytorch
import numpy as np
import scipy.optimize
import torch
from linear_operator.utils.errors import NanError, NotPSDError

FIELDS = ["library", "method", "set", "split", "n", "d", "rmse", "nlpd", "nlml", "noise", "seconds", "cpu_seconds",
          "evaluations", "seconds_evaluation", "converged", "bytes", "process_bytes", "reason"]


class ExactGP(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=x.shape[1]))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def standardised(a, train):
    mean, sd = a[train].mean(0), a[train].std(0)
    return (a - mean) / np.where(sd > 0, sd, 1.0)


def load(folder, name):
    read = lambda f: np.loadtxt(gzip.open(os.path.join(folder, name, f), "rt"), delimiter=",")
    rows = read("data.csv.gz")
    return rows[:, :-1], rows[:, -1], read("test_mask.csv.gz") > 0.5


def build(x, y, lengthscale=1.0, noise=0.1):
    likelihood = gpytorch.likelihoods.GaussianLikelihood()            # noise_constraint: GreaterThan(1e-4)
    model = ExactGP(x, y, likelihood).to(x)
    model.covar_module.base_kernel.lengthscale = lengthscale
    model.covar_module.outputscale = 1.0
    likelihood.noise = noise
    model.train()
    likelihood.train()
    return model, likelihood


class Objective:
    """-log p(y | x) / n, its gradient, and how often it was asked for."""

    def __init__(self, model, likelihood):
        self.model, self.mll = model, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        self.parameters, self.count = [p for p in model.parameters() if p.requires_grad], 0

    def __call__(self):
        self.count += 1
        for p in self.parameters:
            p.grad = None
        loss = -self.mll(self.model(*self.model.train_inputs), self.model.train_targets)
        loss.backward()
        return loss


def fit_lbfgs(objective, steps):
    sizes = [p.numel() for p in objective.parameters]

    def write(v):
        at = 0
        with torch.no_grad():
            for p, size in zip(objective.parameters, sizes):
                p.copy_(torch.as_tensor(v[at:at + size]).reshape(p.shape).to(p))
                at += size

    def value(v):
        write(v)
        try:
            loss = objective()
        except (NanError, NotPSDError):                               # as BoTorch: no value there
            return float("nan"), np.full(sum(sizes), np.nan)
        g = np.concatenate([p.grad.detach().double().reshape(-1).numpy() for p in objective.parameters])
        best.append((float(loss.detach()), v.copy()))
        return best[-1][0], g

    best = []                                                         # a run that breaks off keeps the best point it saw
    start = np.concatenate([p.detach().double().reshape(-1).numpy() for p in objective.parameters])
    r = scipy.optimize.minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    write(min(best, key=lambda b: b[0])[1])
    return int(r.success), str(r.message)


def fit_adam(objective, steps):
    adam = torch.optim.Adam(objective.parameters, lr=0.1)
    for _ in range(steps):
        objective()
        adam.step()
    return 1, f"{steps} steps"


def run(x, y, test, name, split, method, options):
    dtype = torch.float64 if options.dtype == "f64" else torch.float32
    train = np.flatnonzero(~test)
    if options.limit:
        train = train[:options.limit]
    tensor = lambda a: torch.as_tensor(a, dtype=dtype)
    xs, ys = standardised(x, train), standardised(y, train)
    model, likelihood = build(tensor(xs[train]), tensor(ys[train]), options.lengthscale, options.noise)
    objective = Objective(model, likelihood)
    torch.manual_seed(split)
    start, cpu = time.perf_counter(), time.process_time()
    steps = options.steps or (100 if method == "adam" else 200)
    converged, reason = (fit_adam if method == "adam" else fit_lbfgs)(objective, steps)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    with torch.no_grad():
        nlml = objective.mll(model(*model.train_inputs), model.train_targets).item() * -len(train)
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        p = likelihood(model(tensor(xs[test])))
        mean, variance, target = p.mean.double(), p.variance.double(), tensor(ys[test]).double()
    error = target - mean
    rmse = error.square().mean().sqrt().item()
    nlpd = (0.5 * (2 * math.pi * variance).log() + 0.5 * error.square() / variance).mean().item()
    with open("/proc/self/status") as f:
        hwm = next(1024 * int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    return dict(library="gpytorch", method=f"{method} {options.path} {options.dtype}", set=name, split=split, n=len(train),
                d=x.shape[1], rmse=rmse, nlpd=nlpd, nlml=nlml, noise=likelihood.noise.item(), seconds=seconds,
                cpu_seconds=cpu_seconds, evaluations=objective.count, seconds_evaluation=seconds / objective.count,
                converged=converged, bytes="nan", process_bytes=hwm, reason=reason.replace(",", ";"))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("sets", nargs="*", default=["yacht", "energy", "concrete", "airfoil", "wine"])
    a.add_argument("--data", default=os.environ.get("GIBBOUS_DATA", "."))
    a.add_argument("--out", required=True)
    a.add_argument("--splits", type=int, default=10)
    a.add_argument("--first", type=int, default=1)
    a.add_argument("--methods", default="lbfgs,adam")
    a.add_argument("--path", choices=["chol", "cg"], default="chol")
    a.add_argument("--dtype", choices=["f64", "f32"], default="f64")
    a.add_argument("--lengthscale", type=float, default=1.0)
    a.add_argument("--noise", type=float, default=0.1)
    a.add_argument("--limit", type=int, default=0)
    a.add_argument("--steps", type=int, default=0)
    a.add_argument("--cg-tolerance", type=float, default=0.01)
    a.add_argument("--rank", type=int, default=100, help="of the preconditioner")
    a.add_argument("--probes", type=int, default=16)
    a.add_argument("--threads", type=int, default=2)
    options = a.parse_args()
    torch.set_num_threads(options.threads)
    largest = 10 ** 9 if options.path == "chol" else 800
    print(f"gpytorch {gpytorch.__version__}, torch {torch.__version__}, {options.threads} threads")
    with open(options.out, "w", newline="") as f, gpytorch.settings.max_cholesky_size(largest), \
            gpytorch.settings.cg_tolerance(options.cg_tolerance), gpytorch.settings.num_trace_samples(options.probes), \
            gpytorch.settings.max_preconditioner_size(options.rank):
        out = csv.DictWriter(f, FIELDS)
        out.writeheader()
        for name in options.sets:
            x, y, masks = load(options.data, name)
            for split in range(options.first, options.splits + 1):
                for method in options.methods.split(","):
                    row = run(x, y, masks[:, split - 1], name, split, method, options)
                    out.writerow(row)
                    f.flush()
                    print("{set} {split} {method}: rmse {rmse:.4f} nlpd {nlpd:.4f} nlml {nlml:.2f} {seconds:.2f} s "
                          "{evaluations} evaluations, {reason}".format(**row), flush=True)


if __name__ == "__main__":
    main()
