--- How a solve went, as a record: converged, reason, message (what would help), iterations, residual (largest |b - A x| / |b| of
-- a column, recomputed; of gb.solvers.cg with a preconditioner that knows the noises of points the larger of that and of the same
-- in its metric), condition, jitter, seconds, bytes. A lazy solve has its record once it has run: looking at a field runs it.
-- condition is an estimate from below: the ratio of values between A's extreme eigenvalues that the algorithm met, of the
-- preconditioned matrix where there is one (cholesky: |A| |A^-1| in the 1-norm); 0 where no step was made.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"

-- Of solvers by one algorithm or another, and the terms of a marginal likelihood.
local Info <const> = object.record("gibbous.solve_info", "the report of a solve",
  "tol curve smallest_eigenvalue largest_eigenvalue preconditioner_rank message missing relative_jitter step digits "
  .. "residual_y residual_probes logdet standard_error")
local index <const> = Info.__index

--- Takes over the report of the lazy tensor that the record speaks of.
local function arrive(self)
  local x <const> = rawget(self, "_of")
  if x == nil then return end
  local report = core.solver_report(x)
  if report == nil then
    core.eval(x)
    report = core.solver_report(x)
  end
  if report == nil then core.raise("option", "the report of this solve is gone: too many others ran since") end
  rawset(self, "_of", nil)
  for key, value in pairs(report) do rawset(self, key, value) end
end

function Info.__index(self, key)
  if type(key) ~= "string" or key:sub(1, 1) == "_" then return nil end
  arrive(self)
  local v <const> = rawget(self, key)
  if v ~= nil then return v end
  return index(self, key)
end

function Info.__pairs(self)
  arrive(self)
  return next, self, nil
end

function Info.__tostring(self)
  local condition <const> = self.condition > 0 and (", condition about %.2g"):format(self.condition) or ""
  return ("%s after %s: relative residual %.2g%s, %.2f s"):format(
    self.converged and "converged" or "not converged (" .. self.reason .. ")", counted(self.iterations, "step"), self.residual,
    condition, self.seconds)
end

--- The table of fields as a record, or the record of a lazy tensor that a solver computes.
---@param of table|gibbous.tensor
---@return gibbous.solve_info
return function(of)
  return setmetatable(core.as_tensor(of) and {_of = of} or of, Info)
end
