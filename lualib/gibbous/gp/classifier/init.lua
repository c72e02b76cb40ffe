--- Classification: labels of two classes by a Bernoulli likelihood, of more by softmax, with Laplace's approximation or
-- inducing points.
-- Source: Rasmussen & Williams (2006), chapter 3.
local class <const> = require "gibbous.gp.classifier.class"
local core <const> = require "gibbous.core"
local labels <const> = require "gibbous.gp.classifier.labels"
local likelihoods <const> = require "gibbous.likelihoods"
local means <const> = require "gibbous.means"
local observations <const> = require "gibbous.gp.classifier.observations"
local options <const> = require "gibbous.options"
local rules <const> = require "gibbous.gp.rules"
local scaling <const> = require "gibbous.gp.scaling"

local solver_rule <const> = rules.solver{"auto", "direct"}

local function is_classes(v)
  local count <const> = options.whole(v)
  return count ~= nil and count >= 2 or type(v) == "table" and #v >= 2, "their number, 2 or more, or the list of their labels"
end

--- The list of labels that the option 'classes' asks for; nil: those of the data.
local function asked(v, what)
  if not v then return nil end
  if type(v) == "table" then return labels.classes(labels.list(v, what .. ": classes"), what .. ": classes") end
  local out <const> = {}
  for c = 1, v do out[c] = c end
  return out
end

--- gb.gp.classifier{kernel, classes, mean = zero, link = "probit"|"logit", solver, standardize,
-- inference = "auto"|"laplace"|"svgp", inducing = 500}
-- classes: their number, of labels 1 .. C, or the list of their labels, numbers or strings; without it a fit takes those of its
-- data. link: of two classes; more have softmax and share the kernel. mean, solver, standardize: as in gb.gp.laplace. inference:
-- "auto" weighs both for two classes and takes "svgp" for more, "laplace" where a solver is given; inducing: the number of points
-- of "svgp". Errors: option.
---@return gibbous.gp.classifier
return function(opts)
  local what <const> = "gb.gp.classifier"
  local o <const> = options.parse(opts, {kernel = rules.kernel, mean = rules.mean, classes = is_classes, link = {"probit", "logit"},
    solver = solver_rule, standardize = scaling.rule, inference = {"auto", "laplace", "svgp"}, inducing = "count"}, what)
  if not o.kernel then core.raise("option", what .. ": a kernel is needed: gb.gp.classifier{kernel = gb.kernels.rbf{}}") end
  local given <const>, scaled <const> = asked(o.classes, what), scaling.asked(o.standardize)
  if scaled and scaled.y then core.raise("option", what .. ": labels are not scaled: standardize = {x = true}") end
  local by_solver <const> = o.solver and o.solver ~= "auto"
  if by_solver and o.inference == "svgp" then core.raise("option", what .. ": a solver is for inference = \"laplace\"") end
  if o.inducing and o.inference ~= "svgp" then
    core.raise("option", what .. ": inducing, a number of points, is for inference = \"svgp\"")
  end
  if o.inducing == 0 then core.raise("option", what .. ": inducing must be 1 or more") end
  local two <const> = likelihoods.bernoulli{link = o.link or nil}
  return class.new{kernel = o.kernel:copy(), mean = means.of(o.mean or means.zero()):copy(), asked = given, classes = given,
    likelihood = given and observations.likelihood_of(two, #given) or two, solver = o.solver or "auto", standardize = scaled,
    inference = o.inference or by_solver and "laplace" or "auto", most = o.inducing or nil}
end
