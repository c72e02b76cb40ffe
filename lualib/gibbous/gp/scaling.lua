--- Inputs and targets that a model scales itself (option standardize): the model computes with (v - mean) / sd, and speaks with
-- scripts in the units of their data. Fields of a model:
--   standardize  {x =, y =}, each true (the scale of the data of the next fit) or a scaler that the script made; nil: neither
--   scaling      {x =, y =} scalers in use, of data that the model holds
--   given        {x =, y =} these data in their own units; x and y of the model are scaled
-- Everything that a model is made of (kernel, mean, noise as a number) is of the scaled data; variances that belong to observations
-- (gb.likelihoods.fixed, noise of condition and score) are data, in units of y squared.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local model <const> = require "gibbous.gp.model"
local named <const> = require "gibbous.frame.named"
local prepare <const> = require "gibbous.data.prepare"

local M <const> = {}

local PARTS <const> = {"x", "y"}

-- The option ------------------------------------------------------------------------------------------------------------------

local EXPECTED <const> = "true, or {x = true, y = true} where a scaler, the second result of gb.data.standardize, may stand for "
  .. "true"

local function is_part(v) return type(v) == "boolean" or core.type(v) == "scaler" end

--- The rule of the option (gibbous.options).
function M.rule(v)
  if v == true then return true end
  if core.type(v) == "scaler" then return false, EXPECTED, "a scaler: say of what, {x = scaler} or {y = scaler}" end
  if type(v) ~= "table" or getmetatable(v) ~= nil then return false, EXPECTED end
  for key, part in pairs(v) do
    if key ~= "x" and key ~= "y" then return false, EXPECTED, ("the key %s"):format(tostring(key)) end
    if not is_part(part) then return false, EXPECTED, ("%s = %s"):format(key, core.type(part)) end
  end
  return true
end

--- The field 'standardize' that a checked option asks for; nil: nothing is scaled.
function M.asked(v)
  if v == true then return {x = true, y = true} end
  local out <const> = v and {x = v.x or nil, y = v.y or nil} or {}
  return next(out) and out or nil
end

-- Scalers ---------------------------------------------------------------------------------------------------------------------

--- A scaler that the script made for 'count' columns of data like t; name: "x" or "y".
local function checked(scaler, t, count, name, what)
  local mean <const>, sd <const> = scaler.mean, scaler.sd
  if mean.numel ~= count or mean.ndim > 1 then
    core.raise("shape", ("%s: standardize: the scaler of %s is of %s, %s has %d"):format(what, name, counted(mean.numel, "column"),
      name, count))
  end
  local good <const> = mean:isfinite() & sd:isfinite() & sd:gt(0)
  if not good:all() then
    local at <const> = good:reshape(-1):to{dtype = "f32"}:argmin():item()
    core.raise("option", ("%s: standardize: the scaler of %s has mean %g and sd %g in column %d: finite, and sd above 0 expected")
      :format(what, name, mean:reshape(-1):select(1, at):item(), sd:reshape(-1):select(1, at):item(), at))
  end
  local function fitting(v) return v:reshape(t.ndim == 1 and {} or {count}):to{dtype = t.dtype, device = t.device}:eval() end
  return prepare.scaler(fitting(mean), fitting(sd))
end

--- Raises where a column of t has no value that is not NaN.
local function check_known(t, name, what)
  local gone <const> = t:isnan():reshape(#t, -1):all(1)
  if not gone:any() then return end
  local at <const>, names <const> = gone:to{dtype = "f32"}:argmax():item(), named.of(t)
  core.raise("nan", ("%s: standardize: column %s of %s has no value that is not NaN"):format(what,
    names and ("'%s'"):format(names[at]) or at, name))
end

--- The scaler of data t as 'asked': true or a scaler; nil where it is true and there are no rows to take it from.
local function scaler_of(asked, t, name, what)
  if not asked then return nil end
  local count <const> = t.ndim == 1 and 1 or t.shape[2]
  if asked ~= true then return checked(asked, t, count, name, what) end
  if #t == 0 then return nil end
  check_known(t, name, what)
  return (select(2, prepare.standardize(t)))
end

local function applied(scaler, t) return scaler and scaler:apply(t):eval() or t end

--- Gives a model scalers and the data they are for, and its noise of known variances their unit.
local function settle(f, scaling, x, y)
  f.scaling, f.given = scaling, {x = x, y = y}
  if not f.inner then f.likelihood = f.likelihood:in_units(scaling.y and scaling.y.sd) end
end

--- Data of a call, checked, as the model is to hold them: scaled as it asks for. Scalers are made of these data.
function M.take(self, x, y, what)
  local f <const> = model.fields(self)
  if not f.standardize then return x, y end
  local scaling <const> = {x = scaler_of(f.standardize.x, x, "x", what), y = scaler_of(f.standardize.y, y, "y", what)}
  settle(f, scaling, x, y)
  return applied(scaling.x, x), applied(scaling.y, y)
end

--- The same with the scalers {x, y} that a file has.
function M.restore(self, scaling, x, y)
  local f <const> = model.fields(self)
  if not f.standardize then return x, y end
  settle(f, scaling, x, y)
  return applied(scaling.x, x), applied(scaling.y, y)
end

local function holds_rows(f) return f.x ~= nil and #f.x > 0 end

--- New data x, y of 'out', a model that is to hold those of 'self' and these, as it is to hold them. The scalers stay; where self
-- has no rows, they are made of the new data.
function M.extend(self, out, x, y, what)
  local f <const>, g <const> = model.fields(self), model.fields(out)
  if not g.standardize then return x, y end
  if not holds_rows(f) then return M.take(out, x, y, what) end
  settle(g, f.scaling, core.cat({f.given.x, x}, 1):eval(), core.cat({f.given.y, y}, 1):eval())
  return applied(f.scaling.x, x), applied(f.scaling.y, y)
end

--- Lets 'out', which holds the data of 'self', speak in the same units.
function M.inherit(self, out)
  local f <const>, g <const> = model.fields(self), model.fields(out)
  g.scaling, g.given = f.scaling, f.given
end

--- Lets 'out', which holds some rows of the data of 'self', speak in the same units. rest(t): these rows of t.
function M.inherit_rows(self, out, rest)
  local f <const>, g <const> = model.fields(self), model.fields(out)
  g.scaling, g.given = f.scaling, f.given and {x = rest(f.given.x), y = rest(f.given.y)}
end

-- Files -----------------------------------------------------------------------------------------------------------------------

--- Fields {x, y} of scalers or true as a file has them (gp/save.lua); w: its writer, path: what tensors are called.
function M.write(w, scalers, path)
  local out <const> = {}
  for _, part in ipairs(PARTS) do
    local v <const> = scalers and scalers[part]
    local at <const> = path .. "." .. part
    out[part] = v == true or v and {mean = w:value(v.mean, at .. ".mean"), sd = w:value(v.sd, at .. ".sd")} or nil
  end
  return next(out) and out or nil
end

--- The fields that a description has; nil where it has none. words: may true stand for a scaler? Errors: format.
function M.read(r, described, words)
  if described == nil then return nil end
  local out <const> = {}
  for _, part in ipairs(PARTS) do
    local v <const> = r:list(described)[part]
    if v == true and words then out[part] = true
    elseif v ~= nil then
      local mean <const>, sd <const> = r:value(r:list(v).mean), r:value(v.sd)
      local good <const> = core.type(mean) == "tensor" and core.type(sd) == "tensor" and mean.ndim <= 1 and mean.ndim == sd.ndim
        and mean.numel == sd.numel and mean.dtype == sd.dtype and (mean:isfinite() & sd:isfinite() & sd:gt(0)):all()
      if not good then r:fail(("its scaler of %s is damaged"):format(part)) end
      out[part] = prepare.scaler(mean, sd)
    end
  end
  return out
end

-- Units of the script and of the model --------------------------------------------------------------------------------------------

--- The scaler of a part, "x" or "y", nil where it is not scaled. Raises where it is yet to come from data.
function M.scaler(f, part, what)
  if not (f.standardize and f.standardize[part]) then return nil end
  local scaler <const> = f.scaling and f.scaling[part]
  if scaler then return scaler end
  core.raise("option", ("%s: standardize takes the scale of %s from data, and the model holds none: fit it, or give a scaler, "
    .. "standardize = {%s = scaler}"):format(what, part, part))
end

--- Raises where a part is yet to be scaled by data that the model does not hold; a scaler of the script needs none. d: columns of
-- inputs like t. For models without data.
function M.ready(self, t, what)
  local f <const> = model.fields(self)
  if not f.standardize or f.scaling then return end
  local scaling <const> = {}
  for _, part in ipairs(PARTS) do
    local asked <const> = f.standardize[part]
    if asked and asked ~= true then
      local like <const> = part == "x" and t or core.zeros(f.tasks and {1, f.tasks} or {1}, {dtype = t.dtype})
      scaling[part] = scaler_of(asked, like, part, what)
    end
  end
  f.scaling = scaling
end

--- Points (m, d) of a script, lazily in the model's units.
function M.points(self, t, what)
  M.ready(self, t, what)
  local scaler <const> = M.scaler(model.fields(self), "x", what)
  return scaler and scaler:apply(t) or t
end

--- The part "x" or "y" of the data that a model holds, in the units of the script.
function M.held(self, part)
  local f <const> = model.fields(self)
  return f.given and f.given[part] or f[part]
end

--- What is to be said of a fit to data that the model scaled: the columns of inputs that have one value.
function M.notes(self)
  local f <const>, out <const> = model.fields(self), {}
  if not (f.scaling and f.scaling.x) or #f.x < 2 then return out end
  local same <const> = f.x:eq(f.x:slice(1, 1, 1)):all(1)
  for j, one in ipairs(same:totable()) do
    local name <const> = f.names and f.names.x and ("'%s'"):format(f.names.x[j]) or j
    out[#out + 1] = one and ("column %s of x has the same value in all rows and tells none apart"):format(name) or nil
  end
  return out
end

--- By how many nats a negative log density of all y in the model's units is below that in the script's: sum log sd.
function M.log_scale(self)
  local f <const> = model.fields(self)
  local sd <const> = f.scaling and f.scaling.y and f.scaling.y.sd
  if not sd or not f.y then return 0.0 end
  local known <const> = f.y:eq(f.y):to{dtype = "f64"}
  return (known * sd:to{dtype = "f64"}:log()):sum():item()
end

return M
