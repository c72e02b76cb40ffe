--- The options of axes: titles, limits, scales, ticks, legends.
local core <const> = require "gibbous.core"

local M <const> = {}

local SCALES <const> = {"linear", "log"}
local LEGENDS <const> = {"auto", "top left", "top right", "bottom left", "bottom right", "outside", "off"}

--- What gb.plot.figure and fig:axes take, of each panel.
M.spec = {title = "string", xlabel = "string", ylabel = "string", xlim = "table", ylim = "table", xscale = SCALES, yscale = SCALES,
  xticks = "table", yticks = "table", legend = LEGENDS, aspect = {"auto", "equal"}, grid = "boolean", colour_bar = "boolean"}

local function index_of(list, v)
  for i, one in ipairs(list) do
    if one == v then return i - 1 end
  end
end

--- lo, hi of a list of two numbers, either of which may be false: by the values.
local function limits(given, name, log, what)
  if not given then return nil, nil end
  local lo <const>, hi <const> = given[1], given[2]
  local function finite(v) return v == nil or v == false or type(v) == "number" and math.abs(v) < math.huge end
  if core.as_tensor(given) ~= nil or not finite(lo) or not finite(hi) or not (lo or hi) then
    core.raise("option", ("%s: option '%s' must be {lo, hi}, two finite numbers (false: by the values)"):format(what, name))
  end
  if lo and hi and not (lo < hi) then
    core.raise("option", ("%s: option '%s': the first limit must be below the second, got {%g, %g}; no axis is reversed"):format(
      what, name, lo, hi))
  end
  if log and (lo and lo <= 0 or hi and hi <= 0) then
    core.raise("option", ("%s: option '%s': limits of a log axis must be above 0, got %g"):format(what, name,
      lo and lo <= 0 and lo or hi))
  end
  return lo or nil, hi or nil
end

--- Places and names of a list of {place, name}.
local function ticks(list, name, what)
  local at <const>, names <const> = {}, {}
  for i, tick in ipairs(list) do
    local is_pair <const> = type(tick) == "table" and getmetatable(tick) == nil
    if not is_pair or type(tick[1]) ~= "number" or type(tick[2]) ~= "string" then
      core.raise("option",
        ("%s: option '%s' must be a list of {place, name}, element %d is not such a list"):format(what, name, i))
    end
    at[i], names[i] = tick[1], tick[2]
  end
  return at, names
end

--- The checked options of a panel, ready for the core. said: the options that were set before; what is set now is added to it
-- where all of them together are right, since a scale may contradict limits of an earlier call.
function M.checked(new, what, said)
  local o <const> = setmetatable({}, {__index = function(_, key)
    if new[key] ~= nil then return new[key] end
    return said[key]
  end})
  local xlog <const>, ylog <const> = o.xscale == "log", o.yscale == "log"
  local out <const> = {title = o.title or nil, xlabel = o.xlabel or nil, ylabel = o.ylabel or nil, xlog = xlog, ylog = ylog,
    equal = o.aspect == "equal", no_grid = o.grid == false, bare = o.colour_bar == false}
  out.legend = o.legend and index_of(LEGENDS, o.legend) or o.legend == false and index_of(LEGENDS, "off") or nil
  out.xlo, out.xhi = limits(o.xlim, "xlim", xlog, what)
  out.ylo, out.yhi = limits(o.ylim, "ylim", ylog, what)
  if out.equal and (xlog or ylog) then
    core.raise("option", ("%s: aspect = \"equal\" needs linear axes"):format(what))
  end
  local named <const> = {}
  for _, axis in ipairs{"x", "y"} do
    local list <const> = new[axis .. "ticks"]
    if list then named[axis] = table.pack(ticks(list, axis .. "ticks", what)) end
  end
  for key in pairs(M.spec) do said[key] = o[key] end
  return out, named
end

--- Sets options of a panel of the core's figure.
function M.set(figure, panel, given, named)
  core.figure_axes(figure, panel, given)
  for axis, t in pairs(named) do core.figure_ticks(figure, panel, axis, t[1], t[2]) end
end

return M
