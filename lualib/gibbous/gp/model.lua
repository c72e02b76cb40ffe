--- The model value: its fields, the paths of its parameters, and what it knows of its data. The files beside this one add
-- the methods: fit, predict, condition, score.
local core <const> = require "gibbous.core"
local raised <const> = require "gibbous.raised"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local kernels <const> = require "gibbous.kernels"
local means <const> = require "gibbous.means"
local object <const> = require "gibbous.object"
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
---@field update table|nil        what it took to be ready for predictions (gp/update_record.lua)
local Model <const> = {__name = "gibbous.gp.exact"}

local M <const> = {methods = object.methods(Model, "a model", "m")}
local methods <const> = M.methods
local public <const> = {kernel = true, mean = true, likelihood = true, x = true, y = true, info = true, solver = true,
  update = true}
local without_data <const> = {copy = true, fit = true, get = true, save = true, set = true}

--- A model that was saved without its data does not pass for its prior. f: its fields; key: the method that is asked for.
function M.check_present(f, key)
  local absent <const> = f.absent
  if not absent or f.x or without_data[key] then return end
  core.raise("option", ("%s: the model was saved without its data (%d points, %d columns, %s); give them back with "
    .. "gb.load(path, {x = x, y = y}), or fit it to others"):format(key, absent.n, absent.d, absent.dtype))
end

function Model.__index(self, key)
  if methods[key] then
    M.check_present(rawget(self, "_fields"), key)
    return methods[key]
  end
  if public[key] then return rawget(self, "_fields")[key] end
  object.no_field("a model", key, methods, public)
end

function Model.__newindex(self, key) M.refuse_assignment(self, "gb.gp.exact", key) end

function Model.__children(self)
  local f <const> = M.fields(self)
  return {{"kernel", f.kernel}, {"mean", f.mean}, {"likelihood", f.likelihood}}
end

function Model.__tostring(self) return require "gibbous.gp.report.summary"(self) end

--- What a model holds: kernel mean likelihood solver x y info, and
-- active  the algorithm in use, "direct" or a solver: decided once per fit, and again for other data
-- choice  how "auto" came to it (gp/exact/solver_choice.lua)
-- state   what predictions need (gp/exact/posterior_cache.lua), valid for one stamp
-- twin    the model in f64 that computes the predictions of f32 data, and bound, by which it is chosen (gp/exact/precision_twin.lua)
-- absent  {n, d, dtype, digest} of data that a saved model was saved without; counts only while it has none
function M.fields(self) return rawget(self, "_fields") end

--- A model of the given fields, which it then owns.
function M.new(parts) return setmetatable({_fields = parts}, Model) end

--- The fields of an independent model without data: parameters are copied, explicit gb.params and networks shared.
function M.copy_parts(f)
  return {kernel = f.kernel:copy(), mean = f.mean:copy(), likelihood = f.likelihood:copy(), solver = f.solver,
    of_tasks = f.of_tasks, points = f.points}
end

--- An independent model of the same data, and its last report: all gb.params are copied, those that other models share too; what is
-- tied within the model stays tied. Networks and functions stay shared.
function methods.copy(self)
  local out <const> = {}
  for key, v in pairs(M.fields(self)) do out[key] = v end
  local copies <const> = param.copies(true)
  for _, part in ipairs{"kernel", "mean", "likelihood"} do out[part] = out[part]:copy(copies) end
  out.state, out.twin, out.update, out.fitter = nil, nil, nil, nil
  if out.grid then
    out.grid = {}
    for key, v in pairs(M.fields(self).grid) do out.grid[key] = v end
    out.grid.state = nil
  end
  return M.new(out)
end

--- The model with the data it has now, whatever it is fitted to later; its parameters are the same boxes.
function M.with_data_of(self)
  local out <const> = {}
  for key, v in pairs(M.fields(self)) do out[key] = v end
  return M.new(out)
end

--- Takes over checked data; what was known about the old is forgotten.
function M.set_data(self, x, y)
  local f <const> = M.fields(self)
  f.x, f.y = x:eval(), y:eval()
  f.state, f.active, f.choice, f.twin, f.bound = nil, nil, nil, nil, nil
  M.resolve(f, x)
  kernel_checks.symmetric(f.kernel, f.x, M.row_names(f))
end

--- What rows of the data are called in messages; nil: by their numbers.
function M.row_names(f) return f.points and kernel_checks.rows_of_points(f.x, f.points) or nil end

--- What was left open until the inputs are known: a lengthscale and a slope for each column, places of latent noise.
function M.resolve(f, x)
  kernels.resolve_ard(f.kernel, x.shape[2])
  means.resolve(f.mean, x.shape[2])
  f.likelihood:resolve(x)
end

--- A stamp that changes when any parameter below the model does.
function M.stamp(self)
  local cells <const> = {}
  for i, p in ipairs(param.collect(self)) do cells[i] = p.version end
  return table.concat(cells, ".")
end

-- Parameters by path ------------------------------------------------------------------------------------------------------

--- Every path with its parameter; one that is reached by several paths has the first.
local function by_path(self)
  local list <const>, names <const> = param.collect(self)
  local at <const> = {}
  for i, name in ipairs(names) do at[name] = list[i] end
  return at
end

--- The paths that end in 'name', sorted.
local function ending_in(at, name)
  local out <const> = {}
  for path in pairs(at) do
    if path:sub(-#name - 1) == "." .. name then out[#out + 1] = path end
  end
  table.sort(out)
  return out
end

--- "'a', 'b' or 'c'"
local function quoted(names)
  local cells <const> = {}
  for i, name in ipairs(names) do cells[i] = ("'%s'"):format(name) end
  local last <const> = table.remove(cells)
  return #cells == 0 and last or table.concat(cells, ", ") .. " or " .. last
end

-- Where no path is near, all of so many are said.
local LISTED <const> = 8

local function find(at, path)
  if at[path] then return at[path] end
  local names = type(path) == "string" and ending_in(at, path) or {}
  names = #names > 0 and names or {type(path) == "string" and options.nearest(path, at) or nil}
  local text = #names > 0 and ("did you mean %s?"):format(quoted(names))
  if not text then
    for name in pairs(at) do names[#names + 1] = name end
    table.sort(names)
    text = #names <= LISTED and "it has " .. table.concat(names, ", ") or "print(m) lists them"
  end
  core.raise("option", ("the model has no parameter '%s' (%s)"):format(tostring(path), text))
end

local chosen <const> = {kernel = true, mean = true, likelihood = true, solver = true}

--- Raises that a field of a model cannot be assigned, and says what does what was meant.
function M.refuse_assignment(self, maker, key)
  local name <const> = tostring(key)
  local paths <const> = ending_in(by_path(self), name)
  local text = "m:set sets parameters by their paths"
  if #paths > 0 then text = ('to set the parameter, m:set("%s", v)'):format(table.concat(paths, '", v) or m:set("'))
  elseif name == "x" or name == "y" then text = "data are given to m:fit(x, y) or m:condition(x, y)"
  elseif name == "noise" then text = "noise is given to " .. maker
  elseif chosen[name] then text = ("it is chosen when a model is made: %s{%s = ...}"):format(maker, name) end
  core.raise("option", ("field '%s' of a model cannot be assigned; %s"):format(name, text))
end

--- A parameter by its path, as printed by print(model): m:get "kernel.lengthscale".
function methods.get(self, path) return find(by_path(self), path) end

local function assign_all(boxes, values)
  for i, box in ipairs(boxes) do box.value = values[i] end
end

--- Sets parameters by path, all or none: m:set("kernel.lengthscale", 0.3) or m:set{["kernel.variance"] = 2, ...}.
-- A value is a number (for all elements), a list or a tensor, inside the parameter's bounds. Gives the model.
function methods.set(self, path, v)
  local wanted <const> = type(path) == "table" and v == nil and path or {[path == nil and "nil" or path] = v}
  local paths <const> = {}
  for key in pairs(wanted) do paths[#paths + 1] = key end
  if #paths == 0 and path ~= wanted then
    core.raise("option", ("set: parameter '%s' was given no value"):format(tostring(path)))
  end
  table.sort(paths, function(a, b) return tostring(a) < tostring(b) end)
  local at <const> = by_path(self)
  local boxes <const>, values <const>, before <const> = {}, {}, {}
  for i, key in ipairs(paths) do
    boxes[i], values[i] = find(at, key), wanted[key]
    before[i] = boxes[i].raw
  end
  local ok <const>, err <const> = pcall(assign_all, boxes, values)
  if not ok then
    for i, box in ipairs(boxes) do box.raw = before[i] end
    if raised.code(err) == nil then error(err, 0) end
    core.raise(err.code, err.message)
  end
  return self
end

return M
