--- One step of training as tensors: the objective and its gradients.
local core <const> = require "gibbous.core"
local param <const> = require "gibbous.param"

local M <const> = {}

--- 'results' followed by the gradients of y, a tensor of one element, by every free parameter of the model.
function M.with_gradients(self, y, results)
  local raws <const> = {}
  for _, p in ipairs((param.collect(self))) do
    if not p.fixed then raws[#raws + 1] = p.raw end
  end
  return table.move(core.grad(y, raws, {unused = "zero"}), 1, #raws, #results + 1, results)
end

--- The value of an objective and its gradients by every free parameter.
function M.of(self, value) return M.with_gradients(self, value, {value}) end

return M
