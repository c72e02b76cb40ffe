---@meta

---@class gibbous.kmeans
local kmeans = {}

---@class gibbous
local gb = {}

--- Centroids of k clusters by Lloyd's iterations, with exact sums: the same bits for any number of threads, pieces and bytes. An
--- object with fields centroids (k, d) of f64, labels (n) of i32 from 1, inertia, iterations, converged, history, empty (clusters
--- without rows), bytes (what the fit took beside the points), counts (of partial_fit). o: k; init ("k-means++", "k-means||", "random", a
--- tensor (k, d), or a function of the points, k and the run); n_init ("auto": 10 for random and functions, else 1);
--- max_iter (300); tol (1e-4 of the mean variance of the columns); algorithm ("auto", "lloyd", "elkan": the same with fewer
--- distances, "minibatch"); spherical (true: rows divided by their lengths, centroids of length 1); seed (0); weights, one a row;
--- device: a name or a list of names, of the devices that pass over the rows, else where these lie: a GPU makes every pass but
--- mini-batches, in emulation so far; budget: bytes of each account, or bytes by name of a device; ranks (true: points are those of all ranks of gb.mpi, each gives its own and has their
--- labels). device_bytes: what the fit took on devices other than the host, by name.
---@param o {k: integer, init: string|gibbous.tensor|function, n_init: integer|string, max_iter: integer, tol: number, algorithm: string, spherical: boolean, seed: integer, budget: integer|string|table<string, integer|string>, device: string|string[], weights: gibbous.tensor, ranks: boolean}
---@return gibbous.kmeans
function gb.kmeans(o) end

--- Finds the centroids of the rows of X, a tensor (n, d), a list of tensors that are one data set, or an expression, which is
--- computed tile by tile. o: weights. Evaluates; gives the object, which is as before where this raises.
---@return gibbous.kmeans
function kmeans:fit(X, o) end

--- What a fit would take beside X: peak, formula, data, buffers {what, bytes}; prints as text. X may be gb.empty(n, d).
---@return table
function kmeans:plan(X, o) end

--- Numbers of the nearest centroids, (n) of i32, from 1. Evaluates.
---@return gibbous.tensor
function kmeans:predict(X) end

--- Minus the sum of w |x - c|^2 of the rows and their nearest centroids. o: weights. Evaluates.
---@return number
function kmeans:score(X, o) end

--- Distances (n, k) to the centroids, lazy; of a list of tensors a list.
---@return gibbous.tensor|gibbous.tensor[]
function kmeans:transform(X) end

--- One mini-batch: each centroid becomes the mean of all rows that were nearest to it when their batch came. o: weights. Evaluates.
---@return gibbous.kmeans
function kmeans:partial_fit(X, o) end

--- Silhouettes of the rows of X and their nearest centroids, as of gb.silhouette. o: sample, seed, simplified. Evaluates.
---@return gibbous.silhouette
function kmeans:silhouette(X, o) end

--- The permutation (n) of i64 that puts the rows of a cluster beside each other, in their order: X:index(1, km:order()). Of the rows
--- of the fit, or of X. Evaluates.
---@return gibbous.tensor
function kmeans:order(X) end

--- Writes the object to one file, which gb.load(path) reads.
---@param path string
function kmeans:save(path) end

--- Silhouettes of rows with labels (n) from 1: (b - a) / max(a, b), a the mean Euclidean distance to the other rows of a row's
--- cluster, b the least mean distance to the rows of another; 0 of a row that is alone. Fields: mean, values (m), rows (of a
--- sample, else nil), labels (m), means (k), counts (k), n, k. o: k (the largest label); sample: so many rows, drawn by seed (0), are
--- compared with all; simplified: distances to the means of the clusters. X: a tensor (n, d), a list of tensors, an expression. Work
--- n^2 d (sample: m n d; simplified: n k d); nothing of n x n or n x k is stored. Evaluates.
---@param o {k: integer, sample: integer, seed: integer, simplified: boolean}?
---@return gibbous.silhouette
function gb.silhouette(X, labels, o) end
