--- What to try after a solve or a fit that did not converge, with the numbers to type, the most promising first. Pure functions of
-- their records.
local M <const> = {}

local PATIENCE <const> = 10               -- times the steps made, up to which more steps are the first remedy
local RANK <const> = 200                   -- of the first preconditioner to try

--- v, positive, rounded up to two digits.
local function up(v)
  local unit <const> = 10.0 ^ (math.floor(math.log(v, 10)) - 1)
  local out <const> = math.ceil(v / unit - 1e-9) * unit
  return out >= 1 and out == math.floor(out) and math.tointeger(out) or out
end

local function number(v) return math.type(v) == "integer" and tostring(v) or ("%.2g"):format(v) end

--- How many steps in all the solve would need at the rate of the second half of its curve; nil: the residual does not fall, or the
-- curve is too short.
function M.steps_needed(solve)
  local curve <const>, tol <const> = solve.curve, solve.tol
  if not (curve and tol and #curve >= 4) then return nil end
  local middle <const> = #curve // 2
  local from <const>, to <const> = curve[middle], curve[#curve]
  local slope <const> = (math.log(to) - math.log(from)) / ((#curve - middle) * curve.every)
  if not (slope < 0 and to > tol) then return nil end
  local needed <const> = #curve * curve.every + (math.log(tol) - math.log(to)) / slope
  return needed < 2 ^ 31 and math.max(math.ceil(needed), solve.iterations + 1) or nil
end

--- The condition number with which conjugate gradients need no more than these steps: 2 ((sqrt c - 1) / (sqrt c + 1))^steps <= tol.
local function condition_for(steps, tol)
  local rate <const> = (tol / 2) ^ (1 / steps)
  return ((1 + rate) / (1 - rate)) ^ 2
end

--- By what factor the least eigenvalue would have to grow for the steps made to suffice; nil: unknown, or they suffice already.
local function short_of(solve)
  local c <const>, tol <const> = solve.condition, solve.tol
  if not (c and c > 1 and c < math.huge and tol and (solve.iterations or 0) > 0) then return nil end
  local factor <const> = c / condition_for(solve.iterations, tol)
  return factor > 1 and factor or nil
end

local function more_steps(solve)
  local needed <const> = M.steps_needed(solve)
  local most <const> = needed and up(needed)
  if not most then return nil end
  return ("allow more steps: max_iter = %s; at the pace of the last %d it needs about %s"):format(number(most),
    solve.iterations // 2, number(up(needed))), needed <= PATIENCE * solve.iterations
end

--- A model gives a preconditioner its noise; otherwise that is the least eigenvalue that was met.
local function better_preconditioner(solve, noise)
  local rank <const> = solve.preconditioner_rank
  if rank and rank > 0 then
    return ("use a preconditioner of a higher rank: rank = %d instead of %d"):format(2 * rank, rank)
  end
  local least <const> = not noise and solve.smallest_eigenvalue
  local text <const> = ("use a preconditioner%s: gb.solvers.cg{precond = gb.precond.nystrom{rank = %d%s}}"):format(
    rank and " of low rank" or "", RANK, least and least > 0 and (", noise = %.2g"):format(least) or "")
  return (rank or solve.largest_eigenvalue) and text or text .. ", if the matrix is positive definite"
end

--- A larger noise of the model, or without a model a shift of the matrix.
local function more_noise(solve, noise)
  local factor <const> = short_of(solve)
  if not factor then return nil end
  if noise and noise > 0 then
    return ('a noise variance of %s instead of %s would make these steps do: m:set("likelihood.noise", %s)'):format(
      number(up(noise * factor)), number(noise), number(up(noise * factor)))
  end
  local largest <const> = solve.largest_eigenvalue
  if not largest then return nil end
  return ("a larger diagonal would make these steps do: A + %s * gb.eye(n)"):format(
    number(up(largest / condition_for(solve.iterations, solve.tol))))
end

local function looser(solve)
  local reached <const> = solve.residual
  if not (reached and reached > 0 and reached < 0.1) then return nil end
  return ("if %s is enough, loosen the tolerance: tol = %s"):format(number(reached), number(up(reached)))
end

local wide <const> = "use f64: x:to{dtype = \"f64\"}, or gb.solvers.cg{precision = \"mixed\"}"

local function listed(...)
  local out <const> = {}
  for i = 1, select("#", ...) do out[#out + 1] = (select(i, ...)) end      -- nil is left out
  return out
end

local by_reason <const> = {}

function by_reason.max_iter(solve, noise)
  local steps <const>, soon <const> = more_steps(solve)
  local precond <const>, shift <const>, tol <const> = better_preconditioner(solve, noise), more_noise(solve, noise), looser(solve)
  if soon then return listed(steps, precond, shift, tol) end
  return listed(precond, shift, steps, tol)
end

function by_reason.interrupted(solve, noise)
  local needed <const> = M.steps_needed(solve)
  local rest <const> = needed and needed - solve.iterations
  local wait <const> = rest and solve.seconds and ("let it run: about %s steps more, %s s"):format(number(up(rest)),
    number(up(math.max(rest * solve.seconds / math.max(solve.iterations, 1), 1e-3))))
  return listed(wait, better_preconditioner(solve, noise), looser(solve))
end

function by_reason.stagnated(solve, noise) return listed(wide, looser(solve), more_noise(solve, noise)) end

function by_reason.indefinite(solve)
  local shift <const> = solve.largest_eigenvalue and up(1e-6 * solve.largest_eigenvalue) or 1e-6
  return {("add to the diagonal: A + %s * gb.eye(n); raise it tenfold until it is enough"):format(number(shift)),
    "solve an indefinite system as one: gb.solvers.minres{}"}
end

function by_reason.nan()
  return {"look for what is not finite: x:isfinite():all(), of the matrix and of the right-hand side"}
end

function by_reason.overflow() return {"scale the right-hand side: b / b:abs():max()"} end
by_reason.underflow = by_reason.overflow

--- Remedies for a solve, from its record. noise: of its model; nil: it has no model.
---@return string[]
function M.of_solve(solve, noise)
  local f <const> = by_reason[solve.reason] or by_reason.max_iter
  return f(solve, noise)
end

--- Remedies for a fit, from its report: those for its worst solve, after going on with it if it was interrupted.
---@return string[]
function M.of_fit(report)
  local log <const>, noise <const> = report.solve_log, report.parameters["likelihood.noise"]
  local out <const> = log.worst and M.of_solve(log.worst, noise) or {}
  if report.interrupted then
    table.insert(out, 1, "go on: :continue, or m:fit{resume = report}")
  elseif report.reason == require "gibbous.optim".LIMIT then
    out[#out + 1] = ("give it more steps: m:fit{resume = report, steps = %d}"):format(2 * math.max(report.iterations, 1))
  elseif not log.worst then
    out[#out + 1] = "start elsewhere as well: m:fit{restarts = 3}"
  end
  return out
end

return M
