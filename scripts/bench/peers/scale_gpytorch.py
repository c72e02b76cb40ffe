"""GPyTorch's SVGP for scripts/bench/scale.lua.

Run: scale_gpytorch.py FOLDER POINTS BATCH SECONDS DTYPE, with x.npy, y.npy, z.npy (POINTS, d), xs.npy, ys.npy in FOLDER. Model:
Matern 5/2 with a lengthscale a column, a variance, Gaussian noise, zero mean; whitened Cholesky q; Adam, 0.01, batches in random
order. Prints "row SECONDS RMSE NLPD STEPS BYTES": BYTES is what the process grew by at its peak; scoring is not within the seconds.
"""
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import gpytorch
import numpy as np
import torch

folder, points, batch, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
dtype = {"f32": torch.float32, "f64": torch.float64}[sys.argv[5]]
torch.manual_seed(0)
x, y, z, xs, ys = (torch.tensor(np.load(f"{folder}/{name}.npy"), dtype=dtype) for name in ("x", "y", "z", "xs", "ys"))


class Model(gpytorch.models.ApproximateGP):
    def __init__(self):
        q = gpytorch.variational.CholeskyVariationalDistribution(len(z))
        super().__init__(gpytorch.variational.VariationalStrategy(self, z, q, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=x.shape[1]))

    def forward(self, t):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(t), self.covar_module(t))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


before = peak()
model, likelihood = Model().to(dtype), gpytorch.likelihoods.GaussianLikelihood().to(dtype)
elbo = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(x))
optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)


def score():
    model.eval(), likelihood.eval()
    mean, var = [], []
    with torch.no_grad():
        for t in xs.split(1024):
            p = likelihood(model(t))
            mean.append(p.mean), var.append(p.variance)
    mean, var = torch.cat(mean).double(), torch.cat(var).double()
    e = ys.double() - mean
    model.train(), likelihood.train()
    return (e * e).mean().sqrt().item(), (0.5 * (e * e / var + var.log() + np.log(2 * np.pi))).mean().item()


model.train(), likelihood.train()
start, steps = time.time(), 0
while time.time() - start < seconds:
    for rows in torch.randperm(len(x)).split(batch):
        optimizer.zero_grad()
        loss = -elbo(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        steps += 1
        if time.time() - start >= seconds:
            break
spent = time.time() - start
rmse, nlpd = score()
print("row", spent, rmse, nlpd, steps, peak() - before, flush=True)
