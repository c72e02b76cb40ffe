--- Figures of models: how far predictions can be trusted, and what kernels mean.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local figure <const> = require "gibbous.plot.figure".figure
local kernels <const> = require "gibbous.kernels"
local metrics <const> = require "gibbous.gp.report.metrics"
local named <const> = require "gibbous.frame.named"
local options <const> = require "gibbous.base.options"
local units <const> = require "gibbous.gp.report.units"
local vector <const> = require "gibbous.plot.style".vector

local M <const> = {}

local function checked_model(model, what)
  if core.type(model) == "gp.exact" then return end
  core.raise("option", ("%s: a model of gb.gp.exact is needed, got %s"):format(what, core.type(model)))
end

-- Trust -----------------------------------------------------------------------------------------------------------------------

--- Errors of y and their predictive variances: of rows where y is finite.
local function errors_of(model, x, y, what)
  checked_model(model, what)
  local ys <const>, p <const> = vector(y, what .. ": y"), model:predict(x)
  if #ys ~= #p.mean then core.raise("shape", ("%s: x has %s, y %d: x %s, y %s"):format(what, counted(#p.mean, "row"), #ys,
    core.told(x), core.told(ys))) end
  if #ys == 0 then core.raise("shape", what .. ": there are no rows to draw") end
  local e <const> = (ys - p.mean):eval()
  return e, p.y_var:eval(), p.mean:eval()
end

--- The observed coverage of central intervals against the expected one, and where new y lie in their predictive distributions
-- (PIT: flat if these are right). x (m, d), y (m). The grey band: 95 % of what chance does to m points. o: title.
---@return gibbous.figure
function M.calibration(model, x, y, opts)
  local what <const> = "gb.plot.calibration"
  local o <const> = options.parse(opts, {title = "string"}, what)
  local e <const>, var <const> = errors_of(model, x, y, what)
  local levels <const>, seen <const>, lo <const>, hi <const> = {}, {}, {}, {}
  for i = 1, 19 do
    local p <const> = i / 20
    local spread <const> = 1.96 * math.sqrt(p * (1 - p) / #e)
    levels[i], seen[i] = p, metrics.coverage(e, var, p):item()
    lo[i], hi[i] = math.max(0, p - spread), math.min(1, p + spread)
  end
  local fig <const> = figure{rows = 1, cols = 2, title = o.title or ("calibration on %s"):format(counted(#e, "point"))}
  fig:axes{xlabel = "expected coverage", ylabel = "observed coverage", xlim = {0, 1}, ylim = {0, 1}}
    :band(levels, lo, hi, {colour = "grey", label = "chance"}):line({0, 1}, {0, 1}, {colour = "grey", width = 1, dash = "dashed"})
    :line(levels, seen, {colour = 1, marker = "circle", label = "intervals"})
  local pit <const> = (e / var:sqrt()):ndtr()
  local bins <const> = math.max(5, math.min(20, #e // 20))
  fig:panel(1, 2):axes{xlabel = "probability integral transform", ylabel = "density", xlim = {0, 1}}
    :hist(pit, {bins = bins, range = {0, 1}, density = true}):hline(1)
  return fig
end

--- Standard normal quantiles of the tensor p, by Newton's method on ndtr from the centre; steps are limited.
local function normal_quantiles(p)
  local z = p * 0
  for _ = 1, 40 do
    local density <const> = (-0.5 * z * z):exp() / math.sqrt(2 * math.pi)
    z = (z - ((z:ndtr() - p) / density):clamp(-1, 1)):eval()
  end
  return z
end

--- Standardised residuals (y - mean) / sd against the mean, and against normal quantiles. x (m, d), y (m). o: title.
---@return gibbous.figure
function M.residuals(model, x, y, opts)
  local what <const> = "gb.plot.residuals"
  local o <const> = options.parse(opts, {title = "string"}, what)
  local e <const>, var <const>, mean <const> = errors_of(model, x, y, what)
  local z <const> = (e / var:sqrt()):eval()
  local n <const> = #z
  local fig <const> = figure{rows = 1, cols = 2, title = o.title or ("residuals of %s"):format(counted(n, "point")), share_y = true}
  fig:axes{xlabel = "predicted mean", ylabel = "residual / sd"}:scatter(mean, z):hline(0, {dash = "solid"}):hline(-2):hline(2)
  local quantiles <const> = normal_quantiles((core.range(1, n) - 0.5) / n)
  local far <const> = quantiles:max():item()
  fig:panel(1, 2):axes{xlabel = "normal quantile"}:scatter(quantiles, (z:sort(1)))
    :line({-far, far}, {-far, far}, {colour = "grey", width = 1, dash = "dashed"})
  return fig
end

-- Kernels ---------------------------------------------------------------------------------------------------------------------

--- A kernel, or that of a model: k(0, r) as the first input moves, and k(x, z) as colours. o: range = {lo, hi} of the input,
-- {-3, 3}; columns: inputs of the kernel, by default those of the model's data, else 1, of which the others stay at 0; title.
---@return gibbous.figure
function M.kernel(k, opts)
  local what <const> = "gb.plot.kernel"
  local o <const> = options.parse(opts, {title = "string", range = "table", columns = "count"}, what)
  local columns, along = o.columns, ""
  if core.type(k) == "gp.exact" then
    columns = columns or k.x and k.x.shape[2]
    local name <const> = k.x and named.column(k.x, 1)
    along = (name and " of " .. name or "") .. (units.scales(k) and ", standardized" or "")
    k = k.kernel
  end
  if not kernels.is(k) then
    core.raise("option", ("%s: a kernel, or a model of gb.gp.exact, is needed, got %s"):format(what, core.type(k)))
  end
  local lo <const>, hi <const> = table.unpack(o.range or {-3, 3}, 1, 2)
  if type(lo) ~= "number" or type(hi) ~= "number" or not (lo < hi and hi - lo < math.huge) then
    core.raise("option", what .. ": option 'range' must be {lo, hi}, two numbers that ascend")
  end
  local function points(n)
    local first <const> = core.linspace(lo, hi, n):unsqueeze(2)
    local rest <const> = (columns or 1) - 1
    return first, rest > 0 and core.cat({first, core.zeros(n, rest)}, 2) or first
  end
  local axis <const>, fine <const> = points(401)
  local _ <const>, coarse <const> = points(80)
  local origin <const> = fine:slice(1, 1, 1) * 0
  local fig <const> = figure{rows = 1, cols = 2, title = o.title or tostring(k)}
  fig:axes{xlabel = "r" .. along, ylabel = "k(0, r)"}:line(axis:squeeze(2), k(origin, fine):reshape(-1))
  fig:panel(1, 2):axes{xlabel = "z", ylabel = "x", aspect = "equal"}:heatmap(k(coarse, coarse), {x = {lo, hi}, y = {lo, hi}})
  return fig
end

return M
