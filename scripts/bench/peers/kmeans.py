"""Seconds of a fit of k-means in scikit-learn and FAISS: one line a library, "name seconds inertia bytes".

Run: kmeans.py FOLDER ITERATIONS, with x.npy (n, d) and start.npy (k, d) in FOLDER, both f32. scripts/bench/kmeans.lua does so. bytes:
what the process's peak grew by during the fit.
"""
import resource
import sys
import time
import warnings

import numpy as np


def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def scikit_learn(x, start, iterations):
    from sklearn.cluster import KMeans

    warnings.simplefilter("ignore")
    model = KMeans(len(start), init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
    before, began = peak(), time.perf_counter()
    model.fit(x)
    return time.perf_counter() - began, model.inertia_, peak() - before


def faiss(x, start, iterations):
    import faiss as library

    model = library.Kmeans(x.shape[1], len(start), niter=iterations, max_points_per_centroid=len(x),
                           min_points_per_centroid=1)
    before, began = peak(), time.perf_counter()
    model.train(x, init_centroids=start)
    seconds = time.perf_counter() - began
    distances, _ = model.index.search(x, 1)
    return seconds, float(distances.sum(dtype=np.float64)), peak() - before


def main():
    folder, iterations = sys.argv[1], int(sys.argv[2])
    x, start = np.load(folder + "/x.npy"), np.load(folder + "/start.npy")
    for name, run in ("faiss", faiss), ("scikit-learn", scikit_learn):
        try:
            print(name, *run(x, start, iterations))
        except ImportError:
            pass


main()
