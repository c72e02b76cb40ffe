--- Exact Gaussian-process regression: y = m(x) + f(x) + noise, f ~ GP(0, k).
-- Source: Rasmussen & Williams (2006), algorithm 2.1 and equation 5.8.
--
-- Two algorithms give the same posterior and are chosen once per fit: "direct" factors the (n, n) covariance, n^2 values and
-- n^3 / 3 multiply-adds; "cg" never stores it and streams it through preconditioned conjugate gradients.
local core <const> = require "gibbous.core"
local kernels <const> = require "gibbous.kernels"
local likelihoods <const> = require "gibbous.likelihoods"
local means <const> = require "gibbous.means"
local optim <const> = require "gibbous.optim"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"
local prediction <const> = require "gibbous.gp.prediction"
local table_text <const> = require "gibbous.table_text"

---@class gibbous.gp.exact
---@field kernel gibbous.kernel   the model's own copy; the fitted one after fit
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n)
---@field info table|nil          of the last fit
local Model <const> = {__name = "gibbous.gp.exact"}
local methods <const> = {}
local planned <const> = {leave_one_out = true, plan = true, save = true}

-- Largest n that "auto" factors directly, and the values a direct step holds at once (covariance, factor, inverse).
local DIRECT_POINTS <const> = 12000
local DIRECT_COPIES <const> = 4

function Model.__index(self, key)
  if methods[key] then return methods[key] end
  local fields <const> = rawget(self, "_fields")
  if key == "kernel" or key == "mean" or key == "likelihood" or key == "x" or key == "y" or key == "info" or key == "solver" then
    return fields[key]
  end
  if planned[key] then core.raise("option", ("a model's '%s' is not in this version"):format(key), 2) end
  local near <const> = options.nearest(tostring(key), methods)
  core.raise("option", ("a model has no field '%s'%s"):format(tostring(key),
    near and (" (did you mean '%s'?)"):format(near) or ""), 2)
end

function Model.__newindex(_, key)
  core.raise("option", ("field '%s' of a model cannot be assigned; set its parameters' .value"):format(tostring(key)), 2)
end

local function fields(self) return rawget(self, "_fields") end

-- Data ------------------------------------------------------------------------------------------------------------------

local function first_bad(t)
  local at <const> = t:isfinite():to{dtype = "f32"}:argmin():item() - 1
  local columns <const> = t.ndim == 2 and t.shape[2] or 1
  return at // columns + 1, at % columns + 1
end

local function check_finite(t, what, level)
  if t:isfinite():all() then return end
  local row <const>, column <const> = first_bad(t)
  local where <const> = t.ndim == 2 and ("row %d, column %d"):format(row, column) or ("row %d"):format(row)
  core.raise("nan", ("%s: the value in %s is not finite"):format(what, where), level + 1)
end

local function check_data(x, y, what, level)
  x = kernels.points(x, what .. ": x", level + 1)
  local t <const> = core.as_tensor(y)
  if t == nil then core.raise("option", ("%s: y must be a tensor, got %s"):format(what, type(y)), level + 1) end
  if t.ndim ~= 1 or #t ~= #x then
    core.raise("shape", ("%s: x has %d rows, y must be (%d), got shape %s"):format(what, #x, #x, tostring(t.shape)), level + 1)
  end
  if t.dtype ~= x.dtype then
    core.raise("dtype", ("%s: x is %s, y is %s"):format(what, x.dtype, t.dtype), level + 1)
  end
  if #x > 0 then
    check_finite(x, what .. ": x", level + 1)
    check_finite(t, what .. ": y", level + 1)
  end
  return x, t
end

--- Takes over checked data; what was known about the old is forgotten.
local function set_data(self, x, y)
  local f <const> = fields(self)
  f.x, f.y = x:eval(), y:eval()
  f.state = nil
  kernels.resolve_ard(f.kernel, x.shape[2])
end

-- The joint covariance of the observations --------------------------------------------------------------------------------

local function covariance(self)
  local f <const> = fields(self)
  local noise <const> = f.likelihood:variance(f.x)
  local n <const> = #f.x
  local eye <const> = core.eye(n, {dtype = f.x.dtype})
  if noise.ndim == 1 then return f.kernel(f.x) + core.linalg.diag(noise) end
  return f.kernel(f.x) + noise * eye
end

local function residual(self)
  local f <const> = fields(self)
  return f.y - f.mean(f.x)
end

local function is_iterative(solver) return type(solver) == "table" end

--- "direct" or an iterative solver, once per fit.
local function decide(self)
  local f <const> = fields(self)
  if f.solver == "direct" or is_iterative(f.solver) then return f.solver end
  local n <const> = #f.x
  local width <const> = f.x.dtype == "f32" and 4 or 8
  local room <const> = core.memory.room()
  if n <= DIRECT_POINTS and DIRECT_COPIES * n * n * width <= room then return "direct" end
  return require "gibbous.solvers".for_models(f.x.dtype)
end

--- One number for the noise, where a preconditioner wants one.
local function noise_level(f) return f.likelihood:variance(f.x):mean():item() end

--- Negative log marginal likelihood in nats, lazy.
local function objective(self, solver)
  local f <const> = fields(self)
  local c <const>, r <const> = covariance(self), residual(self)
  if is_iterative(solver) then
    local value <const>, info <const> = solver:objective(c, r, f.kernel(f.x), noise_level(f))
    f.solve_info = info
    return value
  end
  local n <const> = #f.x
  return (core.linalg.inv_quad(c, r) + core.linalg.logdet(c) + n * math.log(2 * math.pi)) / 2
end

--- A stamp that changes when any parameter below the model does.
local function stamp(self)
  local list <const> = param.collect(self)
  local cells <const> = {}
  for i, p in ipairs(list) do cells[i] = p.version end
  return table.concat(cells, ".")
end

--- What predictions need, kept until a parameter or the data changes.
local function posterior(self)
  local f <const> = fields(self)
  local now <const> = stamp(self)
  if f.state and f.state.stamp == now then return f.state end
  f.active = f.active or decide(self)
  local c <const>, r <const> = covariance(self), residual(self)
  local state <const> = {stamp = now, converged = true}
  if is_iterative(f.active) then
    state.system = f.active:prepare(c, f.kernel(f.x), noise_level(f))
    local info
    state.alpha, info = state.system:solve(r)
    state.converged = info.converged
  else
    state.factor = core.linalg.cholesky(c):detach()
    state.alpha = core.linalg.solve(c, r):detach()
    core.eval(state.factor, state.alpha)
  end
  f.state = state
  return state
end

-- Fitting ---------------------------------------------------------------------------------------------------------------

local fit_spec <const> = {restarts = "count", seed = "integer", objective = {"mll"}}
for key, kind in pairs(optim.spec) do fit_spec[key] = kind end

local function raw_values(list)
  local out <const> = {}
  for i, p in ipairs(list) do out[i] = p.raw end
  return out
end

local function set_raw(list, values)
  for i, p in ipairs(list) do p.raw = values[i] end
end

--- Moves every free parameter by a standard normal step in its unconstrained value.
local function scatter(list, start, seed, attempt)
  local stream = 0
  for i, p in ipairs(list) do
    if not p.fixed then
      stream = stream + 1
      local raw <const> = start[i]
      local noise <const> = core.randn(raw.numel, {dtype = "f64", seed = seed * 7919 + attempt * 104729 + stream})
      p.raw = raw + noise:reshape(raw.shape)
    end
  end
end

local function progress(label)
  if not core.isatty(2) then return nil, function() end end
  local last = -math.huge
  return function(s)
    local now <const> = core.clock()
    if now - last < 0.1 then return end
    last = now
    io.stderr:write(("\r%s step %d  nlml %.4f  |g| %.3g\27[K"):format(label, s.step, s.value, s.gradient_norm))
  end, function() io.stderr:write("\r\27[K") end
end

local Info <const> = {__name = "gibbous.info"}

function Info.__tostring(self)
  local text <const> = ("fit of %d points, %s: %s (%s), log marginal likelihood %.4f, %d steps, %d evaluations, %.2f s")
    :format(self.n, self.solver, self.converged and "converged" or "not converged", self.reason, -self.value,
      self.iterations, self.evaluations, self.seconds)
  local extra = ""
  if self.restarts > 0 then extra = extra .. ("; best of %d starts"):format(self.restarts + 1) end
  if self.setbacks > 0 then extra = extra .. ("; %d steps undone"):format(self.setbacks) end
  return text .. extra
end

local function attempt_fit(self, o, solver, label)
  local line <const>, done <const> = progress(label)
  local user <const> = o.on_step
  local settings <const> = {method = o.method, steps = o.steps, lr = o.lr, tol = o.tol, ftol = o.ftol}
  settings.on_step = (line or user) and function(s)
    if line then line(s) end
    if user then return user(s) end
  end or nil
  local ok <const>, info <const> = pcall(optim.run, function() return objective(self, solver) end, self, settings)
  done()
  if not ok then error(info, 0) end
  return info
end

--- Fits all free parameters to the data by maximising the log marginal likelihood (plus log priors).
-- m:fit(x, y, o) replaces the data; m:fit(o) uses what the model holds. x (n, d) or (n), y (n).
-- o: method "lbfgs"|"adam"|"sgd", steps, lr, tol, ftol, restarts (extra random starts), seed, on_step.
-- The best point seen is kept, also when interrupted. Cost per step: O(n^3) direct, O(n^2) per iteration of cg.
---@return table info  converged reason iterations evaluations value (nats) seconds solver restarts interrupted
function methods.fit(self, x, y, o)
  local f <const> = fields(self)
  if o == nil and (x == nil or core.as_tensor(x) == nil) then o, x = x, nil end
  o = options.parse(o, fit_spec, "fit", 2)
  if x ~= nil then
    local xs <const>, ys <const> = check_data(x, y, "fit", 2)
    set_data(self, xs, ys)
  end
  if f.x == nil then core.raise("option", "fit: the model holds no data; call fit(x, y)", 2) end
  if #f.x == 0 then core.raise("shape", "fit: there are no rows to fit", 2) end
  local start <const> = core.clock()
  f.active, f.solve_info = decide(self), nil
  local list <const> = param.collect(self)
  local first <const> = raw_values(list)
  local best, best_raw
  local restarts <const> = o.restarts or 0
  local evaluations, setbacks = 0, 0
  for attempt = 0, restarts do
    if attempt > 0 then scatter(list, first, o.seed or 0, attempt) end
    local label <const> = restarts > 0 and ("fit %d/%d"):format(attempt + 1, restarts + 1) or "fit"
    local ok, info = pcall(attempt_fit, self, o, f.active, label)
    if ok then
      evaluations, setbacks = evaluations + info.evaluations, setbacks + info.setbacks
      if best == nil or info.value < best.value then best, best_raw = info, raw_values(list) end
      if info.interrupted then
        best.interrupted = true
        break
      end
    elseif attempt == 0 or type(info) == "string" or (info.code ~= "nan" and info.code ~= "not_pd") then
      set_raw(list, best_raw or first)
      error(info, 0)
    end
  end
  set_raw(list, best_raw)
  local solved <const> = f.solve_info == nil or f.solve_info.converged
  local info <const> = setmetatable({converged = best.converged and not best.interrupted and solved,
    reason = solved and best.reason or "the solver: " .. f.solve_info.reason,
    iterations = best.iterations, evaluations = evaluations, setbacks = setbacks, value = best.value,
    seconds = core.clock() - start, solver = is_iterative(f.active) and tostring(f.active) or f.active, n = #f.x,
    restarts = restarts, interrupted = best.interrupted, method = best.method, bytes = core.memory.report().peak}, Info)
  f.info = info
  return info
end

-- Prediction ------------------------------------------------------------------------------------------------------------

-- Test points handled at once by a solver: bounds the (n, chunk) blocks that it works on.
local CHUNK_VALUES <const> = 2 ^ 21

local function explained_by_solver(self, state, xs)
  local f <const> = fields(self)
  local n <const>, m <const> = #f.x, #xs
  local chunk <const> = math.max(64, CHUNK_VALUES // math.max(n, 1))
  local parts <const> = {}
  for from = 1, m, chunk do
    local info
    parts[#parts + 1], info = state.system:explained(f.kernel(f.x, xs:slice(1, from, math.min(m, from + chunk - 1))))
    state.converged = state.converged and info.converged
  end
  return #parts == 1 and parts[1] or core.cat(parts, 1)
end

--- diag(k(xs, x) C^-1 k(x, xs)), (m). With a factor the plan cuts the points where n m values do not fit.
local function explained(self, state, xs)
  if state.system then return explained_by_solver(self, state, xs) end
  local f <const> = fields(self)
  local v <const> = core.linalg.triangular_solve(state.factor, f.kernel(f.x, xs))
  return (v * v):sum(1)
end

local function not_negative(v) return core.maximum(v, v * 0) end

--- A lazy record of f and y at new points xs (m, d): nothing is computed until a field is looked at.
-- mean costs one streamed pass over n m pairs; f_var and y_var O(n^2 m); f_cov also stores (m, m).
function methods.predict(self, xs)
  local f <const> = fields(self)
  local t <const> = kernels.points(xs, "predict: x", 2)
  if f.x and t.shape[2] ~= f.x.shape[2] then
    core.raise("shape", ("predict: the model was given %d columns, x has shape %s"):format(f.x.shape[2],
      tostring(t.shape)), 2)
  end
  if f.x and t.dtype ~= f.x.dtype then
    core.raise("dtype", ("predict: the model's data are %s, x is %s"):format(f.x.dtype, t.dtype), 2)
  end
  local empty <const> = f.x == nil or #f.x == 0
  if f.x == nil then kernels.resolve_ard(f.kernel, t.shape[2]) end
  local state <const> = not empty and posterior(self) or nil
  return prediction.new(#t, {
    mean = function()
      if empty then return f.mean(t) end
      return f.mean(t) + f.kernel(t, f.x):matmul(state.alpha)
    end,
    f_var = function()
      if empty or #t == 0 then return f.kernel:diag(t) end
      return not_negative(f.kernel:diag(t) - explained(self, state, t))
    end,
    y_var = function(p)
      local noise <const> = f.likelihood:new_variance(t)
      return noise and p.f_var + noise or p.f_var
    end,
    f_cov = function()
      if empty then return f.kernel(t) end
      local cross <const> = f.kernel(f.x, t)
      if state.system then return f.kernel(t) - cross:t():matmul((state.system:solve(cross))) end
      local v <const> = core.linalg.triangular_solve(state.factor, cross)
      return f.kernel(t) - v:t():matmul(v)
    end,
  })
end

local Score <const> = {__name = "gibbous.score"}

function Score.__tostring(self)
  return ("rmse %.4g  mae %.4g  nlpd %.4g  coverage95 %.1f %%  n %d"):format(self.rmse, self.mae, self.nlpd,
    100 * self.coverage95, self.n)
end

--- How well new observations are predicted: rmse and mae (units of y), nlpd (mean negative log predictive density, nats),
-- coverage95 (fraction inside the 95 % interval), n, converged.
function methods.score(self, x, y)
  local xs <const>, ys <const> = check_data(x, y, "score", 2)
  if #xs == 0 then core.raise("shape", "score: there are no rows to score", 2) end
  local p <const> = self:predict(xs)
  local e <const> = ys - p.mean
  local nlpd <const> = (0.5 * (2 * math.pi * p.y_var):log() + 0.5 * e * e / p.y_var):mean()
  local lo <const>, hi <const> = p:interval(0.95)
  local inside <const> = (ys:ge(lo) & ys:le(hi)):to{dtype = "f64"}:mean()
  local mse <const>, mae <const> = (e * e):mean(), e:abs():mean()
  core.eval(nlpd, inside, mse, mae)
  local state <const> = fields(self).state
  return setmetatable({rmse = math.sqrt(mse:item()), mae = mae:item(), nlpd = nlpd:item(), coverage95 = inside:item(),
    n = #xs, converged = state == nil or state.converged}, Score)
end

--- log p(y | x) of the data the model holds, in nats (a sum, not divided by n), lazy.
function methods.log_marginal_likelihood(self)
  local f <const> = fields(self)
  if f.x == nil then core.raise("option", "log_marginal_likelihood: the model holds no data", 2) end
  f.active = f.active or decide(self)
  return -objective(self, f.active)
end

--- A parameter by its path, as printed by print(model): m:get "kernel.lengthscale".
function methods.get(self, path)
  local list <const>, names <const> = param.collect(self)
  local known <const> = {}
  for i, name in ipairs(names) do
    if name == path then return list[i] end
    known[name] = true
  end
  local near <const> = options.nearest(tostring(path), known)
  core.raise("option", ("the model has no parameter '%s'%s"):format(tostring(path),
    near and (" (did you mean '%s'?)"):format(near) or ""), 2)
end

-- Construction ----------------------------------------------------------------------------------------------------------

local function new(parts) return setmetatable({_fields = parts}, Model) end

--- A new model that has also seen (x, y); the parameters are copied, not refitted.
function methods.condition(self, x, y)
  local f <const> = fields(self)
  local xs <const>, ys <const> = check_data(x, y, "condition", 2)
  if f.x and xs.shape[2] ~= f.x.shape[2] then
    core.raise("shape", ("condition: the model was given %d columns, x has shape %s"):format(f.x.shape[2],
      tostring(xs.shape)), 2)
  end
  local out <const> = new{kernel = f.kernel:copy(), mean = f.mean:copy(), likelihood = f.likelihood:copy(), solver = f.solver}
  if f.x and #f.x > 0 then
    set_data(out, core.cat({f.x, xs}, 1), core.cat({f.y, ys}, 1))
  else
    set_data(out, xs, ys)
  end
  return out
end

function Model.__children(self)
  local f <const> = fields(self)
  return {{"kernel", f.kernel}, {"mean", f.mean}, {"likelihood", f.likelihood}}
end

local function value_text(p)
  local v <const> = p.value
  if v.ndim == 0 then return ("%.6g"):format(v:item()) end
  if v.ndim > 1 then return tostring(v.shape) end
  local cells <const> = {}
  for i, c in ipairs(v:totable()) do
    if i > 6 then
      cells[7] = "..."
      break
    end
    cells[i] = ("%.4g"):format(c)
  end
  return "{" .. table.concat(cells, ", ") .. "}"
end

local function bounds_text(p)
  if not p.min and not p.max then return "" end
  return ("(%s, %s)"):format(p.min and ("%g"):format(p.min) or "-inf", p.max and ("%g"):format(p.max) or "inf")
end

function Model.__tostring(self)
  local f <const> = fields(self)
  local list <const>, names <const> = param.collect(self)
  local rows <const> = {{"parameter", "value", "bounds", "prior", "fixed"}}
  for i, p in ipairs(list) do
    rows[#rows + 1] = {names[i], value_text(p), bounds_text(p), p.prior and tostring(p.prior) or "", p.fixed and "yes" or ""}
  end
  local held <const> = f.x and ("%d points, %d columns, %s"):format(#f.x, f.x.shape[2], f.x.dtype) or "no data: the prior"
  return ("gp.exact  %s\n%s"):format(held, table_text(rows))
end

--- gb.gp.exact{kernel, mean = zero, noise = 1 | likelihood, solver = "auto"|"direct"|a gb.solvers value}
-- noise is a variance: a number (free), a gb.param, or a tensor (n) of known variances. The model copies what it is given;
-- only explicit gb.params stay shared. Without data it is the prior.
return function(opts)
  local o <const> = options.parse(opts, {kernel = kernels.is, mean = means.is, likelihood = likelihoods.is,
    noise = "any", solver = function(v) return v == "auto" or v == "direct" or (type(v) == "table" and v.solve ~= nil) end},
    "gb.gp.exact", 2)
  if not o.kernel then core.raise("option", "gb.gp.exact: a kernel is needed", 2) end
  if o.noise and o.likelihood then core.raise("option", "gb.gp.exact: give noise or likelihood, not both", 2) end
  local likelihood = o.likelihood
  if not likelihood then
    local noise <const> = o.noise or 1.0
    local is_vector <const> = not param.is(noise) and core.type(noise) == "tensor" and noise.ndim == 1
    likelihood = is_vector and likelihoods.fixed(noise) or likelihoods.gaussian(noise)
  end
  return new{kernel = o.kernel:copy(), mean = (o.mean or means.zero()):copy(), likelihood = likelihood:copy(),
    solver = o.solver or "auto"}
end
