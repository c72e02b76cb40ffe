---@meta

---@class gibbous
local gb = {}

---@class gibbous.kmeans.fit.options
---@field weights? gibbous.tensor|number[]  (n), one a row

---@class gibbous.kmeans.silhouette.options
---@field sample? integer  so many rows, drawn, are compared with all
---@field seed? integer  of the sample; default: 0
---@field simplified? boolean  distances to the centroids; default: false

---@class gibbous.kmeans.options
---@field k integer  how many clusters
---@field init? string|gibbous.tensor|function  "k-means++", "k-means||", "random", a tensor (k, d), or a function of the points, k and the run; default: "k-means++"
---@field n_init? integer|"auto"  runs, the best is kept; default: "auto", 10 for random starts and functions, else 1
---@field max_iter? integer  default: 300
---@field tol? number  in units of the mean variance of the columns; default: 1e-4
---@field algorithm? "auto"|"lloyd"|"elkan"|"minibatch"  "elkan": the same as "lloyd" with fewer distances; default: "auto"
---@field spherical? boolean  true: rows divided by their lengths, centroids of length 1; default: false
---@field seed? integer  default: 0
---@field weights? gibbous.tensor|number[]  (n), one a row
---@field device? string|string[]  of the devices that pass over the rows; default: where these lie
---@field budget? integer|string|table<string, integer|string>  bytes of each account, or bytes by name of a device
---@field ranks? boolean  true: points are those of all ranks of gb.mpi, each gives its own and has their labels

--- Centroids of k clusters by Lloyd's iterations, with exact sums: the same bits for any number of threads, pieces and bytes.
---@param o gibbous.kmeans.options
---@return gibbous.kmeans
---@see kmeans:fit
---```lua
--- local x = gb.randn(50, 2, {seed = 1})
--- local km = gb.kmeans{k = 3, seed = 1}:fit(x)
--- print(km.centroids, km.inertia)
---```
function gb.kmeans(o) end

---@class gibbous.silhouette.options
---@field k? integer  clusters; default: the largest label
---@field sample? integer  so many rows, drawn, are compared with all
---@field seed? integer  of the sample; default: 0
---@field simplified? boolean  distances to the means of the clusters; default: false

--- Silhouettes of rows with labels from 1: (b - a) / max(a, b), a the mean distance to the other rows of a row's cluster, b the least
--- mean distance to the rows of another; 0 of a row that is alone. Evaluates.
---@param X gibbous.tensor|gibbous.tensor[]  (n, d)
---@param labels gibbous.tensor|integer[]  (n)
---@param o gibbous.silhouette.options?
---@return gibbous.silhouette
--- Cost: n^2 d (sample: m n d; simplified: n k d); nothing of n x n or n x k is stored.
---```lua
--- print(gb.silhouette(gb.tensor{{0}, {0.1}, {5}, {5.1}}, {1, 1, 2, 2}).mean)
---```
function gb.silhouette(X, labels, o) end

--- K-means, as gb.kmeans makes it. The results are there after a fit.
---@class gibbous.kmeans
---@field centroids gibbous.tensor  (k, d), f64
---@field labels gibbous.tensor  (n), i32, from 1
---@field inertia number  the sum of w |x - c|^2
---@field iterations integer  of the best run
---@field converged boolean  the centroids moved less than tol
---@field history gibbous.tensor  the inertia of each iteration
---@field empty integer  clusters without rows
---@field bytes integer  what the fit took beside the points, on the host
---@field device_bytes table<string, integer>?  the same on other devices, by name
---@field counts gibbous.tensor?  (k), of partial_fit: rows seen
---@field k integer  how many clusters
local kmeans = {}

--- Finds the centroids of the rows of X, a tensor (n, d), a list of tensors that are one data set, or an expression, which is
--- computed tile by tile. Evaluates; gives the object, which is as before where this raises.
---@param X gibbous.tensor|gibbous.tensor[]  (n, d), a list that is one data set, or an expression
---@param o gibbous.kmeans.fit.options?
---@return gibbous.kmeans
---```lua
--- local x = gb.randn(30, 2, {seed = 1})
--- print(gb.kmeans{k = 2, seed = 1}:fit(x).converged)
---```
function kmeans:fit(X, o) end

--- What a fit would take beside X: peak, formula, data, buffers {what, bytes}; prints as text. X may be gb.empty(n, d).
---@param X gibbous.tensor|gibbous.tensor[]  (n, d), a list that is one data set, or an expression
---@param o gibbous.kmeans.fit.options?
---@return gibbous.kmeans_plan
---```lua
--- print(gb.kmeans{k = 2}:plan(gb.empty(1000, 8)).peak)
---```
function kmeans:plan(X, o) end

--- Numbers of the nearest centroids, (n) of i32, from 1. Evaluates.
---@param X gibbous.tensor|gibbous.tensor[]  (n, d), a list that is one data set, or an expression
---@return gibbous.tensor
---```lua
--- local x = gb.randn(30, 2, {seed = 1})
--- local km = gb.kmeans{k = 2, seed = 1}:fit(x)
--- print(km:predict(gb.zeros(3, 2)))
---```
function kmeans:predict(X) end

--- Minus the sum of w |x - c|^2 of the rows and their nearest centroids. Evaluates.
---@param X gibbous.tensor|gibbous.tensor[]  (n, d), a list that is one data set, or an expression
---@param o gibbous.kmeans.fit.options?
---@return number
---```lua
--- local x = gb.randn(30, 2, {seed = 1})
--- local km = gb.kmeans{k = 2, seed = 1}:fit(x)
--- print(km:score(x))
---```
function kmeans:score(X, o) end

--- Distances (n, k) to the centroids, lazy; of a list of tensors a list.
---@param X gibbous.tensor|gibbous.tensor[]  (n, d), a list that is one data set, or an expression
---@return gibbous.tensor|gibbous.tensor[]
---```lua
--- local x = gb.randn(30, 2, {seed = 1})
--- local km = gb.kmeans{k = 2, seed = 1}:fit(x)
--- print(km:transform(gb.zeros(3, 2)))
---```
function kmeans:transform(X) end

--- One mini-batch: each centroid becomes the mean of all rows that were nearest to it when their batch came. Evaluates.
---@param X gibbous.tensor|gibbous.tensor[]  (n, d), a list that is one data set, or an expression
---@param o gibbous.kmeans.fit.options?
---@return gibbous.kmeans
---```lua
--- print(gb.kmeans{k = 2, seed = 1}:partial_fit(gb.randn(30, 2, {seed = 1})).counts)
---```
function kmeans:partial_fit(X, o) end

--- Silhouettes of the rows of X and their nearest centroids, as of gb.silhouette. Evaluates.
---@param X gibbous.tensor|gibbous.tensor[]  (n, d), a list that is one data set, or an expression
---@param o gibbous.kmeans.silhouette.options?
---@return gibbous.silhouette
---```lua
--- local x = gb.randn(30, 2, {seed = 1})
--- local km = gb.kmeans{k = 2, seed = 1}:fit(x)
--- print(km:silhouette(x).mean)
---```
function kmeans:silhouette(X, o) end

--- The permutation (n) of i64 that puts the rows of a cluster beside each other, in their order: X:index(1, km:order()). Of the rows
--- of the fit, or of X. Evaluates.
---@param X gibbous.tensor|gibbous.tensor[]?  (n, d), those of the fit unless given, a list that is one data set, or an expression
---@return gibbous.tensor
---```lua
--- local x = gb.randn(30, 2, {seed = 1})
--- local km = gb.kmeans{k = 2, seed = 1}:fit(x)
--- print(x:index(1, km:order()).shape)
---```
function kmeans:order(X) end

--- Writes the object to one file, which gb.load(path) reads.
---@param path string
---```lua
--- local x = gb.randn(30, 2, {seed = 1})
--- local path = os.tmpname()
--- gb.kmeans{k = 2, seed = 1}:fit(x):save(path)
--- print(gb.load(path).k)
--- os.remove(path)
---```
function kmeans:save(path) end

--- The report of gb.silhouette and km:silhouette. Prints as text.
---@class gibbous.silhouette
---@field mean number  of all rows
---@field values gibbous.tensor  (m), of the rows compared
---@field rows gibbous.tensor?  (m), which rows were drawn; nil: all
---@field labels gibbous.tensor  (m), of these rows
---@field means gibbous.tensor  (k), of each cluster
---@field counts gibbous.tensor  (k), rows of each cluster
---@field n integer  rows
---@field k integer  clusters
---@field simplified boolean  distances to the means of the clusters
local silhouette = {}

--- What a fit of k-means would take beside the points. Prints as text.
---@class gibbous.kmeans_plan
---@field peak integer  bytes on the host
---@field formula string  what they follow from
---@field data integer  bytes of the points
---@field buffers table[]  {what, bytes}
---@field devices table  bytes on other devices
---@field minimum integer  bytes that would do
---@field n integer  rows
---@field d integer  columns
---@field k integer  clusters
---@field dtype string  of the points
---@field home string  the device where the points lie
---@field runs integer  runs that it keeps at once
---@field size integer  bytes of a number
---@field tile integer  rows of a tile
local kmeans_plan = {}
