"""Algorithms 3.1 to 3.4 and 5.1 of Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, in NumPy: the numbers that
spec/gp/laplace/algorithms_spec.lua compares with.

  python3 scripts/reference/laplace.py > spec/gp/laplace/values.lua

The log determinant of the multi-class evidence is taken of I + K W as it stands, (n C, n C), not by the algorithm's sum.
"""
import math

import numpy as np

LENGTHSCALE, VARIANCE = 0.7, 1.8


def rbf(a, b):
    d = ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)
    return VARIANCE * np.exp(-0.5 * d / LENGTHSCALE ** 2)


def rbf_by_lengthscale(a, b):
    d = ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)
    return rbf(a, b) * d / LENGTHSCALE ** 3


def points(n, shift):
    i = np.arange(1, n + 1)
    return np.stack([(0.618034 * i + shift) % 1 * 4, (0.414214 * i + 2 * shift) % 1 * 3], 1)


def phi(z):
    return 0.5 * np.vectorize(math.erfc)(-z / math.sqrt(2))


def probit(f, y):
    """log p, its first three derivatives by f; y in {-1, 1}."""
    z = y * f
    p, n = phi(z), np.exp(-0.5 * f * f) / math.sqrt(2 * math.pi)
    r = n / p
    return np.log(p), y * r, -r * r - z * r, y * (2 * r ** 3 + 3 * z * r * r + (z * z - 1) * r)


def logit(f, y):
    p = 1 / (1 + np.exp(-f))
    t = (y + 1) / 2
    return -np.log1p(np.exp(-y * f)), t - p, -p * (1 - p), p * (1 - p) * (2 * p - 1)


def poisson(f, y):
    mu = np.exp(f)
    return y * f - mu - np.vectorize(math.lgamma)(y + 1), y - mu, -mu, -mu


def mode(K, y, density):
    """Algorithm 3.1."""
    n = len(y)
    f = np.zeros(n)
    for _ in range(100):
        _, g, h, _ = density(f, y)
        w = np.sqrt(-h)
        L = np.linalg.cholesky(np.eye(n) + w[:, None] * K * w[None, :])
        b = -h * f + g
        a = b - w * np.linalg.solve(L.T, np.linalg.solve(L, w * (K @ b)))
        f = K @ a
    lp, g, h, third = density(f, y)
    w = np.sqrt(-h)
    L = np.linalg.cholesky(np.eye(n) + w[:, None] * K * w[None, :])
    return f, a, w, L, lp.sum() - 0.5 * a @ f - np.log(np.diag(L)).sum(), g, third


def gradient(K, dK, a, w, L, g, third):
    """Algorithm 5.1, of one parameter."""
    R = w[:, None] * np.linalg.solve(L.T, np.linalg.solve(L, np.diag(w)))
    C = np.linalg.solve(L, w[:, None] * K)
    s2 = 0.5 * (np.diag(K) - (C * C).sum(0)) * third
    s1 = 0.5 * a @ dK @ a - 0.5 * np.trace(R @ dK)
    b = dK @ g
    s3 = b - K @ (R @ b)
    return s1 + s2 @ s3


def binary(name, density, y, link):
    x, t = points(24, 0.1), points(5, 0.37)
    K, k = rbf(x, x), rbf(x, t)
    f, a, w, L, Z, g, third = mode(K, y, density)
    mean = k.T @ g                                                     # algorithm 3.2
    v = np.linalg.solve(L, w[:, None] * k)
    var = VARIANCE - (v * v).sum(0)
    out = {"kind": name, "link": link, "x": x, "y": (y + 1) / 2 if link else y, "t": t, "f": f, "evidence": Z, "mean": mean, "var": var,
           "by_lengthscale": gradient(K, rbf_by_lengthscale(x, x), a, w, L, g, third),
           "by_variance": gradient(K, K / VARIANCE, a, w, L, g, third)}
    if link == "probit":
        out["probability"] = phi(mean / np.sqrt(1 + var))
    return out


def classes():
    x, t = points(21, 0.1), points(4, 0.37)
    n, C = len(x), 3
    label = np.array([int(v) for v in np.floor(x[:, 0] + 0.3 * x[:, 1])]) % C
    y = np.eye(C)[label].T.reshape(-1)                                 # stacked by class
    K1, k = rbf(x, x), rbf(x, t)
    K = np.kron(np.eye(C), K1)
    f = np.zeros(n * C)
    for _ in range(100):                                               # algorithm 3.3
        F = f.reshape(C, n)
        pi = np.exp(F - F.max(0))
        pi = (pi / pi.sum(0)).reshape(-1)
        P = np.concatenate([np.diag(p) for p in pi.reshape(C, n)])
        E, M = np.zeros((n * C, n * C)), np.zeros((n, n))
        for c in range(C):
            d = np.sqrt(pi[c * n:(c + 1) * n])
            L = np.linalg.cholesky(np.eye(n) + d[:, None] * K1 * d[None, :])
            e = d[:, None] * np.linalg.solve(L.T, np.linalg.solve(L, np.diag(d)))
            E[c * n:(c + 1) * n, c * n:(c + 1) * n] = e
            M += e
        M = np.linalg.cholesky(M)
        W = np.diag(pi) - P @ P.T
        R = np.kron(np.ones((C, 1)), np.eye(n))
        b = W @ f + y - pi
        c_ = E @ K @ b
        a = b - c_ + E @ R @ np.linalg.solve(M.T, np.linalg.solve(M, R.T @ c_))
        f = K @ a
    F = f.reshape(C, n)
    Z = -0.5 * a @ f + y @ f - np.log(np.exp(F).sum(0)).sum() - 0.5 * np.linalg.slogdet(np.eye(n * C) + K @ W)[1]
    mean = np.zeros((len(t), C))                                       # algorithm 3.4
    cov = np.zeros((len(t), C, C))
    for c in range(C):
        Ec = E[c * n:(c + 1) * n, c * n:(c + 1) * n]
        mean[:, c] = (y - pi)[c * n:(c + 1) * n] @ k
        b = Ec @ k
        s = np.linalg.solve(M.T, np.linalg.solve(M, b))
        for d in range(C):
            Ed = E[d * n:(d + 1) * n, d * n:(d + 1) * n]
            cov[:, c, d] = ((Ed @ k) * s).sum(0)
        cov[:, c, c] += VARIANCE - (b * k).sum(0)
    return {"kind": "softmax", "x": x, "y": label + 1.0, "t": t, "f": F.T, "evidence": Z, "mean": mean, "cov": cov}


def text(v):
    if isinstance(v, str):
        return '"%s"' % v
    if isinstance(v, np.ndarray):
        return "{" + ", ".join(text(w) for w in v) + "}"
    return repr(float(v))


def main():
    x = points(24, 0.1)
    sign = np.where(np.sin(2 * x[:, 0]) + np.cos(3 * x[:, 1]) > 0.2, 1.0, -1.0)
    counts = np.floor(np.exp(np.sin(2 * x[:, 0]) + 1))
    cases = [binary("bernoulli", probit, sign, "probit"), binary("bernoulli", logit, sign, "logit"),
             binary("poisson", poisson, counts, None), classes()]
    print("-- Written by scripts/reference/laplace.py: an RBF kernel of lengthscale %g and variance %g." % (LENGTHSCALE, VARIANCE))
    print("-- luacheck: no max line length")
    print("return {")
    for case in cases:
        print("  {")
        for key, v in case.items():
            if v is not None:
                print("    %s = %s," % (key, text(v)))
        print("  },")
    print("}")


main()
