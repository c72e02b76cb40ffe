--- Likelihoods of one's own: a log density, and what else is known of the distribution.
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local parameters <const> = require "gibbous.likelihoods.parameters"
local rows <const> = require "gibbous.likelihoods.rows"

local SPEC <const> = {name = "string", parameters = "table", log_density = "function", mean = "function", variance = "function",
  draw = "function", check = "function", curvature = "function", expects = "string"}

-- Names that parameters cannot have.
local TAKEN <const> = {kind = true, form = true, points = true}

--- The names of the parameters in order, and their defaults checked.
local function names_of(defaults, what)
  local names <const> = {}
  for name, v in pairs(defaults) do
    if type(name) ~= "string" or TAKEN[name] or not (type(v) == "number" or param.is(v)) then
      core.raise("option", what .. ": parameters are numbers or gb.params by name: {scale = 1}")
    end
    if type(v) == "number" and not (v > 0 and v < math.huge) then
      core.raise("option", ("%s: parameter '%s' as a number is above 0; gb.param(%s) has no bound"):format(what, name,
        options.got(v)))
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- What a function of the script gave, a tensor.
local function tensor_of(v, what)
  if core.type(v) ~= "tensor" then core.raise("option", ("%s must give a tensor, got %s"):format(what, core.type(v))) end
  return v
end

--- A constructor of likelihoods by their log density: f(f, y, p) gives log p(y | f), (..., n), for f (..., n), y (n) and a table p
-- of the parameters' values. o: name; parameters, by name: numbers above 0, or gb.params; mean, variance (f, p) of y given f; draw
-- (f, p, seed); check(y), which rows are observations, a tensor of booleans, and 'expects' in words; curvature(f, y, p), what
-- Laplace's approximation takes for -d2 log p / df2 where that may be negative. Saved models keep it by name (gb.load's option
-- 'likelihoods').
return function(opts)
  local what <const> = "gb.likelihoods.define"
  local o <const> = options.parse(opts, SPEC, what)
  if not (o.name and o.log_density) then core.raise("option", what .. ": name and log_density are needed") end
  local defaults <const> = o.parameters or {}
  local names <const> = names_of(defaults, what)
  local form <const> = {kind = o.name, constructor = ("likelihood '%s'"):format(o.name), own = true, spec = {}, parameters = names}
  for _, name in ipairs(names) do form.spec[name] = parameters.rule end

  function form.make(given, maker)
    local out <const> = {}
    for _, name in ipairs(names) do
      local default <const> = defaults[name]
      out[name] = param.is(default) and given[name] == nil and param.hyper(param.copy(default), name)
        or parameters.positive(given[name], name, default, maker)
    end
    return out
  end

  local function values(self, f)
    local out <const> = {}
    for _, name in ipairs(names) do out[name] = parameters.value(self, name, f) end
    return out
  end

  function form.check(_, y, at)
    local function good(t) return o.check and tensor_of(o.check(t), o.name .. ": check") or t:isfinite() end
    return rows.check(y, good, at, o.expects or (o.check and "an observation of this kind" or "a finite number"))
  end

  function form.log_density(self, f, y)
    local v <const>, want <const> = tensor_of(o.log_density(f, y, values(self, f)), o.name .. ": log_density"), (f + y).shape
    if tostring(v.shape) ~= tostring(want) then
      core.raise("shape", ("%s: log_density must give a number for each f, shape %s, got shape %s"):format(o.name, tostring(want),
        tostring(v.shape)))
    end
    return v
  end

  if o.curvature then
    function form.curvature(self, f, y) return tensor_of(o.curvature(f, y, values(self, f)), o.name .. ": curvature") end
  end

  if o.mean and o.variance then
    function form.moments(self, f)
      local p <const> = values(self, f)
      return tensor_of(o.mean(f, p), o.name .. ": mean") + f * 0, tensor_of(o.variance(f, p), o.name .. ": variance") + f * 0
    end
  end

  function form.draw(self, f, seed)
    if not o.draw then
      core.raise("option", ("the likelihood '%s' was defined without 'draw', which drawing observations needs"):format(o.name))
    end
    return tensor_of(o.draw(f, values(self, f), seed), o.name .. ": draw")
  end

  return class.define(form)
end
