"""Batched exact models of GPyTorch, for scripts/bench/batch.lua.

  batch_gpytorch.py DIR STEPS   fits DIR/x.npy (B, n, d), DIR/y.npy (B, n) by STEPS of Adam (0.1), f64, two threads, and prints
                                seconds and the mean log marginal likelihood of a model in nats.

The model: zero mean, Matern 5/2 with a lengthscale a column and an output scale, Gaussian noise, batch_shape = [B], by Cholesky.
"""
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def main(folder, steps):
    import gpytorch
    import torch
    torch.set_num_threads(2)
    torch.set_default_dtype(torch.float64)
    x, y = (torch.from_numpy(np.load(f"{folder}/{name}.npy")) for name in ("x", "y"))
    shape = torch.Size([x.shape[0]])

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            base = gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=x.shape[2], batch_shape=shape)
            self.mean_module = gpytorch.means.ZeroMean(batch_shape=shape)
            self.covar_module = gpytorch.kernels.ScaleKernel(base, batch_shape=shape)

        def forward(self, t):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(t), self.covar_module(t))

    likelihood = gpytorch.likelihoods.GaussianLikelihood(batch_shape=shape)
    model = Model(likelihood)
    model.train()
    likelihood.train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    start = time.time()
    for _ in range(steps):
        optimiser.zero_grad()
        loss = -mll(model(x), y).sum()
        loss.backward()
        optimiser.step()
    seconds = time.time() - start
    with torch.no_grad():
        value = mll(model(x), y).mean().item() * x.shape[1]
    print(seconds, value)


main(sys.argv[1], int(sys.argv[2]))
