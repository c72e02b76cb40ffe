--- Iterative solvers, as values: A is any lazy symmetric positive definite matrix and is never stored, only multiplied.
local precond <const> = require "gibbous.precond"

local M <const> = {}
for _, name in ipairs{"alternating_projections", "cg", "cholesky", "lanczos", "minres", "sdd"} do
  M[name] = require("gibbous.solvers." .. name)
end

--- Those that can solve for a model, by the names that its option 'solver' takes.
M.names = {"cg", "cholesky", "minres", "sdd", "alternating_projections"}

--- The solver of a model with too many points to factor their covariance, or another solver by its name, with its usual options.
-- f32 cannot promise smaller residuals.
function M.for_models(dtype, name)
  if name and name ~= "cg" then return M[name]{} end
  return M.cg{tol = dtype == "f32" and 1e-3 or 1e-6, train_tol = 1e-2, precond = precond.nystrom{}}
end

--- The solver that a model's option 'solver' names, for data of a dtype; what names none is given back.
function M.named(v, dtype)
  for _, name in ipairs(M.names) do
    if v == name then return M.for_models(dtype, name) end
  end
  return v
end

return require "gibbous.base.names"(M, "gb.solvers", {})
