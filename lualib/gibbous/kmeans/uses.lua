--- What known centroids are good for beside labels: silhouettes, rows in the order of their clusters.
local place_of <const> = require "gibbous.kmeans.order"
local points <const> = require "gibbous.kmeans.points"
local silhouette <const> = require "gibbous.kmeans.silhouette"

--- class: {methods, fitted, known_points, nearest}
return function(class)
  local methods <const> = class.methods

  --- Silhouettes of the rows of X and their nearest centroids, as gb.silhouette(X, km:predict(X), o) gives them; o: sample, seed,
  -- simplified (distances to the centroids themselves). Weights are not regarded. Evaluates.
  function methods.silhouette(self, X, opts)
    local f <const> = class.fitted(self, "silhouette")
    if f.o.ranks then
      points.fail("option", "silhouette", "ranks = true: silhouettes are of one rank, gb.silhouette(X, km:predict(X), o)")
    end
    local list <const> = class.known_points(f, X, "silhouette")
    return silhouette.of_kmeans(f, list, class.nearest(self, X, "silhouette"), opts, "silhouette")
  end

  --- The permutation (n) of i64 that puts the rows of a cluster beside each other, in their order, and near clusters beside each
  -- other: X:index(1, km:order()). Without X of the rows of the fit, else of X and its nearest centroids. Evaluates.
  function methods.order(self, X)
    local f <const> = class.fitted(self, "order")
    local labels = f.labels
    if X ~= nil then labels = class.nearest(self, X, "order") end
    if labels == nil then
      points.fail("option", "order", "labels are those of a fit: km:order(X) labels the rows of X by the nearest centroids")
    end
    return (place_of(f.centroids):index(1, labels):argsort():eval())
  end
end
