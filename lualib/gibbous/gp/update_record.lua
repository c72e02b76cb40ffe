--- What a model did last to be ready for predictions, so that no cost is hidden: m.update, and print(m.update).

local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"

---@class gibbous.gp.update
---@field kind string       "append" rows to the factor, "factor" all rows, "solve" by an iterative solver, "decomposition" by
--- Kronecker structure, "sums" over the rows of a sparse model, "mode" by Newton's method, "remove" rows that were there, "none":
--- left for later
---@field rows integer      observations that were worked in, or removed
---@field onto integer      observations that were there already, 0: from the start; of "remove" those that are left
---@field seconds number
---@field reason string|nil why it was, or will be, from the start
---@field solve table|nil   the solver's report
---@field bytes integer|nil of the factor, shared with the model it came from or not
---@field x gibbous.tensor  the inputs it is about
local Update <const> = object.record("gibbous.gp.update", "an update", "reason solve bytes x")

local function time_text(s) return s < 1 and ("%.3g ms"):format(s * 1e3) or ("%.3g s"):format(s) end

local verbs <const> = {append = "appended", factor = "factored", solve = "solved", decomposition = "decomposed",
  mode = "sought the mode of", remove = "removed", sums = "summed"}

function Update:__tostring()
  if self.kind == "none" then return ("nothing prepared: %s"):format(self.reason) end
  local text = ("%s %s%s in %s"):format(verbs[self.kind], counted(self.rows, "row"),
    self.onto > 0 and (self.kind == "remove" and ", %d are left," or " to %d"):format(self.onto) or "", time_text(self.seconds))
  if self.solve then
    text = ("%s, %s%s"):format(text, counted(self.solve.iterations, "step"), self.solve.converged and "" or ", not converged")
  end
  return self.reason and ("%s (%s)"):format(text, self.reason) or text
end

local M <const> = {}

--- Why a model with data has no state for its parameters.
function M.missing(f)
  local last <const> = f.update
  if last == nil or not rawequal(last.x, f.x) then return nil end
  return last.kind == "none" and last.reason or "the parameters were set"
end

--- Takes down what was done for the model of these fields; its f64 twin (gp/exact/precision_twin.lua) answers for the model.
function M.note(f, record)
  record.x = f.x
  f.update = setmetatable(record, Update)
  local owner <const> = rawget(f, "owner")
  if owner then
    record.x = owner.x
    owner.update = f.update
  end
end

return M
