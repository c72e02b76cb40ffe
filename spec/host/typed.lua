--- What a script is told that makes a mistake: codes run as the file mistake.lua, from its second line.
local gb <const> = require "gibbous"

local M <const> = {name = "mistake.lua"}

--- What the codes see, made anew for each, so that no mistake spoils the next.
function M.surroundings(dir)
  local x <const> = gb.rand(30, 2, {seed = 1}):eval()
  local y <const> = (6 * x):sin():sum(2):eval()
  local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.3}, noise = 0.1}:condition(x, y)
  return setmetatable({gb = gb, k = gb.kernels, x = x, y = y, m = m, p = m:predict(x), dir = dir,
    bare = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}}, {__index = _G})
end

--- An expression is evaluated, as at the prompt, in no tail call.
local function chunk(code, env)
  return load("\nlocal _ = " .. code, "@" .. M.name, "t", env) or assert(load("\n" .. code, "@" .. M.name, "t", env))
end

--- The text of the error, nil: there was none.
function M.said(code, dir)
  local ok <const>, err <const> = pcall(chunk(code, M.surroundings(dir)))
  return not ok and tostring(err) or nil
end

--- "mistake.lua:3:" of the last line of a code.
function M.last_line(code) return ("%s:%d:"):format(M.name, 2 + select(2, code:gsub("\n", ""))) end

return M
