--- What an algorithm of a model is: a word, as "direct", or a gb.solvers value.
local M <const> = {}

--- Is it a solver value?
function M.is_iterative(a) return type(a) == "table" end

--- Does it multiply by the covariance instead of storing it? Such a solver estimates a log determinant from probes.
function M.is_streamed(a) return M.is_iterative(a) and (a.planned or a.o ~= nil and a.o.probes ~= nil) or false end

--- Does it take steps, as a solver without a factor does?
function M.takes_steps(a) return M.is_iterative(a) and a.o.max_iter ~= nil end

--- The solver with these options changed.
function M.with_options(solver, changes)
  local out <const>, o <const> = {}, {}
  for key, v in pairs(solver) do out[key] = v end
  for key, v in pairs(solver.o) do o[key] = v end
  for key, v in pairs(changes) do o[key] = v end
  out.o = o
  return setmetatable(out, getmetatable(solver))
end

--- The standard error of a log marginal likelihood that a solver estimated, in nats, from the solver's record; nil where it was
-- computed.
function M.standard_error(record)
  local of_logdet <const> = record and record.standard_error
  return of_logdet and of_logdet > 0 and of_logdet / 2 or nil
end

return M
