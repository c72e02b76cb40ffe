--- More observations for a sparse model without another fit: their terms are added to the sums that it has, O(k m^2).
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local model <const> = require "gibbous.gp.model"
local noise_of <const> = require "gibbous.gp.exact.condition".noise_of
local options <const> = require "gibbous.options"
local places <const> = require "gibbous.gp.places"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local state <const> = require "gibbous.gp.sgpr.state"

local methods <const> = {}

--- A new model that has also seen x (k, d) or (k), y (k). Parameters and inducing points are copied (explicit gb.params and
-- networks are shared) and not fitted again; the old model stays as it is. If that was ready for predictions, the new one is too,
-- in O(k m^2 + m^3); equal to sums over all rows up to rounding.
-- o: noise (k), variances where the model's noise is known per observation; missing = "mask" leaves out rows where y is NaN.
-- Errors: option, shape, dtype, nan; not_pd.
function methods.condition(self, x, y, opts)
  x, y, opts = frames.observed(self, x, y, opts, "condition")
  local o <const> = options.parse(opts, {noise = "tensor", missing = data.missing}, "condition")
  local f <const> = model.fields(self)
  local given <const> = core.as_tensor(y)
  if given and given.ndim == 2 then
    core.raise("shape", "condition: y must be (k); fantasies, y (b, k), are for gb.gp.exact")
  end
  local xs <const>, ys <const>, kept <const> = data.check(x, y, "condition", o.missing or nil)
  data.check_width(f, xs, "condition")
  local out <const> = model.bare(self)
  local g <const> = model.fields(out)
  noise_of(f, g, xs, o.noise and kept and o.noise:index(1, kept) or o.noise or nil)
  if f.x == nil or #f.x == 0 then
    model.set_data(out, xs, ys)
    places.keep(g.inducing)
    frames.inherit(self, out)
    return out
  end
  places.keep(g.inducing)
  model.set_data(out, core.cat({f.x, xs}, 1), core.cat({f.y, ys}, 1))
  frames.inherit(self, out)
  local before <const> = posterior_cache.present(self)
  if before and f.likelihood.kind ~= "fixed" then state.carry(before, out, xs, ys) end
  return out
end

return {methods = methods}
