--- A figure: panels in rows and columns, each with two axes and a list of marks, drawn to SVG, PNG or PDF, or into the terminal.
local axes <const> = require "gibbous.plot.axes"
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.object"
local options <const> = require "gibbous.options"
local screen <const> = require "gibbous.plot.screen"
local style <const> = require "gibbous.plot.style"

---@class gibbous.figure
local Figure <const> = {__name = "gibbous.figure"}
local methods <const> = object.methods(Figure, "a figure", "fig")

function Figure.__index(_, key)
  if methods[key] then return methods[key] end
  object.no_field("a figure", key, methods)
end

-- Marks -----------------------------------------------------------------------------------------------------------------------

local line_spec <const> = style.spec "label colour width dash marker size alpha"
local scatter_spec <const> = style.spec "label colour marker size alpha"
local area_spec <const> = style.spec "label colour alpha"

local function add(self, kind, x, y, hi, o, more)
  local drawn <const> = style.of(o)
  for key, v in pairs(more or {}) do drawn[key] = v end
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
    core.raise("shape", ("errorbar: y has %d values, the errors %d"):format(#ys, #down ~= #ys and #down or #up))
  end
  local bars <const> = {colour = o.colour, width = o.width, alpha = o.alpha}
  add(self, "errors", xs, ys - down, ys + up, bars)
  return add(self, "scatter", xs, ys, nil, o)
end

--- fig:bars(at, lengths, o): horizontal bars from 0 around their heights: at, lengths (n); o: label, colour, alpha, width: how high
-- each is, in units of y, 1.
function methods.bars(self, at, lengths, opts)
  local y <const>, x <const> = vectors("bars", at, lengths)
  local o <const> = options.parse(opts, style.spec("label colour width alpha"), "figure:bars")
  return add(self, "bars", x, y, nil, {label = o.label, colour = o.colour, alpha = o.alpha}, o.width and {extent = o.width})
end

--- fig:columns(at, heights, o): vertical bars from 0; o: label, colour, alpha, width: in units of x, 0.8.
function methods.columns(self, at, heights, opts)
  local x <const>, y <const> = vectors("columns", at, heights)
  local o <const> = options.parse(opts, style.spec("label colour width alpha"), "figure:columns")
  return add(self, "columns", x, y, nil, {label = o.label, colour = o.colour, alpha = o.alpha}, {extent = o.width or 0.8})
end

local function finite_values(v, what)
  local out <const> = {}
  for _, one in ipairs(style.vector(v, what):totable()) do
    if math.abs(one) < math.huge then out[#out + 1] = one end
  end
  return out
end

--- fig:hist(values, o): counts of the finite values in bins of equal width. o: bins = 10, range = {lo, hi}, density: so that the
-- area is 1; label, colour, alpha.
function methods.hist(self, values, opts)
  local o <const> = options.parse(opts, style.spec("label colour alpha", {bins = "count", range = "table", density = "boolean"}),
    "figure:hist")
  if o.bins == 0 then core.raise("option", "figure:hist: option 'bins' must be 1 or more, got number 0") end
  local list <const> = finite_values(values, "argument 1 of hist")
  if #list == 0 then return add(self, "columns", core.zeros(0), core.zeros(0), nil, {label = o.label, colour = o.colour}) end
  local counts <const>, edges <const> = require "gibbous.segments".histogram(core.tensor(list), {bins = o.bins or nil,
    range = o.range or nil})
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
    core.raise("shape", ("%s: there is no cell to draw, the matrix has shape %s"):format(what, tostring(t.shape)))
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

-- Panels and axes -------------------------------------------------------------------------------------------------------------

--- fig:panel(row, column): the same figure, whose marks and axes are those of this panel. fig:panel(2, 1):line(x, y)
function methods.panel(self, row, column)
  local r <const>, c <const> = math.tointeger(row), math.tointeger(column or 1)
  if r == nil or c == nil or r < 1 or c < 1 or r > self._rows or c > self._columns then
    core.raise("option", ("figure:panel: there is no panel (%s, %s); the figure has %d row%s and %d column%s"):format(tostring(row),
      tostring(column or 1), self._rows, self._rows == 1 and "" or "s", self._columns, self._columns == 1 and "" or "s"))
  end
  local k <const> = (r - 1) * self._columns + c
  return setmetatable({_figure = self._figure, _panel = k, _rows = self._rows, _columns = self._columns, _made = self._made,
    _logs = self._logs}, Figure)
end

--- Sets title, xlabel, ylabel, xlim, ylim, xscale, yscale, xticks, yticks, legend, aspect, grid, colour_bar of this panel.
function methods.axes(self, opts)
  local o <const> = options.parse(opts, axes.spec, "figure:axes")
  local logs <const> = self._logs[self._panel]
  local given <const>, named <const> = axes.checked(o, "figure:axes", logs)
  logs.x, logs.y = given.xlog, given.ylog
  axes.set(self._figure, self._panel, given, named)
  return self
end

-- Output ----------------------------------------------------------------------------------------------------------------------

--- Writes the figure; the ending of the path says how: .svg .png .pdf. o: width, height in points. The file says how it was made.
function methods.save(self, path, opts)
  if type(path) ~= "string" then
    error(("bad argument #1 to 'save' (string expected, got %s)"):format(type(path)), 2)
  end
  local o <const> = options.parse(opts, {width = "positive", height = "positive"}, "figure:save")
  core.figure_save(self._figure, path, o.width or 720, o.height or 440 + 160 * (math.min(self._rows, 4) - 1), self._made)
  return self
end

--- The figure as text; o.ascii: without characters beyond ASCII.
function methods.text(self, columns, rows, opts)
  local o <const> = options.parse(opts, {ascii = "boolean"}, "figure:text")
  local w <const>, h <const> = core.terminal()
  return core.figure_text(self._figure, columns or w, rows or h, false, o.ascii or false)
end

--- Draws the figure where the script's output goes: a picture in a terminal that says that it shows them (kitty, sixel), else
-- characters, ASCII where the locale is not UTF-8. GIBBOUS_GRAPHICS = kitty, sixel, braille or off decides otherwise. Gives
-- nothing, so that the prompt has nothing more to draw: it ends a chain.
function methods.show(self)
  local columns <const>, rows <const>, tty <const>, pixels <const> = core.terminal()
  local kind <const> = screen.kind(tty)
  if kind == "off" then return end
  if kind == "kitty" or kind == "sixel" then
    local width <const> = math.max(400, math.min(pixels > 0 and math.floor(0.8 * pixels) or 900, 1400))
    local height <const> = math.floor(width * (0.61 + 0.22 * (math.min(self._rows, 4) - 1)))
    io.write(core.figure_inline(self._figure, kind, width, height))
    return
  end
  io.write(core.figure_text(self._figure, columns, rows, tty and not os.getenv "NO_COLOR", kind == "ascii"))
end

function Figure.__tostring(self)
  local columns <const>, rows <const>, tty <const> = core.terminal()
  return core.figure_text(self._figure, columns, rows, false, tty and not screen.is_utf8())
end

-- Making ----------------------------------------------------------------------------------------------------------------------

local spec <const> = {rows = "count", cols = "count", share_x = "boolean", share_y = "boolean"}
for key, rule in pairs(axes.spec) do spec[key] = rule end

--- How a figure was made, for its files: the version, the script's line, the seed of gb.seed.
local function made()
  local where <const>, seed <const> = core.figure_origin()
  return ("gibbous %s; %s; seed %d"):format(core.version, where ~= "" and "made at " .. where or "made outside of a script", seed)
end

local M <const> = {}

local MOST <const> = 8

local function side(o, name)
  local n <const> = o[name] or 1
  if n >= 1 and n <= MOST then return n end
  core.raise("option", ("gb.plot.figure: option '%s' must be 1 to %d, got %d"):format(name, MOST, n))
end

--- gb.plot.figure{title, xlabel, ylabel, xlim, ylim, xscale, yscale, xticks, yticks, legend, aspect, grid, colour_bar; rows, cols,
-- share_x, share_y}. Of several panels the title is above all, and the rest is of each.
function M.figure(opts)
  local what <const> = "gb.plot.figure"
  local o <const> = options.parse(opts, spec, what)
  local rows <const>, columns <const> = side(o, "rows"), side(o, "cols")
  local given <const>, named <const> = axes.checked(o, what)
  local several <const> = rows * columns > 1
  local figure <const> = core.figure(rows, columns, several and o.title or "", o.share_x or false, o.share_y or false)
  if several then given.title = nil end
  local logs <const> = {}
  for k = 1, rows * columns do
    logs[k] = {x = given.xlog, y = given.ylog}
    axes.set(figure, k, given, named)
  end
  return setmetatable({_figure = figure, _panel = 1, _rows = rows, _columns = columns, _made = made(), _logs = logs}, Figure)
end

return M
