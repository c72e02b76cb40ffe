--- More observations for a variational model without another fit. With Gaussian noise each adds a term to the natural parameters of
-- q, O(k m^2): q is then the best for all rows if it was for the first ones.
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local more_rows <const> = require "gibbous.gp.more_rows"
local places <const> = require "gibbous.gp.places"
local posterior <const> = require "gibbous.gp.svgp.posterior"
local variational <const> = require "gibbous.gp.svgp.variational"

local methods <const> = {}

--- Adds the terms of rows x, y of the model 'self', whose data these are or end with.
local function add(self, x, y)
  local f <const> = model.fields(self)
  local p <const> = bound.rows(self, bound.places(self, x:to{dtype = "f64"}), x, y)
  p.kind = "vfe"
  local sums <const>, q <const> = bound.sums(p), variational.at(f.q, p)
  local precision <const>, shift <const> = (q.precision + sums.gram):detach(), (q.shift + sums.proj):detach()
  local L <const> = p.L:detach()
  core.eval(L, precision, shift)
  variational.put(f.q, {precision, shift, L})
end

--- A new model that has also seen x (k, d) or (k), y (k). Parameters, inducing points and q are copied (explicit gb.params and
-- networks are shared); with Gaussian noise and a full q, q takes the rows in. o: missing = "mask" leaves out rows where y is NaN.
-- Errors: option, shape, dtype, nan; not_pd.
function methods.condition(self, x, y, opts)
  local o
  x, y, o = more_rows.asked(self, x, y, opts)
  local f <const> = model.fields(self)
  if not likelihoods.is_gaussian(f.likelihood) or f.q.kind ~= "full" or f.likelihood.kind == "fixed" then
    core.raise("option", ("condition: q of kind '%s' with the likelihood '%s' has no closed form of one more row; fit the model to "
      .. "all rows"):format(f.q.kind, f.likelihood.kind))
  end
  local xs <const>, ys <const>, noise <const> = more_rows.checked(self, x, y, o)
  local out <const> = model.bare(self)
  local g <const> = model.fields(out)
  more_rows.noise_of(f, g, xs, noise)
  if more_rows.holds_rows(f) then places.keep(g.inducing) end
  local own_x <const>, own_y <const> = more_rows.append(self, out, xs, ys)
  places.keep(g.inducing)
  posterior.guarded(out, "condition", function() add(out, own_x, own_y) end)
  return out
end

return {methods = methods}
