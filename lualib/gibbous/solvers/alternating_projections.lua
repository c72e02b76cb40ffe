--- Alternating projections: A is any lazy symmetric positive definite matrix; a diagonal block is solved exactly at a time.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"

local KEPT <const> = 0.1                          -- share of the free memory that factors of blocks may take

local function run(self, system, b, x0)
  local o <const> = self.o
  return core.alternating_projections(system.a, b, {tol = o.tol, max_iter = o.max_iter, block = o.block, x0 = x0,
    keep = math.tointeger(KEPT * core.memory.room() // 1)})
end

local function text(self) return ("alternating_projections(tol %g, block %d)"):format(self.o.tol, self.o.block) end

--- Alternating projections, a second solver for very many points: tol, largest |b - A x| / |b| of a column, in (0, 1);
-- block (1000), rows solved together; max_iter (200), epochs: each takes every row once, n^2 pairs and n / block factors;
-- probes and seed of the log determinant in a model's fit. The next block is the one of largest residual over all columns.
-- The record's condition is a bound from below: the last block's eigenvalues and a power step from there, one epoch's products,
-- and |b| / |x|; of a matrix with a block that is not positive definite it is 0, not known.
-- Memory: O(n r + block^2), and n block values for the factors where a tenth of the free memory holds them.
return function(opts)
  local o <const>, spec <const> = base.options(opts, {block = "count"},
    {tol = 1e-6, max_iter = 200, block = 1000, probes = 16, seed = 0}, "gb.solvers.alternating_projections")
  if o.block == 0 then core.raise("option", "gb.solvers.alternating_projections: block must be 1 or more") end
  return base.new(o, {run = run, text = text}, "gb.solvers.alternating_projections", spec)
end
