--- Covariance functions. A kernel is a value: k(x, z) is a lazy tensor that nobody stores unless asked to.
--
-- Base kernels carry a variance (units of y squared). Sums keep theirs; a product has one variance, the product of its
-- factors'. A hyper-parameter is a number (positive, free), a list (one per input column: ARD) or a gb.param (shared).
local build <const> = require "gibbous.kernels.build"
local columns <const> = require "gibbous.kernels.columns"
local kernel <const> = require "gibbous.kernels.kernel"

local M <const> = {is = kernel.is, points = columns.points, resolve_ard = kernel.resolve_ard}

for _, group in ipairs{"stationary", "spectral", "dot", "simple", "index"} do
  for kind, row in pairs(require("gibbous.kernels." .. group)) do
    if type(row) == "table" then M[kind] = build.constructor(kind, row) end
  end
end
M.change_point = require "gibbous.kernels.change_point"
M.define = require "gibbous.kernels.define"

return require "gibbous.base.names"(M, "gb.kernels", nil, {
  dot_product = "gb.kernels.linear",
  exponential = "gb.kernels.matern12",
  gaussian = "gb.kernels.rbf",
  matern = "gb.kernels.matern12, matern32 and matern52, for nu = 1/2, 3/2 and 5/2",
  rq = "gb.kernels.rational_quadratic",
  scale = "a kernel has a variance, and a number times a kernel scales it",
  se = "gb.kernels.rbf",
  squared_exponential = "gb.kernels.rbf",
})
