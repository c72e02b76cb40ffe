--- Fits of classifiers: by Laplace's approximation where predicted time and memory allow it, else with inducing points. So are more
-- classes than two, too: Laplace's approximation, about the mode of a posterior that is skew, makes their probabilities too even
-- (digits of scikit-learn, 300 rows: a mean negative log probability of 0.93 on held-out rows in place of 0.34).
local choice <const> = require "gibbous.gp.auto.choice"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local frames <const> = require "gibbous.gp.frames"
local laplace <const> = require "gibbous.gp.laplace"
local laplace_fit <const> = require "gibbous.gp.fit"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.classifier.observations"
local places <const> = require "gibbous.gp.places"
local shallow_copy <const> = require "gibbous.base.shallow_copy"
local sparse <const> = require "gibbous.gp.sparse"
local svgp <const> = require "gibbous.gp.svgp"
local svgp_fit <const> = require "gibbous.gp.svgp.fit"
local variational <const> = require "gibbous.gp.svgp.variational"

local fields <const> = model.fields

-- Rows up to which nothing is weighed; seconds of a fit without a limit, inducing points and rows of a step without a choice.
local FEW <const>, SECONDS <const>, POINTS <const>, BATCH <const> = 500, 600, 500, 1024
-- Steps of a fit whose steps have all rows, and the length of the first one, in log parameters.
local STEPS <const>, LR <const> = 150, 0.1

--- The inputs, the numbers and the count of the classes that a fit will see.
local function data_of(self, x, y, o)
  local f <const> = fields(self)
  if x == nil then return f.x, f.y, f.classes and #f.classes end
  local inputs <const>, labels <const> = frames.data(self, x, y, o.inputs, "fit")
  local xs <const>, ys <const> = observations.check(self, inputs, labels, "fit", o.missing)
  return xs, ys, #observations.classes_of(ys)
end

--- {kind, inducing, why}: how a fit to these data is to be made.
local function decide(self, x, y, classes, o)
  local f <const> = fields(self)
  if f.inference == "svgp" then return {kind = "svgp", inducing = f.most or math.min(POINTS, #x)} end
  if f.inference == "laplace" then return {kind = "laplace"} end
  if #x <= FEW then return classes > 2 and {kind = "svgp", inducing = #x} or {kind = "laplace"} end
  local likelihood <const> = observations.likelihood_of(f.likelihood, classes)
  local function make(kind, m)
    local parts <const> = {kernel = f.kernel, mean = f.mean, likelihood = likelihood, inducing = m}
    return kind == "laplace" and laplace(parts) or svgp(parts)
  end
  local budget <const> = o.budget and core.bytes(o.budget, "fit: the budget") or core.memory.room()
  local how <const> = choice.decide(make, x, y, o.seconds or SECONDS, budget, classes > 2 and "svgp" or "laplace")
  local costs <const> = {}
  for _, kind in ipairs{"laplace", "svgp"} do
    if how.costs[kind] then costs[#costs + 1] = ("%s %s"):format(kind, choice.text(how.costs[kind])) end
  end
  how.why = ("inference by %s: %s (predicted: %s)"):format(how.kind, how.reason, table.concat(costs, "; "))
  return how
end

--- Makes the model one of this kind, without what a fit before it left.
local function become(self, how, classes)
  local f <const> = fields(self)
  f.inducing, f.q, f.batch, f.state, f.active = nil, nil, nil, nil, nil
  if how.kind == "laplace" then
    if f.solver == "svgp" then f.solver = "auto" end
    return
  end
  f.inducing = places.of({inducing = how.inducing}, "gb.gp.classifier")
  f.q = variational.new(how.inducing, "full", true, nil, nil, classes > 2 and classes or nil)
  f.batch, f.solver = BATCH, "svgp"
end

--- Options of a fit with inducing points to n rows. Where a step of Adam has all of them nothing is drawn, and steps may be few and
-- long.
local function of_steps(o, n)
  if o.method == "lbfgs" or n > (o.batch or BATCH) then return o end
  local out <const> = shallow_copy(o)
  out.lr = o.lr or LR
  out.steps = o.steps or not (o.epochs or o.seconds) and STEPS or nil
  return out
end

local methods <const> = {}

--- Fits all free parameters to x (n, d) and labels y (n), or to the rows of a frame, m:fit(frame, "label"). Two classes are
-- fitted by Laplace's approximation where its predicted time and memory are within 'seconds' (600) and 'budget'; else, and of more
-- classes, there are as many inducing points as these hold, in batches, of up to 500 rows all rows: info.notes says which, and why.
-- o: the options of the fits of gb.gp.laplace or gb.gp.svgp; 'seconds' and 'budget' are limits of both. With inducing points and up
-- to 1,024 rows lr is 0.1 and steps 150 unless given. Errors: option, shape, dtype, nan; refused, oom; not_pd.
---@return gibbous.fit_info
function methods.fit(self, x, y, o)
  if o == nil and y == nil and (x == nil or core.as_tensor(x) == nil and not frames.is(x)) then o, x = x, nil end
  o = o or {}
  local f <const> = fields(self)
  if type(o) ~= "table" or o.resume or x == nil and f.x == nil then return laplace_fit.methods.fit(self, x, y, o) end
  local xs <const>, ys <const>, classes <const> = data_of(self, x, y, o)
  local how <const> = decide(self, xs, ys, classes, o)
  return model.attempt(self, function()
    become(self, how, classes)
    if x == nil and f.inducing then sparse.settle(self) end
    local by <const> = how.kind == "laplace" and laplace_fit or svgp_fit
    local info <const> = by.methods.fit(self, x, y, how.kind == "svgp" and of_steps(o, #xs) or o)
    if how.why then info.notes[#info.notes + 1] = how.why end
    if how.inducing then
      info.notes[#info.notes + 1] = ("the posterior is known through %s"):format(counted(how.inducing, "inducing point"))
    end
    return info
  end)
end

return {methods = methods}
