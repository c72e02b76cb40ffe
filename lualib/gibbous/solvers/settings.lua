--- The options that solvers share, with their rules.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local precond <const> = require "gibbous.precond"

local M <const> = {}

--- The rule of options that take a preconditioner.
function M.precond(v) return precond.is(v), "a gb.precond value, such as gb.precond.nystrom{}" end

--- Options that every solver takes, with those of its own.
function M.spec(own)
  local spec <const> = {tol = "positive", train_tol = "positive", max_iter = "count", probes = "count", seed = "integer"}
  for key, rule in pairs(own) do spec[key] = rule end
  return spec
end

--- Checked options with the defaults, and their rules. tol, and train_tol, that of fits, must be in (0, 1); train_tol is 'tol'
-- where that is given, else 1e-2. without: shared options that this solver does not take. Errors: option.
function M.options(opts, own, defaults, what, without)
  local spec <const> = M.spec(own)
  for _, key in ipairs(without or {}) do spec[key] = nil end
  local o <const> = options.parse(opts, spec, what)
  for _, key in ipairs{"tol", "train_tol"} do
    if o[key] and o[key] >= 1 then
      core.raise("option", ("%s: %s must be between 0 and 1, got %g"):format(what, key, o[key]))
    end
  end
  if spec.train_tol then o.train_tol = o.train_tol or o.tol or 1e-2 end
  if o.probes and o.probes < 2 then core.raise("option", what .. ": probes must be 2 or more") end
  for key, default in pairs(defaults) do
    if o[key] == nil then o[key] = default end
  end
  return o, spec
end

return M
