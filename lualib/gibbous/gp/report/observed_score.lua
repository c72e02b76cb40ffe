--- How well a model whose observations are not Gaussian predicts new ones.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"

---@class gibbous.observed_score
---@field nlpd number           mean negative log predictive density, or probability, of each y by itself (nats a point)
---@field accuracy number|nil   of classes: part of the y whose class is the most likely one
---@field brier number|nil      of classes: mean squared distance of the probabilities to the class, 0 to 2
---@field rmse number|nil       of numbers: root mean squared error of the mean of y; mae: mean absolute error
---@field n integer             points scored; masked: rows left out by missing = "mask"
---@field converged boolean     false: some solve, or the search for the mode, missed its tolerance
local Score <const> = object.record("gibbous.observed_score", "a score", "accuracy brier rmse mae")

function Score.__tostring(self)
  local parts <const> = {}
  for _, name in ipairs{"accuracy", "rmse", "mae", "nlpd", "brier"} do
    if self[name] then parts[#parts + 1] = ("%s %.4g"):format(name, self[name]) end
  end
  local masked <const> = self.masked > 0 and ("  masked %d"):format(self.masked) or ""
  return ("%s  n %d%s%s"):format(table.concat(parts, "  "), self.n, masked,
    self.converged and "" or "  (from a search or a solve that did not converge)")
end

--- The number of the class of each y, from 1: classes 0 and 1 are the first and the second.
local function class_numbers(l, y) return l.kind == "bernoulli" and y + 1 or y end

local function of_classes(lazy, p, numbers)
  local classes <const> = p.shape[2]
  local each <const> = core.linspace(1, classes, classes, {dtype = p.dtype}):unsqueeze(1)
  local hot <const> = numbers:unsqueeze(2):eq(each):to{dtype = p.dtype}
  lazy.accuracy = p:argmax(2):to{dtype = p.dtype}:eq(numbers):to{dtype = "f64"}:mean()
  lazy.brier = ((p - hot) * (p - hot)):sum(2):mean()
end

--- A gibbous.observed_score of new observations x (m, d), y (m): m:score of a model whose likelihood is not Gaussian.
return function(self, x, y, opts)
  local o <const> = options.parse(opts, {missing = data.missing}, "score of observations that are not Gaussian")
  local form <const> = model.class(self).observations
  local xs <const>, ys <const>, kept <const> = form.check(self, x, y, "score", o.missing)
  if #xs == 0 then core.raise("shape", "score: there are no rows to score") end
  local seen <const>, l <const> = self:predict(xs), model.fields(model.core(self)).likelihood
  local p <const> = form.coded and form.coded(seen) or seen
  local lazy <const> = {nlpd = -p:log_density(ys):mean()}
  if l:has_classes() then
    of_classes(lazy, p.probabilities, class_numbers(l, ys))
  elseif l:has_moments() then
    local e <const> = ys - p.y_mean
    lazy.rmse, lazy.mae = (e * e):mean(), e:abs():mean()
  end
  core.eval(lazy)
  local s <const> = {}
  for name, v in pairs(lazy) do s[name] = v:item() end
  s.rmse = s.rmse and math.sqrt(s.rmse)
  s.n, s.masked, s.converged = #xs, kept and #core.as_tensor(y) - #xs or 0, p.converged
  return setmetatable(s, Score)
end
