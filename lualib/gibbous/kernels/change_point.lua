--- Kernels that take over from each other along one column.
local algebra <const> = require "gibbous.kernels.algebra"
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local kernel <const> = require "gibbous.kernels.kernel"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

--- Weights of the parts at each point, (n) each: w_1 = 1 - s_1, w_i = s_(i-1) (1 - s_i), w_m = s_(m-1), where
-- s_i = 1 / (1 + exp(-steepness_i (x - location_i))).
local function weights(self, x)
  local column <const> = columns.position(self, self.column, x.shape[2], "column")
  local at <const> = x:select(2, column)
  local l <const>, k <const> = columns.adopt(self.hyper.location, x), columns.adopt(self.hyper.steepness, x)
  local function cell(v, i) return v.ndim == 0 and v or v:select(1, i) end
  local out <const> = {}
  local before
  for i = 1, #self.parts do
    local a <const> = i < #self.parts and cell(k, i) * (at - cell(l, i)) or nil
    local after <const> = a and (-a):sigmoid()
    out[i] = before and after and before * after or before or after
    before = a and a:sigmoid()
  end
  return out
end

local row <const> = {
  form = function(self, x, z, hidden)
    local u <const> = weights(self, x)
    local v <const> = rawequal(x, z) and u or weights(self, z)
    local i = 0
    return algebra.over(self.parts, algebra.add, function(k)
      i = i + 1
      return u[i]:unsqueeze(2) * v[i]:unsqueeze(1) * kernel.value(k, x, z, hidden)
    end)
  end,
  diag = function(self, x, hidden)
    local u <const> = weights(self, x)
    local i = 0
    return algebra.over(self.parts, algebra.add, function(k)
      i = i + 1
      return u[i] * u[i] * kernel.diag(k, x, hidden)
    end)
  end,
}

local function box(v, name, changes, opts)
  local p <const> = param.hyper(v, name, opts)
  if p.ndim ~= 0 and p.numel ~= changes then
    core.raise("shape", ("gb.kernels.change_point: %s need %d %s values, got %d"):format(counted(changes + 1, "kernel"), changes,
      name, p.numel))
  end
  return p
end

--- k_1 before location_1, k_2 from there to location_2, and so on: sum_i w_i(x) w_i(z) k_i(x, z), with sigmoid weights.
-- change_point(k1, k2, o) or change_point({k1, k2, ...}, o). o: location (one, or one a change, ascending), steepness
-- (1 / units of the column; one, or one a change), column (1).
return function(a, b, o)
  local parts = a
  if kernel.is(a) and kernel.is(b) then
    parts = {a, b}
  else
    o = b
  end
  local good = type(parts) == "table" and not kernel.is(parts) and #parts >= 2
  for _, k in ipairs(good and parts or {}) do good = good and kernel.is(k) end
  if not good then core.raise("option", "gb.kernels.change_point: two kernels or a list of kernels are needed") end
  o = options.parse(o, {location = "any", steepness = "any", column = "integer"}, "gb.kernels.change_point")
  if not o.location then core.raise("option", "gb.kernels.change_point: a location is needed") end
  if o.column == 0 then core.raise("option", "gb.kernels.change_point: columns count from 1, got 0") end
  local self <const> = kernel.new("change_point", row)
  local f <const> = kernel.fields(self)
  f.parts = table.move(parts, 1, #parts, 1, {})
  f.column = o.column or 1
  self.hyper.location = box(o.location, "location", #parts - 1, {name = "location"})
  self.hyper.steepness = box(o.steepness or 1.0, "steepness", #parts - 1)
  if self.hyper.location.ndim == 0 and #parts > 2 then
    core.raise("shape", ("gb.kernels.change_point: %s need %s, got 1"):format(counted(#parts, "kernel"),
      counted(#parts - 1, "location")))
  end
  return self
end
