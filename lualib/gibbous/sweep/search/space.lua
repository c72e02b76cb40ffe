--- The space of a study: axes of listed values or ranges, and the points that a search takes in it. The i-th point depends on
-- the study's seed and i alone.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

---@class gibbous.sweep.space
---@field deferred boolean?   in the process of a trial: axes of studies are checked where they are asked for
local M <const> = {}

-- Axes ------------------------------------------------------------------------------------------------------------------------

---@class gibbous.sweep.range  an axis of numbers between two ends
---@field low number
---@field high number
---@field log boolean    are ratios equally likely, not differences?
---@field whole boolean  are its values integers?
local Range <const> = {__name = "gibbous.sweep.range"}

function Range:__tostring()
  return ("%g..%g%s%s"):format(self.low, self.high, self.log and " log" or "", self.whole and " whole" or "")
end

local function check_ends(what, low, high, log)
  for _, v in ipairs{low or false, high or false} do
    if type(v) ~= "number" or v ~= v or math.abs(v) == math.huge then
      core.raise("option", ("%s: two numbers expected, got %s"):format(what, options.shown(v)))
    end
  end
  if not (low < high) then
    core.raise("option", ("%s: the first end must be below the second, got %g and %g"):format(what, low, high))
  end
  if log and low <= 0 then core.raise("option", ("%s: both ends must be above 0, got %g"):format(what, low)) end
end

--- Numbers between low and high, all equally likely. For every search but "grid".
function M.uniform(low, high)
  check_ends("gb.sweep.uniform", low, high)
  return setmetatable({low = low, high = high, log = false, whole = false}, Range)
end

--- Numbers between low and high, both above 0, whose logarithms are equally likely.
function M.log_uniform(low, high)
  check_ends("gb.sweep.log_uniform", low, high, true)
  return setmetatable({low = low, high = high, log = true, whole = false}, Range)
end

--- Whole numbers from low to high, all equally likely. o: log = true where ratios matter.
function M.integers(low, high, o)
  local log <const> = options.parse(o, {log = "boolean"}, "gb.sweep.integers").log or false
  check_ends("gb.sweep.integers", low, high, log)
  if not (options.integral(low) and options.integral(high)) then
    core.raise("option", ("gb.sweep.integers: two whole numbers expected, got %g and %g"):format(low, high))
  end
  return setmetatable({low = math.tointeger(low), high = math.tointeger(high), log = log, whole = true}, Range)
end

---@class gibbous.sweep.when  an axis that is there for some values of others only
---@field condition table<string, any>
---@field axis any  a list of values, or a range
local When <const> = {__name = "gibbous.sweep.when"}

function When:__tostring() return "when " .. core.json_encode(self.condition) .. ": " .. tostring(self.axis) end

--- An axis, a list of values or a range, that is there only where other axes have these values. condition: by name, a value or a
-- list of them.
function M.when(condition, axis)
  if type(condition) ~= "table" or next(condition) == nil or type(axis) ~= "table" or getmetatable(axis) == When then
    core.raise("option", "gb.sweep.when: a table of values by name and a list of values or a range expected, as in "
      .. 'gb.sweep.when({kernel = "periodic"}, gb.sweep.uniform(0.5, 2))')
  end
  return setmetatable({condition = condition, axis = axis}, When)
end

--- The list first, first + step, ..., last.
function M.range(first, last, step)
  step = step or 1
  for _, v in ipairs{first or false, last or false, step} do
    if type(v) ~= "number" or v ~= v then
      core.raise("option", ("gb.sweep.range: numbers expected, got %s"):format(options.shown(v)))
    end
  end
  local n <const> = step ~= 0 and math.floor((last - first) / step + 1e-9) + 1 or 0
  if not (n >= 1 and n <= 1e6) then
    core.raise("option", ("gb.sweep.range: from %g to %g by steps of %g there is no list"):format(first, last, step))
  end
  local out <const> = {}
  for i = 1, n do out[i] = first + (i - 1) * step end
  return out
end

local function is_range(v) return getmetatable(v) == Range end

--- Whole floats as integers, so that 1 and 1.0 are one value; tables are copied.
local function canonical(v, what)
  local kind <const> = math.type(v) or type(v)
  if kind == "float" then
    if v ~= v or math.abs(v) == math.huge then
      core.raise("option", ("%s holds %s, which is no parameter"):format(what, tostring(v)))
    end
    return math.tointeger(v) or v
  end
  if kind == "integer" or kind == "string" or kind == "boolean" then return v end
  if kind ~= "table" or getmetatable(v) ~= nil then
    core.raise("option", ("%s holds %s: parameters are numbers, strings, booleans and tables of them; make the object from them "
      .. "in run"):format(what, options.shown(v)))
  end
  local out <const> = {}
  for key, one in pairs(v) do out[key] = canonical(one, what) end
  return out
end

M.canonical = canonical

local function check_list(values, what)
  if #values == 0 then core.raise("option", ("gb.sweep: %s is empty: give a list of values"):format(what)) end
  local seen <const>, seen_tables <const>, out <const> = {}, {}, {}
  what = "gb.sweep: " .. what
  for i, v in ipairs(values) do
    out[i] = canonical(v, what)
    local is_table <const> = type(out[i]) == "table"
    local key <const>, keys <const> = is_table and core.json_encode(out[i]) or out[i], is_table and seen_tables or seen
    if keys[key] then core.raise("option", ("%s holds %s twice"):format(what, core.json_encode(out[i]))) end
    keys[key] = true
  end
  return out
end

local function sorted_names(t, what)
  local names <const> = {}
  for name in pairs(t) do
    if type(name) ~= "string" then
      core.raise("option", ("gb.sweep: %s maps names to lists, got the key %s"):format(what, tostring(name)))
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function axis_of(name, v, search, label)
  if is_range(v) then
    if search == "grid" then
      core.raise("option", ("gb.sweep: %s is a range, of which a grid cannot take every value: list values, or "
        .. "search = \"sobol\""):format(label))
    end
    return {name = name, range = v}
  end
  if type(v) == "table" and getmetatable(v) == nil then return {name = name, values = check_list(v, label)} end
  core.raise("option", ("gb.sweep: %s must be a list of values or a range, got %s"):format(label, options.shown(v)))
end

--- The condition of an axis: sets of values, as JSON, by the name of another axis that lists them.
local function checked_condition(condition, axes, label)
  local out <const> = {}
  for name, wanted in pairs(condition) do
    local parent <const> = axes[name]
    if not parent or not parent.values then
      core.raise("option", ("gb.sweep: %s depends on '%s', which is no axis that lists values"):format(label, tostring(name)))
    end
    local listed <const>, set <const> = {}, {}
    for _, v in ipairs(parent.values) do listed[core.json_encode(v)] = true end
    for _, v in ipairs(type(wanted) == "table" and wanted or {wanted}) do
      local text <const> = core.json_encode(canonical(v, label))
      if not listed[text] then
        core.raise("option", ("gb.sweep: %s depends on %s = %s, which it never is"):format(label, name, text))
      end
      set[text] = true
    end
    out[name] = set
  end
  return out
end

--- Axes by name, those that others depend on before them.
local function in_order(axes, names, what)
  local out <const>, state <const> = {}, {}
  local function add(name)
    if state[name] == "open" then core.raise("option", ("gb.sweep: %s.%s depends on itself"):format(what, name)) end
    if state[name] then return end
    state[name] = "open"
    for _, other in ipairs(names) do
      if axes[name].condition and axes[name].condition[other] then add(other) end
    end
    state[name], out[#out + 1] = "done", axes[name]
  end
  for _, name in ipairs(names) do add(name) end
  return out
end

--- A list of {name, values = {...}} or {name, range = ...}, by name, but that an axis which depends on others (condition) follows
-- them.
function M.axes(given, search, what)
  local axes <const>, names <const> = {}, sorted_names(given, what)
  local function label(name) return ("%s.%s"):format(what, name) end
  for _, name in ipairs(names) do
    local v <const> = given[name]
    axes[name] = axis_of(name, getmetatable(v) == When and v.axis or v, search, label(name))
  end
  for _, name in ipairs(names) do
    local v <const> = given[name]
    if getmetatable(v) == When then axes[name].condition = checked_condition(v.condition, axes, label(name)) end
  end
  return in_order(axes, names, what)
end

--- Is an axis there, at a point that has the values of those before it?
function M.is_there(axis, point)
  for name, set in pairs(axis.condition or {}) do
    if point[name] == nil or not set[core.json_encode(point[name])] then return false end
  end
  return true
end

--- The axes of repeats: each cell of the space is tried once for each of their combinations. n: repeat = 1 .. n.
function M.repeats(given)
  if given == nil or given == false then return {} end
  if type(given) == "number" then given = {["repeat"] = M.range(1, given)} end
  return M.axes(given, "grid", "repeats")
end

-- Points ----------------------------------------------------------------------------------------------------------------------

--- All combinations of axes of values, the last axis fastest.
local function combinations(axes)
  local out = {{}}
  for _, axis in ipairs(axes) do
    local more <const> = {}
    for _, point in ipairs(out) do
      local is_there <const> = M.is_there(axis, point)
      if not is_there then more[#more + 1] = point end
      for _, v in ipairs(is_there and axis.values or {}) do
        local p <const> = {}
        for name, old in pairs(point) do p[name] = old end
        p[axis.name] = v
        more[#more + 1] = p
      end
    end
    out = more
  end
  return out
end

--- The value of an axis at u in [0, 1).
function M.at(axis, u)
  if axis.values then return axis.values[math.min(math.floor(u * #axis.values) + 1, #axis.values)] end
  local r <const> = axis.range
  local low <const>, high <const> = r.whole and r.low - 0.5 or r.low, r.whole and r.high + 0.5 or r.high
  local v <const> = r.log and math.exp(math.log(r.low) + u * (math.log(r.high) - math.log(r.low))) or low + u * (high - low)
  if not r.whole then return v end
  return math.max(r.low, math.min(math.floor(v + 0.5), r.high))
end

--- Where a value lies on an axis: the middle of the u that M.at makes it of. nil: the middle of all.
function M.place(axis, v)
  if v == nil then return 0.5 end
  if axis.values then
    for j, one in ipairs(axis.values) do
      if core.json_encode(one) == core.json_encode(v) then return (j - 0.5) / #axis.values end
    end
    return 0.5
  end
  local r <const> = axis.range
  if r.log then return math.log(v / r.low) / math.log(r.high / r.low) end
  if r.whole then return (v - r.low + 0.5) / (r.high - r.low + 1) end
  return (v - r.low) / (r.high - r.low)
end

--- The cell at a point of [0, 1)^d, one number an axis.
function M.cell(axes, u)
  local cell <const> = {}
  for k, axis in ipairs(axes) do
    if M.is_there(axis, cell) then cell[axis.name] = canonical(M.at(axis, u[k]), axis.name) end
  end
  return cell
end

--- The first n points of [0, 1)^d of a search by random numbers or a scrambled Sobol sequence, rows of numbers: the first of a
-- longer list are those of a shorter one.
function M.draws(search, n, d, seed)
  if d == 0 or n == 0 then
    local out <const> = {}
    for i = 1, n do out[i] = {} end
    return out
  end
  if search == "sobol" then return core.sobol(n, d, {seed = seed}):totable() end
  local out <const> = {}
  for i = 1, n do out[i] = core.rand(d, {seed = seed * 1000003 + i, dtype = "f64"}):totable() end
  return out
end

local function cells(sweep)
  if sweep.search == "grid" then return combinations(sweep.space) end
  local out <const> = {}
  for i, u in ipairs(M.draws(sweep.search, sweep.trials, #sweep.space, sweep.seed)) do
    out[i] = M.cell(sweep.space, u)
  end
  return out
end

local function joined(a, b)
  local out <const> = {}
  for name, v in pairs(a) do out[name] = v end
  for name, v in pairs(b) do
    if out[name] ~= nil then core.raise("option", ("gb.sweep: '%s' is an axis of space and of repeats"):format(name)) end
    out[name] = v
  end
  return out
end

--- Number of trials of a study.
function M.count(sweep)
  local n = sweep.search == "grid" and #combinations(sweep.space) or sweep.trials
  for _, axis in ipairs(sweep.repeats) do n = n * #axis.values end
  return n
end

--- The trials of a cell: a list of {params, cell}, one for each combination of repeats.
function M.repeated(sweep, cell)
  local out <const> = {}
  for i, r in ipairs(combinations(sweep.repeats)) do out[i] = {params = joined(cell, r), cell = cell} end
  return out
end

--- All trials of a study whose points do not depend on results, a list of {params, cell}: all cells, then all cells of the next
-- repeat. Equal cells (of few values, drawn twice) are there once.
function M.trials(sweep)
  local out <const>, seen <const>, distinct <const> = {}, {}, {}
  for _, cell in ipairs(cells(sweep)) do
    local key <const> = core.json_encode(cell)
    if not seen[key] then distinct[#distinct + 1] = cell end
    seen[key] = true
  end
  for _, r in ipairs(combinations(sweep.repeats)) do
    for _, cell in ipairs(distinct) do out[#out + 1] = {params = joined(cell, r), cell = cell} end
  end
  return out
end

return M
