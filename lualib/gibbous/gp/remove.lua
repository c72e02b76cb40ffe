--- A model without some of its observations, of one output or of several.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local downdate <const> = require "gibbous.gp.exact.downdate"
local frames <const> = require "gibbous.gp.frames"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"
local update_record <const> = require "gibbous.gp.update_record"

--- The numbers of a call as a list: a list, a tensor (k), or one number.
local function listed(rows)
  if options.integral(rows) then return {rows} end
  local t <const> = core.as_tensor(rows)
  if t and t.dtype == "bool" then
    core.raise("option", "remove: numbers of rows are needed, got a tensor of bool: mask:nonzero():reshape(-1) has the numbers")
  end
  if t and t.ndim == 1 then return t:totable() end
  if type(rows) == "table" and t == nil and getmetatable(rows) == nil then return rows end
  core.raise("option", ("remove: numbers of rows are needed, a list or a tensor (k), got %s"):format(
    t and "shape " .. core.told(t) or options.shown(rows)))
end

--- The rows of n that stay, ascending, as a list. Raises for a number that is no row, or is given twice.
local function kept(rows, n)
  local gone <const>, out <const>, list <const> = {}, {}, listed(rows)
  for i = 1, #list do
    local k <const> = options.whole(list[i])
    if k == nil or k < 1 or k > n then
      core.raise("index", ("remove: there is no row %s, the model holds %s"):format(options.got(list[i]), counted(n, "row")))
    end
    if gone[k] then core.raise("option", ("remove: row %d is given twice"):format(k)) end
    gone[k] = true
  end
  for k = 1, n do out[#out + 1] = not gone[k] and k or nil end
  if #out == 0 then
    core.raise("option", ("remove: all %s would go; a model that is made anew has none"):format(counted(n, "row")))
  end
  return out
end

local methods <const> = {}

--- A new model without these rows of the data, numbers from 1: one, a list or a tensor (k). Parameters are copied (explicit
-- gb.params and networks are shared) and not fitted again; the old model stays as it is, and what it scales keeps its scale. If
-- the old model
-- was ready for predictions, a factor keeps its rows above the first that goes, and one of those below is made of them, where these
-- are at most half; a solver starts from the old solution. Otherwise the first prediction begins anew. m.update says which.
-- Cost: O(k^2 (k + r)) for k rows below the first of r that go, beside a copy of the factor. Errors: option, index; not_pd.
function methods.remove(self, rows)
  local f <const> = model.fields(self)
  if f.x == nil then core.raise("option", "remove: the model holds no data") end
  local keep <const>, out <const> = kept(rows, #f.x), model.bare(self)
  local at <const> = core.tensor(keep, {dtype = "i64"})
  local function rest(t) return t:index(1, at):eval() end
  scaling.inherit_rows(self, out, rest)
  model.class(self).observations.fill(out, rest(f.x), rest(f.y), "remove", at, #f.x)
  frames.inherit(self, out)
  local inner <const> = f.inner and model.fields(model.fields(out).inner)
  if not inner then
    downdate(self, out, keep)
  else
    update_record.note(inner, {kind = "none", rows = 0, onto = 0, seconds = 0,
      reason = "rows were removed, of which each has several outputs"})
  end
  return out
end

return {methods = methods}
