--- Spectral mixtures: the spectral density of a stationary kernel as a mixture of Gaussians.
-- Source: Wilson & Adams (2013), Gaussian process kernels for pattern discovery and extrapolation, equation 12.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local kernel <const> = require "gibbous.kernels.kernel"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local spectrum <const> = require "gibbous.kernels.spectrum"
local stationary <const> = require "gibbous.kernels.stationary"

--- Row q of a (q, d) parameter, or its number repeated for d columns: (d).
local function of_component(v, q, d)
  return v.ndim == 1 and v:slice(1, q, q):expand(d) or v:select(1, q)
end

--- exp(-2 pi^2 sum_k v_k (x_k - z_k)^2). In one column the components share their distance.
local function envelope(x, z, v)
  local c <const> = 4 * math.pi * math.pi
  if #v == 1 then return core.radial("rbf", core.sqdist(x, z), c * v:select(1, 1)) end
  return core.radial("rbf", core.sqdist(x, z, c * v), columns.one(x))
end

--- cos(2 pi f (x_k - z_k)) for column k, by points on a circle.
local function wave(x, z, k, f)
  return 1 - core.sqdist(stationary.waves(x, z, function(t)
    return stationary.circle(t:slice(2, k, k) * (2 * math.pi * f))
  end)) / 2
end

local function component(self, x, z, q)
  local d <const> = x.shape[2]
  local means <const> = of_component(columns.adopt(self.hyper.means, x), q, d)
  local out = envelope(x, z, of_component(columns.adopt(self.hyper.variances, x), q, d))
  for k = 1, d do out = out * wave(x, z, k, means:select(1, k)) end
  return columns.adopt(self.hyper.weights, x):select(1, q) * out
end

local function check_width(self, x)
  for _, name in ipairs{"means", "variances"} do
    local v <const> = self.hyper[name]
    if v.ndim == 2 and v.shape[2] ~= x.shape[2] then
      core.raise("shape", ("spectral_mixture: %s for %s, the inputs have %d"):format(name, counted(v.shape[2], "column"),
        x.shape[2]))
    end
  end
end

local function form(self, x, z)
  check_width(self, x)
  local out = component(self, x, z, 1)
  for q = 2, self.components do out = out + component(self, x, z, q) end
  return out
end

--- Parameters without data: equal weights, frequencies 1 to q, variances 1. A place to start from is found by init.
local function default(name, q)
  local list <const> = {}
  for i = 1, q do list[i] = name == "weights" and 1 / q or name == "means" and i or 1.0 end
  return list
end

local function extent(v)
  if type(v) == "table" and not param.is(v) then return #v end
  return v.shape[1]
end

local function setup(self, o)
  local f <const> = kernel.fields(self)
  for _, name in ipairs{"weights", "means", "variances"} do
    local v <const> = o[name]
    local countable <const> = v == nil or param.is(v) and v.ndim > 0 or core.type(v) == "tensor" and v.ndim > 0
      or type(v) == "table" and not param.is(v)
    if not countable then
      core.raise("option", ("gb.kernels.spectral_mixture: '%s' must be a list with a row per component"):format(name))
    end
    if v and self.components == 0 then f.components = extent(v) end
    if v and extent(v) ~= self.components then
      core.raise("shape", ("gb.kernels.spectral_mixture: %s, but '%s' has %d"):format(counted(self.components, "component"), name,
        extent(v)))
    end
  end
  if self.components < 1 then
    core.raise("option", "gb.kernels.spectral_mixture: components, their number, is needed")
  end
  for name, rank in pairs{weights = 1, means = 2, variances = 2} do
    self.hyper[name] = param.hyper(o[name] or default(name, self.components), name, nil, rank)
    if rank == 2 and not o[name] then
      f.pending = f.pending or {}
      table.insert(f.pending, name)
    end
  end
end

--- The same kernel with parameters from the empirical spectrum of y (n) at x (n, d) or (n), for uneven x as well: each
-- column's periodogram where it is significant as a density, and to that a mixture of Gaussians. The weights add up to the
-- variance of y. o: seed (0). Cost: n times up to 2,048 frequencies a column.
local function init(self, x, y, o)
  o = options.parse(o, {seed = "integer"}, "init")
  x = columns.points(x, "init: x")
  if self.active_dims then
    local at <const> = {}
    for i, k in ipairs(self.active_dims) do at[i] = columns.position(self, k, x.shape[2]) end
    x = columns.take(x, at)
  end
  local found <const> = spectrum.mixture(x, y, self.components, o.seed or 0)
  local out <const> = kernel.clone(self)
  for name, rank in pairs{weights = 1, means = 2, variances = 2} do
    out.hyper[name] = param.hyper(found[name], name, nil, rank)
  end
  kernel.fields(out).pending = nil
  return out
end

--- sum_q weights_q prod_k exp(-2 pi^2 variances_qk (x_k - z_k)^2) cos(2 pi means_qk (x_k - z_k)).
-- components (q), weights (q) in units of y squared, means (q) or (q, d): frequencies, variances (q) or (q, d): their spread,
-- both for every column alike or per column. What is not given becomes one per column when data arrives.
return {spectral_mixture = {
  variance = false,
  choices = {{"components", 0, "count"}},
  options = {weights = "any", means = "any", variances = "any"},
  setup = setup,
  methods = {init = init},
  form = form,
  diag = function(self, x) return columns.adopt(self.hyper.weights, x):sum():expand(#x) end,
}}
