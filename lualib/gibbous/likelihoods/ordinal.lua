--- Ordered classes 1 .. K: y is the interval between cut points that f and noise fall into, p(y <= k | f) = F(c_k - f) with F = Phi
-- (probit, the default) or the logistic function (logit). The cut points are c_1 = first and c_k = c_(k-1) + gaps_(k-1), gaps above
-- 0, and so in order whatever a fit does. Source: Chu & Ghahramani (2005).
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local parameters <const> = require "gibbous.likelihoods.parameters"
local quadrature <const> = require "gibbous.likelihoods.quadrature"
local rows <const> = require "gibbous.likelihoods.rows"

local form <const> = {kind = "ordinal", concave = true, spec = {classes = "count", cuts = "table", link = {"probit", "logit"}},
  shown = {"classes", "link"}, parameters = {"first", "gaps"}}

local function check_cuts(cuts, what)
  if #cuts < 2 then core.raise("option", what .. ": two cut points or more; for two classes gb.likelihoods.bernoulli") end
  for i, c in ipairs(cuts) do
    if type(c) ~= "number" or not (math.abs(c) < math.huge) or i > 1 and not (c > cuts[i - 1]) then
      core.raise("option", ("%s: cut points are finite and in order: cut %d is %s"):format(what, i, options.got(c)))
    end
  end
end

--- Cut points at the quantiles that classes equally often have of a standard normal latent value, about.
local function usual_cuts(classes)
  local out <const> = {}
  for k = 1, classes - 1 do out[k] = math.log(k / (classes - k)) / 1.6 end
  return out
end

function form.make(o, what)
  if not (o.classes or o.cuts) then core.raise("option", what .. ": give classes, their number, or cuts, a list of cut points") end
  if o.cuts and o.classes and #o.cuts ~= o.classes - 1 then
    core.raise("option", ("%s: %d classes have %d cut points, got %d"):format(what, o.classes, o.classes - 1, #o.cuts))
  end
  if o.classes and o.classes < 3 then
    core.raise("option", what .. ": classes must be 3 or more; for two gb.likelihoods.bernoulli")
  end
  local cuts <const> = o.cuts or usual_cuts(o.classes)
  check_cuts(cuts, what)
  local gaps <const> = {}
  for i = 2, #cuts do gaps[i - 1] = cuts[i] - cuts[i - 1] end
  local first <const> = param.hyper(cuts[1], "first", {name = "first"})
  return {classes = #cuts + 1, link = o.link or "probit", first = first, gaps = param.hyper(gaps, "gaps")}
end

function form.check(self, y, what)
  local K <const> = self.classes
  return rows.check(y, rows.whole_in(1, K), what, ("a class, 1 to %d"):format(K), function(v)
    return v == 0 and "classes count from 1: give y + 1" or nil
  end)
end

--- The cut points, (K - 1), like f.
local function cuts_of(self, f)
  local first <const>, gaps <const> = parameters.value(self, "first", f), parameters.value(self, "gaps", f)
  return core.cat({first:reshape(1), first + gaps:cumsum(1)}, 1)
end

-- Where the differences of classes without a cut point are computed, whose values are not used.
local NOWHERE <const> = 1.0

--- log F(b) and log (F(b) - F(a)) for a < b.
local links <const> = {
  probit = {
    log_F = function(b) return b:log_ndtr() end,
    log_between = function(a, b)
      local right <const> = (a + b):gt(0)                      -- Phi(b) - Phi(a) = Phi(-a) - Phi(-b), where neither is near 1
      local lo <const>, hi <const> = core.where(right, -b, a):log_ndtr(), core.where(right, -a, b):log_ndtr()
      return hi + (-(lo - hi):expm1()):log()
    end,
  },
  logit = {
    log_F = function(b) return -(-b):softplus() end,
    log_between = function(a, b) return -(-b):softplus() - a:softplus() + (-(a - b):expm1()):log() end,
  },
}

--- log p(y | f) for cut points below and above each y: (n), and f (..., n); scale: of cut points less f; name: of the link, nil:
-- that of the likelihood.
local function log_interval(self, f, y, scale, name)
  local K <const>, cuts <const> = self.classes, cuts_of(self, f)
  local link <const> = links[name or self.link]
  local function cut(k) return cuts:index(1, k:clamp(1, K - 1):to{dtype = "i64"}) end
  local below <const>, above <const> = cut(y - 1) - f, cut(y) - f
  local lo <const>, hi <const> = scale and below * scale or below, scale and above * scale or above
  local first <const>, last <const> = (y + f * 0):eq(1), (y + f * 0):eq(K)
  local outer <const> = first | last
  local between <const> = link.log_between(core.where(outer, -NOWHERE, lo), core.where(outer, NOWHERE, hi))
  return core.where(outer, link.log_F(core.where(first, hi, -lo)), between)
end

function form.log_density(self, f, y) return log_interval(self, f, y) end

--- (..., n, K); scale, name: as above.
local function intervals(self, f, scale, name)
  local list <const> = {}
  local one <const> = core.ones(f.shape[f.ndim], {dtype = f.dtype, device = f.device})
  for k = 1, self.classes do list[k] = log_interval(self, f, k * one, scale, name):exp() end
  return core.stack(list, -1)
end

function form.probabilities(self, f) return intervals(self, f) end

--- The moments of the number of the class, from probabilities (..., n, K).
local function moments_of(self, p)
  local label <const> = core.linspace(1, self.classes, self.classes, {dtype = p.dtype, device = p.device})
  local mean <const> = (p * label):sum(-1)
  return mean, (p * label * label):sum(-1) - mean * mean
end

function form.moments(self, f) return moments_of(self, form.probabilities(self, f)) end

--- Probabilities averaged over f ~ N(mean, var), (..., n, K): in closed form; of the logit link over f or, where f is wide, over
-- the logistic noise.
local function averaged(self, mean, var)
  if self.link == "probit" then return intervals(self, mean, (1 + var) ^ -0.5) end
  local f <const>, w <const> = quadrature.places(mean, var, self.points)
  local over_f <const> = (w:exp():unsqueeze(-1) * intervals(self, f)):sum(1)
  local scale <const> = core.maximum(var, quadrature.WIDE) ^ -0.5
  local list <const> = {}
  for k = 1, self.classes do
    list[k] = quadrature.with_logistic(function(e)
      return log_interval(self, e, k * (mean * 0 + 1), scale:unsqueeze(1), "probit"):exp()
    end, mean)
  end
  return core.where(var:ge(quadrature.WIDE):unsqueeze(-1), core.stack(list, -1), over_f)
end

function form.predictive(self, mean, var)
  local p <const> = averaged(self, mean, var)
  local first <const>, second <const> = moments_of(self, p)
  return {mean = first, var = core.maximum(second, 0), probabilities = p}
end

--- Of the probit link the noise of f adds to that of the interval; else by quadrature.
function form.log_predictive(self, mean, var, y)
  if self.link == "probit" then return log_interval(self, mean, y, (1 + var) ^ -0.5) end
  return quadrature.log_expectation_at_peak(function(f) return log_interval(self, f, y) end, mean, var, self.points)
end

--- The number of cut points that a uniform number passes, and 1.
function form.draw(self, f, seed)
  local u <const> = core.rand(f.shape, {dtype = f.dtype, device = f.device, seed = seed})
  local sum = f * 0 + 1
  local cuts <const> = cuts_of(self, f)
  for k = 1, self.classes - 1 do
    sum = sum + u:gt(links[self.link].log_F(cuts:select(1, k) - f):exp()):to{dtype = f.dtype}
  end
  return sum
end

return class.define(form)
