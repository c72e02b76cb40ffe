--- gb.plot.sweep: the figures of `gibbous sweep plot` in a script.
local core <const> = require "gibbous.core"
local figures <const> = require "gibbous.sweep.show.figures"
local options <const> = require "gibbous.base.options"
local script <const> = require "gibbous.sweep.script"
local store <const> = require "gibbous.sweep.store"

local WHAT <const> = "gb.plot.sweep"

--- Conditions as the command line has them: a text, or values by the names of parameters.
local function conditions(v)
  if type(v) ~= "table" then return v end
  local out <const> = {}
  for name, value in pairs(v) do
    out[#out + 1] = ("%s=%s"):format(tostring(name), type(value) == "string" and value or core.json_encode(value))
  end
  table.sort(out)
  return table.concat(out, ",")
end

--- The folder of the store of a sweep: of a gb.sweep value, of its name, or the folder itself.
local function folder_of(sweep, given)
  if core.type(sweep) == "sweep" then return script.folder(sweep, given) end
  if type(sweep) ~= "string" then
    core.raise("option", ("%s: the name of a sweep, its folder or a gb.sweep value expected, got %s"):format(WHAT,
      core.type(sweep)))
  end
  if given then return given end
  return store.is(sweep) and sweep or script.folder{name = sweep}
end

local SPEC <const> = {kind = figures.kinds, metric = "string", goal = {"min", "max"}, x = "string", y = "string",
  where = "string|table", store = "string", title = "string"}

--- A figure of the trials that a sweep has so far. sweep: a gb.sweep value, its name, or the folder of its store; o: kind
-- "parallel" (coordinates), "slice", "heat", "importance", "curve" (progress), "timeline", "pareto"; metric, goal: others than the
-- study's; x, y: axes; where = {parameter = value}: trials of these values alone; store: the folder, where it is not NAME.gibbous;
-- title. Errors: io where there is no store; option.
---@return gibbous.figure
return function(sweep, opts)
  local o <const> = options.parse(opts, SPEC, WHAT)
  local folder <const> = folder_of(sweep, o.store)
  if not store.is(folder) then
    core.raise("io", ("%s: there is no sweep in %s: gibbous sweep run SCRIPT makes one, store = FOLDER says where it is"):format(
      WHAT, folder))
  end
  local s <close> = store.open(folder, "read")
  local fig <const> = figures.of(s, {kind = o.kind or "parallel", metric = o.metric, goal = o.goal, x = o.x, y = o.y,
    where = conditions(o.where)})
  return o.title and fig:axes{title = o.title} or fig
end
