--- Columns of task numbers: whole numbers from 1, checked once a handle.
local core <const> = require "gibbous.core"

local M <const> = {}

-- x (n, 1) -> {[T] = positions (n) i64}
local known <const> = setmetatable({}, {__mode = "k"})

local function check(t, T, what)
  local good <const> = t:eq(t:floor()) & t:ge(1) & t:le(T)
  if #t == 0 or good:all() then return end
  local at <const> = good:to{dtype = "f32"}:argmin():item()
  local v <const> = t:slice(1, at, at):item()
  core.raise("index", ("%s: row %d has task %s, expected a whole number from 1 to %d"):format(what, at,
    v == v and ("%g"):format(v) or "nan", T))
end

--- The tasks in column x (n, 1) as positions (n) among T. 'what' begins the message for any other number.
function M.positions(x, T, what)
  local list <const> = known[x] or {}
  known[x] = list
  if list[T] == nil then
    local t <const> = x:detach():select(2, 1)
    check(t, T, what)
    list[T] = t:to{dtype = "i64"}:eval()
  end
  return list[T]
end

return M
