--- How well a model predicts new observations.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"

local Score <const> = {__name = "gibbous.score"}

function Score.__tostring(self)
  return ("rmse %.4g  mae %.4g  nlpd %.4g  coverage95 %.1f %%  n %d"):format(self.rmse, self.mae, self.nlpd,
    100 * self.coverage95, self.n)
end

--- How well new observations are predicted: rmse and mae (units of y), nlpd (mean negative log predictive density, nats),
-- coverage95 (fraction inside the 95 % interval), n, converged.
function model.methods.score(self, x, y)
  local xs <const>, ys <const> = data.check(x, y, "score", 2)
  if #xs == 0 then core.raise("shape", "score: there are no rows to score", 2) end
  local p <const> = self:predict(xs)
  local e <const> = ys - p.mean
  local nlpd <const> = (0.5 * (2 * math.pi * p.y_var):log() + 0.5 * e * e / p.y_var):mean()
  local lo <const>, hi <const> = p:interval(0.95)
  local inside <const> = (ys:ge(lo) & ys:le(hi)):to{dtype = "f64"}:mean()
  local mse <const>, mae <const> = (e * e):mean(), e:abs():mean()
  core.eval(nlpd, inside, mse, mae)
  local state <const> = model.fields(self).state
  return setmetatable({rmse = math.sqrt(mse:item()), mae = mae:item(), nlpd = nlpd:item(), coverage95 = inside:item(),
    n = #xs, converged = state == nil or state.converged}, Score)
end
