--- y is 0 or 1; p(y = 1 | f) = Phi(f) (probit, the default) or 1 / (1 + e^-f) (logit).
-- Source: Rasmussen & Williams (2006), sections 3.3 and 3.9.
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local quadrature <const> = require "gibbous.likelihoods.quadrature"
local rows <const> = require "gibbous.likelihoods.rows"

--- log p(y = 1 | f) and p(y = 1 | f) of both links: p(y = 0 | f) = p(y = 1 | -f).
local links <const> = {
  probit = {log_p = function(f) return f:log_ndtr() end, p = function(f) return f:ndtr() end},
  logit = {log_p = function(f) return -(-f):softplus() end, p = function(f) return f:sigmoid() end},
}

local form <const> = {kind = "bernoulli", concave = true, spec = {link = {"probit", "logit"}}, shown = {"link"}}

function form.make(o) return {link = o.link or "probit"} end

local function hint(v)
  if v == -1 then return "for classes -1 and 1 give (y + 1) / 2" end
  if v == 2 then return "for classes 1 and 2 give y - 1, or take gb.gp.classifier" end
  return "gb.likelihoods.softmax has more classes than two"
end

function form.check(_, y, what) return rows.check(y, function(t) return t:eq(0) | t:eq(1) end, what, "0 or 1", hint) end

--- f where y is 1, -f where it is 0.
local function signed(f, y) return f * (2 * y - 1) end

function form.log_density(self, f, y) return links[self.link].log_p(signed(f, y)) end

function form.probabilities(self, f)
  local p <const> = links[self.link].p
  return core.stack({p(-f), p(f)}, -1)
end

function form.moments(self, f)
  local p <const> = links[self.link].p
  return p(f), p(f) * p(-f)
end

--- p(y = 1) and p(y = 0) where f ~ N(mean, var). Probit: Rasmussen & Williams (2006), equation 3.82.
local function averaged(self, mean, var)
  if self.link == "probit" then
    local z <const> = mean / (1 + var):sqrt()
    return z:ndtr(), (-z):ndtr()
  end
  return quadrature.sigmoid(mean, var, self.points), quadrature.sigmoid(-mean, var, self.points)
end

function form.predictive(self, mean, var)
  local one <const>, zero <const> = averaged(self, mean, var)
  return {mean = one, var = one * zero, probabilities = core.stack({zero, one}, -1)}
end

function form.log_predictive(self, mean, var, y)
  if self.link == "probit" then return signed(mean / (1 + var):sqrt(), y):log_ndtr() end
  return quadrature.log_expectation_at_peak(function(f) return form.log_density(self, f, y) end, mean, var, self.points)
end

function form.draw(self, f, seed)
  local u <const> = core.rand(f.shape, {dtype = f.dtype, device = f.device, seed = seed})
  return u:lt(links[self.link].p(f)):to{dtype = f.dtype}
end

return class.define(form)
