--- gb.sweep{...}: a study, that is, many trials of one function over a space of parameters. The value describes it; the command
-- `gibbous sweep` runs it, each trial in a process of its own, and keeps what came out (sweep/store/init.lua).
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local seconds <const> = require "gibbous.sweep.duration"
local space <const> = require "gibbous.sweep.search.space"

local M <const> = {range = space.range, uniform = space.uniform, log_uniform = space.log_uniform, integers = space.integers,
  when = space.when}

local Sweep <const> = {__name = "gibbous.sweep"}

local function is_plain(v) return type(v) == "table" and getmetatable(v) == nil end

local function bytes_or_function(v)
  if type(v) == "function" then return true end
  return type(v) == "number" and v > 0 or type(v) == "string", "bytes, a text as \"1 GiB\", or a function of the parameters"
end

local prune_spec <const> = {rule = {"median", "halving"}, start = "count", factor = "count", within = is_plain}

local function pruning(v)
  if type(v) == "string" then v = {rule = v} end
  local o <const> = options.parse(v, prune_spec, "gb.sweep: prune")
  if not o.rule then core.raise("option", "gb.sweep: prune needs a rule, \"median\" or \"halving\"") end
  return {rule = o.rule, start = o.start or 5, factor = math.max(o.factor or 3, 2), within = o.within or {}}
end

local spec <const> = {
  name = "string", run = "function", space = is_plain,
  repeats = function(v) return is_plain(v) or options.integral(v) and v > 0 end,
  search = {"grid", "random", "sobol", "gp", "tpe"}, trials = "count", seed = "integer", metric = "string", goal = {"min", "max"},
  budget = is_plain, memory = bytes_or_function, devices = is_plain, share = "count",
  prune = function(v) return type(v) == "string" or is_plain(v) end,
}

local budget_spec <const> = {time = "positive|string", memory = "positive|string", trials = "count"}

local function check_name(name)
  if not name or not name:match "^[%w][%w._-]*$" or #name > 100 then
    core.raise("option", ("gb.sweep: name must be a word of letters, digits, '.', '_' and '-', for a folder is called so, got %s")
      :format(options.shown(name)))
  end
  return name
end

local function check_devices(list)
  for _, name in ipairs(list or {}) do
    if type(name) ~= "string" then
      core.raise("option", "gb.sweep: devices must be names as \"cuda:0\", got " .. options.shown(name))
    end
  end
  return list
end

local unchecked <const> = setmetatable({}, {__mode = "k"})     -- of studies whose axes nobody has asked for: makes them

--- The axes of a study. In the process of a trial, which has its point, they wait until they are asked for: to check lists takes
-- time by their length.
local function set_axes(self, o)
  local function make()
    unchecked[self] = nil
    rawset(self, "space", space.axes(o.space or {}, self.search, "space"))
    rawset(self, "repeats", space.repeats(o.repeats))
  end
  if space.deferred then unchecked[self] = make else make() end
  return self
end

--- A study. o: name, run = function(p, trial), space, repeats, search, trials, seed, metric, goal, budget, memory, devices, share,
-- prune; docs/guide/sweeps.md describes each.
local function new(_, given)
  local o <const> = options.parse(given, spec, "gb.sweep")
  if not o.run then core.raise("option", "gb.sweep: it needs run = function(p, trial)") end
  local budget <const> = options.parse(o.budget or nil, budget_spec, "gb.sweep: budget")
  local search <const> = o.search or "grid"
  local trials <const> = o.trials or budget.trials
  if search ~= "grid" and not trials then
    core.raise("option", ("gb.sweep: search = \"%s\" draws points without end: say how many, trials = 50"):format(search))
  end
  if (search == "gp" or search == "tpe") and not o.metric then
    core.raise("option", ("gb.sweep: search = \"%s\" needs a metric to improve"):format(search))
  end
  return set_axes(setmetatable({
    name = check_name(o.name), run = o.run, search = search, trials = trials, seed = o.seed or 0, metric = o.metric,
    goal = o.goal or "min", memory = o.memory, devices = check_devices(o.devices), share = o.share or 1,
    time = budget.time and seconds(budget.time, "gb.sweep: budget.time"),
    limit = budget.memory ~= "auto" and budget.memory or nil, prune = o.prune and pruning(o.prune) or nil,
  }, Sweep), o)
end

function Sweep:__tostring()
  local n <const> = space.count(self)
  return ("sweep '%s': %d trials%s; gibbous sweep run SCRIPT runs them"):format(self.name, n,
    self.search == "grid" and "" or " by " .. self.search)
end

local absent <const> = {trials = true, metric = true, memory = true, devices = true, time = true, limit = true, prune = true}

function Sweep.__index(self, key)
  if absent[key] then return nil end
  if unchecked[self] and (key == "space" or key == "repeats") then
    unchecked[self]()
    return rawget(self, key)
  end
  object.no_field("a sweep", key, {name = 1, run = 1, search = 1, seed = 1, goal = 1, space = 1, repeats = 1}, absent)
end

function Sweep.__newindex() core.raise("option", "a sweep is a value and cannot be assigned to: say it in gb.sweep{...}") end

return setmetatable(require "gibbous.base.names"(M, "gb.sweep"), {__call = new, __index = getmetatable(M).__index})
