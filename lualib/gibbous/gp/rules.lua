--- Rules (gibbous.options) for options that take what a model is made of.
local core <const> = require "gibbous.core"
local kernels <const> = require "gibbous.kernels"
local means <const> = require "gibbous.means"
local options <const> = require "gibbous.base.options"
local solvers <const> = require "gibbous.solvers"

local M <const> = {}

M.kernel = options.value_of(kernels.is, "a gb.kernels value", kernels, "gb.kernels", "{}")

M.mean = options.value_of(function(v) return means.of(v) ~= nil end,
  "a gb.means value (gb.means.constant(0) for a number), a function of x giving (n), or a network", means, "gb.means", "()")

--- A solver, the name of one, or one of the words in 'more'.
function M.solver(more)
  local words <const>, list <const> = {}, {}
  for _, group in ipairs{more, solvers.names} do
    for _, word in ipairs(group) do
      words[word], list[#list + 1] = true, ('"%s"'):format(word)
    end
  end
  local expected <const> = table.concat(list, ", ") .. " or a gb.solvers value"
  local value <const> = options.value_of(function(v) return core.type(v) == "solver" end, expected, solvers, "gb.solvers", "{}")
  return function(v)
    if words[v] then return true end
    local near <const> = type(v) == "string" and options.nearest(v, words)
    if near then return false, expected, ("string %s, did you mean %s?"):format(v, near) end
    return value(v)
  end
end

--- A kernel, or a list of kernels.
function M.kernels(v)
  if type(v) ~= "table" or getmetatable(v) ~= nil then return M.kernel(v) end
  if #v == 0 then return false, "a kernel or a list of kernels", "an empty list" end
  for i, k in ipairs(v) do
    if not kernels.is(k) then
      return false, "a kernel or a list of kernels", ("a list whose entry %d is a %s"):format(i, core.type(k))
    end
  end
  return true
end

return M
