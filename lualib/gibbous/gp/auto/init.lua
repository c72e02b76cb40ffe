--- A model by the size of the data, the time and the memory there is: exact, by a solver, or with inducing points.
local choice <const> = require "gibbous.gp.auto.choice"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.data"
local exact <const> = require "gibbous.gp.exact"
local frames <const> = require "gibbous.gp.frames"
local laplace <const> = require "gibbous.gp.laplace"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local raised <const> = require "gibbous.base.raised"
local rules <const> = require "gibbous.gp.rules"
local sgpr <const> = require "gibbous.gp.sgpr"
local svgp <const> = require "gibbous.gp.svgp"

---@class gibbous.gp.auto
local Auto <const> = {__name = "gibbous.gp.auto"}
local methods <const> = object.methods(Auto, "an automatic model", "a")

---@class gibbous.auto_info
---@field kind string          "exact", "iterative", "laplace", "sgpr" or "svgp"
---@field reason string
---@field inducing integer|nil
---@field approximated string  what was approximated, and by how much
---@field bounds gibbous.bounds|nil  of a sparse model with Gaussian noise
---@field costs table          predicted seconds and bytes of the fits that were weighed, by kind
---@field fit table            the report of the fit
---@field seconds number       all of it; limit: of it; budget: bytes
local Info <const> = object.record("gibbous.auto_info", "the report of an automatic fit", "inducing bounds")

local ORDER <const> = {"exact", "iterative", "laplace", "sgpr", "svgp"}

function Info:__tostring()
  local others <const> = {}
  for _, kind in ipairs(ORDER) do
    local c <const> = self.costs[kind]
    if c then others[#others + 1] = ("%s %s"):format(kind, choice.text(c)) end
  end
  local fit <const> = tostring(self.fit):gsub("\n", "\n  ")
  local approximated <const> = fit:find(self.approximated, 1, true) and "" or "\n  " .. self.approximated
  return ("auto: %s, %s (predicted: %s)%s\n  %s"):format(self.kind, self.reason, table.concat(others, "; "), approximated, fit)
end

local function fields(a) return rawget(a, "_fields") end

function Auto:__index(key)
  if methods[key] then return methods[key] end
  core.raise("option", ("an automatic model has no field '%s': m = a:fit(x, y) gives the model that was chosen, which has what "
    .. "models have"):format(tostring(key)))
end

function Auto:__newindex(key)
  core.raise("option", ("field '%s' of an automatic model cannot be assigned"):format(tostring(key)))
end

function Auto:__tostring() return ("gp.auto  %s"):format(tostring(fields(self).kernel)) end

--- A model without data of a kind, with m places.
local function maker(o)
  local function parts(more)
    local out <const> = {kernel = o.kernel, mean = o.mean or nil, noise = o.noise or nil, likelihood = o.likelihood or nil}
    for key, v in pairs(more) do out[key] = v end
    return out
  end
  return function(kind, m)
    if kind == "exact" then return exact(parts{solver = "direct"}) end
    if kind == "iterative" then return exact(parts{solver = "auto"}) end
    if kind == "laplace" then return laplace(parts{}) end
    if kind == "sgpr" then return sgpr(parts{inducing = m, seed = o.seed}) end
    return svgp(parts{inducing = m, seed = o.seed})
  end
end

--- An on_step that stops a fit where one more step would end after the limit.
local function watch(start, seconds)
  local last, longest = core.clock(), 0
  return function()
    local now <const> = core.clock()
    longest, last = math.max(longest, now - last), now
    return now + longest - start < seconds
  end
end

--- What was approximated, in words, and the bounds of a sparse model. left: seconds; slow: how much slower than predicted steps
-- were.
local function approximation(m, how, info, left, slow)
  if how.kind == "exact" then return "nothing was approximated" end
  if how.kind == "laplace" then return "the posterior of f was taken as Gaussian around its mode; its error is not known" end
  if how.kind == "iterative" then
    return ("solves to a residual of %.2g%s"):format(info.solve_log.residual,
      info.log_likelihood_error and ("; the likelihood has a standard error of %.2g nats"):format(info.log_likelihood_error) or "")
  end
  if how.kind == "sgpr" then return tostring(info.approximation), info.approximation end
  if not likelihoods.is_gaussian(m.likelihood) then
    return "the posterior of f was taken as Gaussian, known through the inducing points; its error is not known"
  end
  if 2 * (how.pass or 0) * slow > left then
    return "the bounds of the likelihood were not computed, for lack of time: m:bounds() gives them"
  end
  local b <const> = m:bounds()
  return tostring(b), b
end

--- Of several latent functions, those of softmax, Laplace's approximation makes the probabilities too even.
local function may_be_laplace(likelihood) return likelihood:is_smooth() and likelihood:latents() == 1 end

local SPEC <const> = {seconds = "positive", budget = "any", seed = "integer", missing = data.missing, inputs = "table"}
-- Seconds of a fit; what is left for steps where the choice took all of them.
local SECONDS <const>, LEAST <const> = 600, 1e-3

--- The data of a call as the models will take them, checked by the one with which the choice begins, and the likelihood of those
-- rows; nil: the one that was given.
local function checked(self, x, y, o)
  local given_x <const>, given_y <const> = frames.data(self, x, y, o.inputs or nil, "fit")
  local xs <const>, ys <const>, kept <const> = model.class(self).observations.check(self, given_x, given_y, "fit", o.missing or nil)
  if #ys == 0 then core.raise("shape", "fit: there are no rows to fit") end
  return xs, ys, kept and self.likelihood:of_rows(kept, #core.as_tensor(given_y), "fit")
end

--- A model of the kind that was chosen, fitted, and its report. Where fewer rows differ than it was to have places, these are as
-- many as rows differ.
local function fitted(make, how, x, y, more)
  local m <const> = make(how.kind, how.inducing)
  local ok <const>, info <const> = pcall(m.fit, m, x, y, more)
  if ok then return m, info end
  local distinct <const> = raised.is(info, "shape") and rawget(info, "distinct")
  if not distinct then error(info, 0) end
  how.inducing, how.reason = distinct, ("no more rows differ than %s"):format(counted(distinct, "inducing point"))
  return fitted(make, how, x, y, more)
end

--- Chooses a model for x (n, d), y (n), or a frame and the name of its column of targets, and fits it: the model and a
-- gibbous.auto_info, which says which, why, and what was approximated by how much. o: seconds (600), a limit of the whole; budget:
-- bytes or "1 GiB", by default what there is; seed; missing, inputs as of other models. Costs are
-- predicted from plans; where the machine turns out to be slower, the fit ends at the limit with what it has. Errors: option,
-- shape, dtype, nan; refused.
---@return gibbous.model, gibbous.auto_info
function methods.fit(self, x, y, opts)
  local o <const> = options.parse(opts, SPEC, "fit")
  local start <const>, seconds <const> = core.clock(), o.seconds or SECONDS
  local budget <const> = o.budget and core.bytes(o.budget, "fit: the budget") or nil
  local f <const> = fields(self)
  local gaussian <const> = f.likelihood == nil or likelihoods.is_gaussian(f.likelihood)
  local first <const> = gaussian and "exact" or may_be_laplace(f.likelihood) and "laplace" or "svgp"
  local make <const> = maker(setmetatable({seed = o.seed}, {__index = f}))
  local xs <const>, ys <const>, likelihood <const> = checked(make(first, 1), x, y, o)
  local weighed <const> = likelihood and maker(setmetatable({likelihood = likelihood, noise = false}, {__index = f})) or make
  local how <const> = choice.decide(weighed, xs, ys, seconds, budget or core.memory.room(), first)
  local more <const> = {budget = budget, seed = o.seed or nil, missing = o.missing or nil, inputs = o.inputs or nil}
  local before <const> = core.clock() - start
  if how.kind == "svgp" then
    local left <const> = math.max(seconds - before, LEAST)
    more.seconds = math.max(left - (gaussian and 2 * (how.pass or 0) or 0), 0.5 * left)
  else
    more.on_step = watch(start, seconds)
  end
  local m <const>, info <const> = fitted(make, how, x, y, more)
  if info.reason == "stopped by on_step" then info.reason = ("the time limit of %g s"):format(seconds) end
  local slow <const> = how.step and info.evaluations > 0 and math.max(1, info.seconds / info.evaluations / how.step) or 1
  local text <const>, bounds <const> = approximation(m, how, info, seconds - (core.clock() - start), slow)
  return m, setmetatable({kind = how.kind, reason = how.reason, inducing = how.inducing, approximated = text, bounds = bounds,
    costs = how.costs, fit = info, seconds = core.clock() - start, limit = seconds, budget = budget or core.memory.room()}, Info)
end

local likelihood_rule <const> = options.value_of(likelihoods.is, "a gb.likelihoods value", likelihoods, "gb.likelihoods", "()")

--- gb.gp.auto{kernel, mean = zero, noise = 1 | likelihood}: a maker of models; a:fit(x, y, {seconds = 600}) gives one, fitted, and
-- says which, why, and what was approximated. Errors: option.
---@return gibbous.gp.auto
return function(opts)
  local o <const> = options.parse(opts, {kernel = rules.kernel, mean = rules.mean, likelihood = likelihood_rule, noise = "any"},
    "gb.gp.auto")
  if not o.kernel then core.raise("option", "gb.gp.auto: a kernel is needed: gb.gp.auto{kernel = gb.kernels.rbf{}}") end
  if o.noise and o.likelihood then core.raise("option", "gb.gp.auto: give noise or likelihood, not both") end
  return setmetatable({_fields = {kernel = o.kernel, mean = o.mean or nil, likelihood = o.likelihood or nil,
    noise = o.noise or nil}}, Auto)
end
