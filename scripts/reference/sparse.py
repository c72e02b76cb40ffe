#!/usr/bin/env python3
"""Bounds of a sparse model by dense matrices, for spec/gp/sparse/sgpr_spec.lua.

usage: sparse.py
needs: NumPy
Data are formulas, so that both programs have the same. C = Q + S is formed and factored as it stands.
"""
import numpy as np

n, m = 40, 7
i, j = np.arange(n), np.arange(m)
x = np.stack([np.sin(1.7 * i + 0.3), np.cos(2.3 * i)], 1)
y = np.sin(3 * x[:, 0]) + x[:, 1] ** 2 + 0.1 * np.cos(11.0 * i)
z = np.stack([np.sin(2.9 * j + 1), np.cos(1.1 * j + 0.5)], 1)
known = 0.05 + 0.02 * (1 + np.sin(i))
lengthscale, variance, jitter = np.array([0.8, 1.1]), 1.3, 1e-8


def kernel(a, b):
    r2 = (((a[:, None] - b[None]) / lengthscale) ** 2).sum(2)
    r = np.sqrt(5 * r2)
    return variance * (1 + r + r * r / 3) * np.exp(-r)


def log_density(c):
    low = np.linalg.cholesky(c)
    half = np.linalg.solve(low, y)
    return -0.5 * half @ half - np.log(np.diag(low)).sum() - n / 2 * np.log(2 * np.pi)


def bounds(noise):
    kzz = kernel(z, z) + jitter * variance * np.eye(m)
    kzx = kernel(z, x)
    q = kzx.T @ np.linalg.solve(kzz, kzx)
    left = variance - np.diag(q)
    vfe = log_density(q + np.diag(noise)) - (left / noise).sum() / 2
    fitc = log_density(q + np.diag(noise + left))
    low = np.linalg.slogdet(q + np.diag(noise))[1]
    upper = -0.5 * (low + y @ np.linalg.solve(q + np.diag(noise + left.sum()), y) + n * np.log(2 * np.pi))
    return vfe, fitc, upper, log_density(kernel(x, x) + np.diag(noise))


if __name__ == "__main__":
    for name, noise in (("one noise", np.full(n, 0.07)), ("known noise", known)):
        print(name, "vfe %.12f fitc %.12f upper %.12f exact %.12f" % bounds(noise))
