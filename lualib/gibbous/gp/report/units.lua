--- What the numbers of a model's parameters are about: the columns of the data that they belong to, by name, and their values in
-- the units of the data where the model scales these (gp/scaling.lua). A parameter of unknown meaning, as of a function of the
-- script, has neither.
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"
local model <const> = require "gibbous.gp.model"

local M <const> = {}

--- A value that belongs to a model's inputs or targets: {labels (nil: none), of_data(v): in the units of the data, nil: unknown}.
local function entry(labels, of_data) return {labels = labels, of_data = of_data} end

local function same(v) return v end

--- sd of the columns 'at' of the inputs, (k); nil where inputs are not scaled.
local function spread(s, at)
  if not s.x then return nil end
  return s.x.sd:index(1, core.tensor(at, {dtype = "i64"}))
end

--- v times f, with no more axes than are needed.
local function times(v, f)
  if f.numel == 1 and v.ndim == 0 then f = f:reshape({}) end
  return v * f
end

--- Lengths along the columns that a kernel sees, of which there may be one for all. at: numbers of these columns, nil: unknown.
local function lengths(s, at)
  if not at then return entry(nil, nil) end
  local labels <const> = {}
  for i, k in ipairs(at) do labels[i] = s.names.x and s.names.x[k] end
  return entry(#labels == #at and labels or nil, function(v)
    local sd <const> = spread(s, at)
    return sd and times(v, sd:to{dtype = v.dtype}) or v
  end)
end

--- Of the targets: v * sd^power + shift. labels: of several outputs.
local function of_targets(s, power, shifted)
  return entry(s.names.tasks, function(v)
    if not s.y then return v end
    local sd <const>, mean <const> = s.y.sd:to{dtype = v.dtype}, s.y.mean:to{dtype = v.dtype}
    local scaled <const> = v.ndim == 2 and v * (sd ^ power):unsqueeze(2) or v * sd ^ power
    return shifted and scaled + mean or scaled
  end)
end

-- Kernels -----------------------------------------------------------------------------------------------------------------------

--- The numbers of the columns in 'x' (1, k), columns of a row of all numbers, as a list.
local function numbers(x)
  local out <const> = {}
  for i, k in ipairs(x:reshape(-1):totable()) do out[i] = math.tointeger(k) end
  return out
end

--- The index of the factor of a product that takes its variance.
local function taker(product)
  for i, part in ipairs(product.parts) do
    if part.kind == "index" or part.hyper.variance or part.parts then return i end
  end
  return 1
end

--- Notes the entries of k's parameters in 'out'. x: a row of the numbers of the columns that k is given, nil: unknown; carries: is
-- k in units of y squared?
local function visit(out, s, k, x, hidden, carries)
  local seen <const> = x and not k.warp_by and kernel.seen(k, x, hidden) or nil
  if k.kind == "index" then
    if carries then out[k.hyper.diagonal] = of_targets(s, 2) end
    if carries and k.hyper.weights then out[k.hyper.weights] = of_targets(s, 1) end
    return
  end
  if k.hyper.variance then
    out[k.hyper.variance] = carries and (s.tasks and entry(nil, nil) or of_targets(s, 2)) or entry(nil, same)
    carries = false
  end
  if not k.parts then
    local at <const> = seen and numbers(seen)
    if k.hyper.lengthscale and k.row.scaled then out[k.hyper.lengthscale] = lengths(s, at) end
    if k.hyper.period then out[k.hyper.period] = lengths(s, at) end
    if k.kind == "periodic" then out[k.hyper.lengthscale] = entry(lengths(s, at).labels, same) end
    if k.hyper.alpha then out[k.hyper.alpha] = entry(nil, same) end
    return
  end
  local inner <const> = seen and kernel.within(k, seen, hidden) or {}
  local at <const> = k.kind == "product" and taker(k)
  for i, part in ipairs(k.parts) do visit(out, s, part, seen, inner, carries and (not at or i == at)) end
end

-- Means -------------------------------------------------------------------------------------------------------------------------

--- The line offset + x . slope in the units of the data.
local function line(out, s, mean)
  local slope <const>, offset <const> = mean.hyper.slope, mean.hyper.offset
  if s.tasks then
    out[slope], out[offset] = entry(s.names.x, nil), entry(nil, nil)
    return
  end
  local function own_slope(v)
    local factor <const> = s.y and s.y.sd:to{dtype = v.dtype} or 1
    return s.x and times(v, 1 / s.x.sd:to{dtype = v.dtype}) * factor or v * factor
  end
  out[slope] = entry(s.names.x, own_slope)
  out[offset] = entry(nil, function(v)
    local level <const> = s.y and v * s.y.sd:to{dtype = v.dtype} + s.y.mean:to{dtype = v.dtype} or v
    return s.x and level - (own_slope(slope.value) * s.x.mean:to{dtype = v.dtype}):sum() or level
  end)
end

-- Models ------------------------------------------------------------------------------------------------------------------------

--- Does the model scale its data?
function M.scales(self)
  local scaling <const> = model.fields(self).scaling
  return scaling ~= nil and (scaling.x or scaling.y) ~= nil
end

--- Entries {labels, of_data} by parameter, of the parameters whose meaning is known. of_data(v): the value v in the units of the
-- data, nil where it has none; where nothing is scaled it gives v. Of a model that scales nothing and whose columns have no names
-- there is nothing to say.
function M.of(self)
  local outer <const>, f <const>, out <const> = model.fields(self), model.fields(model.core(self)), {}
  local scaling <const>, names <const> = outer.scaling or {}, outer.names or {}
  if not (outer.names or M.scales(self)) then return out end
  local s <const> = {x = scaling.x, y = scaling.y, tasks = outer.tasks,
    names = {x = names.x, tasks = outer.tasks and names.y or nil}}
  if f.x then
    local d <const> = f.x.shape[2]
    local row <const> = core.range(1, d, 1, {dtype = "f64"}):unsqueeze(1)
    visit(out, s, f.kernel, row, kernel.outer_claims(f.kernel, d), true)
  end
  if f.mean.kind == "constant" then out[f.mean.hyper.value] = of_targets(s, 1, true) end
  if f.mean.kind == "linear" then line(out, s, f.mean) end
  local noise <const>, new <const> = f.likelihood.noise, f.likelihood.new
  if f.likelihood.kind == "fixed" then
    if type(new) == "table" then out[new] = entry(nil, same) end
  elseif type(noise) == "table" then
    out[noise] = of_targets(s, 2)
  end
  return out
end

return M
