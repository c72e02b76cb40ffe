--- Several outputs, coregionalised: cov(f_t(x), f_s(z)) = k(x, z) B[t, s], B = W W' + diag(v), y_t = m_t(x) + f_t(x) + noise.
-- Where y has no missing cell, the covariance is a Kronecker product and two small eigendecompositions replace the factor of all
-- cells (gp/tasks/kronecker.lua); else an exact model in the long form leaves out the cells that are missing.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local fit_spec <const> = require "gibbous.gp.fit".spec
local kernels <const> = require "gibbous.kernels"
local kronecker <const> = require "gibbous.gp.tasks.kronecker"
local means <const> = require "gibbous.means"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"
local parts <const> = require "gibbous.gp.tasks.parts"
local pathwise <const> = require "gibbous.gp.predict.pathwise"
local prediction <const> = require "gibbous.gp.predict.record"
local rules <const> = require "gibbous.gp.rules"
local task_model <const> = require "gibbous.gp.tasks.model"
local task_prediction <const> = require "gibbous.gp.tasks.prediction"
local update <const> = require "gibbous.gp.update_record"

require "gibbous.gp.tasks.score"

local fields <const>, methods <const> = task_model.fields, task_model.methods

--- The data of a fit, checked: x, y, or those the model holds.
local function data_of_fit(self, x, y, missing)
  local f <const> = fields(self)
  if x == nil and f.x == nil then core.raise("option", "fit: the model holds no data; call fit(x, y)") end
  if x == nil then return f.x, f.y end
  return task_model.check(self, x, y, "fit", missing)
end

--- Fits all free parameters: m:fit(x, y, o) with x (n, d) or (n) and y (n, T), or m:fit(o) on the data it holds.
-- o: missing "error" (default: NaN in y raises) or "mask" (such cells are left out; info.masked counts them); else as
-- gb.gp.exact's fit. Cost per step: O(n^3 + T^3 + n T (n + T)) for a y without missing cells, O(N^3) of the N values it has
-- otherwise.
---@return gibbous.fit_info
function methods.fit(self, x, y, o)
  local f <const> = fields(self)
  if o == nil and y == nil and (x == nil or core.as_tensor(x) == nil) then o, x = x, nil end
  local settings <const> = options.parse(o, fit_spec, "fit")
  local xs <const>, ys <const> = data_of_fit(self, x, y, settings.missing)
  settings.missing = "mask"                             -- of what passed the check
  if task_model.known(ys) == 0 then core.raise("shape", "fit: there are no values to fit") end
  local inside <const> = model.fields(f.inner)
  local x_before <const>, y_before <const>, long_before <const> = f.x, f.y, inside.x
  local grid <const>, solver <const> = inside.grid, inside.solver
  task_model.take(self, xs, ys, "fit")
  local all <const>, values <const> = task_model.long(xs, ys)
  local ok <const>, info <const> = pcall(f.inner.fit, f.inner, all, values, settings)
  if ok then
    info.tasks = f.tasks
    return info
  end
  if rawequal(inside.x, long_before) then               -- refused before the data were taken: all is as it was
    f.x, f.y, inside.grid, inside.solver = x_before, y_before, grid, solver
  end
  error(info, 0)
end

--- A new model that has also seen x (k, d) or (k), y (k, T); the parameters are copied (explicit gb.params and networks are
-- shared), not refitted, and the old model stays as it is. Where cells were or get missing the new model is in the long form, and
-- a model that was in it and ready for predictions gives it what it has, as gb.gp.exact's condition does, in O(N^2 K) for K more
-- values onto N. Where every cell has a value it keeps its Kronecker structure, whose two eigendecompositions the first prediction
-- makes anew, in O(n^3 + T^3). m.update says. o: missing "error" (default: NaN in y raises) or "mask" (such cells are left out).
---@return gibbous.gp.multitask
function methods.condition(self, x, y, opts)
  local o <const> = options.parse(opts, {missing = data.missing}, "condition")
  local f <const> = fields(self)
  local inside <const> = model.fields(f.inner)
  local xs <const>, ys <const> = task_model.check(self, x, y, "condition", o.missing)
  data.check_width(f, xs, "condition")
  local all_x, all_y = xs, ys
  if f.x then all_x, all_y = core.cat({f.x, xs}, 1):eval(), core.cat({f.y, ys}, 1):eval() end
  local out <const> = task_model.new(model.copy_parts(inside), f.tasks, f.solver)
  local g <const> = fields(out)
  task_model.take(out, all_x, all_y, "condition")
  if inside.grid or model.fields(g.inner).grid then
    task_model.fill(out, "condition")
  else
    local more <const>, values <const> = task_model.long(xs, ys)
    g.inner = f.inner:condition(more, values, {missing = "mask"})
  end
  if inside.grid then
    update.note(model.fields(g.inner), {kind = "none", rows = 0, onto = 0, seconds = 0,
      reason = "the eigendecompositions of a complete y do not grow"})
  end
  return out
end

--- A lazy record of all tasks at x (m, d): mean, f_var and y_var (m, T), f_cov (m T, m T) point by point,
-- :interval(level), :sample(k) (k, m, T). o: as gb.gp.exact's predict; with Kronecker structure variances are always exact.
function methods.predict(self, x, o)
  local f <const> = fields(self)
  local T <const>, inside <const> = f.tasks, model.fields(f.inner)
  local t <const> = kernels.points(x, "predict: x")
  data.check_width(f, t, "predict")
  local all <const> = parts.every(t, T)
  if not inside.grid then return task_prediction(f.inner:predict(all, o), #t, T) end
  options.parse(o, {variance = {"exact", "cached"}, rank = "count", precision = {"f32", "f64"}}, "predict")
  local inner <const>, wide <const>, likelihood <const> = f.inner, t:to{dtype = "f64"}, inside.likelihood
  local at <const>, stamp <const>, held <const> = param.remember(inner), model.stamp(inner), kronecker.apart(inner)
  --- The model, which then keeps what is computed, as long as it is what it was.
  local function same()
    return rawequal(model.fields(inner).grid, inside.grid) and model.stamp(inner) == stamp and inner or held
  end
  return task_prediction(prediction.new(all, {
    prepare = function() return at(kronecker.parts, same(), wide) end,
    is_ready = function() return kronecker.is_prepared(same()) end,
    noise = function() return at(likelihood.new_variance, likelihood, parts.every(wide, T)) end,
    cost = function(key) return at(kronecker.cost, same(), wide, key) end,
    announce = function() end,
    draw = function(count, settings) return pathwise.new(inner, all, count, settings) end,
  }), #t, T)
end

--- k functions of all tasks drawn from the posterior: a value that is called with points (m, d) and gives (k, m, T), lazy and
-- differentiable in the points. o: features, seed, as gb.gp.exact's draw.
---@return gibbous.draw
function methods.draw(self, k, o)
  local f <const> = fields(self)
  local count <const>, settings <const> = pathwise.asked(f, k, o)
  return pathwise.new(f.inner, parts.every(f.x, f.tasks), count, settings, f.tasks)
end

--- log p(y | x) of the values the model holds, in nats (a sum), evaluated, and its record, as gb.gp.exact's.
function methods.log_marginal_likelihood(self, o) return fields(self).inner:log_marginal_likelihood(o) end

--- An independent model of the same data, as gb.gp.exact's copy.
function methods.copy(self)
  local out <const> = {}
  for key, v in pairs(fields(self)) do out[key] = v end
  out.inner = out.inner:copy()
  return task_model.of_fields(out)
end

--- A parameter by its path, as printed by print(model): m:get "kernel.tasks.weights".
function methods.get(self, path) return fields(self).inner:get(path) end

--- Sets parameters by path, all or none: m:set("likelihood.noise", {0.1, 0.2}) or m:set{[path] = value, ...}. Gives the
-- model.
function methods.set(self, ...)
  fields(self).inner:set(...)
  return self
end

local solver_rule <const> = rules.solver{"auto", "direct", "kronecker"}

--- gb.gp.multitask{kernel, tasks = T, rank = 1, noise = one per task, mean = zero, solver = "auto"}
-- kernel is of the points alone; B has this rank plus a diagonal, and takes over the kernel's variance (unless that is a
-- gb.param): it is in units of y squared. noise: a variance for all tasks (a number or gb.param) or a
-- list, one per task (default). mean: a gb.means value of x, common to all tasks; gb.means.constant{c_1, ..., c_T} has one
-- per task. solver: "auto" uses Kronecker structure where no cell is missing, else decides as gb.gp.exact does; "kronecker";
-- "direct", a solver's name or a gb.solvers value: the long form in any case. The model copies what it is given.
return function(opts)
  local o <const> = options.parse(opts, {kernel = rules.kernel, tasks = "count", rank = "count", noise = "any", mean = rules.mean,
    solver = solver_rule}, "gb.gp.multitask")
  if not o.kernel then
    core.raise("option", "gb.gp.multitask: a kernel is needed: gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}")
  end
  if not o.tasks or o.tasks < 1 then core.raise("option", "gb.gp.multitask: tasks, the number of outputs, is needed") end
  local T <const> = o.tasks
  return task_model.new({kernel = parts.product(o.kernel, T, o.rank or 1):copy(),
    mean = parts.mean(means.of(o.mean or means.zero()), T):copy(), likelihood = parts.noise(o.noise or nil, T):copy()}, T,
    o.solver or "auto")
end
