--- q(u) = N(mean, S), the posterior of the values at the places of a variational model. Of u itself or, whitened, of
-- v = L^-1 u, whose prior is N(0, I), with K_zz = L L'.
--   full      natural parameters: precision = S^-1 (m, m) and shift = S^-1 mean (m), which natural gradients move
--   diagonal  mean and scale (m): S = diag(scale^2)
--   low_rank  mean, scale and weights (m, rank): S = diag(scale^2) + weights weights'
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.counted"
local object <const> = require "gibbous.object"
local param <const> = require "gibbous.param"
local shallow_copy <const> = require "gibbous.shallow_copy"
local store <const> = require "gibbous.store_classes"
local triangular_solve <const> = core.linalg.triangular_solve

---@class gibbous.variational
---@field kind string        "full", "diagonal" or "low_rank"
---@field whiten boolean     of v = L^-1 u
---@field count integer      m
---@field precision gibbous.param|nil  (m, m); shift (m): of "full"
---@field mean gibbous.param|nil       (m); scale (m), weights (m, rank): of the others
local Variational <const> = {__name = "gibbous.variational"}

local M <const> = {}

local BOXES <const> = {full = {"shift", "precision"}, diagonal = {"mean", "scale"}, low_rank = {"mean", "scale", "weights"}}
local PUBLIC <const> = {kind = true, whiten = true, count = true, shift = true, precision = true, mean = true, scale = true,
  weights = true}

local function fields(q) return rawget(q, "_fields") end

local function new(f) return setmetatable({_fields = f}, Variational) end

function Variational:__index(key)
  if PUBLIC[key] then return fields(self)[key] end
  object.no_field("a variational posterior", key, PUBLIC)
end

function Variational:__newindex(key)
  core.raise("option", ("field '%s' of a variational posterior cannot be assigned; m:set(\"q.%s\", v) sets a parameter"):format(
    tostring(key), tostring(key)))
end

function Variational:__children()
  local f <const>, out <const> = fields(self), {}
  for i, name in ipairs(BOXES[f.kind]) do out[i] = {name, f[name]} end
  return out
end

function Variational:__copy(copies)
  local out <const> = shallow_copy(fields(self))
  copies = copies or param.copies()
  for _, name in ipairs(BOXES[out.kind]) do out[name] = copies(out[name]) end
  return new(out)
end

function Variational:__tostring()
  local f <const> = fields(self)
  return ("q %s%s of %s"):format(f.whiten and "whitened, " or "", f.kind, counted(f.count, "value"))
end

--- A box that random starts leave alone; fixed: descents too.
local function box(v, name, o)
  return param.set_still(param.hyper(param.new(v, o), name, nil, 2))
end

-- Of the start of low-rank weights, which have no slope at 0.
local WEIGHT <const> = 0.1

--- q = the prior of whitened values, or N(0, I) of others. kind, whiten, rank; seed: of low-rank weights.
function M.new(count, kind, whiten, rank, seed)
  local f <const>, wide <const> = {kind = kind, whiten = whiten, count = count}, {dtype = "f64"}
  if kind == "full" then
    f.shift = box(core.zeros(count, wide):eval(), "shift", {fixed = true})
    f.precision = box(core.eye(count, wide):eval(), "precision", {fixed = true})
    return new(f)
  end
  f.mean = box(core.zeros(count, wide):eval(), "mean")
  f.scale = box(core.ones(count, wide):eval(), "scale", {min = 0})
  if kind == "low_rank" then
    f.weights = box((WEIGHT * core.randn(count, rank, {dtype = "f64", seed = seed})):eval(), "weights")
  end
  return new(f)
end

-- What q says of whitened values -----------------------------------------------------------------------------------------------

local function squares(v) return (v * v):sum() end

--- {a (m), the mean of v; half(U) (.., c) with U'S U = half'half, for U (m, c); kl ()}, lazy and with gradients; at: {L}.
local forms <const> = {}

function forms.full(f, at)
  local P, t = f.precision.value, f.shift.value
  if not f.whiten then P, t = at.L:t():matmul(P):matmul(at.L), at.L:t():matmul(t) end
  local R <const> = core.linalg.cholesky(P)
  local a <const> = core.solve_chol(R, t)
  local inverse <const> = triangular_solve(R, core.eye(f.count))
  return {R = R, a = a, precision = P, shift = t, half = function(U) return triangular_solve(R, U) end,
    kl = (squares(inverse) + (a * a):sum() - f.count + 2 * R:diagonal():log():sum()) / 2}
end

--- By factors of S as the rows of u have it: a scale a row, and columns of weights.
local function by_factors(f, at, weights)
  local s <const>, white <const> = f.scale.value, f.whiten
  local a <const> = white and f.mean.value or triangular_solve(at.L, f.mean.value)
  local function half(U)
    local v <const> = white and U or triangular_solve(at.L, U, {transposed = true})
    local own <const> = s:unsqueeze(2) * v
    return weights and core.cat({own, weights:t():matmul(v)}, 1) or own
  end
  local logdet = 2 * s:log():sum()
  if weights then
    local w <const> = weights / s:unsqueeze(2)
    logdet = logdet + core.linalg.logdet(w:t():matmul(w) + core.eye(weights.shape[2]))
  end
  local trace
  if white then
    trace = squares(s) + (weights and squares(weights) or 0)
  else
    trace = squares(triangular_solve(at.L, core.linalg.diag(s)))
      + (weights and squares(triangular_solve(at.L, weights)) or 0)
    logdet = logdet - 2 * at.L:diagonal():log():sum()
  end
  return {a = a, half = half, kl = (trace + (a * a):sum() - f.count - logdet) / 2}
end

function forms.diagonal(f, at) return by_factors(f, at) end

function forms.low_rank(f, at) return by_factors(f, at, f.weights.value) end

function M.at(q, at) return forms[q.kind](fields(q), at) end

--- Sets a full q from whitened natural parameters and L of K_zz, plain values.
function M.put(q, precision, shift, L)
  local f <const>, back <const> = fields(q), {transposed = true}
  if not f.whiten then
    local half <const> = triangular_solve(L, precision, back)
    precision, shift = triangular_solve(L, half:t(), back):detach(), triangular_solve(L, shift, back):detach()
    core.eval(precision, shift)
  end
  f.precision.raw, f.shift.raw = precision, shift
end

store.class("gibbous.variational", {
  write = function(w, q, path)
    local out <const> = {kind = q.kind, whiten = q.whiten, count = q.count}
    for _, name in ipairs(BOXES[q.kind]) do out[name] = w:value(q[name], path .. "." .. name) end
    return out
  end,
  read = function(r, d)
    local names <const> = BOXES[d.kind]
    if not (names and math.type(d.count) == "integer" and type(d.whiten) == "boolean") then r:fail "its q makes no sense" end
    local f <const> = {kind = d.kind, whiten = d.whiten, count = d.count}
    for _, name in ipairs(names) do
      f[name] = param.set_still(r:of(d[name], "gibbous.param"))
      if #f[name] ~= d.count then r:fail(("q.%s does not go with its points"):format(name)) end
    end
    if f.precision and (f.precision.ndim ~= 2 or f.precision.shape[2] ~= d.count) then r:fail "q.precision is no square matrix" end
    return new(f)
  end,
})

return M
