--- Functions drawn from a posterior by Matheron's rule:
--   f_post(.) = f(.) + k(., x) C^-1 (y - m(x) - f(x) - e),   f a draw of the prior, e one of the noise.
-- The prior's draw is made of random features (gp/predict/features.lua), the correction is exact: draws have the posterior mean
-- exactly, and its covariance up to that of the features, an error of the order of k (2 / features)^1/2.
-- Source: Wilson, Borovitskiy, Terenin, Mostowsky & Deisenroth (2020), Efficiently sampling functions from Gaussian process
-- posteriors, equation 12.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.data"
local features <const> = require "gibbous.gp.predict.features"
local kernels <const> = require "gibbous.kernels"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

local M <const> = {}

---@class gibbous.draw
---@field count integer          number of functions
---@field features integer       random features of the prior
---@field converged boolean      whether the solve behind it did
local Draw <const> = {__name = "gibbous.draw"}
local facts <const> = {count = true, features = true, converged = true, info = true}

function Draw.__index(self, key)
  if facts[key] then return rawget(self, "_box")[key] end
  core.raise("option", ("a draw has no field '%s'; call it with points"):format(tostring(key)))
end

function Draw.__newindex(_, key) core.raise("option", ("a draw is a value; '%s' cannot be assigned"):format(tostring(key))) end

function Draw.__tostring(self)
  local d <const> = rawget(self, "_box")
  return ("%s drawn with %s: call with points (m, d) for values (%d, m)"):format(counted(d.count, "function"),
    counted(d.features, "feature"), d.count)
end

--- The weights of k(., x): C^-1 (y - m(x) - prior(x) - e), (n, count).
local function correction(self, x, prior, white, count, seed)
  local f <const>, wide <const> = model.fields(self), {dtype = x.dtype}
  local weights <const> = model.posterior(self).weights
  if weights then return weights(self, prior(x), white, seed) end
  local noise = f.likelihood:variance(x)
  if white then noise = noise + white end
  local sd <const> = noise.ndim == 1 and noise:sqrt():unsqueeze(2) or noise:sqrt()
  local e <const> = sd * core.randn(#x, count, {dtype = x.dtype, seed = seed * 7919 + 7907})
  return model.posterior(self).solve(self, (f.y:to(wide) - f.mean(x)):unsqueeze(2) - prior(x) - e)
end

--- 'count' functions of the posterior of a model that computes. like (., d): inputs of the right width; o: features, seed. view:
-- how the caller gives points and sees values, where that is not as the model that computes: points(xs), checked, inputs(points)
-- and values((count, m'), m).
function M.new(self, like, count, o, view)
  local of <const>, held <const> = model.posterior(self), model.fields(self).x
  if held and #held > 0 and not (of.solve or of.weights or of.correct) then
    core.raise("option", "draw: functions of a model of this class cannot be drawn")
  end
  local worker <const> = held and #held > 0 and of.worker(self) or self
  local f <const> = model.fields(worker)
  local wide <const> = {dtype = held and #held > 0 and of.dtype or (f.x or like).dtype}
  local x <const>, kernel <const>, mean <const> = f.x and f.x:to(wide):eval(), f.kernel, f.mean
  local prior <const>, white <const> = features.draw(kernel, like:to(wide), count, o.features, o.seed)
  local places, weights, info = x, nil, nil
  if x and #x > 0 and of.correct then
    places, weights = of.correct(worker, prior, count, o.seed)
  elseif x and #x > 0 then
    weights, info = correction(worker, x, prior, white, count, o.seed)
  end
  local at <const> = param.remember(worker)
  local function values(t)
    local v = mean(t):unsqueeze(2) + prior(t)
    if weights then v = v + kernel(t, places):matmul(weights) end
    return v:t()
  end
  local function of_inputs(t) return at(values, t:to(wide)):to{dtype = t.dtype} end
  local function of_points(t) return view.values(of_inputs(view.inputs(t)), #t) end
  return setmetatable({_box = {count = count, features = o.features, info = info, converged = info == nil or info.converged,
    columns = like.shape[2], device = like.device, dtype = like.dtype, points = view and view.points,
    values = view and of_points or of_inputs}}, Draw)
end

--- Points of a call, of the columns and type of a draw 'd' without a view.
local function checked(d, xs)
  local t <const> = kernels.points(xs, "draw: x")
  data.check_session("draw", d.device)
  data.check_home("draw", t)
  if t.shape[2] ~= d.columns then
    core.raise("shape", ("draw: the model was given %s, x has shape %s"):format(counted(d.columns, "column"), core.told(t)))
  end
  if t.dtype ~= d.dtype then core.raise("dtype", ("draw: the model's data are %s, x is %s"):format(d.dtype, t.dtype)) end
  return t
end

--- The functions at points (m, d) or (m), or at the rows of a frame: (count, m), of T tasks (count, m, T), lazy and differentiable
-- in the points. The same point gives the same value, however and how often it is asked for. Cost: O(m (features + n)) a function,
-- streamed.
function Draw.__call(self, xs)
  local d <const> = rawget(self, "_box")
  return d.values(d.points and d.points(xs) or checked(d, xs))
end

M.spec = {features = "count", seed = "integer"}

--- Defaults of checked options.
function M.settings(o)
  if o.features == 0 then core.raise("option", "draw: features must be 1 or more") end
  return {features = o.features or 1024, seed = o.seed or math.floor(2 ^ 31 * core.rand(1, {dtype = "f64"}):item())}
end

--- Number of functions and settings of a draw from a model of fields f, checked.
function M.asked(f, k, opts)
  local o <const> = M.settings(options.parse(opts, M.spec, "draw"))
  local count <const> = k == nil and 1 or options.whole(k)
  if count == nil or count < 1 then
    core.raise("option", ("draw: the number of functions must be 1 or more, got %s"):format(options.got(k)))
  end
  if f.x == nil then core.raise("option", "draw: the model holds no data; condition it, be it on zero rows") end
  return count, o
end

return M
