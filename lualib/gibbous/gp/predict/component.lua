--- Predictions of a part of the sum that f is: f = f_1 + f_2 + ... by the terms of the kernel. Given all data, f_j(t) has the mean
-- k_j(t, x) C^-1 (y - m(x)) and the covariance k_j(t, t') - k_j(t, x) C^-1 k_j(x, t'); the means of all parts and the mean
-- function add up to the whole mean. Source: Duvenaud (2014), Automatic model construction with Gaussian processes, section 2.4.5.
--
-- A query (gp/posterior.lua) of such a prediction has 'part', a selection (kernels/terms.lua); posteriors take their kernels
-- between points and data, and the mean function of points, from here.
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local prepare <const> = require "gibbous.data.prepare"
local terms <const> = require "gibbous.kernels.terms"

local M <const> = {}

--- What a query asks for of a kernel: all of it, or the terms of its part.
function M.kernel(query, k) return query.part and terms.only(k, query.part) or k end

--- The mean function at inputs t, which belongs to no part.
function M.mean(query, mean, t) return query.part and core.zeros(#t, {dtype = t.dtype}) or mean(t) end

--- The selection that option 'kernel' of predict asks for, of a model that computes; nil: the whole. Errors: option.
function M.of(self, wanted, maker)
  if not wanted then return nil end
  if not model.posterior(self).components then
    core.raise("option", ("predict: kernel: predictions of a model of %s have no parts"):format(maker))
  end
  return terms.select(model.fields(self).kernel, wanted, "predict: kernel")
end

--- What takes a part to the units of the data: the scale alone, as the shift belongs to the mean function. nil: there is none.
function M.scaler(scaler) return scaler and prepare.scaler(scaler.mean * 0, scaler.sd) or nil end

return M
