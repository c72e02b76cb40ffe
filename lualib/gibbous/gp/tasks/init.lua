--- Several outputs, coregionalised: cov(f_t(x), f_s(z)) = k(x, z) B[t, s], B = W W' + diag(v), y_t = m_t(x) + f_t(x) + noise.
-- Several kernels, each with a B of its own, add up (Journel & Huijbregts (1978), the linear model of coregionalisation; Alvarez,
-- Rosasco & Lawrence (2012), section 4.2). Of one kernel, where y has no missing cell, the covariance is a Kronecker product, and
-- two small eigendecompositions replace the factor of all cells (gp/tasks/kronecker.lua); else an exact model in the long form
-- leaves out the cells that are missing.
local class <const> = require "gibbous.gp.tasks.class"
local core <const> = require "gibbous.core"
local kernels <const> = require "gibbous.kernels"
local means <const> = require "gibbous.means"
local options <const> = require "gibbous.base.options"
local parts <const> = require "gibbous.gp.tasks.parts"
local rules <const> = require "gibbous.gp.rules"
local scaling <const> = require "gibbous.gp.scaling"

local solver_rule <const> = rules.solver{"auto", "direct", "kronecker"}

--- gb.gp.multitask{kernel, tasks = T, rank = 1, noise = one per task, mean = zero, solver = "auto", standardize}
-- kernel is of the points alone; B has this rank plus a diagonal, and takes over the kernel's variance (unless that is a
-- gb.param): it is in units of y squared. kernel = {k1, k2, ...}: the sum of such models, each kernel with a B of its own, whose
-- W starts by the seed (0). noise: a variance for all tasks (a number or gb.param) or a
-- list, one per task (default). mean: a gb.means value of x, common to all tasks; gb.means.constant{c_1, ..., c_T} has one
-- per task. solver: "auto" uses Kronecker structure where no cell is missing, else decides as gb.gp.exact does; "kronecker";
-- "direct", a solver's name or a gb.solvers value: the long form in any case. standardize: as of gb.gp.exact,
-- each task by its own scale. The model copies what it is given.
return function(opts)
  local o <const> = options.parse(opts, {kernel = rules.kernels, seed = "integer", tasks = "count", rank = "count",
    noise = "any", mean = rules.mean, solver = solver_rule, standardize = scaling.rule}, "gb.gp.multitask")
  if not o.kernel then
    core.raise("option", "gb.gp.multitask: a kernel is needed: gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}")
  end
  if not o.tasks or o.tasks < 1 then
    core.raise("option", "gb.gp.multitask: tasks, the number of outputs, is needed: {tasks = 2, kernel = ...}")
  end
  local T <const>, list <const> = o.tasks, kernels.is(o.kernel) and {o.kernel} or o.kernel
  if o.solver == "kronecker" and #list > 1 then
    core.raise("option", 'gb.gp.multitask: solver = "kronecker" is for one kernel: a sum of several is no Kronecker product')
  end
  local kernel <const> = #list == 1 and parts.product(list[1], T, o.rank or 1) or parts.sum(list, T, o.rank or 1, o.seed or 0)
  return class.of_parts({kernel = kernel:copy(),
    mean = parts.mean(means.of(o.mean or means.zero()), T):copy(), likelihood = parts.noise(o.noise or nil, T):copy()}, T,
    o.solver or "auto", scaling.asked(o.standardize))
end
