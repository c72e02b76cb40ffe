"""Classification and counts, for scripts/bench/classify.lua.

  classify.py data DIR          writes breast_cancer and digits of scikit-learn as DIR/NAME.x.npy, DIR/NAME.y.npy
  classify.py fit DIR NAME KIND  fits GPyTorch's variational model to DIR/NAME.{x,y}.train.npy and prints its figures on .test.npy:
                                 nlpd accuracy seconds. KIND: bernoulli, softmax or poisson

The model: RBF kernel with an output scale, constant mean, inducing points at the training points (at most 500 of them), q(u) full and
whitened, Adam with steps of 0.05, 400 steps over all rows.
"""
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def data(folder):
    from sklearn.datasets import load_breast_cancer, load_digits
    for name, load in (("breast_cancer", load_breast_cancer), ("digits", load_digits)):
        x, y = load(return_X_y=True)
        np.save(f"{folder}/{name}.x.npy", x.astype(np.float64))
        np.save(f"{folder}/{name}.y.npy", y.astype(np.float64))


def fit(folder, name, kind):
    import gpytorch
    import torch
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)

    def read(part):
        return torch.from_numpy(np.load(f"{folder}/{name}.{part}.npy"))

    x, y, t, s = read("x.train"), read("y.train"), read("x.test"), read("y.test")
    classes = int(y.max()) if kind == "softmax" else 1

    class Poisson(gpytorch.likelihoods.likelihood._OneDimensionalLikelihood):
        def forward(self, f, *args, **kwargs):
            return torch.distributions.Poisson(rate=f.exp())

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            shape = torch.Size([classes]) if classes > 1 else torch.Size()
            q = gpytorch.variational.CholeskyVariationalDistribution(len(points), batch_shape=shape)
            strategy = gpytorch.variational.VariationalStrategy(self, points, q, learn_inducing_locations=False)
            if classes > 1:
                strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, num_tasks=classes)
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
            self.covar_module.base_kernel.lengthscale = float(np.median(torch.pdist(x[:500]).numpy()))

        def forward(self, z):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(z), self.covar_module(z))

    start = time.time()
    model = Model(x[torch.randperm(len(x))[:500]])
    likelihood = {"bernoulli": gpytorch.likelihoods.BernoulliLikelihood, "poisson": Poisson,
                  "softmax": lambda: gpytorch.likelihoods.SoftmaxLikelihood(num_classes=classes, mixing_weights=False)}[kind]()
    target = y.long() - 1 if kind == "softmax" else y
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
    optimiser = torch.optim.Adam(list(model.parameters()) + list(likelihood.parameters()), lr=0.05)
    model.train(), likelihood.train()
    for _ in range(400):
        optimiser.zero_grad()
        loss = -bound(model(x), target)
        loss.backward()
        optimiser.step()
    seconds = time.time() - start
    model.eval(), likelihood.eval()
    with torch.no_grad():
        f = model(t)
        if kind == "softmax":
            draws = f.rsample(torch.Size([500]))
            p = torch.softmax(draws, -1).mean(0)
            log_p, hit = p[torch.arange(len(s)), s.long() - 1].log(), p.argmax(-1) == s.long() - 1
        elif kind == "bernoulli":
            p = likelihood(f).probs
            log_p, hit = torch.where(s > 0.5, p, 1 - p).log(), (p > 0.5) == (s > 0.5)
        else:
            log_p, hit = likelihood.log_marginal(s, f), torch.tensor([float("nan")])
    print(-log_p.mean().item(), hit.double().mean().item(), seconds)


if sys.argv[1] == "data":
    data(sys.argv[2])
else:
    fit(sys.argv[2], sys.argv[3], sys.argv[4])
