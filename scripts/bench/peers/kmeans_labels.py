"""Labels of scikit-learn's k-means for the rows and the start in a folder, to labels.npy (from 0), and a line "inertia iterations".

Run: kmeans_labels.py FOLDER K MAX_ITER, with x.npy (n, d), start.npy (k, d) and perhaps weights.npy (n), f64, in FOLDER.
spec/cluster/peers_spec.lua does so.
"""
import sys
import warnings

import numpy as np
from sklearn.cluster import KMeans


def main():
    folder, k, iterations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    x, start = np.load(folder + "/x.npy"), np.load(folder + "/start.npy")
    try:
        weights = np.load(folder + "/weights.npy")
    except FileNotFoundError:
        weights = None
    warnings.simplefilter("ignore")
    model = KMeans(k, init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd").fit(x, sample_weight=weights)
    np.save(folder + "/labels.npy", model.labels_.astype(np.int64))
    print(repr(float(model.inertia_)), model.n_iter_)


main()
