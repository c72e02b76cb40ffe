--- Predictions of a part of the sum that f is: f = f_1 + f_2 + ... by the terms of the kernel. Given all data, f_j(t) has the mean
-- k_j(t, x) C^-1 (y - m(x)) and the covariance k_j(t, t') - k_j(t, x) C^-1 k_j(x, t'); the means of all parts and the mean
-- function add up to the whole mean. Source: Duvenaud (2014), Automatic model construction with Gaussian processes, section 2.4.5.
--
-- A query (gp/posterior.lua) of such a prediction has 'part', a selection (kernels/terms.lua); posteriors take their kernels
-- between points and data, and the mean function of points, from here. So do those that can predict the derivatives of f where the
-- data are values: the query has 'gradients', and its inputs are those of a kernel of gradients (kernels/gradients.lua).
local core <const> = require "gibbous.core"
local gradients <const> = require "gibbous.kernels.gradients"
local kernel <const> = require "gibbous.kernels.kernel"
local model <const> = require "gibbous.gp.model"
local prepare <const> = require "gibbous.data.prepare"
local terms <const> = require "gibbous.kernels.terms"
local with_gradients <const> = require "gibbous.gp.gradients.mean"

local M <const> = {}

--- What a query asks for of a kernel: all of it, or the terms of its part.
function M.kernel(query, k)
  if not (query.part or query.gradients) then return k end
  local held <const> = k.row.presents
  local f <const> = held and held(k) or k
  local part <const> = query.part and terms.only(f, query.part) or f
  return (held or query.gradients) and gradients.of(part, "predict") or part
end

--- The inputs x of the data as that kernel takes them.
function M.data(query, x) return query.gradients and gradients.values(x) or x end

--- The mean function at inputs t, which belongs to no part.
function M.mean(query, mean, t)
  if query.part then return core.zeros(#t, {dtype = t.dtype}) end
  return (query.gradients and with_gradients(mean) or mean)(t)
end

--- The variance of the noise of new observations at the inputs of a query: one element or (m), nil where it is not known.
-- Derivatives of a model whose data are values have none.
function M.noise(query, likelihood)
  local noise <const> = likelihood:new_variance(query.gradients and query.points or query.inputs)
  if not (noise and query.gradients) then return noise end
  local m <const> = #query.points
  return core.cat({noise:expand(m), core.zeros(query.count - m, {dtype = noise.dtype})}, 1)
end

--- The selection that option 'kernel' of predict asks for, of a model that computes; nil: the whole. Errors: option.
function M.of(self, wanted, maker)
  if not wanted then return nil end
  if not model.posterior(self).components then
    core.raise("option", ("predict: kernel: predictions of a model of %s have no parts"):format(maker))
  end
  return terms.select(kernel.presented(model.fields(self).kernel), wanted, "predict: kernel")
end

--- What takes a part to the units of the data: the scale alone, as the shift belongs to the mean function. nil: there is none.
function M.scaler(scaler) return scaler and prepare.scaler(scaler.mean * 0, scaler.sd) or nil end

--- Of f and its derivatives at points t (m, d): the scaler of targets y and that of inputs x, as one of (1 + d) outputs. Each is
-- nil where the model does not scale it.
function M.scaler_of_gradients(y, x, t)
  if not (y or x) then return nil end
  local d <const>, like <const> = t.shape[2], {dtype = t.dtype, device = t.device}
  local sd <const> = y and y.sd:reshape(1) or core.ones(1, like)
  local slopes <const> = sd / (x and x.sd or core.ones(d, like))
  local mean <const> = y and y.mean:reshape(1) or core.zeros(1, like)
  return prepare.scaler(core.cat({mean, core.zeros(d, like)}, 1):eval(), core.cat({sd, slopes}, 1):eval())
end

return M
