#!/usr/bin/env python3
"""ELBOs of GPyTorch at fixed parameters, for spec/gp/sparse/svgp_spec.lua.

usage: elbo.py
needs: GPyTorch
The data are those of sparse.py; q(v) of whitened values has the mean 0.3 sin(j) and the lower factor R with 0.5 + 0.1 j on its
diagonal and 0.05 cos(i + 2 j) below. The jitter is that of Gibbous, 1e-8 of the variance.
"""
import warnings

warnings.filterwarnings("ignore")
import gpytorch
import numpy as np
import torch

from sparse import j, lengthscale, m, variance, x, y, z

t = lambda a: torch.tensor(a, dtype=torch.float64)
i = np.arange(m)[:, None]
mean, root = 0.3 * np.sin(j), np.tril(0.05 * np.cos(i + 2 * j[None]), -1) + np.diag(0.5 + 0.1 * j)


class Model(gpytorch.models.ApproximateGP):
    def __init__(self):
        q = gpytorch.variational.CholeskyVariationalDistribution(m)
        super().__init__(gpytorch.variational.VariationalStrategy(self, t(z), q, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=2))

    def forward(self, a):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(a), self.covar_module(a))


def elbo(likelihood, values):
    model, likelihood = Model().double(), likelihood.double()
    model.covar_module.base_kernel.lengthscale = t(lengthscale)
    model.covar_module.outputscale = t(variance)
    strategy = model.variational_strategy
    strategy.variational_params_initialized.fill_(1)
    q = strategy._variational_distribution
    with torch.no_grad():
        q.variational_mean.copy_(t(mean)), q.chol_variational_covar.copy_(t(root))
    model.train(), likelihood.train()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(x))
    with gpytorch.settings.variational_cholesky_jitter(double_value=1e-8 * variance), torch.no_grad():
        return objective(model(t(x)), t(values)).item() * len(x)


class Bernoulli(gpytorch.likelihoods.BernoulliLikelihood):
    """With torch's log Phi: GPyTorch's own has three digits."""

    def expected_log_prob(self, values, f, *args, **kwargs):
        return self.quadrature(lambda s: torch.special.log_ndtr(s * values), f)


gaussian = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-9)).double()
gaussian.noise = t(0.07)
print("gaussian %.12f" % elbo(gaussian, y))
with gpytorch.settings.num_gauss_hermite_locs(60):
    print("bernoulli %.12f" % elbo(Bernoulli(), np.where(y > 0.5, 1.0, -1.0)))
