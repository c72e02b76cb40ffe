--- Figures of models: what they predict, how far it can be trusted, and what their kernels mean.
local core <const> = require "gibbous.core"
local figure <const> = require "gibbous.plot.figure".figure
local kernels <const> = require "gibbous.kernels"
local metrics <const> = require "gibbous.gp.report.metrics"
local named <const> = require "gibbous.frame.named"
local options <const> = require "gibbous.options"
local vector <const> = require "gibbous.plot.style".vector

local M <const> = {}

local TEXTS <const> = {title = "string", xlabel = "string", ylabel = "string"}

local function spec_with(more)
  local out <const> = {}
  for key, rule in pairs(TEXTS) do out[key] = rule end
  for key, rule in pairs(more) do out[key] = rule end
  return out
end

-- Posteriors ------------------------------------------------------------------------------------------------------------------

local GRID <const> = 50                        -- points along each side of a picture of two inputs

--- The range of a column of the data with a margin; of no data, 0 to 1.
local function range_of(column)
  local lo, hi = 0.0, 1.0
  if column and #column > 0 then lo, hi = column:min():item(), column:max():item() end
  local margin <const> = 0.05 * (hi > lo and hi - lo or 1)
  return lo - margin, hi + margin
end

local function level_of(o, what)
  local level <const> = o.level or 0.95
  if not (level > 0 and level < 1) then
    core.raise("option", ("%s: option 'level' must be between 0 and 1, got %g"):format(what, level))
  end
  return level
end

--- Draws of f, thin and grey.
local function draw_samples(fig, xs, p, o)
  if not o.samples or o.samples == 0 then return end
  local drawn <const> = p:sample(o.samples, {seed = o.seed or nil}):eval()
  for i = 1, o.samples do
    fig:line(xs, drawn[i], {label = i == 1 and "draws of f" or nil, colour = "grey", width = 0.9, alpha = 0.8})
  end
end

local function curve(model, data, o)
  local xs = o.x
  if xs == nil then
    local lo <const>, hi <const> = range_of(data)
    xs = core.linspace(lo, hi, 500, {dtype = data and data.dtype or nil})
  end
  xs = vector(xs, "x")
  local p <const>, level <const> = model:predict(xs), level_of(o, "gb.plot.posterior")
  local y_lo <const>, y_hi <const> = p:interval(level)
  local f_lo <const>, f_hi <const> = p:interval(level, {of = "f"})
  core.eval(p.mean, y_lo, y_hi, f_lo, f_hi)
  local percent <const> = ("%g %% "):format(100 * level)
  local fig <const> = figure{title = o.title, xlabel = o.xlabel or data and named.column(data, 1) or "x",
    ylabel = o.ylabel or data and named.column(model.y, 1) or "y"}
    :band(xs, y_lo, y_hi, {label = percent .. "of y", colour = 1})
    :band(xs, f_lo, f_hi, {label = percent .. "of f", colour = 1})
  draw_samples(fig, xs, p, o)
  fig:line(xs, p.mean, {label = "mean", colour = 1})
  if data and #data > 0 then fig:scatter(data:squeeze(2), model.y, {label = "data", colour = 2}) end
  return fig
end

--- Mean and standard deviation of f over two inputs, side by side, with the data.
local function map(model, data, o)
  for _, name in ipairs{"x", "samples", "seed"} do
    if o[name] ~= nil then
      core.raise("option", ("gb.plot.posterior: option '%s' is of one input column, the model has 2"):format(name))
    end
  end
  local x0 <const>, x1 <const> = range_of(data:select(2, 1))
  local y0 <const>, y1 <const> = range_of(data:select(2, 2))
  local make <const> = {dtype = data.dtype}
  local across <const>, up <const> = core.linspace(x0, x1, GRID, make), core.linspace(y0, y1, GRID, make)
  local zero <const> = core.zeros(GRID, GRID, make)
  local points <const> = core.stack({(zero + across:unsqueeze(1)):reshape(-1), (zero + up:unsqueeze(2)):reshape(-1)}, 2)
  local p <const> = model:predict(points)
  local mean <const>, sd <const> = p.mean:reshape(GRID, GRID), p.f_var:clamp(0, math.huge):sqrt():reshape(GRID, GRID)
  core.eval(mean, sd)
  local fig <const> = figure{rows = 1, cols = 2, title = o.title, xlabel = o.xlabel or named.column(data, 1) or "x1",
    ylabel = o.ylabel or named.column(data, 2) or "x2",
    share_y = true}
  local where <const> = {x = {x0, x1}, y = {y0, y1}}
  for i, v in ipairs{mean, sd} do
    fig:panel(1, i):axes{title = i == 1 and "mean" or "standard deviation of f"}:heatmap(v, where)
      :contour(v, {x = where.x, y = where.y, levels = 6, colour = "white", labels = false})
    if #data > 0 then
      fig:panel(1, i):scatter(data:select(2, 1), data:select(2, 2), {colour = "red", size = 4})
    end
  end
  return fig
end

local function checked_model(model, what)
  if core.type(model) == "gp.exact" then return end
  core.raise("option", ("%s: a model of gb.gp.exact is needed, got %s"):format(what, core.type(model)))
end

--- A model with one input column: mean, bands of f and of y, and the data. With two: mean and standard deviation of f as colours.
-- Axes are called as the columns of the frame are that the data come from.
-- o: of one column, x (points to draw at) and samples (draws of f, with their seed); level = 0.95, title, xlabel, ylabel.
---@return gibbous.figure
function M.posterior(model, opts)
  local spec <const> = spec_with{x = "any", level = "number", samples = "count", seed = "integer"}
  local o <const> = options.parse(opts, spec, "gb.plot.posterior")
  checked_model(model, "gb.plot.posterior")
  local data <const> = model.x
  local columns <const> = data and data.shape[2] or 1
  if columns > 2 then
    core.raise("shape", ("gb.plot.posterior draws one or two input columns, the model has %d"):format(columns))
  end
  return (columns == 2 and map or curve)(model, data, o)
end

-- Trust -----------------------------------------------------------------------------------------------------------------------

--- Errors of y and their predictive variances: of rows where y is finite.
local function errors_of(model, x, y, what)
  checked_model(model, what)
  local ys <const>, p <const> = vector(y, what .. ": y"), model:predict(x)
  if #ys ~= #p.mean then core.raise("shape", ("%s: x has %d rows, y %d"):format(what, #p.mean, #ys)) end
  if #ys == 0 then core.raise("shape", what .. ": there are no rows to draw") end
  local e <const> = (ys - p.mean):eval()
  return e, p.y_var:eval(), p.mean:eval()
end

--- How often intervals hold what they promise, and where new y lie in their predictive distributions (PIT: flat where these are
-- right). x (m, d), y (m). The grey band: 95 % of what chance does to m points. o: title.
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
  local fig <const> = figure{rows = 1, cols = 2, title = o.title or ("calibration on %d points"):format(#e)}
  fig:axes{xlabel = "promised", ylabel = "held", xlim = {0, 1}, ylim = {0, 1}}
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
  local fig <const> = figure{rows = 1, cols = 2, title = o.title or ("residuals of %d points"):format(n), share_y = true}
  fig:axes{xlabel = "predicted mean", ylabel = "residual / sd"}:scatter(mean, z):hline(0, {dash = "solid"}):hline(-2):hline(2)
  local quantiles <const> = normal_quantiles((core.range(1, n) - 0.5) / n)
  local far <const> = quantiles:max():item()
  fig:panel(1, 2):axes{xlabel = "normal quantile"}:scatter(quantiles, (z:sort(1)))
    :line({-far, far}, {-far, far}, {colour = "grey", width = 1, dash = "dashed"})
  return fig
end

-- Kernels ---------------------------------------------------------------------------------------------------------------------

--- A kernel, or that of a model: k(0, r) as the first input moves, and k(x, z) as colours. o: range = {lo, hi} of the input,
-- {-3, 3}; columns: inputs of the kernel, 1, of which the others stay at 0; title.
---@return gibbous.figure
function M.kernel(k, opts)
  local what <const> = "gb.plot.kernel"
  local o <const> = options.parse(opts, {title = "string", range = "table", columns = "count"}, what)
  if core.type(k) == "gp.exact" then k = k.kernel end
  if not kernels.is(k) then
    core.raise("option", ("%s: a kernel, or a model, is needed, got %s"):format(what, core.type(k)))
  end
  local lo <const>, hi <const> = table.unpack(o.range or {-3, 3}, 1, 2)
  if type(lo) ~= "number" or type(hi) ~= "number" or not (lo < hi and hi - lo < math.huge) then
    core.raise("option", what .. ": option 'range' must be {lo, hi}, two numbers that ascend")
  end
  local function points(n)
    local first <const> = core.linspace(lo, hi, n):unsqueeze(2)
    local rest <const> = (o.columns or 1) - 1
    return first, rest > 0 and core.cat({first, core.zeros(n, rest)}, 2) or first
  end
  local axis <const>, fine <const> = points(401)
  local _ <const>, coarse <const> = points(80)
  local origin <const> = fine:slice(1, 1, 1) * 0
  local fig <const> = figure{rows = 1, cols = 2, title = o.title or tostring(k)}
  fig:axes{xlabel = "r", ylabel = "k(0, r)"}:line(axis:squeeze(2), k(origin, fine):reshape(-1))
  fig:panel(1, 2):axes{xlabel = "z", ylabel = "x", aspect = "equal"}:heatmap(k(coarse, coarse), {x = {lo, hi}, y = {lo, hi}})
  return fig
end

return M
