"""The jobs of scripts/bench/peers.lua in GPyTorch, KeOps and scikit-learn; peers.lua starts this and asks for a turn a line.

Run: jobs.py LIBRARY JOB FOLDER THREADS LIMIT, with x.npy (n, d), y.npy (n) and t.npy (m, d), all f64, in FOLDER; questions come on
the named pipe FOLDER/LIBRARY. Answers: "ready VERSION"; to a number i, "turn SECONDS FIGURE ..." of the job with lengthscale
0.5 (1 + i / 1000); to "end", "peak BYTES": what the process grew by over the turns. "failed REASON" ends it. LIMIT: GiB of address
space. A small warm-up loads and compiles what a job needs.
"""
import os
import resource
import sys
import time
import warnings

import numpy as np

NOISE, SHIFT, TOLERANCE = 0.1, 1.0, 1e-3                                  # of models; of the system of "solve"


def lengthscale(i):
    return 0.5 * (1 + i / 1000)


def timed(f):
    began = time.perf_counter()
    result = f()
    return time.perf_counter() - began, result


class GPyTorch:
    def __init__(self, threads):
        import gpytorch
        import torch

        torch.set_num_threads(threads)
        self.gp, self.torch, self.version = gpytorch, torch, gpytorch.__version__
        s = gpytorch.settings
        self.direct = lambda: (s.max_cholesky_size(10 ** 9), s.fast_computations(False, False, False))

    def tensor(self, a, dtype):
        return self.torch.as_tensor(a, dtype=getattr(self.torch, dtype))

    def rbf(self, i, dtype):
        k = self.gp.kernels.RBFKernel().to(getattr(self.torch, dtype))
        k.lengthscale = lengthscale(i)
        return k

    def model(self, i, x, y):
        gp = self.gp
        kernel = gp.kernels.ScaleKernel(gp.kernels.MaternKernel(nu=2.5, ard_num_dims=x.shape[1]))
        likelihood = gp.likelihoods.GaussianLikelihood()

        class Exact(gp.models.ExactGP):
            def __init__(self):
                super().__init__(x, y, likelihood)
                self.mean_module, self.covar_module = gp.means.ZeroMean(), kernel

            def forward(self, x):
                return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

        m = Exact().double()
        kernel.base_kernel.lengthscale, kernel.outputscale, likelihood.noise = lengthscale(i), 1.0, NOISE
        return m, likelihood

    def step(self, i, x, y, t):
        x, y = self.tensor(x, "float64"), self.tensor(y, "float64")
        m, likelihood = self.model(i, x, y)
        mll = self.gp.mlls.ExactMarginalLogLikelihood(likelihood, m)
        m.train()
        likelihood.train()

        def run():
            a, b = self.direct()
            with a, b:
                value = mll(m(x), y) * len(y)
                value.backward()
            return value

        seconds, value = timed(run)
        raw, l = m.covar_module.base_kernel.raw_lengthscale, m.covar_module.base_kernel.lengthscale
        slope = raw.grad / self.torch.sigmoid(raw) * l                     # in the logarithm, from that in softplus
        return seconds, [value.item(), slope[0, 0].item()]

    def predict(self, i, x, y, t):
        m, likelihood = self.model(i, self.tensor(x, "float64"), self.tensor(y, "float64"))
        m.eval()
        likelihood.eval()
        points = self.tensor(t, "float64")

        def run():
            a, b = self.direct()
            with self.torch.no_grad(), a, b:
                p = m(points)
                return p.mean, p.variance

        seconds, (mean, variance) = timed(run)
        return seconds, [mean.abs().sum().item(), variance.sum().item()]

    def product(self, i, x, y, t):
        k, x, v = self.rbf(i, "float32"), self.tensor(x, "float32"), self.tensor(y, "float32")[:, None]
        with self.torch.no_grad():
            seconds, z = timed(lambda: k(x).matmul(v))
        return seconds, [z.double().norm().item()]

    def solve(self, i, x, y, t):
        from linear_operator.utils.linear_cg import linear_cg

        k, x, b = self.rbf(i, "float32"), self.tensor(x, "float32"), self.tensor(y, "float32")[:, None]

        def run():
            a = k(x).to_dense()
            return a, linear_cg(lambda v: a.matmul(v) + SHIFT * v, b, tolerance=TOLERANCE, max_iter=1000)

        with self.torch.no_grad():
            seconds, (a, z) = timed(run)
            r = b - a.matmul(z) - SHIFT * z
        return seconds, [z.double().norm().item(), (r.norm() / b.norm()).item()]


class KeOps:
    def __init__(self, threads):
        import pykeops
        import torch

        pykeops.set_verbose(False)
        from pykeops.torch import LazyTensor

        torch.set_num_threads(threads)
        self.torch, self.lazy, self.version = torch, LazyTensor, pykeops.__version__

    def kernel(self, i, x):
        x = self.torch.as_tensor(x, dtype=self.torch.float32) / lengthscale(i)
        a, b = self.lazy(x[:, None, :].contiguous()), self.lazy(x[None, :, :].contiguous())
        return (-((a - b) ** 2).sum(-1) / 2).exp()

    def product(self, i, x, y, t):
        v = self.torch.as_tensor(y, dtype=self.torch.float32)[:, None]
        seconds, z = timed(lambda: self.kernel(i, x) @ v)
        return seconds, [z.double().norm().item()]

    def solve(self, i, x, y, t):
        b = self.torch.as_tensor(y, dtype=self.torch.float32)[:, None].contiguous()
        eps = TOLERANCE * b.norm().item() / len(b) ** 0.5                  # it stops at |r| < eps sqrt(n)
        seconds, z = timed(lambda: self.kernel(i, x).solve(b, alpha=SHIFT, eps=eps))
        r = b - self.kernel(i, x) @ z - SHIFT * z
        return seconds, [z.double().norm().item(), (r.norm() / b.norm()).item()]


class ScikitLearn:
    def __init__(self, threads):
        import sklearn
        from sklearn.gaussian_process import GaussianProcessRegressor, kernels

        self.regressor, self.kernels, self.version = GaussianProcessRegressor, kernels, sklearn.__version__

    def step(self, i, x, y, t):
        k = self.kernels
        kernel = (k.ConstantKernel(1.0) * k.Matern([lengthscale(i)] * x.shape[1], nu=2.5) + k.WhiteKernel(NOISE))
        m = self.regressor(kernel, alpha=0.0, optimizer=None)
        m.kernel_, m.X_train_, m.y_train_ = kernel, x, y                   # as fit leaves them, without its own factor
        seconds, (value, slope) = timed(lambda: m.log_marginal_likelihood(kernel.theta, eval_gradient=True))
        return seconds, [value, slope[1]]

    def predict(self, i, x, y, t):
        m = self.regressor(self.kernels.Matern([lengthscale(i)] * x.shape[1], nu=2.5), alpha=NOISE, optimizer=None)
        seconds, (mean, sd) = timed(lambda: m.fit(x, y).predict(t, return_std=True))
        return seconds, [np.abs(mean).sum(), (sd ** 2).sum()]


LIBRARIES = {"gpytorch": GPyTorch, "keops": KeOps, "scikit-learn": ScikitLearn}


def status(key):
    with open("/proc/self/status") as f:
        return next(1024 * int(line.split()[1]) for line in f if line.startswith(key + ":"))


def say(*words):
    print(*words, flush=True)


def serve(library, job, folder, threads):
    peer = LIBRARIES[library](threads)
    run = getattr(peer, job)
    x, y, t = (np.load(os.path.join(folder, name + ".npy")) for name in "xyt")
    run(0, x[:200], y[:200], t[:20])
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")                                                       # the peak begins at what there is now
    before = status("VmRSS")
    say("ready", peer.version)
    with open(os.path.join(folder, library)) as questions:
        for line in questions:
            if line.strip() == "end":
                return say("peak", status("VmHWM") - before)
            seconds, figures = run(int(line), x, y, t)
            say("turn", seconds, *map(float, figures))


def main():
    library, job, folder, threads, limit = sys.argv[1:]
    warnings.simplefilter("ignore")
    bytes_ = int(float(limit) * 2 ** 30)
    resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))
    try:
        serve(library, job, folder, int(threads))
    except (MemoryError, RuntimeError) as e:
        text = str(e)
        say("failed", f"more than {limit} GiB" if isinstance(e, MemoryError) or "memory" in text else text.replace("\n", " "))


main()
