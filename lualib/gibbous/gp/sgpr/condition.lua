--- More observations for a sparse model without another fit: their terms are added to the sums that it has, O(k m^2).
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local more_rows <const> = require "gibbous.gp.more_rows"
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
  local given <const> = core.as_tensor(y)
  if given and given.ndim == 2 then
    core.raise("shape", "condition: y must be (k); fantasies, y (b, k), are for gb.gp.exact")
  end
  local o
  x, y, o = more_rows.asked(self, x, y, opts)
  local xs <const>, ys <const>, noise <const> = more_rows.checked(self, x, y, o)
  local f <const>, out <const> = model.fields(self), model.bare(self)
  local g <const> = model.fields(out)
  more_rows.noise_of(f, g, xs, noise)
  local more <const> = more_rows.holds_rows(f)
  if more then places.keep(g.inducing) end
  local own_x <const>, own_y <const> = more_rows.append(self, out, xs, ys)
  places.keep(g.inducing)
  local before <const> = more and posterior_cache.present(self)
  if before and f.likelihood.kind ~= "fixed" then state.carry(before, out, own_x, own_y) end
  return out
end

return {methods = methods}
