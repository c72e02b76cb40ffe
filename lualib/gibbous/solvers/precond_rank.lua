--- The rank of a low-rank preconditioner, chosen by time: doubled from 16 while the solves it saves outweigh building and
-- applying it. Times are measured on the matrix itself; steps are predicted from the condition number that a short run of
-- conjugate gradients sees.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local table_text <const> = require "gibbous.text.table"

local FIRST <const>, TRIAL <const> = 16, 10      -- the first rank; steps of a short run
local SHARE <const> = 0.1                        -- of the memory left, for a preconditioner
local GROWTH <const> = 4                         -- what building costs more at twice the rank

---@class gibbous.precond_choice
---@field rank integer      0: none pays
---@field columns integer   solved together
---@field tol number        of the solves that were compared
---@field seconds number    that choosing took
---@field tried table[]     {rank, build, apply, product: seconds; condition, steps: predicted; seconds: of one solve}
local Choice <const> = {__name = "gibbous.precond_choice"}

function Choice:__tostring()
  local rows <const> = {{"rank", "build s", "apply s", "product s", "condition", "steps", "solve s", ""}}
  for _, t in ipairs(self.tried) do
    rows[#rows + 1] = {tostring(t.rank), ("%.3g"):format(t.build), ("%.3g"):format(t.apply), ("%.3g"):format(t.product),
      ("%.3g"):format(t.condition), tostring(t.steps), ("%.3g"):format(t.seconds), t.rank == self.rank and "chosen" or ""}
  end
  return ("rank %d for %s at tol %g\n%s"):format(self.rank, counted(self.columns, "column"), self.tol, table_text(rows))
end

--- f's result, and the shortest time of two runs.
local function timed(f)
  local best, result = math.huge, nil
  for turn = 1, 2 do
    local start <const> = core.clock()
    result = f(turn)
    best = math.min(best, core.clock() - start)
  end
  return result, best
end

--- Steps of conjugate gradients to a residual of tol at this condition number.
local function steps_at(condition, tol) return math.max(1, math.ceil(0.5 * math.sqrt(condition) * math.log(2 / tol))) end

local function try(make, a, k, noise, rank, o)
  local n <const> = #a
  local p, built = nil, 0
  if rank > 0 then
    local start <const> = core.clock()
    p = make(k, noise, rank)
    built = core.clock() - start
  end
  local _, apply = nil, 0
  if p then _, apply = timed(function() return core.precond_apply(p, o.block) end) end
  local _, info <const> = core.cg(a, o.one, {tol = o.tol, max_iter = TRIAL, precond = p})
  local steps <const> = info.converged and math.max(info.iterations, 1) or math.max(steps_at(info.condition, o.tol), TRIAL)
  return {rank = math.min(rank, n), build = built, apply = apply, product = o.product, condition = info.condition, steps = steps,
    seconds = built + steps * (o.product + apply)}
end

--- 'make'(k, noise, rank) builds a preconditioner of a = k + noise I; o: columns (17), tol (1e-2).
---@return gibbous.precond_choice
return function(make, a, k, noise, o)
  local n <const> = #a
  local columns <const>, tol <const> = o.columns or 17, o.tol or 1e-2
  local choice <const> = setmetatable({rank = 0, columns = columns, tol = tol, tried = {}, seconds = 0.0}, Choice)
  local started <const> = core.clock()
  if n < 2 * FIRST then return choice end
  local setting <const> = {tol = tol, one = core.randn(n, {seed = 1, dtype = a.dtype}):eval(),
    block = core.randn(n, columns, {seed = 2, dtype = a.dtype}):eval()}
  local blocks <const> = {setting.block, core.randn(n, columns, {seed = 3, dtype = a.dtype}):eval()}
  setting.product = select(2, timed(function(turn) return a:matmul(blocks[turn]):eval() end))
  -- Points with noises of their own are worth the least rank: without a preconditioner these are the condition.
  local rank = type(noise) == "number" and 0 or FIRST
  local best = try(make, a, k, noise, rank, setting)
  choice.tried[1] = best
  local most <const> = math.min(n // 2, math.max(FIRST, SHARE * core.memory.room() // (8 * n)))
  local last = best
  rank = math.max(FIRST, 2 * rank)
  while rank <= most and last == best and GROWTH * last.build < best.seconds do
    last = try(make, a, k, noise, rank, setting)
    choice.tried[#choice.tried + 1] = last
    if last.seconds < best.seconds then best = last end
    rank = rank * 2
  end
  choice.rank, choice.seconds = best.rank, core.clock() - started
  return choice
end
