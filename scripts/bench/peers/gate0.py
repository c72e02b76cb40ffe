"""Figures of scikit-learn and GPyTorch with hyper-parameters fixed, for scripts/bench/gate0.lua and spec/gate0_spec.lua.

Both factor in f64. Model: Matern 3/2 with a lengthscale per column (CO2: RBF trend + RBF x periodic season), Gaussian noise,
zero mean; split 1 of the regression sets standardised on its training rows; CO2: the first 700 months, years since 1958, ppm
less the training mean. One row a set and library: hyper-parameters, log marginal likelihood, marginal NLPD of all test rows,
mean and y_var of the first eight.
Run: python gate0.py --data FOLDER --co2 scripts/data/mauna_loa_co2.csv --out spec/data/gate0.csv
"""
import argparse, csv, math, os, warnings

warnings.filterwarnings("ignore")
import gpytorch
import numpy as np
import sklearn
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from uci_gpytorch import load, standardised

SHOWN = 8
HYPER = {
    "yacht": ([3.0, 9.0, 12.0, 8.0, 9.0, 0.6], 20.0, 1e-3),
    "energy": ([5.0, 9.0, 4.0, 30.0, 8.0, 40.0, 9.0, 60.0], 10.0, 2e-3),
    "concrete": ([2.5, 4.0, 5.0, 3.0, 2.5, 5.0, 4.0, 0.4], 3.0, 4e-2),
    "airfoil": ([0.8, 3.0, 2.0, 6.0, 0.9], 2.0, 1e-2),
}
CO2 = dict(trend=50.0, trend_variance=2500.0, decay=90.0, season=1.3, season_variance=4.0, noise=0.04)


def regression(folder, name):
    x, y, masks = load(folder, name)
    test = masks[:, 0]
    train = np.flatnonzero(~test)
    xs, ys = standardised(x, train), standardised(y, train)
    return xs[train], ys[train], xs[test], ys[test]


def co2(path):
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    t, y = rows[:, :1] - 1958.0, rows[:, 1] - rows[:700, 1].mean()
    return t[:700], y[:700], t[700:], y[700:]


def sklearn_kernel(name):
    if name == "co2":
        season = sk.RBF(CO2["decay"]) * sk.ExpSineSquared(length_scale=CO2["season"], periodicity=1.0)
        return CO2["trend_variance"] * sk.RBF(CO2["trend"]) + CO2["season_variance"] * season, CO2["noise"]
    lengthscale, variance, noise = HYPER[name]
    return variance * sk.Matern(lengthscale, nu=1.5), noise


def by_sklearn(name, x, y, xs):
    kernel, noise = sklearn_kernel(name)
    model = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(x, y)
    mean, sd = model.predict(xs, return_std=True)
    return model.log_marginal_likelihood_value_, mean, sd ** 2 + noise


class ExactGP(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), kernel

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def scaled(kernel, variance):
    k = gpytorch.kernels.ScaleKernel(kernel).double()
    k.outputscale = variance
    return k


def rbf(lengthscale):
    k = gpytorch.kernels.RBFKernel().double()
    k.lengthscale = lengthscale
    return k


def gpytorch_kernel(name):
    if name == "co2":
        periodic = gpytorch.kernels.PeriodicKernel().double()
        periodic.period_length, periodic.lengthscale = 1.0, CO2["season"] ** 2     # theirs is not squared
        return (scaled(rbf(CO2["trend"]), CO2["trend_variance"])
                + scaled(rbf(CO2["decay"]) * periodic, CO2["season_variance"])), CO2["noise"]
    lengthscale, variance, noise = HYPER[name]
    matern = gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=len(lengthscale)).double()
    matern.lengthscale = torch.tensor(lengthscale, dtype=torch.float64)
    return scaled(matern, variance), noise


def by_gpytorch(name, x, y, xs):
    kernel, noise = gpytorch_kernel(name)
    tensor = lambda a: torch.as_tensor(a, dtype=torch.float64)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-9)).double()
    likelihood.noise = noise
    model = ExactGP(tensor(x), tensor(y), likelihood, kernel)
    settings = gpytorch.settings
    with torch.no_grad(), settings.max_cholesky_size(10 ** 9), settings.fast_computations(False, False, False):
        model.train()
        mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        value = mll(model(*model.train_inputs), model.train_targets).item() * len(y)
        model.eval()
        likelihood.eval()
        p = likelihood(model(tensor(xs)))
        return value, p.mean.numpy(), p.variance.numpy()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--data", default=os.environ.get("GIBBOUS_DATA", "."))
    a.add_argument("--co2", required=True)
    a.add_argument("--out", required=True)
    o = a.parse_args()
    sources = [(f"scikit-learn {sklearn.__version__}", by_sklearn), (f"gpytorch {gpytorch.__version__}", by_gpytorch)]
    shown = [f"{key}_{i}" for i in range(1, SHOWN + 1) for key in ("mean", "y_var")]
    with open(o.out, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["set", "source", "n", "hyper", "log_marginal", "nlpd"] + shown)
        for name in list(HYPER) + ["co2"]:
            x, y, xs, ys = co2(o.co2) if name == "co2" else regression(o.data, name)
            hyper = list(CO2.values()) if name == "co2" else [*HYPER[name][0], *HYPER[name][1:]]
            for source, run in sources:
                value, mean, variance = run(name, x, y, xs)
                nlpd = np.mean(0.5 * np.log(2 * math.pi * variance) + 0.5 * (ys - mean) ** 2 / variance)
                row = [v for pair in zip(mean[:SHOWN], variance[:SHOWN]) for v in pair]
                known = [name, source, len(y), " ".join(map(repr, map(float, hyper)))]
                out.writerow(known + [repr(float(v)) for v in [value, nlpd, *row]])


if __name__ == "__main__":
    main()
