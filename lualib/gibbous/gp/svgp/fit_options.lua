--- The options of fits of variational models, by method.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local options <const> = require "gibbous.options"

-- Options of both methods, of "adam" alone, and of "lbfgs" alone, which are those of gp/fit.
local SPEC <const> = {method = {"adam", "lbfgs"}, steps = "count", seconds = "positive", seed = "integer",
  on_step = "function", budget = "any", missing = data.missing, inputs = "table"}
local OF_ADAM <const> = {epochs = "positive", batch = "count", lr = "positive", polish = "boolean", patience = "positive",
  rate = function(v) return type(v) == "number" and v > 0 and v <= 1, "a number above 0, at most 1" end}
local OF_LBFGS <const> = {tol = "positive", ftol = "positive", restarts = "count", starts = "table", resume = "table"}
for _, more in ipairs{OF_ADAM, OF_LBFGS} do
  for key, kind in pairs(more) do SPEC[key] = kind end
end

-- Why L-BFGS has no use for options of Adam.
local INSTEAD <const> = {batch = "every evaluation is of all rows, in windows that budget bounds",
  epochs = "every evaluation is of all rows: steps", lr = "a line search finds the length of steps",
  rate = "a full q is the best there is at every evaluation, and another q moves with the parameters",
  polish = "a full q is the best there is at the end", patience = "it ends where the ELBO no longer rises, by tol and ftol"}

--- Raises for options of the other method, in the order of their names.
local function check(o)
  local words <const> = {}
  for name in pairs(o) do words[#words + 1] = name end
  table.sort(words)
  for _, name in ipairs(words) do
    if o.method == "lbfgs" and OF_ADAM[name] then
      core.raise("option", ('fit: %s is of method = "adam"; with "lbfgs" %s'):format(name, INSTEAD[name]))
    end
    if o.method ~= "lbfgs" and OF_LBFGS[name] then
      core.raise("option", ('fit: %s is of method = "lbfgs"; this fit is by "adam", the default'):format(name))
    end
  end
end

--- The options of a call, checked. A fit that goes on does so by L-BFGS.
return function(given)
  local o <const> = options.parse(given, SPEC, "fit")
  if o.resume then o.method = o.method or "lbfgs" end
  check(o)
  return o
end
