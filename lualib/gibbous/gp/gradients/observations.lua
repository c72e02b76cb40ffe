--- The form of observations of f and its partial derivatives (gp/observations.lua): y (n, 1 + d), f in the first column and its
-- derivative by column a of x in column 1 + a, a row for each point. The model that computes has a row for each cell of y that has
-- a value, column by column, with the column's number as a last column of the inputs (kernels/gradients.lua).
local cells <const> = require "gibbous.gp.tasks.observations"
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local gradients <const> = require "gibbous.kernels.gradients"
local kernel <const> = require "gibbous.kernels.kernel"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local model <const> = require "gibbous.gp.model"
local named <const> = require "gibbous.frame.named"
local prediction <const> = require "gibbous.gp.tasks.prediction"

local M <const> = {nothing = cells.nothing, axes = 2, width = "1 + d", count = cells.count, derives = "held"}

--- What column k of y is.
function M.told(k) return k == 1 and "the column of values" or ("the column of derivatives by column %d of x"):format(k - 1) end

--- What column k is called in scores.
function M.name(k) return k == 1 and "f" or ("df/dx%d"):format(k - 1) end

function M.check(_, x, y, what, missing)
  return cells.check_cells(x, y, function(t) return 1 + t.shape[2] end, what, missing,
    "f in the first column, then its derivative by each column of x", function(k)
      local names <const> = named.of(y)
      return names and ("column '%s'"):format(names[k]) or M.told(k)
    end)
end

--- The rows of all cells: x (n (1 + d), d + 1), and y (n (1 + d)), NaN where there is no value.
function M.long(x, y) return gradients.every(x), y:t():reshape(y.numel) end

function M.fill(self, x, y, what)
  local f <const>, inner <const> = model.fields(self), model.core(self)
  local all <const>, values <const> = M.long(x, y)
  local rows <const>, known <const> = data.check(all, values, what, "mask")
  f.x, f.y, model.fields(inner).points = x, y, x
  model.set_data(inner, rows, known)
  kernel_checks.differentiable(kernel.presented(model.fields(inner).kernel), x, what)
end

--- May y have this width, for inputs x?
function M.fits(_, x, y) return y.shape[2] == 1 + x.shape[2] end

-- Predictions ---------------------------------------------------------------------------------------------------------

function M.inputs(_, t, wanted) return wanted == false and gradients.values(t) or gradients.every(t) end

function M.outputs(_, record, t, wanted)
  return wanted == false and record or prediction(record, #t, t.shape[2] + 1, true)
end

--- v (N) of the rows of the model that computes as (n, 1 + d); NaN in cells without a value. The rows of a column stand in the
-- order of its cells.
function M.weights(self, v)
  local f <const>, inner <const> = model.fields(self), model.fields(model.core(self))
  local n <const>, width <const> = f.y.shape[1], f.y.shape[2]
  local rows <const>, known <const>, at <const> = {}, f.y:eq(f.y):totable(), {}
  for k = 1, width do rows[k] = {} end
  for i, k in ipairs(inner.x:select(2, width):to{dtype = "i64"}:totable()) do table.insert(rows[k], i) end
  local taken <const> = {}
  for i = 1, n do
    for k = 1, width do
      if known[i][k] then taken[k] = (taken[k] or 0) + 1 end
      at[#at + 1] = known[i][k] and rows[k][taken[k]] or #v + 1
    end
  end
  local padded <const> = core.cat({v, core.full({1}, 0 / 0, {dtype = v.dtype})}, 1)
  return padded:index(1, core.tensor(at, {dtype = "i64"})):reshape(n, width)
end

return M
