--- Fitting: the free parameters that maximise the log marginal likelihood plus the log priors.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.objective"
local optim <const> = require "gibbous.optim"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"

local fields <const>, methods <const> = model.fields, model.methods

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
  local ok <const>, info <const> = pcall(optim.run, function() return objective.nlml(self, solver) end, self, settings)
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
    local xs <const>, ys <const> = data.check(x, y, "fit", 2)
    model.set_data(self, xs, ys)
  end
  if f.x == nil then core.raise("option", "fit: the model holds no data; call fit(x, y)", 2) end
  if #f.x == 0 then core.raise("shape", "fit: there are no rows to fit", 2) end
  local start <const> = core.clock()
  f.active, f.solve_info = objective.decide(self), nil
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
    seconds = core.clock() - start, solver = objective.is_iterative(f.active) and tostring(f.active) or f.active, n = #f.x,
    restarts = restarts, interrupted = best.interrupted, method = best.method, bytes = core.memory.report().peak}, Info)
  f.info = info
  return info
end
