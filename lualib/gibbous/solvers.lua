--- Iterative solvers, as values: A is any lazy symmetric positive definite matrix and is never stored, only multiplied.
local precond <const> = require "gibbous.precond"

local M <const> = {}
for _, name in ipairs{"alternating_projections", "cg", "cholesky", "lanczos", "minres", "sdd"} do
  M[name] = require("gibbous.solvers." .. name)
end

--- What a model uses when it has too many points to factor their covariance. f32 cannot promise smaller residuals.
function M.for_models(dtype)
  return M.cg{tol = dtype == "f32" and 1e-3 or 1e-6, train_tol = 1e-2, precond = precond.nystrom{}}
end

return require "gibbous.names"(M, "gb.solvers", {})
