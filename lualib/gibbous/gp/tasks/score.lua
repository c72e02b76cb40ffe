--- How well a model of several outputs predicts new observations: over all cells, and in .tasks for each task.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local metrics <const> = require "gibbous.gp.report.metrics"
local model <const> = require "gibbous.gp.model"
local named <const> = require "gibbous.frame.named"
local options <const> = require "gibbous.base.options"

local Score <const> = {__name = "gibbous.score"}

local function figures_text(s)
  if s.n == 0 then return "no values" end
  return ("rmse %.4g  mae %.4g  nlpd %.4g  crps %.4g  coverage95 %.1f %%  n %d"):format(s.rmse, s.mae, s.nlpd, s.crps,
    100 * s.coverage95, s.n)
end

function Score.__tostring(self)
  local lines <const> = {figures_text(self)}
  for t, s in ipairs(self.tasks) do
    lines[#lines + 1] = ("%s: %s"):format(s.name or ("task %d"):format(t), figures_text(s))
  end
  return table.concat(lines, "\n")
end

--- Figures of the n cells with a value: those where 'known' is true.
local function figures(e, var, known, n)
  local function mean(v) return core.where(known, v, 0.0):sum() / n end
  local inside <const> = e:abs():le(metrics.quantile(0.975) * var:sqrt()):to{dtype = e.dtype}
  local lazy <const> = {mse = mean(e * e), mae = mean(e:abs()), nlpd = mean(metrics.neg_log_density(e, var)),
    crps = mean(metrics.crps(e, var)), coverage95 = mean(inside)}
  core.eval(lazy)
  local out <const> = {n = n, rmse = math.sqrt(lazy.mse:item())}
  for _, name in ipairs{"mae", "nlpd", "crps", "coverage95"} do out[name] = lazy[name]:item() end
  return out
end

local methods <const> = {}

--- How well observations y (m, T) at x (m, d) are predicted: rmse, mae, nlpd, crps, coverage95 and n over all cells, and the
-- same in .tasks[t] for each, with the .name of its column where there is one (gp/report/score.lua says what they are).
-- m:score(frame, o): of the rows of a frame. o.missing = "mask": cells whose y is NaN are left out; a task that has no other has
-- n = 0, and NaN for its figures.
function methods.score(self, x, y, o)
  x, y, o = frames.observed(self, x, y, o, "score")
  o = options.parse(o, {missing = data.missing}, "score")
  local observations <const> = model.class(self).observations
  local xs <const>, ys <const> = observations.check(self, x, y, "score", o.missing)
  if observations.count(ys) == 0 then core.raise("shape", "score: there are no values to score") end
  local p <const> = self:predict(xs)
  local known <const> = ys:eq(ys)
  local e <const>, var <const> = core.where(known, ys, p.mean) - p.mean, p.y_var
  local out <const> = figures(e, var, known, observations.count(ys))
  out.tasks, out.converged = {}, p.converged
  for t = 1, ys.shape[2] do
    out.tasks[t] = figures(e:select(2, t), var:select(2, t), known:select(2, t), observations.count(ys:select(2, t)))
    out.tasks[t].name = named.column(self.y, t) or observations.name and observations.name(t)
  end
  return setmetatable(out, Score)
end

return {methods = methods}
