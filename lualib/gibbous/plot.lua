--- Figures, and the figures of models, fits and plans that one call draws.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.options"
local vector <const> = require "gibbous.plot.style".vector

local M <const> = {figure = require "gibbous.plot.figure".figure}

--- A model with one input column: mean, 95 % bands of f and of y, and the data. o: x (points to draw at), title, xlabel, ylabel.
function M.posterior(model, opts)
  local o <const> = options.parse(opts, {x = "any", title = "string", xlabel = "string", ylabel = "string", level = "number"},
    "gb.plot.posterior")
  if core.type(model) ~= "gp.exact" then
    core.raise("option", ("gb.plot.posterior: a model of gb.gp.exact is needed, got %s"):format(core.type(model)))
  end
  local data <const> = model.x
  if data and data.shape[2] ~= 1 then
    core.raise("shape", ("plot.posterior draws one input column, the model has %d"):format(data.shape[2]))
  end
  local xs = o.x
  if xs == nil then
    local lo, hi = 0.0, 1.0
    if data and #data > 0 then lo, hi = data:min():item(), data:max():item() end
    local margin <const> = 0.05 * (hi - lo)
    xs = core.linspace(lo - margin, hi + margin, 500, {dtype = data and data.dtype or nil})
  end
  xs = vector(xs, "x")
  local p <const> = model:predict(xs)
  local level <const> = o.level or 0.95
  local y_lo <const>, y_hi <const> = p:interval(level)
  local f_lo <const>, f_hi <const> = p:interval(level, {of = "f"})
  core.eval(p.mean, y_lo, y_hi, f_lo, f_hi)
  local percent <const> = ("%g %% "):format(100 * level)
  local fig <const> = M.figure{title = o.title, xlabel = o.xlabel or "x", ylabel = o.ylabel or "y"}
    :band(xs, y_lo, y_hi, {label = percent .. "of y"})
    :band(xs, f_lo, f_hi, {label = percent .. "of f"})
    :line(xs, p.mean, {label = "mean"})
  if data and #data > 0 then fig:scatter(data:squeeze(2), model.y, {label = "data"}) end
  return fig
end

local clusters <const> = require "gibbous.plot.clusters"

--- Sorted silhouettes by cluster: s is what gb.silhouette gives.
function M.silhouette(s, opts) return clusters.silhouette(M.figure, s, opts) end

--- Inertia against k, and the k of its elbow: list of {k, inertia} or of fitted k-means.
function M.elbow(list, opts) return clusters.elbow(M.figure, list, opts) end

return require "gibbous.names"(M, "gb.plot",
  {"training", "calibration", "residuals", "convergence", "memory", "sweep"})
