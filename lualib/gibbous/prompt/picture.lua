--- :plot: the figure that suits some values.
local core <const> = require "gibbous.core"

local function tensor(v)
  if type(v) == "table" and debug.getmetatable(v) == nil and type(v[1]) == "number" then return core.tensor(v) end
  return core.as_tensor(v)
end

local function column(t) return t.ndim == 2 and t.shape[2] == 1 and t:squeeze(2) or t end

local function of_tensors(plot, x, y)
  x = column(x)
  if y ~= nil then return plot.figure{}:scatter(x, column(y)) end
  if x.ndim == 1 then return plot.figure{xlabel = "position"}:line(core.linspace(1, #x, #x), x) end
  if x.ndim == 2 then return plot.figure{}:heatmap(x) end
  return nil
end

--- The figure of a vector (a line), two vectors (points), a matrix (a heat map), a model (its posterior); a figure is itself.
---@return gibbous.figure
return function(a, b)
  local plot <const> = require "gibbous.plot"
  if core.type(a) == "gibbous.figure" or core.type(a) == "figure" then return a end
  if core.type(a) == "gp.exact" then return plot.posterior(a) end
  local x <const>, y <const> = tensor(a), b ~= nil and tensor(b) or nil
  local figure <const> = x and (b == nil or y) and x.numel > 0 and of_tensors(plot, x, y)
  if figure then return figure end
  core.raise("option", (":plot draws a vector, x and y, a matrix, a model or a figure, got %s"):format(
    x and ("a tensor " .. tostring(x.shape)) or core.type(a)))
end
