--- Figures: one list of series, drawn to SVG, PNG or PDF, or into the terminal.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.object"
local options <const> = require "gibbous.options"

---@class gibbous.figure
local Figure <const> = {__name = "gibbous.figure"}
local methods <const> = object.methods(Figure, "a figure", "fig")

function Figure.__index(_, key)
  if methods[key] then return methods[key] end
  object.no_field("a figure", key, methods)
end

local function vector(v, what)
  if type(v) == "table" and getmetatable(v) == nil then v = core.tensor(v) end
  local t <const> = core.as_tensor(v)
  if t == nil then core.raise("option", ("%s must be a tensor or list, got %s"):format(what, type(v))) end
  if t.ndim == 2 and t.shape[2] == 1 then return t:squeeze(2) end
  if t.ndim ~= 1 then
    core.raise("shape", ("%s must be a vector, got shape %s"):format(what, tostring(t.shape)))
  end
  return t
end

local series_spec <const> = {label = "string", colour = "count"}

local function series(kind, columns)
  return function(self, ...)
    local data <const> = {}
    for i = 1, columns do data[i] = vector((select(i, ...)), ("argument %d of %s"):format(i, kind)) end
    local o <const> = options.parse((select(columns + 1, ...)), series_spec, "figure:" .. kind)
    core.eval(table.unpack(data))
    core.figure_add(self._figure, kind, data[1], data[2], data[3], o.label, o.colour)
    return self
  end
end

--- fig:line(x, y, o), fig:scatter(x, y, o), fig:band(x, lo, hi, o): x, y (n); o: label, colour (1 ..). All chain.
methods.line = series("line", 2)
methods.scatter = series("scatter", 2)
methods.band = series("band", 3)

--- fig:bars(at, lengths, o): horizontal bars from 0, each one unit high around its height: at, lengths (n); o: label, colour.
function methods.bars(self, at, lengths, opts)
  local y <const>, x <const> = vector(at, "argument 1 of bars"), vector(lengths, "argument 2 of bars")
  local o <const> = options.parse(opts, series_spec, "figure:bars")
  core.eval(y, x)
  core.figure_add(self._figure, "bars", x, y, nil, o.label, o.colour)
  return self
end

--- Values (rows, columns) as colours; row 1 at the bottom. o: x = {first, last}, y = {first, last}: centres of the outer cells.
function methods.heatmap(self, values, opts)
  local o <const> = options.parse(opts, {x = "table", y = "table"}, "figure:heatmap")
  local t <const> = core.as_tensor(values)
  if t == nil or t.ndim ~= 2 then core.raise("shape", "heatmap: a matrix expected") end
  if t.numel == 0 then
    core.raise("shape", ("heatmap: there is no cell to draw, the matrix has shape %s"):format(tostring(t.shape)))
  end
  local x <const>, y <const> = o.x or {1, t.shape[2]}, o.y or {1, t.shape[1]}
  core.figure_heatmap(self._figure, t, x[1], x[2], y[1], y[2])
  return self
end

--- Writes the figure; the ending of the path says how: .svg .png .pdf. o: width, height in points.
function methods.save(self, path, opts)
  if type(path) ~= "string" then
    error(("bad argument #1 to 'save' (string expected, got %s)"):format(type(path)), 2)
  end
  local o <const> = options.parse(opts, {width = "positive", height = "positive"}, "figure:save")
  core.figure_save(self._figure, path, o.width or 720, o.height or 440)
  return self
end

--- The figure as text.
function methods.text(self, columns, rows)
  local w <const>, h <const> = core.terminal()
  return core.figure_text(self._figure, columns or w, rows or h, false)
end

function methods.show(self)
  local columns <const>, rows <const>, tty <const> = core.terminal()
  io.write(core.figure_text(self._figure, columns, rows, tty and not os.getenv "NO_COLOR"))
  return self
end

function Figure.__tostring(self) return methods.text(self) end

local M <const> = {}

--- Heights and names of a list of {height, name}.
local function checked_ticks(list)
  local at <const>, names <const> = {}, {}
  for i, tick in ipairs(list) do
    local is_pair <const> = type(tick) == "table" and getmetatable(tick) == nil
    if not is_pair or type(tick[1]) ~= "number" or type(tick[2]) ~= "string" then
      core.raise("option",
        ("gb.plot.figure: option 'yticks' must be a list of {height, name}, element %d is not such a list"):format(i))
    end
    at[i], names[i] = tick[1], tick[2]
  end
  return at, names
end

--- gb.plot.figure{title, xlabel, ylabel, yticks}; yticks: a list of {height, name}, in place of numbers.
function M.figure(opts)
  local o <const> = options.parse(opts, {title = "string", xlabel = "string", ylabel = "string", yticks = "table"},
    "gb.plot.figure")
  local figure <const> = core.figure(o.title or "", o.xlabel or "", o.ylabel or "")
  if o.yticks then core.figure_ticks(figure, checked_ticks(o.yticks)) end
  return setmetatable({_figure = figure}, Figure)
end

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
