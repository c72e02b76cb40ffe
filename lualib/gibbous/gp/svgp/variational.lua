--- q(u) = N(mean, S), the posterior of the values at the places of a variational model. Of u itself or, whitened, of
-- v = L^-1 u, whose prior is N(0, I), with K_zz = L L'.
--   full      natural parameters: precision = S^-1 (m, m) and shift = S^-1 mean (m)
--   diagonal  mean and scale (m): S = diag(scale^2)
--   low_rank  mean, scale and weights (m, rank): S = diag(scale^2) + weights weights'
-- Natural gradients (gp/svgp/natural.lua) move all of these but the weights.
-- Of C latent functions, which q takes as independent, all have a first axis C; they are whitened.
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
---@field latents integer|nil C, of several latent functions
---@field precision gibbous.param|nil  (m, m); shift (m): of "full"
---@field mean gibbous.param|nil       (m); scale (m), weights (m, rank): of the others
local Variational <const> = {__name = "gibbous.variational"}

local M <const> = {}

local BOXES <const> = {full = {"shift", "precision"}, diagonal = {"mean", "scale"}, low_rank = {"mean", "scale", "weights"}}
-- Of those, the ones that natural gradients move, in the order of M.put.
local NATURAL <const> = {full = {"precision", "shift"}, diagonal = {"mean", "scale"}, low_rank = {"mean", "scale"}}
local PUBLIC <const> = {kind = true, whiten = true, count = true, shift = true, precision = true, mean = true, scale = true,
  weights = true, latents = true}

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
  return ("q %s%s of %s%s"):format(f.whiten and "whitened, " or "", f.kind, counted(f.count, "value"),
    f.latents and (", %d times"):format(f.latents) or "")
end

--- A box of the model's own that random starts leave alone; fixed: descents too.
local function box(v, name, o)
  return param.set_still(param.hyper(v, name, o or {}, 3))
end

-- Of the start of low-rank weights, which have no slope at 0.
local WEIGHT <const> = 0.1

--- q = the prior of whitened values, or N(0, I) of others. kind, whiten, rank; seed: of low-rank weights; latents: C, nil: one.
function M.new(count, kind, whiten, rank, seed, latents)
  local f <const> = {kind = kind, whiten = whiten, count = count, latents = latents}
  --- 'like', or C of it.
  local function each(like) return (latents and like:expand(latents, table.unpack(like.shape)) or like):eval() end
  local wide <const> = {dtype = "f64"}
  if kind == "full" then
    f.shift = box(each(core.zeros(count, wide)), "shift", {fixed = true})
    f.precision = box(each(core.eye(count, wide)), "precision", {fixed = true})
    return new(f)
  end
  f.mean = box(each(core.zeros(count, wide)), "mean")
  f.scale = box(each(core.ones(count, wide)), "scale", {min = 0})
  if kind == "low_rank" then
    f.weights = box(each(WEIGHT * core.randn(count, rank, {dtype = "f64", seed = seed})), "weights")
  end
  return new(f)
end

-- What q says of whitened values -----------------------------------------------------------------------------------------------

local function squares(v) return (v * v):sum() end

--- {a (m), the mean of v; half(U) (.., c) with U'S U = half'half, for U (m, c); kl ()}, lazy and with gradients; logdet: of S, of
-- diagonal and low-rank q; spread(U) = S U, of whitened full and diagonal q; latents: C, then the first axis of a, half(U) and
-- spread(U). at: {L}.
local forms <const> = {}

function forms.full(f, at)
  local P, t = f.precision.value, f.shift.value
  if not f.whiten then P, t = at.L:t():matmul(P):matmul(at.L), at.L:t():matmul(t) end
  local R <const> = core.linalg.cholesky(P)
  --- R^-1 U.
  local function half(U) return triangular_solve(R, f.latents and U:expand(f.latents, table.unpack(U.shape)) or U) end
  local a <const> = core.solve_chol(R, t)
  local function spread(U) return triangular_solve(R, half(U), {transposed = true}) end
  return {R = R, a = a, precision = P, shift = t, half = half, spread = spread, latents = f.latents,
    kl = (squares(half(core.eye(f.count))) + (a * a):sum() - f.count * (f.latents or 1) + 2 * R:diagonal():log():sum()) / 2}
end

--- By factors of S as the rows of u have it: a scale a row, and columns of weights.
local function by_factors(f, at, weights)
  local s <const>, white <const> = f.scale.value, f.whiten
  local a <const> = white and f.mean.value or triangular_solve(at.L, f.mean.value)
  local function half(U)
    local v <const> = white and U or triangular_solve(at.L, U, {transposed = true})
    local own <const> = s:unsqueeze(-1) * (f.latents and v:unsqueeze(1) or v)
    return weights and core.cat({own, weights:t():matmul(v)}, -2) or own
  end
  local logdet = 2 * s:log():sum()
  if weights then
    local w <const> = weights / s:unsqueeze(-1)
    local inner <const> = core.linalg.logdet(w:t():matmul(w) + core.eye(weights.shape[weights.ndim]))
    logdet = logdet + (f.latents and inner:sum() or inner)
  end
  local trace
  if white then
    trace = squares(s) + (weights and squares(weights) or 0)
  else
    trace = squares(triangular_solve(at.L, core.linalg.diag(s)))
      + (weights and squares(triangular_solve(at.L, weights)) or 0)
    logdet = logdet - 2 * at.L:diagonal():log():sum()
  end
  return {a = a, half = half, logdet = logdet, latents = f.latents,
    kl = (trace + (a * a):sum() - f.count * (f.latents or 1) - logdet) / 2}
end

function forms.diagonal(f, at)
  local out <const>, s <const> = by_factors(f, at), f.scale.value
  function out.spread(U) return (s * s):unsqueeze(-1) * (f.latents and U:unsqueeze(1) or U) end
  return out
end

function forms.low_rank(f, at) return by_factors(f, at, f.weights.value) end

function M.at(q, at) return forms[q.kind](fields(q), at) end

--- The natural parameters of v as those of u.
local function of_values(precision, shift, L)
  local back <const> = {transposed = true}
  local half <const> = triangular_solve(L, precision, back)
  local P <const>, t <const> = triangular_solve(L, half:t(), back):detach(), triangular_solve(L, shift, back):detach()
  core.eval(P, t)
  return P, t
end

--- Gives q new values, plain: {precision, shift, L}, whitened, of a full q; {mean, scale} of the others, or {mean}; those of
-- them that are fixed stay.
function M.put(q, new)
  local f <const> = fields(q)
  if f.kind == "full" then
    local P, t = new[1], new[2]
    if not f.whiten then P, t = of_values(P, t, new[3]) end
    f.precision.raw, f.shift.raw = P, t
    return
  end
  for i, name in ipairs(NATURAL[f.kind]) do
    if new[i] and not f[name].fixed then f[name].value = new[i] end
  end
end

--- The set of parameters that natural gradients move.
function M.natural(q)
  local out <const> = {}
  for _, name in ipairs(NATURAL[q.kind]) do out[q[name]] = true end
  return out
end

store.class("gibbous.variational", {
  write = function(w, q, path)
    local out <const> = {kind = q.kind, whiten = q.whiten, count = q.count, latents = q.latents}
    for _, name in ipairs(BOXES[q.kind]) do out[name] = w:value(q[name], path .. "." .. name) end
    return out
  end,
  read = function(r, d)
    local names <const>, C <const> = BOXES[d.kind], d.latents
    if not (names and math.type(d.count) == "integer" and type(d.whiten) == "boolean"
      and (C == nil or math.type(C) == "integer" and C > 1 and d.whiten)) then
      r:fail "its q makes no sense"
    end
    local f <const> = {kind = d.kind, whiten = d.whiten, count = d.count, latents = C}
    for _, name in ipairs(names) do
      local p <const> = param.set_still(r:of(d[name], "gibbous.param"))
      local shape <const> = {table.unpack(p.shape)}
      local leads <const> = C == nil or table.remove(shape, 1) == C
      local square <const> = name ~= "precision" or shape[2] == d.count
      if not (leads and square and shape[1] == d.count and #shape == ((name == "precision" or name == "weights") and 2 or 1)) then
        r:fail(("q.%s does not go with its points"):format(name))
      end
      f[name] = p
    end
    return new(f)
  end,
})

return M
