--- Fantasies: b continuations of one model, each conditioned on k observations of its own, predicted from together.
--
-- With the model's posterior mean m and covariance c, observations e at z of noise N: S = c(z, z) + N,
--   mean = m(t) + c(t, z) S^-1 (e - m(z)),   f_var = c(t, t) - c(t, z) S^-1 c(z, t),   c(t, z) = k(t, z) - k(t, x) C^-1 k(x, z).
-- w = C^-1 k(x, z) is solved for once; then each of m test points costs one streamed pass over the data a column of z, and no
-- factor is copied b times. What is formed beside the results is c(t, z), (b k, m) or, of shared points, (k, m).
-- Variances have C^-1 k(x, t) as well, v: then c(t, z) is less v'(k(x, z) - C w), so that the joint covariance of t and z is that
-- of the errors of two estimates, positive however coarse the solver.
-- Source: Rasmussen & Williams (2006), A.5 and A.3 (conditioning twice).
local cache <const> = require "gibbous.gp.exact.posterior_cache"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local forecast <const> = require "gibbous.gp.exact.forecast"
local kernels <const> = require "gibbous.kernels"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local param <const> = require "gibbous.param"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local precision_twin <const> = require "gibbous.gp.exact.precision_twin"
local prediction <const> = require "gibbous.gp.predict.record"
local prediction_parts <const> = require "gibbous.gp.predict.parts"
local rescaled <const> = require "gibbous.gp.predict.rescaled"
local scaling <const> = require "gibbous.gp.scaling"
local variance <const> = require "gibbous.gp.exact.variance"

---@class gibbous.gp.fantasies
---@field count integer     b
---@field x gibbous.tensor  (k, d), or (b, k, d)
---@field y gibbous.tensor  (b, k)
---@field model gibbous.gp.exact  what they continue, with its parameters at the time
local Fantasies <const> = {__name = "gibbous.gp.fantasies"}
local methods <const> = object.methods(Fantasies, "fantasies", "f")
local M <const> = {}

--- Whether condition(x, y) means fantasies: y (b, k) beside x (k, d), or any x (b, k, d).
function M.is_batch(x, y)
  local xs <const>, ys <const> = core.as_tensor(x), core.as_tensor(y)
  if xs == nil or ys == nil then return false end
  return xs.ndim == 3 or (ys.ndim == 2 and ys.shape[2] == #xs and xs.ndim <= 2 and not (ys.shape[2] == 1 and #ys == #xs))
end

local function box(self) return rawget(self, "_box") end

local function adopted(v, dtype) return v.dtype == dtype and v or v:to{dtype = dtype} end

-- What is computed once ---------------------------------------------------------------------------------------------------

-- What is computed once is held (core.hold): values with a history. Values come from half or rest, gradients go by w.

--- Into 'out' w = C^-1 k for k = k(x, z) (n, columns), and by a factor half = L^-1 k, by a solver rest = k - C w and its record
-- 'solve'. Gives two matrices whose product left' right is k' C^-1 k; by a solver it is k'w + w'k - w'C w, below it by the square
-- of the residual: what is left of a variance stays positive.
local function solve_into(out, state, cross)
  local k <const> = cross:detach()
  if state.system then
    local w <const>, info <const> = state.system:solve(k)
    out.w, out.solve, out.rest = state.system:hold(cross, w), info, (k - state.system.a:matmul(w)):eval()
    return core.cat({k, w}, 1):eval(), core.cat({w, out.rest}, 1):eval()
  end
  local half <const> = core.linalg.triangular_solve(state.factor, k):detach()
  local w <const> = core.linalg.triangular_solve(state.factor, half, {transposed = true}):detach()
  core.eval(half, w)
  out.w, out.half = core.hold(core.solve_chol(state.factor, cross), w), half
  return half, half
end

--- k(z, z) + noise less what is explained, of one group: (k, k). explained: what left' right is the value of.
local function inner(kernel, z, noise, left, right, explained)
  local s <const> = kernel(z) + core.linalg.diag(noise)
  return left and s - variance.by_form(left:t():matmul(right), explained) or s
end

--- A lazy value, computed now; its history is for gradients alone.
local function computed(v) return core.hold(v, v) end

local function root_of(s)
  local k <const> = s.shape[1]
  return core.linalg.triangular_solve(core.linalg.cholesky(s), core.eye(k, {dtype = s.dtype}))
end

--- roots: L^-1 of each S, (k, k) or (b, k, k); weights: S^-1 (e - m(z)), (k, b) or (b, k). w as solve_into has it for 'cross'.
local function groups(b, kernel, left, right, residual, cross, w)
  if b.shared then
    local root <const> = computed(root_of(inner(kernel, b.z, b.noise, left, right, w and cross:t():matmul(w))))
    return root, computed(root:t():matmul(root:matmul(residual:t())))
  end
  local function split(v) return v:reshape(#v, b.count, b.k):permute(2, 1, 3) end
  local arguments <const> = {b.z:reshape(b.count, b.k, b.z.shape[2]), b.noise:reshape(b.count, b.k)}
  if left then
    for i, v in ipairs{left, right, cross, w} do arguments[2 + i] = split(v) end
  end
  local root <const> = computed(core.vmap(function(z, noise, l, r, k, v)
    return root_of(inner(kernel, z, noise, l, r, k and k:t():matmul(v)))
  end)(table.unpack(arguments)))
  local white <const> = (root * residual:unsqueeze(2)):sum(3)                   -- L^-1 e
  return root, computed((root * white:unsqueeze(3)):sum(2))
end

--- What all predictions share, for the parameters as they are: root, weights, and what solve_into adds where there are data.
local function prepared(b)
  local now <const> = model.stamp(b.worker)
  if b.ready and b.ready.stamp == now then return b.ready end
  local f <const> = model.fields(b.worker)
  local ready <const> = {stamp = now}
  local at = f.mean(b.z)
  local left, right, cross
  if f.x and #f.x > 0 then
    local state <const> = cache.of(b.worker)
    at = at + f.kernel(b.z, f.x):matmul(state.alpha)
    cross = f.kernel(f.x, b.z)
    left, right = solve_into(ready, state, cross)
  end
  local residual <const> = b.values - (b.shared and at or at:reshape(b.count, b.k))
  ready.root, ready.weights = groups(b, f.kernel, left, right, residual, cross, ready.w)
  b.ready = ready
  return ready
end

-- Predictions -----------------------------------------------------------------------------------------------------------------

--- c (b k, m) by fantasies: (b, k, m); of shared points (k, m) as it is.
local function grouped(b, c) return b.shared and c or c:reshape(b.count, b.k, c.shape[2]) end

--- What a prediction at t is made of, for the parameters as they are: that of the model, with what the fantasies add.
local function parts_of(b, t)
  local f <const>, at <const>, before <const> = model.fields(b.worker), param.remember(b.worker), b.ready
  local ready <const>, kernel <const>, x <const>, z <const> = prepared(b), f.kernel, f.x, b.z
  local function far(points) return at(kernel, z, points) - ready.w:t():matmul(at(kernel, x, points)) end
  --- L^-1 c(z, points), where the model has solved for v; v = false: to differentiate.
  local function further(v, points)
    local c
    if v == nil then c = at(kernel, z, points)
    elseif v == false then c = far(points)
    elseif ready.rest then c = variance.by_form(far(points) - ready.rest:t():matmul(v), far(points))
    else c = variance.by_form(at(kernel, z, points) - ready.half:t():matmul(v), far(points)) end
    return ready.root:matmul(grouped(b, c))
  end
  local function rows(v, from, to) return further(v, from == 1 and to == #t and t or t:slice(1, from, to)) end
  local parts <const> = prediction_parts.of(b.worker, {inputs = t, points = t, count = #t, options = {}, further = rows})
  local mean <const> = parts.mean
  function parts.mean()
    local c <const> = grouped(b, ready.w and far(t) or at(kernel, z, t))
    return mean() + (b.shared and ready.weights:t():matmul(c) or (ready.weights:unsqueeze(3) * c):sum(2))
  end
  local info <const> = parts.info
  if info.algorithm == "prior" then info.algorithm = "direct" end
  info.reused = info.reused and rawequal(before, ready)
  if ready.solve then prediction.add_solve(info, ready.solve) end
  parts.count = (parts.count or 0) + b.k
  parts.many, parts.each = b.count, not b.shared and b.count or nil
  return parts
end

--- Points (m, d) of a call, of the columns and type of the fantasies.
local function checked_points(b, xs)
  local t <const> = kernels.points(frames.tensor(b.model, xs, "predict"), "predict: x")
  data.check_width({x = b.x.ndim == 2 and b.x or b.x:select(1, 1)}, t, "predict")
  return t
end

--- A lazy record at new points xs (m, d) or (m), as that of a model: mean (b, m), interval two of them, sample (b, k, m); f_var,
-- y_var and f_cov of fantasies at k shared points (m), (m) and (m, m), the same for all, else (b, m), (b, m) and (b, m, m). Each
-- is what the model conditioned on that fantasy predicts, draws with a seed too.
-- O(n m k) for the means of fantasies at shared points, O(n m k b) where each has its own; variances cost those of the model
-- besides. With a solver they are computed when they are looked at, else as the plan cuts them.
---@return gibbous.prediction
function methods.predict(self, xs)
  local b <const> = box(self)
  local t <const> = scaling.points(b.model, checked_points(b, xs), "predict")
  local at <const>, stamp <const> = param.remember(b.worker), model.stamp(b.worker)
  local likelihood <const> = model.fields(b.worker).likelihood
  local wide <const> = adopted(t, b.z.dtype)
  return rescaled(prediction.new(t, {
    prepare = function() return at(parts_of, b, wide) end,
    is_ready = function() return b.ready ~= nil and b.ready.stamp == stamp end,
    noise = function() return at(likelihood.new_variance, likelihood, wide) end,
    cost = function(key) return at(forecast.of, b.worker, wide, {}, key, #b.z) end,
    announce = function(key) at(forecast.announce, b.worker, wide, {}, key, #b.z) end,
    many = b.count, each = not b.shared and b.count or nil,
  }), scaling.scaler(model.fields(b.model), "y", "predict"))
end

-- The value -------------------------------------------------------------------------------------------------------------------

local facts <const> = {count = true, x = true, y = true, model = true}

function Fantasies.__index(self, key)
  if methods[key] then return methods[key] end
  if facts[key] then return box(self)[key] end
  core.raise("option", ("fantasies have no '%s': they only predict"):format(tostring(key)))
end

function Fantasies.__newindex(_, key)
  core.raise("option", ("fantasies are a value; '%s' cannot be assigned"):format(tostring(key)))
end

function Fantasies.__tostring(self)
  local b <const> = box(self)
  return ("%s of %s %s: predict"):format(counted(b.count, "fantasy", "fantasies"), counted(b.k, "observation"),
    b.shared and "at the same points" or "each at other points")
end

--- x (k, d) or (b, k, d), z its points (b k, d), y (b, k), noise (k) or (b k).
local function check(f, x, y)
  local xs <const>, ys <const> = core.as_tensor(x), core.as_tensor(y)
  if xs.ndim == 3 and (ys.ndim ~= 2 or #ys ~= #xs or ys.shape[2] ~= xs.shape[2]) then
    core.raise("shape", ("condition: x has shape %s, y must be %dx%d, got shape %s"):format(core.told(xs), #xs,
      xs.shape[2], core.told(ys)))
  end
  if ys.numel == 0 then
    core.raise("shape", ("condition: fantasies need observations, y has shape %s"):format(core.told(ys)))
  end
  local shared <const> = xs.ndim < 3
  local z <const> = kernels.points(shared and xs or xs:reshape(#xs * xs.shape[2], xs.shape[3]), "condition: x")
  local flat <const> = shared and ys:t() or ys:reshape(#z)
  for i = 1, shared and #ys or 1 do data.check(z, shared and flat:select(2, i) or flat, "condition") end
  data.check_width(f, z, "condition")
  return {x = shared and z or xs, y = ys, z = z, shared = shared, count = #ys, k = ys.shape[2]}
end

--- Lets a copy of a model have what that keeps for predictions.
local function share_state(self, copy)
  local f <const>, g <const>, state <const> = model.fields(self), model.fields(copy), posterior_cache.present(self)
  g.active = f.active
  if not state then return end
  g.state = {}
  for key, v in pairs(state) do g.state[key] = v end
  g.state.stamp = model.stamp(copy)
end

--- The model as it is now, whatever is set later.
local function snapshot(self)
  local f <const> = model.fields(self)
  local out <const> = model.bare(self)
  scaling.inherit(self, out)
  if f.x == nil then return out end
  model.set_data(out, f.x, f.y)
  frames.inherit(self, out)
  share_state(self, out)
  if f.twin then share_state(f.twin, precision_twin(out, "f64")) end
  return out
end

--- noise_of(x): variances of observations at x that were given and checked, or nil. Computed where predictions of the model
-- are: z, values and noise are in the dtype of 'worker', the model or its f64 twin.
function M.new(self, x, y, noise_of)
  local b <const> = check(model.fields(self), x, y)
  b.model = snapshot(self)
  b.worker = precision_twin(b.model)
  local given <const> = noise_of(b.z)
  local f <const> = model.fields(b.worker)
  local dtype <const> = f.x and #f.x > 0 and f.x.dtype or b.z.dtype
  local scale <const> = scaling.scaler(model.fields(b.model), "y", "condition")
  b.z = adopted(scaling.points(b.model, b.z, "condition"):eval(), dtype)
  b.values = adopted(scale and scale:apply(b.y):eval() or b.y, dtype)
  local noise <const> = given and adopted(given, dtype) or f.likelihood:variance(b.z)
  b.noise = computed(noise.ndim == 1 and #noise == #b.z and noise or core.zeros(#b.z, {dtype = b.z.dtype}) + noise)
  return setmetatable({_box = b}, Fantasies)
end

return M
