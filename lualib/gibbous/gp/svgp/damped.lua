--- Natural steps that do not leap.
--
-- A natural step takes log p for the parabola that it is near the present f of each row. Where that parabola has its peak far away,
-- as of a count of 1e8 at f = 0, log p is another function there: the step may end where its rate e^f overflows. So a step with
-- such a row is taken whole only where it raises the ELBO of the batch; else a half of it, a quarter, ... on the line of the
-- parameters of q, which starts uphill.
local elbo <const> = require "gibbous.gp.svgp.elbo"
local model <const> = require "gibbous.gp.model"
local raised <const> = require "gibbous.base.raised"
local variational <const> = require "gibbous.gp.svgp.variational"

local M <const> = {}

-- The distance to the peak of a row's parabola, in units of f, from which a step is looked at; halvings of one.
local FAR <const>, HALVINGS <const> = 10, 60

--- The number -ELBO of a batch at the present q. It is NaN if q has no factor, so that its covariance is not positive definite.
-- b: {x, y, noise, scale}.
local function value_of(self, b, realise)
  local value <const> = elbo.negative(self, b.x, b.y, b.scale, b.noise):detach()
  local ok <const>, err <const> = pcall(realise, value)
  if ok then return value:item() end
  if not raised.is(err, "not_pd") then error(err, 0) end
  return 0 / 0
end

--- Moves q to the natural parameters of a step t (svgp/fit.lua) on a batch b, or part of the way. realise: computes tensors.
function M.move(self, t, b, realise)
  local q <const> = model.fields(self).q
  local boxes <const> = {}
  for box in pairs(variational.natural(q)) do boxes[#boxes + 1] = box end
  local before <const>, after <const>, lowest <const> = {}, {}, t.bound:item()
  for i, box in ipairs(boxes) do before[i] = box.raw end
  variational.put(q, t.q)
  if t.reach == nil or t.reach:item() <= FAR then return end
  for i, box in ipairs(boxes) do after[i] = box.raw end
  local part = 1.0
  for _ = 1, HALVINGS do
    if value_of(self, b, realise) <= lowest then return end
    part = part / 2
    for i, box in ipairs(boxes) do box.raw = before[i] + part * (after[i] - before[i]) end
  end
  for i, box in ipairs(boxes) do box.raw = before[i] end
end

--- What is wrong with the first row of a batch whose expected log density is not finite, in words; nil: there is no such row.
-- row_of(i): the number of row i in the data.
function M.row_at_fault(self, b, row_of, realise)
  local each <const>, mean <const>, var <const> = elbo.rows_of(self, b.x, b.y, b.noise)
  local good <const> = each:isfinite():to{dtype = "f32"}:detach()
  local y <const> = b.y:detach()
  realise(good, mean, var)
  if good:min():item() == 1 then return nil end
  local i <const> = good:argmin():item()
  return ("row %d of y, %g, has no finite log density where f has mean %.3g and variance %.3g"):format(row_of(i),
    y:select(1, i):item(), mean:select(1, i):max():item(), var:select(1, i):max():item())
end

return M
