--- Several outputs, coregionalised: cov(f_t(x), f_s(z)) = k(x, z) B[t, s], B = W W' + diag(v), y_t = m_t(x) + f_t(x) + noise.
-- The model holds an exact one in the long form, with the task as a last column. Where y has no missing cell, the covariance
-- is a Kronecker product and two small eigendecompositions replace the factor of all cells (gp/kronecker.lua); else cells
-- that are missing are left out of the long form.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local kernels <const> = require "gibbous.kernels"
local kronecker <const> = require "gibbous.gp.kronecker"
local means <const> = require "gibbous.means"
local metrics <const> = require "gibbous.gp.metrics"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.options"
local parts <const> = require "gibbous.gp.task_parts"
local pathwise <const> = require "gibbous.gp.pathwise"
local prediction <const> = require "gibbous.gp.prediction"
local task_prediction <const> = require "gibbous.gp.task_prediction"

---@class gibbous.gp.multitask
---@field kernel gibbous.kernel   of points and tasks; m.kernel.tasks is the index kernel, m.kernel.tasks:matrix() is B
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field tasks integer           T
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n, T), NaN where missing
---@field info table|nil          of the last fit
local Model <const> = {__name = "gibbous.gp.multitask"}
local methods <const> = {}

local of_inner <const> = {kernel = true, mean = true, likelihood = true, info = true}
local own <const> = {x = true, y = true, tasks = true, solver = true}

local function fields(self) return rawget(self, "_fields") end

function Model.__index(self, key)
  if methods[key] then return methods[key] end
  local f <const> = fields(self)
  if own[key] then return f[key] end
  if of_inner[key] then return f.inner[key] end
  local near <const> = options.nearest(tostring(key), methods)
  core.raise("option", ("a model of several outputs has no field '%s'%s"):format(tostring(key),
    near and (" (did you mean '%s'?)"):format(near) or ""), 2)
end

function Model.__newindex(_, key)
  core.raise("option", ("field '%s' of a model cannot be assigned; set its parameters' .value"):format(tostring(key)), 2)
end

function Model.__children(self) return getmetatable(fields(self).inner).__children(fields(self).inner) end

function Model.__tostring(self)
  local f <const> = fields(self)
  local held = "no data: the prior"
  if f.x then
    held = ("%d points, %d columns, %d of %d values, %s"):format(#f.x, f.x.shape[2], f.present, #f.x * f.tasks, f.x.dtype)
  end
  return ("gp.multitask  %d tasks, %s\n%s"):format(f.tasks, held, tostring(f.inner):match "\n(.*)$")
end

-- Data ----------------------------------------------------------------------------------------------------------------

local function isnan(t) return ~t:eq(t) end

local function count(mask) return math.tointeger(mask:to{dtype = "f64"}:sum():item()) end

--- The first cell of a mask (n, T) that is true.
local function first(mask)
  local at <const> = mask:to{dtype = "f32"}:reshape(-1):argmax():item() - 1
  return at // mask.shape[2] + 1, at % mask.shape[2] + 1
end

local function refuse(mask, what, kind, hint, level)
  local row <const>, task <const> = first(mask)
  local number <const> = count(mask)
  core.raise("nan", ("%s: y is %s in %d cell%s, the first in row %d, task %d%s"):format(what, kind, number,
    number == 1 and "" or "s", row, task, hint or ""), level + 1, {row = row, column = task, count = number})
end

--- x (n, d) and y (n, T) of one float dtype. Gives them, and the number of cells that have a value.
local function checked(self, x, y, what, missing, level)
  local f <const> = fields(self)
  local t <const> = core.as_tensor(y)
  if t == nil then core.raise("option", ("%s: y must be a tensor, got %s"):format(what, type(y)), level + 1) end
  x = kernels.points(x, what .. ": x", level + 1)
  if t.ndim ~= 2 or #t ~= #x or t.shape[2] ~= f.tasks then
    core.raise("shape", ("%s: x has %d rows, y must be (%d, %d), a column a task, got shape %s"):format(what, #x, #x,
      f.tasks, tostring(t.shape)), level + 1)
  end
  if t.dtype ~= x.dtype then
    core.raise("dtype", ("%s: x is %s, y is %s"):format(what, x.dtype, t.dtype), level + 1)
  end
  x = data.check(x, core.zeros(#x, {dtype = x.dtype}), what, level + 1)
  local absent <const> = isnan(t)
  local gone <const> = #x > 0 and count(absent) or 0
  if gone > 0 and missing ~= "mask" then
    refuse(absent, what, "NaN", '; missing = "mask" leaves such cells out', level + 1)
  end
  local infinite <const> = ~(t:isfinite() | absent)
  if #x > 0 and infinite:any() then refuse(infinite, what, "infinite", nil, level + 1) end
  return x:eval(), t:eval(), t.numel - gone
end

--- The long form of the cells that have a value: x (N, d + 1), y (N).
local function long(x, y, present)
  local all <const>, values <const> = parts.every(x, y.shape[2]), y:reshape(y.numel)
  if present == y.numel then return all, values end
  local keep <const> = {}
  for i, v in ipairs(values:totable()) do
    if v == v then keep[#keep + 1] = i end
  end
  local rows <const> = core.tensor(keep, {dtype = "i64"})
  return all:index(1, rows):eval(), values:index(1, rows):eval()
end

--- Takes the data over and decides how they are solved. Gives the long form.
local function take(self, x, y, present)
  local f <const> = fields(self)
  local inside <const> = model.fields(f.inner)
  f.x, f.y, f.present = x, y, present
  means.resolve(inside.mean, x.shape[2])
  local complete <const> = present == y.numel and #x > 0
  if f.solver == "kronecker" and not complete then
    core.raise("option", ('solver = "kronecker" needs a value in every cell, %d of %d have one'):format(present,
      y.numel), 3)
  end
  local kron <const> = complete and (f.solver == "auto" or f.solver == "kronecker")
  inside.grid = kron and {x = x, y = y, tasks = f.tasks, nlml = kronecker.nlml} or nil
  inside.solver = kron and "kronecker" or f.solver
  return long(x, y, present)
end

-- Work ----------------------------------------------------------------------------------------------------------------

--- Fits all free parameters: m:fit(x, y, o) with x (n, d) or (n) and y (n, T), or m:fit(o) on the data it holds.
-- o: missing "error" (default: NaN in y raises) or "mask" (such cells are left out); else as gb.gp.exact's fit. Cost per step:
-- O(n^3 + T^3 + n T (n + T)) for a y without missing cells, O(N^3) of the N values it has otherwise.
---@return table info
function methods.fit(self, x, y, o)
  local f <const> = fields(self)
  if o == nil and y == nil and (x == nil or core.as_tensor(x) == nil) then o, x = x, nil end
  local rest <const> = {}
  for key, v in pairs(options.is_options(o or {}) and o or {}) do rest[key] = v end
  local missing <const> = options.parse({missing = rest.missing}, {missing = {"error", "mask"}}, "fit", 2).missing
  rest.missing = nil
  if x == nil then return f.inner:fit(rest) end
  local xs <const>, ys <const>, present <const> = checked(self, x, y, "fit", missing, 2)
  if present == 0 then core.raise("shape", "fit: there are no values to fit", 2) end
  local inside <const> = model.fields(f.inner)
  local held <const> = {x = f.x, y = f.y, present = f.present}
  local grid <const>, solver <const> = inside.grid, inside.solver
  local long_x <const>, long_y <const> = take(self, xs, ys, present)
  local ok <const>, info <const> = pcall(f.inner.fit, f.inner, long_x, long_y, rest)
  if ok then return info end
  if not rawequal(inside.x, long_x) then                -- refused before the data were taken: all is as it was
    f.x, f.y, f.present, inside.grid, inside.solver = held.x, held.y, held.present, grid, solver
  end
  error(info, 0)
end

--- A lazy record of all tasks at x (m, d): mean, f_var and y_var (m, T), f_cov (m T, m T) point by point,
-- :interval(level), :sample(k) (k, m, T). o: as gb.gp.exact's predict; with Kronecker structure variances are always exact.
function methods.predict(self, x, o)
  local f <const> = fields(self)
  local T <const>, inside <const> = f.tasks, model.fields(f.inner)
  local t <const> = kernels.points(x, "predict: x", 2)
  data.check_width(f, t, "predict", 2)
  means.resolve(inside.mean, t.shape[2])
  local all <const> = parts.every(t, T)
  if not inside.grid then return task_prediction(f.inner:predict(all, o), #t, T) end
  options.parse(o, {variance = {"exact", "cached"}, rank = "count", precision = {"f32", "f64"}}, "predict", 2)
  local built <const> = kronecker.parts(f.inner, t:to{dtype = "f64"})
  return task_prediction(prediction.new(all, built, function(count, settings)
    return pathwise.new(f.inner, all, count, settings)
  end), #t, T)
end

local Score <const> = {__name = "gibbous.score"}

local function figures_text(s)
  return ("rmse %.4g  mae %.4g  nlpd %.4g  crps %.4g  coverage95 %.1f %%  n %d"):format(s.rmse, s.mae, s.nlpd, s.crps,
    100 * s.coverage95, s.n)
end

function Score.__tostring(self)
  local lines <const> = {figures_text(self)}
  for t, s in ipairs(self.tasks) do lines[#lines + 1] = ("task %d: %s"):format(t, figures_text(s)) end
  return table.concat(lines, "\n")
end

--- Figures of the cells with a value: those where 'known' is true.
local function figures(e, var, known)
  local n <const> = count(known)
  local function mean(v) return core.where(known, v, e * 0):sum() / n end
  local inside <const> = e:abs():le(metrics.quantile(0.975) * var:sqrt()):to{dtype = e.dtype}
  local lazy <const> = {mse = mean(e * e), mae = mean(e:abs()), nlpd = mean(metrics.neg_log_density(e, var)),
    crps = mean(metrics.crps(e, var)), coverage95 = mean(inside)}
  core.eval(lazy)
  local out <const> = {n = n, rmse = math.sqrt(lazy.mse:item())}
  for _, name in ipairs{"mae", "nlpd", "crps", "coverage95"} do out[name] = lazy[name]:item() end
  return out
end

--- How well observations y (m, T) at x (m, d) are predicted: rmse, mae, nlpd, crps, coverage95 and n over all cells, and the
-- same in .tasks[t] for each (gp/score.lua says what they are). o.missing = "mask": cells whose y is NaN are left out.
function methods.score(self, x, y, o)
  o = options.parse(o, {missing = {"error", "mask"}}, "score", 2)
  local xs <const>, ys <const>, present <const> = checked(self, x, y, "score", o.missing, 2)
  if present == 0 then core.raise("shape", "score: there are no values to score", 2) end
  local p <const> = self:predict(xs)
  local known <const> = ys:eq(ys)
  local e <const>, var <const> = core.where(known, ys, p.mean) - p.mean, p.y_var
  local out <const> = figures(e, var, known)
  out.tasks, out.converged = {}, p.converged
  for t = 1, fields(self).tasks do out.tasks[t] = figures(e:select(2, t), var:select(2, t), known:select(2, t)) end
  return setmetatable(out, Score)
end

--- log p(y | x) of the values the model holds, in nats (a sum), lazy.
function methods.log_marginal_likelihood(self) return fields(self).inner:log_marginal_likelihood() end

--- A parameter by its path, as printed by print(model): m:get "kernel.tasks.weights".
function methods.get(self, path) return fields(self).inner:get(path) end

--- Sets parameters by path, all or none: m:set("likelihood.noise", {0.1, 0.2}) or m:set{[path] = value, ...}. Gives the
-- model.
function methods.set(self, ...)
  fields(self).inner:set(...)
  return self
end

-- Construction --------------------------------------------------------------------------------------------------------

--- gb.gp.multitask{kernel, tasks = T, rank = 1, noise = one per task, mean = zero, solver = "auto"}
-- kernel is of the points alone; B has this rank plus a diagonal, and takes over the kernel's variance (unless that is a
-- gb.param): it is in units of y squared. noise: a variance for all tasks (a number or gb.param) or a
-- list, one per task (default). mean: a gb.means value of x, common to all tasks; gb.means.constant{c_1, ..., c_T} has one
-- per task. solver: "auto" uses Kronecker structure where no cell is missing, else decides as gb.gp.exact does; "kronecker";
-- "direct" or a gb.solvers value: the long form in any case. The model copies what it is given.
return function(opts)
  local o <const> = options.parse(opts, {kernel = kernels.is, tasks = "count", rank = "count", noise = "any",
    mean = function(v) return means.of(v) ~= nil end,
    solver = function(v)
      return v == "auto" or v == "direct" or v == "kronecker" or (type(v) == "table" and v.solve ~= nil)
    end}, "gb.gp.multitask", 2)
  if not o.kernel then core.raise("option", "gb.gp.multitask: a kernel is needed", 2) end
  if not o.tasks or o.tasks < 1 then core.raise("option", "gb.gp.multitask: tasks, the number of outputs, is needed", 2) end
  local T <const> = o.tasks
  local noise = o.noise
  if not noise then
    noise = {}
    for t = 1, T do noise[t] = 1.0 end
  end
  local inner <const> = model.new{kernel = parts.product(o.kernel, T, o.rank or 1, 2):copy(),
    mean = parts.mean(means.of(o.mean or means.zero()), T, 2):copy(), likelihood = parts.noise(noise, T, 2):copy(), solver = "auto"}
  return setmetatable({_fields = {inner = inner, tasks = T, solver = o.solver or "auto"}}, Model)
end
