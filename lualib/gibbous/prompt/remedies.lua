--- What may mend a solve or a fit that did not get there, with the numbers to type, the most promising first. A pure function of
-- its record.
local M <const> = {}

-- A solve is worth so many times the steps that it made; more, and something else is needed.
local PATIENCE <const> = 10
local RANK <const> = 200                   -- of a preconditioner that is tried first

--- v, positive, rounded up to two digits.
local function up(v)
  local unit <const> = 10.0 ^ (math.floor(math.log(v, 10)) - 1)
  local out <const> = math.ceil(v / unit - 1e-9) * unit
  return out >= 1 and out == math.floor(out) and math.tointeger(out) or out
end

local function number(v) return math.type(v) == "integer" and tostring(v) or ("%.2g"):format(v) end

--- How many steps in all the solve would need, if it goes on as in the second half of its curve; nil: it does not come down, or
-- that is not known.
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

--- How many times the least eigenvalue would have to be larger for the steps made to do; nil: not known, or it is.
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
  if solve.largest_eigenvalue then
    local least <const> = not noise and solve.smallest_eigenvalue > 0 and solve.smallest_eigenvalue
    return ("use a preconditioner: gb.solvers.cg{precond = gb.precond.nystrom{rank = %d%s}}"):format(RANK,
      least and (", noise = %.2g"):format(least) or "")
  end
  return ("use a preconditioner of a higher rank: gb.precond.nystrom{rank = %d}"):format(2 * RANK)
end

--- Noise, by the model's own or as a shift of the matrix.
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
  for i = 1, select("#", ...) do out[#out + 1] = (select(i, ...)) end      -- without those that are nil
  return out
end

local by_reason <const> = {}

function by_reason.max_iter(solve, noise)
  local steps <const>, soon <const> = more_steps(solve)
  local precond <const>, shift <const>, tol <const> = better_preconditioner(solve, noise), more_noise(solve, noise), looser(solve)
  if soon then return listed(steps, precond, shift, tol) end
  return listed(precond, shift, steps, tol)
end

by_reason.interrupted = function(solve)
  local needed <const> = M.steps_needed(solve)
  local rest <const> = needed and needed - solve.iterations
  local wait <const> = rest and solve.seconds and ("let it run: about %s steps more, %s s"):format(number(up(rest)),
    number(up(math.max(rest * solve.seconds / math.max(solve.iterations, 1), 1e-3))))
  return listed(wait, better_preconditioner(solve), looser(solve))
end

function by_reason.stagnated(solve, noise) return listed(wide, looser(solve), more_noise(solve, noise)) end

function by_reason.indefinite(solve)
  local shift <const> = solve.largest_eigenvalue and up(1e-6 * solve.largest_eigenvalue) or 1e-6
  return {("add to the diagonal: A + %s * gb.eye(n); raise it tenfold until it is enough"):format(number(shift)),
    "solve an indefinite system as one: gb.solvers.minres{}"}
end

by_reason.nan = function()
  return {"look for what is not finite: x:isfinite():all(), of the matrix and of the right-hand side"}
end

by_reason.overflow = function() return {"scale the right-hand side: b / b:abs():max()"} end
by_reason.underflow = by_reason.overflow

--- Of a solve's record. noise: the model's, nil where there is none.
---@return string[]
function M.of_solve(solve, noise)
  local f <const> = by_reason[solve.reason] or by_reason.max_iter
  return f(solve, noise)
end

--- Of a fit's report: first those of its worst solve.
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
