--- The parameters of a model by their paths, as print(model) lists them: get and set.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

--- Every path with its parameter. A parameter that several paths reach has the first.
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

-- Up to so many paths are all listed if none is near.
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
  core.raise("option", ("the model has no parameter '%s' (%s)"):format(
    type(path) == "string" and path or options.got(path), text))
end

local chosen <const> = {kernel = true, mean = true, likelihood = true, solver = true, standardize = true}

--- Raises that a field of a model cannot be assigned, with the call that does what was meant. maker: "gb.gp.exact".
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

local function assign_all(boxes, values)
  for i, box in ipairs(boxes) do box.value = values[i] end
end

local methods <const> = {}
M.methods = methods

--- A parameter by its path, as printed by print(model): m:get "kernel.lengthscale". Raises option for an unknown path.
function methods.get(self, path) return find(by_path(self), path) end

--- Other bounds for a parameter: m:bound("kernel.lengthscale", {min = 0.1, max = 10}). What is not given stays as it is, false is
-- no bound; value: what it has then, by default as now. Bounds of the noise take the place of its floor. Gives the model.
-- Errors: option for an unknown path, or a value outside the bounds.
function methods.bound(self, path, opts)
  local p <const> = find(by_path(self), path)
  param.bound(p, options.parse(opts, {min = "number", max = "number", value = "any"}, "bound"))
  return self
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
