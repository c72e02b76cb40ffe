--- Preconditioners, as values: what a solver may use to need fewer steps. They change the time, never the answer.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"

local Precond <const> = {__name = "gibbous.precond"}

local M <const> = {}

function M.is(v) return type(v) == "table" and getmetatable(v) == Precond end

function Precond:__tostring()
  if self.kind == "jacobi" or self.rank == nil then return self.kind end      -- nil: by the number of points
  local chosen <const> = self.rank == "auto" and self.info and (": %d"):format(self.info.rank) or ""
  return ("%s(%s%s)"):format(self.kind, self.rank, chosen)
end

-- Low rank ----------------------------------------------------------------------------------------------------------------

-- Where no rank is given: one for every EACH points, so that building the preconditioner takes about as long as one product of a
-- training step; at least LEAST, at most MOST, and not more than this part of the memory limit, or of a budget.
local EACH <const>, LEAST <const>, MOST <const>, PART <const> = 50, 100, 1000, 8

--- This preconditioner for work within so many bytes.
function Precond:within(budget)
  local out <const> = {}
  for key, v in pairs(self) do out[key] = v end
  out.budget = budget
  return setmetatable(out, Precond)
end

--- The rank for a matrix of n rows, at most n; "auto" until it is chosen.
function Precond:rank_at(n)
  if self.rank == "auto" and self.choices[n] then return self.choices[n].rank end
  if self.rank then return self.rank == "auto" and "auto" or math.min(self.rank, n) end
  local most <const> = (self.budget or core.memory.report().limit) // (PART * 8 * math.max(n, 1))
  return math.min(n, MOST, math.max(LEAST, n // EACH), math.max(1, most))
end

--- k and noise with a = k + noise I: a number, or a tensor of one, or of one for each point (n).
function Precond:split(a, k, noise)
  noise = noise or self.noise
  if noise == nil then
    core.raise("option", ("gb.precond.%s: give noise, the multiple of the identity in the matrix"):format(self.kind))
  end
  if core.type(noise) == "tensor" and noise.numel == 1 and #a > 1 then noise = noise:reshape{} end
  return k or a - core.eye(#a, {dtype = a.dtype}) * noise, noise
end

--- The same with noise a number where it is one.
local function parts(self, a, k, noise)
  k, noise = self:split(a, k, noise)
  return k, core.type(noise) == "tensor" and noise.ndim == 0 and noise:item() or noise
end

local function build(self, a, k, noise)
  k, noise = parts(self, a, k, noise)
  local rank <const> = self:resolve(a, k, noise):rank_at(#a)
  return rank > 0 and (self.make(k, noise, rank)) or nil
end

-- The share of the trace below which rounding is more than the noise: P^-1 is then of another matrix.
local ROUNDED <const> = 1e-14

--- A preconditioner for many right-hand sides, to be closed: of this rank, or less where no more is left of the trace than the
-- least noise, so that the preconditioned condition number is 2 at most. nil where the rank is no higher than it is anyway, and
-- where rounding is more than the one noise of all points.
local function deepen(self, k, noise, rank)
  local usual <const> = self:rank_at(#k)
  if usual == "auto" or rank <= usual then return nil end
  local trace <const> = k:diagonal():to{dtype = "f64"}:sum():item()
  local least <const> = type(noise) == "number" and noise or noise:min():item()
  if type(noise) == "number" and least <= ROUNDED * trace then return nil end
  return (self.make(k, noise, rank, trace > 0 and math.min(least / trace, 1) or 0))
end

--- This preconditioner with its rank chosen by time for one matrix, and the record of the choice in .info. Chosen once for each
-- number of points, so that a fit keeps its estimator. o: columns solved together, tol of the solves.
local function resolve(self, a, k, noise, o)
  if self.rank ~= "auto" then return self end
  k, noise = parts(self, a, k, noise)
  local n <const> = #a
  if self.choices[n] == nil then
    self.choices[n] = require "gibbous.solvers.precond_rank"(self.make, a:detach(), k:detach(), noise, o or {})
  end
  rawset(self, "info", self.choices[n])
  return self
end

--- A share of the trace.
local function is_share(v) return type(v) == "number" and v >= 0 and v < 1, "a number from 0, below 1" end

local function is_rank(v) return v == "auto" or math.type(v) == "integer" and v >= 1, '"auto" or a whole number, 1 or more' end

local function low_rank(kind, own, opts, make)
  local spec <const> = {rank = is_rank, noise = "positive"}
  for key, rule in pairs(own) do spec[key] = rule end
  local o <const> = options.parse(opts, spec, "gb.precond." .. kind)
  for key, v in pairs(o) do o[key] = v or nil end
  return object.made(Precond, {kind = kind, o = o, choices = {}, make = make(o), build = build, deepen = deepen, resolve = resolve},
    "gb.precond." .. kind, spec)
end

--- L L' + noise I with L the partial Cholesky factor of A - noise I, pivoted on the largest diagonal entry left.
-- Reads the diagonal and 'rank' rows; n rank values. Of a model whose points have noises of their own, D: L L' + D + a part of what
-- L leaves of the diagonal. rank: by default one for every 50 points, between 100 and 1,000 and within an eighth of the memory
-- limit; "auto": chosen by time. noise: the multiple of the identity in A; models know their own. tol: stops
-- where less than this share of the trace is left.
function M.pivoted_cholesky(opts)
  return low_rank("pivoted_cholesky", {tol = is_share}, opts, function(o)
    return function(k, noise, rank, tol) return core.pivoted_cholesky(k, noise, rank, tol or o.tol or 0) end
  end)
end

--- The Nystrom approximation K_s K_ss^-1 K_s' of K = A - noise I, + noise I, from 'rank' points s, each drawn in proportion to what
-- those before leave of the diagonal: near the best of its rank, where pivoted_cholesky may spend its rank on outliers.
-- Cost, rank and tol as of pivoted_cholesky. seed: of the draws.
-- Source: Chen, Epperly, Tropp & Webber (2025), Randomly pivoted Cholesky.
function M.nystrom(opts)
  return low_rank("nystrom", {seed = "integer", tol = is_share}, opts, function(o)
    return function(k, noise, rank, tol) return core.nystrom(k, noise, rank, o.seed or 0, tol or o.tol or 0) end
  end)
end

--- The diagonal of A, without signs: that A is not positive definite is found, and reported, by the solver.
function M.jacobi(opts)
  options.parse(opts, {}, "gb.precond.jacobi")
  return object.made(Precond, {kind = "jacobi", o = {}, build = function(_, a) return core.jacobi(a) end}, "gb.precond.jacobi", {})
end

object.settle(Precond, "a preconditioner", "info budget choices make deepen resolve noise tol seed")

return require "gibbous.base.names"(M, "gb.precond", {})
