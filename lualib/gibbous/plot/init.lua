--- Figures, and the figures of models, fits, plans, clusters and sweeps that one call draws.
local clusters <const> = require "gibbous.plot.clusters"
local models <const> = require "gibbous.plot.models"
local runs <const> = require "gibbous.plot.runs"

local M <const> = {figure = require "gibbous.plot.figure".figure,
  posterior = require "gibbous.plot.posterior",
  calibration = models.calibration, residuals = models.residuals, kernel = models.kernel,
  training = runs.training, convergence = runs.convergence, memory = runs.memory}

--- Sorted silhouettes by cluster: s is what gb.silhouette gives.
function M.silhouette(s, opts) return clusters.silhouette(M.figure, s, opts) end

--- Inertia against k, and the k of its elbow: list of {k, inertia} or of fitted k-means.
function M.elbow(list, opts) return clusters.elbow(M.figure, list, opts) end

--- Points by cluster, and the centres, of two columns: x (n, d), km a fitted gb.kmeans or labels (n).
function M.clusters(x, km, opts) return clusters.clusters(M.figure, x, km, opts) end

--- A figure of the trials of a sweep (plot/sweep.lua).
function M.sweep(sweep, opts) return require "gibbous.plot.sweep"(sweep, opts) end

return require "gibbous.base.names"(M, "gb.plot")
