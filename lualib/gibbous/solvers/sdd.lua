--- Stochastic dual descent: A is any lazy symmetric positive definite matrix, of which each step sees some rows.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"

local function run(self, system, b, x0)
  local o <const> = self.o
  return core.sdd(system.a, b, {tol = o.tol, max_iter = o.max_iter, batch = o.batch, momentum = o.momentum, step = o.step or 0,
    seed = o.seed, x0 = x0})
end

local function text(self) return ("sdd(tol %g, batch %d)"):format(self.o.tol, self.o.batch) end

--- Stochastic dual descent, a second solver for very many points: tol, largest |b - A x| / |b| of a column, in (0, 1);
-- batch (512), rows of a step; max_iter (20000), steps of batch n pairs each; momentum (0.9); step, by default the smaller
-- of 1 / (largest eigenvalue) and (1 - momentum) batch / (n largest diagonal entry); seed of the batches, and of the probes
-- of a model's fit. The result is the geometric average of the last max_iter / 100 steps. The true residual is looked at
-- every ten passes over the rows. Ten Lanczos steps before the first, n^2 pairs each, tell the largest eigenvalue and the
-- record's condition, a bound from below. Memory: O(n r).
return function(opts)
  local o <const>, spec <const> = base.options(opts, {batch = "count", momentum = "number", step = "positive"},
    {tol = 1e-2, max_iter = 20000, batch = 512, momentum = 0.9, probes = 16, seed = 0}, "gb.solvers.sdd")
  if o.batch == 0 then core.raise("option", "gb.solvers.sdd: batch must be 1 or more") end
  if not (o.momentum >= 0 and o.momentum < 1) then
    core.raise("option", ("gb.solvers.sdd: momentum must be from 0 to below 1, got %g"):format(o.momentum))
  end
  return base.new(o, {run = run, text = text}, "gb.solvers.sdd", spec)
end
