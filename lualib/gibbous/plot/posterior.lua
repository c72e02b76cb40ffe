--- What a model predicts: curves of one input, maps of two, slices through more; a panel for each task.
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local figure <const> = require "gibbous.plot.figure".figure
local named <const> = require "gibbous.frame.named"
local options <const> = require "gibbous.base.options"
local vector <const> = require "gibbous.plot.style".vector

local WHAT <const> = "gb.plot.posterior"
local SPEC <const> = {title = "string", xlabel = "string", ylabel = "string", x = "any", level = "number", samples = "count",
  seed = "integer", task = "count", at = "table", columns = "table", names = "table", x_scaler = "any", y_scaler = "any",
  kernel = "any"}
local GRID <const> = 50                        -- points along each side of a picture of two inputs
local MOST_TASKS <const>, MOST_SLICES <const> = 8, 9

-- Options ---------------------------------------------------------------------------------------------------------------------

local function refuse(text, ...) core.raise("option", (WHAT .. ": " .. text):format(...)) end

local function check_level(level)
  if not (level > 0 and level < 1) then refuse("option 'level' must be between 0 and 1, got %g", level) end
  return level
end

local function check_scaler(v, name)
  if v == nil or core.type(v) == "scaler" then return end
  refuse("option '%s' must be a scaler, the second result of gb.data.standardize, got %s", name, core.type(v))
end

--- A list of one value for each of d columns, all of a type.
local function check_list(list, name, d, kind)
  if list == nil then return end
  local right = #list == d
  for i = 1, #list do right = right and type(list[i]) == kind end
  if not right then refuse("option '%s' must be a list of %d %ss, one for each column of the inputs", name, d, kind) end
end

--- What is drawn: the model, its options, d inputs, T tasks of which 'task' is drawn where only one is.
local function subject_of(model, o)
  if core.type(model) ~= "gp.exact" and core.type(model) ~= "gp.multitask" then
    refuse("a model of gb.gp.exact or gb.gp.multitask is needed, got %s", core.type(model))
  end
  local s <const> = {model = model, o = o, data = model.x, d = model.x and model.x.shape[2] or 1}
  s.tasks = core.type(model) == "gp.multitask" and model.tasks or nil
  s.task = s.tasks and (o.task or 1) or nil
  s.level = check_level(o.level or 0.95)
  if o.task and (not s.tasks or o.task < 1 or o.task > s.tasks) then
    refuse("there is no task %d; the model has %d", o.task, s.tasks or 1)
  end
  check_scaler(o.x_scaler, "x_scaler")
  check_scaler(o.y_scaler, "y_scaler")
  if o.kernel and o.y_scaler then o.y_scaler = component.scaler(o.y_scaler) end
  check_list(o.names, "names", s.d, "string")
  check_list(o.at, "at", s.d, "number")
  return s
end

--- The prediction that is drawn.
local function predicted(s, points) return s.model:predict(points, {kernel = s.o.kernel}) end

--- The observations, where there are some that belong to what is drawn: they are of the whole of f.
local function shown_data(s) return not s.o.kernel and s.data and #s.data > 0 and s.data or nil end

--- Raises on options that this kind of figure does not take; kind: what they are for.
local function only(s, kind, ...)
  for _, name in ipairs{...} do
    if s.o[name] then refuse("option '%s' %s, the model has %d", name, kind, s.d) end
  end
end

-- Values in their units -------------------------------------------------------------------------------------------------------

--- Inputs (m, d) as they were before x_scaler; column k of them.
local function input(s, points, k)
  return (s.o.x_scaler and s.o.x_scaler:undo(points) or points):select(2, k)
end

--- Outputs (m), or (m, T) of which the task is taken, as they were before y_scaler.
local function output(s, y, task)
  local t <const> = s.o.y_scaler and s.o.y_scaler:undo(y) or y
  return task and t:select(2, task) or t
end

--- What axes are called: what the options say, else what the columns of the frame are called that the data come from.
local function input_name(s, k)
  return s.o.names and s.o.names[k] or s.o.xlabel or s.data and named.column(s.data, k) or s.d > 1 and "x" .. k or "x"
end

--- The name of the outputs, or of one of several.
local function output_name(s, task)
  local own <const> = s.data and named.column(s.model.y, task or 1)
  if not task then return s.o.ylabel or own or "y" end
  return own and (s.o.ylabel and ("%s, %s"):format(s.o.ylabel, own) or own) or ("%s, task %d"):format(s.o.ylabel or "y", task)
end

--- The name of the output that slices are of.
local function drawn_name(s)
  return output_name(s, s.task and named.column(s.model.y, s.task) and s.task or nil)
end

--- The range of a column of the data with a margin; of no data, 0 to 1.
local function range_of(column)
  local lo, hi = 0.0, 1.0
  if column and #column > 0 then lo, hi = column:min():item(), column:max():item() end
  local margin <const> = 0.05 * (hi > lo and hi - lo or 1)
  return lo - margin, hi + margin
end

--- Observations of a task, in their units.
local function seen_y(s, task) return output(s, s.model.y, task) end

-- Curves ----------------------------------------------------------------------------------------------------------------------

--- Bands, draws and mean of the prediction p at inputs xs into a panel; gives the ends of the outer band.
local function draw_curve(fig, s, xs, p, task)
  local o <const> = s.o
  local mean <const>, percent <const> = output(s, p.mean, task), ("%g %% "):format(100 * s.level)
  local lowest, highest
  for _, of in ipairs(o.kernel and {"f"} or {"y", "f"}) do
    local lo, hi = p:interval(s.level, {of = of})
    lo, hi = output(s, lo, task), output(s, hi, task)
    core.eval(mean, lo, hi)
    fig:band(xs, lo, hi, {label = percent .. "of " .. of, colour = 1})
    lowest, highest = lowest or lo, highest or hi
  end
  if o.samples and o.samples > 0 then
    local drawn <const> = p:sample(o.samples, {seed = o.seed or nil}):eval()
    for i = 1, o.samples do
      fig:line(xs, output(s, drawn[i], task), {label = i == 1 and "draws of f" or nil, colour = "grey", width = 0.9, alpha = 0.8})
    end
  end
  fig:line(xs, mean, {label = "mean", colour = 1})
  return lowest:min():item(), highest:max():item()
end

local function curves(s)
  local o <const> = s.o
  only(s, "is for several input columns", "at", "columns")
  local lo <const>, hi <const> = range_of(s.data)
  local xs <const> = vector(o.x or core.linspace(lo, hi, 500, {dtype = s.data and s.data.dtype or nil}), "x")
  local first <const>, last <const> = o.task or 1, o.task or s.tasks or 1
  if last - first >= MOST_TASKS then
    refuse("the model has %d tasks, %d at most are drawn: option 'task' picks one", s.tasks, MOST_TASKS)
  end
  local fig <const> = figure{rows = last - first + 1, title = o.title, share_x = true,
    xlabel = not s.tasks and input_name(s, 1) or nil, ylabel = not s.tasks and output_name(s) or nil}
  local p <const>, points <const> = predicted(s, xs), xs:unsqueeze(2)
  for task = first, last do
    local of <const> = s.tasks and task or nil
    local panel <const> = fig:panel(task - first + 1)
    if of then
      panel:axes{xlabel = task == last and input_name(s, 1) or nil, ylabel = output_name(s, of),
        legend = task > first and "off" or nil}
    end
    draw_curve(panel, s, input(s, points, 1), p, of)
    if shown_data(s) then
      panel:scatter(input(s, s.data, 1), seen_y(s, of), {label = "data", colour = 2})
    end
  end
  return fig
end

-- Slices ----------------------------------------------------------------------------------------------------------------------

--- Columns across: rows times them are all panels.
local function across(n) return n % 3 == 0 and 3 or n % 2 == 0 and 2 or 1 end

local function check_columns(s)
  local list <const> = s.o.columns or {}
  for k = 1, not s.o.columns and math.min(s.d, MOST_SLICES) or 0 do list[k] = k end
  if #list == 0 or #list > MOST_SLICES then refuse("option 'columns' lists 1 to %d columns, got %d", MOST_SLICES, #list) end
  for _, k in ipairs(list) do
    if not options.integral(k) or k < 1 or k > s.d then
      refuse("option 'columns': there is no column %s; the inputs have %d", tostring(k), s.d)
    end
  end
  return list
end

--- The point that slices pass through: option 'at', or the median of each column.
local function centre_of(s)
  local at <const> = {}
  for k = 1, s.d do at[k] = s.o.at and s.o.at[k] or s.data:select(2, k):median():item() end
  return core.tensor(at, {dtype = s.data.dtype})
end

--- The prediction along each column while the others stay.
local function slices(s)
  only(s, "is for one input column", "x")
  if #s.data == 0 then refuse("the model has no data, and %d input columns: there is no range to draw", s.d) end
  local list <const>, centre <const>, o <const> = check_columns(s), centre_of(s), s.o
  local columns <const> = across(#list)
  local through <const> = o.at and "a point" or "the medians"
  local title <const> = o.title or #list < s.d and ("slices through %s, %d of %d columns"):format(through, #list, s.d)
    or "slices through " .. through
  local fig <const> = figure{rows = #list // columns, cols = columns, title = title, share_y = true}
  local lowest, highest = math.huge, -math.huge
  for i, k in ipairs(list) do
    local lo <const>, hi <const> = range_of(s.data:select(2, k))
    local xs <const> = core.linspace(lo, hi, 200, {dtype = s.data.dtype})
    local mask <const> = core.eye(s.d, {dtype = s.data.dtype}):select(1, k):unsqueeze(1)
    local points <const> = (centre:unsqueeze(1) * (1 - mask) + xs:unsqueeze(2) * mask):eval()
    local panel <const> = fig:panel((i - 1) // columns + 1, (i - 1) % columns + 1)
    panel:axes{xlabel = input_name(s, k), ylabel = (i - 1) % columns == 0 and drawn_name(s) or nil,
      legend = i > 1 and "off" or nil}
    local low <const>, high <const> = draw_curve(panel, s, input(s, points, k), predicted(s, points), s.task)
    lowest, highest = math.min(lowest, low), math.max(highest, high)
  end
  local margin <const> = 0.05 * (highest - lowest)
  for i = 1, lowest < highest and #list or 0 do        -- one scale for all rows, so that slices can be compared
    fig:panel((i - 1) // columns + 1, (i - 1) % columns + 1):axes{ylim = {lowest - margin, highest + margin}}
  end
  return fig
end

-- Maps ------------------------------------------------------------------------------------------------------------------------

--- The first and last value of column k of inputs at lo and hi of it.
local function ends(s, k, lo, hi)
  if not s.o.x_scaler then return {lo, hi} end
  local both <const> = core.tensor({lo, hi}, {dtype = s.data.dtype}):unsqueeze(2) + core.zeros(2, 2, {dtype = s.data.dtype})
  return input(s, both, k):totable()
end

--- Standard deviations of f of the task, in the units of y.
local function deviation(s, p)
  local var <const> = s.o.y_scaler and s.o.y_scaler:undo_var(p.f_var) or p.f_var
  return (s.task and var:select(2, s.task) or var):clamp(0, math.huge):sqrt()
end

--- Mean and standard deviation of f over two inputs, side by side, with the data.
local function map(s)
  only(s, "is for one input column", "x", "samples", "seed")
  local o <const>, data <const> = s.o, s.data
  local x0 <const>, x1 <const> = range_of(data:select(2, 1))
  local y0 <const>, y1 <const> = range_of(data:select(2, 2))
  local make <const> = {dtype = data.dtype}
  local wide <const>, up <const> = core.linspace(x0, x1, GRID, make), core.linspace(y0, y1, GRID, make)
  local zero <const> = core.zeros(GRID, GRID, make)
  local points <const> = core.stack({(zero + wide:unsqueeze(1)):reshape(-1), (zero + up:unsqueeze(2)):reshape(-1)}, 2)
  local p <const> = predicted(s, points)
  local mean <const>, sd <const> = output(s, p.mean, s.task):reshape(GRID, GRID), deviation(s, p):reshape(GRID, GRID)
  core.eval(mean, sd)
  local fig <const> = figure{rows = 1, cols = 2, title = o.title, xlabel = input_name(s, 1),
    ylabel = o.names and o.names[2] or o.ylabel or named.column(data, 2) or "x2", share_y = true}
  local where <const> = {x = ends(s, 1, x0, x1), y = ends(s, 2, y0, y1)}
  for i, v in ipairs{mean, sd} do
    fig:panel(1, i):axes{title = i == 1 and "mean" or "standard deviation of f"}:heatmap(v, where)
      :contour(v, {x = where.x, y = where.y, levels = 6, colour = "white", labels = false})
    if shown_data(s) then fig:panel(1, i):scatter(input(s, data, 1), input(s, data, 2), {colour = "red", size = 4}) end
  end
  return fig
end

--- One input column: mean, bands of f and of y, and the data, a panel for each task. Two: mean and standard deviation of f as
-- colours. More, or options at or columns: slices along each column, while the others stay at their medians.
-- o: level = 0.95; of curves x (points to draw at), of curves and slices samples (draws of f, with their seed); of slices at (the
-- point that they pass through) and columns; kernel (a part of it, as of m:predict: without y and the data); task; names of the
-- columns; x_scaler, y_scaler: draws in the units before gb.data.standardize; title, xlabel, ylabel.
---@return gibbous.figure
return function(model, opts)
  local s <const> = subject_of(model, options.parse(opts, SPEC, WHAT))
  if s.d == 1 then return curves(s) end
  if s.d == 2 and not s.o.at and not s.o.columns then return map(s) end
  return slices(s)
end
