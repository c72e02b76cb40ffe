--- Checks of observations: a value that a likelihood gives no density raises, and the message names its row and the way out.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

local M <const> = {}

--- y as a tensor of numbers (n) of one float dtype.
local function observations(y, what)
  local t <const> = core.as_tensor(y)
  if t == nil then core.raise("option", ("%s: y must be a tensor, got %s"):format(what, options.shown(y))) end
  if t.ndim ~= 1 then core.raise("shape", ("%s: y must be (n), got shape %s"):format(what, core.told(t))) end
  return (t.dtype == "f64" or t.dtype == "f32") and t or t:to{dtype = "f64"}
end

--- y, for all of whose values good(y) is true. expected: what they must be, in words; hint(v): the way out for value v, or nil.
function M.check(y, good, what, expected, hint)
  local t <const> = observations(y, what)
  if #t == 0 then return t end
  local right <const> = good(t)
  if right:all() then return t end
  local row <const> = right:to{dtype = "f32"}:argmin():item()
  local v <const> = t:select(1, row):item()
  local more <const> = hint and hint(v)
  core.raise("option", ("%s: row %d of y is %g, expected %s%s"):format(what, row, options.plain(v), expected,
    more and "; " .. more or ""), {row = row})
end

--- Is it finite?
function M.finite(y) return y:isfinite() end

-- Up to here f64 has every whole number.
local WHOLE <const> = 2.0 ^ 53

--- Is it a count: whole, 0 or more, and one that f64 tells from its neighbours?
function M.count(y) return y:le(WHOLE) & y:ge(0) & y:eq(y:floor()) end

--- The way out for a value that is no count.
function M.no_count(v)
  if v > WHOLE and v < math.huge then
    return "f64 has every whole number up to 2^53: gb.likelihoods.gamma has larger numbers above 0"
  end
  if v < 0 then return "gb.likelihoods.student_t and gaussian have negative values" end
  return v == v and v < math.huge and "y:round() makes counts of it; gb.likelihoods.gamma has fractions" or nil
end

--- Is it a whole number from..to?
function M.whole_in(from, to)
  return function(y) return y:ge(from) & y:le(to) & y:eq(y:floor()) end
end

return M
