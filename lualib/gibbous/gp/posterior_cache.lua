--- What a model keeps for predictions while its parameters and data stay as they are: model.fields(self).state, a table of the
-- posterior's, with 'stamp', the versions of the parameters it holds for.
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"

local M <const> = {}

--- The state of a model for its present parameters, or nil. stamp: of these, where it is known.
function M.present(self, stamp)
  local state <const> = model.fields(self).state
  return state and state.stamp == (stamp or model.stamp(self)) and state or nil
end

--- The state for the present parameters, and whether it was there already; else made by make() -> table, and kept until a
-- parameter is set or other data are taken.
function M.of(self, make)
  local f <const>, now <const> = model.fields(self), model.stamp(self)
  local state <const> = M.present(self, now)
  if state then return state, true end
  local made <const> = make()
  made.stamp = now
  f.state = made
  param.keep(param.collect(self), f)
  return made, false
end

return M
