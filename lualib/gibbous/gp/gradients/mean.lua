--- A mean function and its partial derivatives, as a mean of inputs (n, d + 1) whose last column says what a row is about
-- (kernels/gradients.lua). Derivatives are those of the graph.
local core <const> = require "gibbous.core"
local gradients <const> = require "gibbous.kernels.gradients"
local means <const> = require "gibbous.means"

--- The derivative (n) by column 'at' of a mean of this form at points x (n, d).
local function slope(form, self, x, at)
  local p <const> = core.empty(x.shape, {dtype = x.dtype, device = x.device})
  local g <const> = core.grad(form(self, p):sum(), p, {unused = "zero"})
  return core.substitute(g:select(2, at), {p}, {x})
end

--- m as such a mean. It keeps m's parameters.
local function with_gradients(m)
  if m.parts then
    local out <const> = m:copy(function(p) return p end)
    for i, part in ipairs(m.parts) do out.parts[i] = with_gradients(part) end
    return out
  end
  local form <const> = means.fields(m).form
  return means.with_task(m, function(self, x)
    local list <const>, places <const> = gradients.groups(x)
    local d <const>, cells <const> = x.shape[2] - 1, {}
    for i, group in ipairs(list) do
      local points <const> = group.points:slice(2, 1, d)
      cells[i] = group.kind == 1 and form(self, points) or slope(form, self, points, group.kind - 1)
    end
    return #cells > 0 and gradients.joined(cells, 1, places) or core.zeros(0, {dtype = x.dtype, device = x.device})
  end)
end

return with_gradients
