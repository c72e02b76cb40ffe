-- K-means: what it takes, the clusters, and how far apart they are.
local gb = require "gibbous"

local centres = gb.tensor{{0, 0}, {4, 0}, {2, 3}}
local x = centres:expand(3, 2):unsqueeze(1):expand(200, 3, 2):reshape(600, 2) + 0.6 * gb.randn(600, 2, {seed = 1})

local km = gb.kmeans{k = 3, seed = 1}
print(km:plan(x))                                    -- bytes, before anything runs
km:fit(x)
print(km.centroids)
print(km.inertia, km.iterations, km.converged)
print(gb.silhouette(x, km.labels).mean)              -- 1: far apart, 0: overlapping
print(km:predict(gb.tensor{{4, 1}, {0, 1}}))
