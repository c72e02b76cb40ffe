--- Steps towards the most likely latent values that do not lower their density, for one latent function (mode.lua) and several
-- (several_mode.lua).
local core <const> = require "gibbous.core"

local M <const> = {}

local HALVINGS <const> = 40
-- Of the density: what rounding may take from it in a step that raises it. Near the mode the whole step is taken so, and the error
-- of f, to which log|B| is not blind, is the square of the change.
local SLACK <const> = 1e-13

--- log p(y | f) - (f - m)' a / 2, a number.
function M.density(p, f, a)
  return (p.likelihood:log_density(f, p.y):sum() - (a * (f - p.mean)):sum() / 2):item()
end

--- The point a + t step that raises the density, t = 1, 1/2, ...: f, a, the density; nil: none does.
function M.uphill(p, now, step, moved)
  local t = 1.0
  for _ = 0, HALVINGS do
    local f <const>, a <const> = now.f + t * moved, now.a + t * step
    core.eval(f, a)
    local value <const> = M.density(p, f, a)
    if value >= now.value - SLACK * (1 + math.abs(now.value)) then return {f = f, a = a, value = value} end
    t = t / 2
  end
end

return M
