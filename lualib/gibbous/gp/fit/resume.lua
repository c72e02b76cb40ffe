--- Where fits ended that can go on: by their reports, for as long as these live.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local fields <const> = require "gibbous.gp.model".fields
local param <const> = require "gibbous.param"
local shallow_copy <const> = require "gibbous.base.shallow_copy"

local M <const> = {}

-- By report: {model, x, y (weak), o, at, more, bounds}: the fit's options, where its starts ended (fit/restarts.lua), what it had
-- decided, and the bounds of parameters.
local ended <const> = setmetatable({}, {__mode = "k"})
local weak <const> = {__mode = "v"}
local last <const> = setmetatable({}, weak)           -- the report of the last fit that was interrupted

-- Options that say what is computed, which a fit that goes on keeps.
local KEPT <const> = {"method", "lr", "objective", "restarts", "starts", "seed", "missing"}

--- The bounds of all parameters below a model: raw values mean nothing by others.
local function bounds_of(self)
  local cells <const> = {}
  for i, p in ipairs((param.collect(self))) do cells[i] = ("%s %s"):format(p.min, p.max) end
  return table.concat(cells, ", ")
end

--- Remembers where the fit of this report ended. at, more: numbers and parameters.
function M.note(self, info, o, at, more)
  ended[info] = {of = setmetatable({model = self, x = fields(self).x, y = fields(self).y}, weak), o = o, at = at, more = more,
    bounds = bounds_of(self)}
  if info.interrupted then last[1] = info end
end

--- The last report of an interrupted fit that something still holds, and its model; nil: there is none.
function M.last()
  local info <const> = last[1]
  local self <const> = info and ended[info] and ended[info].of.model
  if self then return info, self end
end

local function check(cond, text, ...)
  if not cond then core.raise("option", "fit: resume: " .. text:format(...)) end
end

--- What a fit goes on from: {o, at, more}, its options those of the first call with 'o' over them.
function M.of(self, info, o)
  local from <const> = ended[info]
  check(from, "this is not the report of a fit that was interrupted or reached its steps: m:fit{resume = report}")
  local of <const>, now <const> = from.of, fields(self)
  check(of.model and rawequal(of.model, self), "the report is of another model")
  check(rawequal(of.x, now.x) and rawequal(of.y, now.y), "the model holds other data by now; fit it anew")
  check(bounds_of(self) == from.bounds, "parameters have other bounds by now; fit it anew")
  for _, name in ipairs(KEPT) do
    local was <const> = from.o[name]
    check(o[name] == nil or o[name] == was, "%s stays what it was, %s", name,
      type(was) == "table" and "the list given before" or tostring(was or "the default"))
  end
  local options <const> = shallow_copy(from.o)
  for key, v in pairs(o) do options[key] = v end
  check(info.interrupted or (options.steps or 0) > info.iterations,
    "the fit made its %s: give it more, m:fit{resume = report, steps = %d}", counted(info.iterations, "step"), 2 * info.iterations)
  return {o = options, at = from.at, more = from.more}
end

return M
