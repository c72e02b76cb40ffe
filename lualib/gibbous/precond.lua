--- Preconditioners, as values: what a solver may use to need fewer steps. They change the time, never the answer.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.options"

local Precond <const> = {__name = "gibbous.precond"}
Precond.__index = Precond

local M <const> = {}

function M.is(v) return type(v) == "table" and getmetatable(v) == Precond end

function Precond:__tostring()
  return self.rank and ("%s(%d)"):format(self.kind, self.rank) or self.kind
end

--- k and noise, a number or a tensor of one, with a = k + noise I.
function Precond:split(a, k, noise)
  noise = noise or self.noise
  if noise == nil then
    core.raise("option", ("gb.precond.%s: give noise, the multiple of the identity in the matrix"):format(self.kind), 4)
  end
  return k or a - core.eye(#a, {dtype = a.dtype}) * noise, noise
end

--- L L' + noise I with L the partial Cholesky factor of A - noise I, pivoted on the largest diagonal entry left.
-- Reads the diagonal and 'rank' rows; n rank values. noise: the multiple of the identity in A; models know their own.
function M.pivoted_cholesky(opts)
  local o <const> = options.parse(opts, {rank = "count", noise = "positive", tol = "number"}, "gb.precond.pivoted_cholesky", 2)
  if o.rank == 0 then core.raise("option", "gb.precond.pivoted_cholesky: the rank must be 1 or more", 2) end
  return setmetatable({kind = "pivoted_cholesky", rank = o.rank or 100, noise = o.noise or nil, tol = o.tol or 0,
    build = function(self, a, k, noise)
      k, noise = self:split(a, k, noise)
      noise = type(noise) == "number" and noise or noise:item()
      return (core.pivoted_cholesky(k, noise, math.min(self.rank, #a), self.tol))
    end}, Precond)
end

--- The diagonal of A.
function M.jacobi(opts)
  options.parse(opts, {}, "gb.precond.jacobi", 2)
  return setmetatable({kind = "jacobi", build = function(_, a) return core.jacobi(a) end}, Precond)
end

return require "gibbous.names"(M, "gb.precond", {"nystrom"})
