--- The model value: its fields, the paths of its parameters, and what it knows of its data. The files beside this one add
-- the methods: fit, predict, condition, score.
local core <const> = require "gibbous.core"
local kernels <const> = require "gibbous.kernels"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"

---@class gibbous.gp.exact
---@field kernel gibbous.kernel   the model's own copy; the fitted one after fit
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n)
---@field solver string|table     as given: "auto", "direct" or a gb.solvers value
---@field info table|nil          of the last fit
local Model <const> = {__name = "gibbous.gp.exact"}

local M <const> = {methods = {}}
local methods <const> = M.methods
local public <const> = {kernel = true, mean = true, likelihood = true, x = true, y = true, info = true, solver = true}
local planned <const> = {leave_one_out = true, save = true}

function Model.__index(self, key)
  if methods[key] then return methods[key] end
  if public[key] then return rawget(self, "_fields")[key] end
  if planned[key] then core.raise("option", ("a model's '%s' is not in this version"):format(key), 2) end
  local near <const> = options.nearest(tostring(key), methods)
  core.raise("option", ("a model has no field '%s'%s"):format(tostring(key),
    near and (" (did you mean '%s'?)"):format(near) or ""), 2)
end

function Model.__newindex(_, key)
  core.raise("option", ("field '%s' of a model cannot be assigned; set its parameters' .value"):format(tostring(key)), 2)
end

function Model.__children(self)
  local f <const> = M.fields(self)
  return {{"kernel", f.kernel}, {"mean", f.mean}, {"likelihood", f.likelihood}}
end

function Model.__tostring(self) return require "gibbous.gp.summary"(self) end

--- What a model holds: kernel mean likelihood solver x y info, and
-- active  the algorithm in use, "direct" or a solver: decided once per fit
-- state   what predictions need (gp/state.lua), valid for one stamp
function M.fields(self) return rawget(self, "_fields") end

--- A model of the given fields, which it then owns.
function M.new(parts) return setmetatable({_fields = parts}, Model) end

function M.is(v) return type(v) == "table" and getmetatable(v) == Model end

--- The fields of an independent model without data: parameters are copied, explicit gb.params and networks shared.
function M.copy_parts(f)
  return {kernel = f.kernel:copy(), mean = f.mean:copy(), likelihood = f.likelihood:copy(), solver = f.solver}
end

--- Takes over checked data; what was known about the old is forgotten.
function M.set_data(self, x, y)
  local f <const> = M.fields(self)
  f.x, f.y = x:eval(), y:eval()
  f.state = nil
  kernels.resolve_ard(f.kernel, x.shape[2])
end

--- A stamp that changes when any parameter below the model does.
function M.stamp(self)
  local cells <const> = {}
  for i, p in ipairs(param.collect(self)) do cells[i] = p.version end
  return table.concat(cells, ".")
end

--- A parameter by its path, as printed by print(model): m:get "kernel.lengthscale".
function methods.get(self, path)
  local list <const>, names <const> = param.collect(self)
  local known <const> = {}
  for i, name in ipairs(names) do
    if name == path then return list[i] end
    known[name] = true
  end
  local near <const> = options.nearest(tostring(path), known)
  core.raise("option", ("the model has no parameter '%s'%s"):format(tostring(path),
    near and (" (did you mean '%s'?)"):format(near) or ""), 2)
end

return M
