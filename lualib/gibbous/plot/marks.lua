--- The marks of a figure, as methods that chain: lines, points, areas, bars, maps, text.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local options <const> = require "gibbous.base.options"
local style <const> = require "gibbous.plot.style"

local methods <const> = {}

local line_spec <const> = style.spec "label colour width dash marker size alpha"
local scatter_spec <const> = style.spec "label colour marker size alpha"
local area_spec <const> = style.spec "label colour alpha"

local function add(self, kind, x, y, hi, o, more)
  local drawn <const> = style.of(o)
  for key, v in pairs(more or {}) do drawn[key] = v end
  if #x ~= #y or hi and #hi ~= #x then
    local other <const> = #x ~= #y and y or hi
    core.raise("shape", ("%s: x has %s, y %d: x %s, y %s"):format(kind, counted(#x, "value"), #other, core.told(x),
      core.told(other)))
  end
  core.eval(x, y, hi or y)
  core.figure_add(self._figure, self._panel, kind, x, y, hi, drawn)
  return self
end

local function vectors(kind, ...)
  local out <const> = {}
  for i = 1, select("#", ...) do out[i] = style.vector((select(i, ...)), ("argument %d of %s"):format(i, kind)) end
  return table.unpack(out)
end

--- fig:line(x, y, o): x, y (n); o: label, colour, width, dash, marker, size, alpha. All marks chain.
function methods.line(self, x, y, opts)
  local xs <const>, ys <const> = vectors("line", x, y)
  return add(self, "line", xs, ys, nil, options.parse(opts, line_spec, "figure:line"))
end

--- fig:scatter(x, y, o): o: label, colour, marker, size, alpha.
function methods.scatter(self, x, y, opts)
  local xs <const>, ys <const> = vectors("scatter", x, y)
  return add(self, "scatter", xs, ys, nil, options.parse(opts, scatter_spec, "figure:scatter"))
end

--- fig:band(x, lo, hi, o): o: label, colour, alpha.
function methods.band(self, x, lo, hi, opts)
  local xs <const>, low <const>, high <const> = vectors("band", x, lo, hi)
  return add(self, "band", xs, low, high, options.parse(opts, area_spec, "figure:band"))
end

--- fig:errorbar(x, y, err, o): vertical bars from y - err to y + err, or from y - err[1] to y + err[2], and a dot at y.
function methods.errorbar(self, x, y, err, opts)
  local o <const> = options.parse(opts, style.spec "label colour width marker size alpha", "figure:errorbar")
  local both <const> = type(err) == "table" and getmetatable(err) == nil and type(err[1]) ~= "number" and #err == 2
  local xs <const>, ys <const>, down <const> = vectors("errorbar", x, y, both and err[1] or err)
  local up <const> = both and vectors("errorbar", err[2]) or down
  if #down ~= #ys or #up ~= #ys then
    core.raise("shape", ("errorbar: y has %s, the errors %d"):format(counted(#ys, "value"), #down ~= #ys and #down or #up))
  end
  local bars <const> = {colour = o.colour, width = o.width, alpha = o.alpha}
  add(self, "errors", xs, ys - down, ys + up, bars)
  return add(self, "scatter", xs, ys, nil, o)
end

--- fig:bars(at, lengths, o): horizontal bars from 0 around their heights: at, lengths (n); o: label, colour, alpha, width: how high
-- each is, in units of y, 1.
function methods.bars(self, at, lengths, opts)
  local y <const>, x <const> = vectors("bars", at, lengths)
  local o <const> = options.parse(opts, style.spec("label colour alpha", {width = style.is_extent}), "figure:bars")
  return add(self, "bars", x, y, nil, {label = o.label, colour = o.colour, alpha = o.alpha}, o.width and {extent = o.width})
end

--- fig:columns(at, heights, o): vertical bars from 0; o: label, colour, alpha, width: in units of x, 0.8.
function methods.columns(self, at, heights, opts)
  local x <const>, y <const> = vectors("columns", at, heights)
  local o <const> = options.parse(opts, style.spec("label colour alpha", {width = style.is_extent}), "figure:columns")
  return add(self, "columns", x, y, nil, {label = o.label, colour = o.colour, alpha = o.alpha}, {extent = o.width or 0.8})
end

local function finite_values(v, what)
  local out <const> = {}
  for _, one in ipairs(style.vector(v, what):totable()) do
    if math.abs(one) < math.huge then out[#out + 1] = one end
  end
  return out
end

local MOST_BINS <const> = 1000000

local function is_range(r)
  local lo <const>, hi <const> = r[1], r[2]
  return getmetatable(r) == nil and type(lo) == "number" and type(hi) == "number" and lo <= hi and hi - lo < math.huge
end

--- fig:hist(values, o): counts of the finite values in bins of equal width. o: bins = 10, range = {lo, hi}, density: so that the
-- area is 1; label, colour, alpha.
function methods.hist(self, values, opts)
  local o <const> = options.parse(opts, style.spec("label colour alpha", {bins = "count", range = "table", density = "boolean"}),
    "figure:hist")
  if o.bins and (o.bins < 1 or o.bins > MOST_BINS) then
    core.raise("option", ("figure:hist: option 'bins' must be 1 to %d, got %d"):format(MOST_BINS, o.bins))
  end
  if o.range and not is_range(o.range) then
    core.raise("option", "figure:hist: option 'range' must be {lo, hi}, two finite numbers, lo <= hi")
  end
  local list <const> = finite_values(values, "argument 1 of hist")
  if #list == 0 then return add(self, "columns", core.zeros(0), core.zeros(0), nil, {label = o.label, colour = o.colour}) end
  local counts <const>, edges <const> = require "gibbous.tensor.segments".histogram(core.tensor(list), {bins = o.bins or nil,
    range = o.range or nil}, "figure:hist")
  local n <const> = #edges - 1
  local lo <const>, hi <const> = edges[1]:item(), edges[n + 1]:item()
  local width <const> = (hi - lo) / n
  local heights = counts:to{dtype = "f64"}
  if o.density then heights = heights / (#list * width) end
  local at <const> = core.linspace(lo + width / 2, hi - width / 2, n)
  return add(self, "columns", at, heights, nil, {label = o.label, colour = o.colour, alpha = o.alpha}, {extent = width})
end

local function matrix(values, what)
  local t <const> = core.as_tensor(values)
  if t == nil or t.ndim ~= 2 then core.raise("shape", what .. ": a matrix expected") end
  if t.numel == 0 then
    core.raise("shape", ("%s: there is no cell to draw, the matrix has shape %s"):format(what, core.told(t)))
  end
  return t
end

--- {first, last} of an option that names the centres of the outer cells.
local function centres(given, n, name, what)
  local v <const> = given or {1, n}
  if type(v[1]) ~= "number" or type(v[2]) ~= "number" or not (v[1] < v[2] or n == 1 and v[1] == v[2]) then
    core.raise("option", ("%s: option '%s' must be {first, last}, two numbers that ascend"):format(what, name))
  end
  return v[1], v[2]
end

--- Values (rows, columns) as colours, with a colour bar; row 1 at the bottom. o: x = {first, last}, y = {first, last}: centres of
-- the outer cells; limits = {lo, hi}: the values of the darkest and the lightest colour; label: beside the colour bar.
function methods.heatmap(self, values, opts)
  local o <const> = options.parse(opts, {x = "table", y = "table", limits = "table", label = "string"}, "figure:heatmap")
  local t <const> = matrix(values, "heatmap")
  local x0 <const>, x1 <const> = centres(o.x, t.shape[2], "x", "figure:heatmap")
  local y0 <const>, y1 <const> = centres(o.y, t.shape[1], "y", "figure:heatmap")
  local lo <const>, hi <const> = table.unpack(o.limits or {}, 1, 2)
  if o.limits and not (type(lo) == "number" and type(hi) == "number" and lo < hi) then
    core.raise("option", "figure:heatmap: option 'limits' must be {lo, hi}, two numbers that ascend")
  end
  core.figure_heatmap(self._figure, self._panel, t, x0, x1, y0, y1, {label = o.label or nil, low = lo, high = hi})
  return self
end

--- About 'count' round levels inside (lo, hi).
local function round_levels(lo, hi, count)
  local out <const> = {}
  if not (lo < hi and hi - lo < math.huge) then return out end
  local raw <const> = (hi - lo) / (count + 1)
  local power <const> = 10.0 ^ math.floor(math.log(raw, 10))
  local step = 10 * power
  for _, m in ipairs{5, 2.5, 2, 1} do
    if m * power >= raw then step = m * power end
  end
  for i = math.floor(lo / step) + 1, math.ceil(hi / step) - 1 do out[#out + 1] = i * step end
  return out
end

--- fig:contour(values, o): lines of equal value of a matrix (rows, columns). o: x, y as for a heat map; levels: a number of round
-- ones, 8, or a list; labels = false: without their values; colour (default: by the value), width, dash, alpha, label.
function methods.contour(self, values, opts)
  local what <const> = "figure:contour"
  local o <const> = options.parse(opts, style.spec("label colour width dash alpha", {x = "table", y = "table",
    levels = "count|table", labels = "boolean"}), what)
  local t <const> = matrix(values, "contour")
  local x0 <const>, x1 <const> = centres(o.x, t.shape[2], "x", what)
  local y0 <const>, y1 <const> = centres(o.y, t.shape[1], "y", what)
  local list <const> = core.tensor(finite_values(t:reshape(-1), what))
  if #list == 0 then return self end
  local lo <const>, hi <const> = list:min():item(), list:max():item()
  local levels <const> = type(o.levels) == "table" and o.levels or round_levels(lo, hi, o.levels or 8)
  local label = o.label or nil
  for _, level in ipairs(levels) do
    if type(level) ~= "number" then core.raise("option", what .. ": levels must be numbers") end
    local colour <const> = o.colour or style.map(hi > lo and 0.85 * (level - lo) / (hi - lo) or 0.5)
    local drawn <const> = style.of{label = label, width = o.width or 1.2, dash = o.dash or "solid", alpha = o.alpha,
      colour = colour}
    local px <const>, py <const> = core.figure_contour(self._figure, self._panel, t, x0, x1, y0, y1, level, drawn)
    if px then label = nil end
    if px and o.labels ~= false then self:note(px, py, ("%.4g"):format(level), {size = 9, colour = colour}) end
  end
  return self
end

local function coordinate(v, name, what)
  if type(v) == "number" then return v end
  local t <const> = core.as_tensor(v)
  if t ~= nil and t.numel == 1 then return t:item() end
  core.raise("option", ("%s: %s must be a number, got %s"):format(what, name, core.type(v)))
end

--- fig:note(x, y, text, o): text centred at a point of the axes; o: colour, size.
function methods.note(self, x, y, text, opts)
  local o <const> = options.parse(opts, style.spec "colour size", "figure:note")
  if type(text) ~= "string" then core.raise("option", ("figure:note: text must be a string, got %s"):format(core.type(text))) end
  local drawn <const> = style.of(o)
  drawn.label = text
  core.figure_at(self._figure, self._panel, "text", coordinate(x, "x", "figure:note"), coordinate(y, "y", "figure:note"), drawn)
  return self
end

local across_spec <const> = style.spec "label colour width dash alpha"

--- fig:hline(y, o): a line across the panel; o: label, colour, width, dash, alpha.
function methods.hline(self, y, opts)
  local o <const> = style.of(options.parse(opts, across_spec, "figure:hline"))
  core.figure_at(self._figure, self._panel, "hline", 0, coordinate(y, "y", "figure:hline"), o)
  return self
end

--- fig:vline(x, o): a line up the panel.
function methods.vline(self, x, opts)
  local o <const> = style.of(options.parse(opts, across_spec, "figure:vline"))
  core.figure_at(self._figure, self._panel, "vline", coordinate(x, "x", "figure:vline"), 0, o)
  return self
end

return methods
