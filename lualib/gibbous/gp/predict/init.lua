--- What a model says about new points, whatever its posterior: predict and draw.
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local frames <const> = require "gibbous.gp.frames"
local gradients <const> = require "gibbous.kernels.gradients"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local kernels <const> = require "gibbous.kernels"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local parts <const> = require "gibbous.gp.predict.parts"
local pathwise <const> = require "gibbous.gp.predict.pathwise"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local record <const> = require "gibbous.gp.predict.record"
local rescaled <const> = require "gibbous.gp.predict.rescaled"
local scaling <const> = require "gibbous.gp.scaling"

local methods <const> = {}

local SPEC <const> = {variance = {"exact", "cached"}, rank = "count", precision = {"f32", "f64"}, kernel = "any",
  gradients = "boolean"}

local function adopted(v, dtype) return v.dtype == dtype and v or v:to{dtype = dtype} end

local function holds_data(f) return f.x ~= nil and #f.x > 0 end

--- The query (gp/posterior.lua) of a model that computes, for points as the caller gave them and inputs as it takes them.
local function query_of(self, points, inputs, o, part, derived)
  local f <const> = model.fields(self)
  local dtype <const> = holds_data(f) and (model.posterior(self).dtype or f.x.dtype) or inputs.dtype
  return {inputs = adopted(inputs, dtype), points = adopted(points, dtype), count = #inputs, options = o,
    part = part, gradients = derived}
end

--- Is what predictions need there for the parameters of this stamp? Computes nothing.
local function is_ready(self, precision, stamp)
  if not holds_data(model.fields(self)) then return true end
  local worker <const> = model.posterior(self).worker(self, precision, stamp)
  return worker ~= nil and posterior_cache.present(worker, stamp) ~= nil
end

--- How observations follow from f where they are not Gaussian (gp/predict/record.lua), with the parameters as they were.
local function observed_by(likelihood, at)
  if likelihoods.is_gaussian(likelihood) then return nil end
  local latents <const> = likelihood:latents()
  return {kind = likelihood.kind, latents = latents > 1 and latents or nil,
    log_density = function(mean, var, y) return at(likelihood.log_predictive, likelihood, mean, var, likelihood:check(y)) end,
    predictive = function(mean, var) return at(likelihood.predictive, likelihood, mean, var) end,
    draw = function(f, seed) return at(likelihood.draw, likelihood, f, seed) end}
end

--- The lazy record at these points by a model that computes. It speaks of the model as it is now. While the model stays so, what
-- is computed is kept with it; after that, with a model of the same data that the record holds.
local function record_of(self, points, inputs, o, part, derived)
  local at <const>, stamp <const>, held <const> = param.remember(self), model.stamp(self), model.with_data_of(self)
  local likelihood <const>, precision <const> = model.fields(self).likelihood, o.precision or nil
  local of <const> = model.posterior(self)
  local function same()
    local now <const>, then_ <const> = model.fields(self), model.fields(held)
    return rawequal(now.x, then_.x) and rawequal(now.y, then_.y) and model.stamp(self) == stamp and self or held
  end
  local function parts_of(owner)
    local worker <const> = holds_data(model.fields(owner)) and of.worker(owner, precision) or owner
    return parts.of(worker, query_of(worker, points, inputs, o, part, derived))
  end
  local function asked_of() return {inputs = inputs, points = points, count = #inputs, gradients = derived} end
  local function asked(f, key)
    local owner <const> = same()
    return at(f, owner, query_of(owner, points, inputs, o, part, derived), key)
  end
  return record.new(inputs, {
    prepare = function() return at(parts_of, same()) end,
    is_ready = function() return is_ready(same(), precision, stamp) end,
    noise = function() return likelihoods.is_gaussian(likelihood) and at(component.noise, asked_of(), likelihood) or nil end,
    cost = function(key) return asked(of.cost, key) end,
    announce = function(key) asked(of.announce, key) end,
    observed = observed_by(likelihood, at),
    part = part ~= nil,
    draw = not derived and (not holds_data(model.fields(self)) or of.solve or of.weights or of.correct)
      and function(count, settings) return at(pathwise.new, held, inputs, count, settings) end or nil,
  })
end

--- Does the option ask the posterior for derivatives? Raises option where a model has none, or f at points t.
local function asks_for_gradients(self, o, t)
  local class <const>, k <const> = model.class(self), model.fields(model.core(self)).kernel
  local derives <const> = class.observations.derives
  if not o.gradients or derives == "held" then return nil end
  if derives and model.posterior(model.core(self)).gradients then
    gradients.of(k, "predict")
    kernel_checks.differentiable(k, t, "predict")
    return true
  end
  core.raise("option", ("predict: gradients: a model of %s has no derivatives of f; gb.gp.exact has, and gb.grad gives those of "
    .. "p.mean"):format(class.maker))
end

--- A lazy record of f and y at new points xs (m, d) or (m). Nothing of it is computed until a field is looked at, no solve
-- either, and it stays what it is when parameters are set or data are added later. gb.plan of a field says before what it will
-- take. Its
-- fields: gp/predict/record.lua; of several outputs mean, f_var and y_var are (m, T), and f_cov is (m T, m T) point by point.
-- What depends on the data alone is computed once for the present parameters: by the exact algorithms a factor, O(n^3), or a
-- solve. mean costs one streamed pass over n m pairs; f_var and y_var O(n^2 m), for as many points at once as the plan holds, or
-- a solve a point; f_cov also stores (m, m). A point that is not finite gives NaN in its place alone.
-- o: kernel = a part of the kernel, or a list of parts: f is their part of the sum (gp/predict/component.lua), without the mean
--    function and without noise. A part is a name given by k:named, a path ("kernel[2]"), or m.kernel.trend itself.
--    variance = "cached": f_var in O(n rank m) from a cache of this rank (100), at most f_var_bound too large; off by default.
--    gradients = true: of f and of its partial derivatives, by every model of gb.gp.exact, whatever it was fitted to: mean, f_var
--    and y_var are (m, 1 + d), f in the first column and its derivative by column a of x in column 1 + a, f_cov (m (1 + d),
--    m (1 + d)) point by point. y_var of derivatives is f_var where the data are values: nothing observes them. At most (1 + d)
--    times the cost of as many points. false: of f alone, by a model whose data have gradients.
--    precision: "f32" or "f64" for f32 data; else f64 where f32 could lose the variance (p.info.precision says).
--    With Kronecker structure variances are always exact, in f64.
-- Errors: option, shape, dtype; when a field is looked at: not_pd, nan, refused, oom.
---@return gibbous.prediction
function methods.predict(self, xs, opts)
  local o <const> = options.parse(opts, SPEC, "predict")
  local form <const>, inner <const> = model.class(self).observations, model.core(self)
  local t <const> = frames.points(self, xs, "predict")
  local inputs <const>, f <const> = form.inputs(self, t, o.gradients), model.fields(inner)
  if f.x == nil then kernels.resolve_ard(f.kernel, (form.derives == true and t or inputs).shape[2]) end
  local derived <const> = asks_for_gradients(self, o, t)
  model.posterior(inner).check_options(o)
  local part <const> = component.of(inner, o.kernel, model.class(self).maker)
  local scaler <const> = scaling.scaler(model.fields(self), "y", "predict")
  local own <const> = part and component.scaler(scaler) or scaler
  return rescaled(form.outputs(self, record_of(inner, t, inputs, o, part, derived), t, o.gradients),
    derived and component.scaler_of_gradients(own, scaling.scaler(model.fields(self), "x", "predict"), t) or own)
end

--- k functions drawn from the posterior: a value that is called with points (m, d) and gives (k, m), of several outputs (k, m,
-- T), lazy and differentiable in the points. o: features (1024), seed; without a seed the next numbers of gb.seed are taken.
-- White noise in the kernel is left out. Cost: one solve with k right-hand sides. Errors: option; those of a solve.
---@return gibbous.draw
function methods.draw(self, k, opts)
  local f <const>, form <const> = model.fields(self), model.class(self).observations
  local count <const>, o <const> = pathwise.asked(f, k, opts)
  local held <const>, scaler <const> = model.with_data_of(self), scaling.scaler(f, "y", "draw")
  return pathwise.new(model.core(self), form.inputs(self, f.x), count, o, {
    points = function(xs) return frames.points(held, xs, "draw") end,
    inputs = function(t) return form.inputs(held, t) end,
    values = function(v, m)
      local own <const> = form.drawn(held, v, m)
      return scaler and scaler:undo(own) or own
    end})
end

return {methods = methods}
