--- A figure: panels in rows and columns, each with two axes and a list of marks, drawn to SVG, PNG or PDF, or into the terminal.
local axes <const> = require "gibbous.plot.axes"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local progress_line <const> = require "gibbous.text.progress_line"
local screen <const> = require "gibbous.plot.screen"
local subject <const> = require "gibbous.tensor.subject"

---@class gibbous.figure
local Figure <const> = {__name = "gibbous.figure"}
local methods <const> = object.methods(Figure, "a figure", "fig")

function Figure.__index(_, key)
  if methods[key] then return methods[key] end
  object.no_field("a figure", key, methods)
end

for name, f in pairs(require "gibbous.plot.marks") do methods[name] = f end

-- Panels and axes -------------------------------------------------------------------------------------------------------------

--- fig:panel(row, column): the same figure, whose marks and axes are those of this panel. fig:panel(2, 1):line(x, y)
function methods.panel(self, row, column)
  local r <const>, c <const> = options.whole(row), options.whole(column or 1)
  if r == nil or c == nil then
    core.raise("option", ("figure:panel: row and column must be whole numbers, got %s"):format(options.shown(r and column or row)))
  end
  if r < 1 or c < 1 or r > self._rows or c > self._columns then
    core.raise("option", ("figure:panel: there is no panel (%s, %s); the figure has %s and %s"):format(tostring(row),
      tostring(column or 1), counted(self._rows, "row"), counted(self._columns, "column")))
  end
  local k <const> = (r - 1) * self._columns + c
  return setmetatable({_figure = self._figure, _panel = k, _rows = self._rows, _columns = self._columns, _made = self._made,
    _said = self._said}, Figure)
end

--- Sets title, xlabel, ylabel, xlim, ylim, xscale, yscale, xticks, yticks, legend, aspect, grid, colour_bar of this panel.
function methods.axes(self, opts)
  local o <const> = options.parse(opts, axes.spec, "figure:axes")
  local given <const>, named <const> = axes.checked(o, "figure:axes", self._said[self._panel])
  axes.set(self._figure, self._panel, given, named)
  return self
end

-- Output ----------------------------------------------------------------------------------------------------------------------

--- Writes the figure; the ending of the path says how: .svg .png .pdf. o: width, height in points. The file says how it was made.
function methods.save(self, path, opts)
  subject.path(path, "fig:save(path)")
  local o <const> = options.parse(opts, {width = "positive", height = "positive"}, "figure:save")
  local width <const>, height <const> = o.width or 720, o.height or 440 + 160 * (math.min(self._rows, 4) - 1)
  if not (width >= 10 and width <= 14400 and height >= 10 and height <= 14400) then
    core.raise("option", ("figure:save: width and height are 10 to 14400 points, got %g x %g"):format(width, height))
  end
  core.figure_save(self._figure, path, width, height, self._made)
  return self
end

--- The figure as text; o.ascii: without characters beyond ASCII.
function methods.text(self, columns, rows, opts)
  local o <const> = options.parse(opts, {ascii = "boolean"}, "figure:text")
  local w <const>, h <const> = core.terminal()
  local function fits(v, least) return v == nil or options.integral(v) and v >= least and v <= 1000 end
  if not fits(columns, 20) or not fits(rows, 8) then
    core.raise("option", ("figure:text: 20 to 1000 columns and 8 to 1000 rows are drawn, got %s x %s"):format(
      options.got(columns or w), options.got(rows or h)))
  end
  return core.figure_text(self._figure, columns or w, rows or h, false, o.ascii or false)
end

--- Rows for a figure whose height is not given: eight a panel at least.
local function comfortable(self, rows)
  return math.max(rows, math.min(8 * self._rows + 1, 1000))
end

--- Draws the figure where the script's output goes: a picture in a terminal that says that it shows them (kitty, sixel), else
-- characters, ASCII where the locale is not UTF-8. GIBBOUS_GRAPHICS = kitty, sixel, braille or off decides otherwise. Gives
-- nothing, so that the prompt has nothing more to draw: it ends a chain.
function methods.show(self, more)
  if more ~= nil then
    core.raise("option", ("figure:show takes nothing, got %s; fig:text(columns, rows) has a size"):format(options.shown(more)))
  end
  local columns <const>, rows <const>, tty <const>, pixels <const> = core.terminal()
  local kind <const> = screen.kind(tty)
  if kind == "off" then return end
  if kind == "kitty" or kind == "sixel" then
    local width <const> = math.max(400, math.min(pixels > 0 and math.floor(0.8 * pixels) or 900, 1400))
    local height <const> = math.floor(width * (0.61 + 0.22 * (math.min(self._rows, 4) - 1)))
    io.write(core.figure_inline(self._figure, kind, width, height))
    return
  end
  io.write(core.figure_text(self._figure, columns, comfortable(self, rows), screen.is_coloured(tty), kind == "ascii"))
end

function Figure.__tostring(self)
  local columns <const>, rows <const>, tty <const> = core.terminal()
  return core.figure_text(self._figure, columns, comfortable(self, rows), false, tty and not progress_line.is_utf8())
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
  local given <const>, named <const> = axes.checked(o, what, {})
  local several <const> = rows * columns > 1
  local figure <const> = core.figure(rows, columns, several and o.title or "", o.share_x or false, o.share_y or false)
  if several then given.title = nil end
  local said <const> = {}
  for k = 1, rows * columns do
    said[k] = {}
    for key in pairs(axes.spec) do said[k][key] = o[key] end
    if several then said[k].title = nil end
    axes.set(figure, k, given, named)
  end
  return setmetatable({_figure = figure, _panel = 1, _rows = rows, _columns = columns, _made = made(), _said = said}, Figure)
end

return M
