--- Optimisers over parameters: L-BFGS, Adam, gradient descent. They move the unconstrained values; bounds hold by
-- construction. A step to a value that is not finite, or where a matrix stops being positive definite, is undone and counted.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local quasi_newton <const> = require "gibbous.optim.lbfgs"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local raised <const> = require "gibbous.base.raised"
local shallow_copy <const> = require "gibbous.base.shallow_copy"

local M <const> = {LIMIT = quasi_newton.LIMIT}
local axpy <const>, largest <const> = quasi_newton.axpy, quasi_newton.largest

-- The free parameters of a root as one flat list of numbers, each in units of its own ------------------------------------------

local Space <const> = {}
Space.__index = Space

-- Relative differences between values of an objective that say nothing: sums of many terms that cancel, in units well above
-- one rounding.
local ROUNDING <const> = {f64 = 1e-15, f32 = 1e-5}

--- units: by parameter, the number that stands for 1 of its unconstrained values; 1 if a parameter has no entry.
local function space_of(root, what, units)
  local list <const>, names <const> = param.collect(root)
  local free <const>, free_names <const> = {}, {}
  for i, p in ipairs(list) do
    if not p.fixed then free[#free + 1], free_names[#free_names + 1] = p, names[i] end
  end
  if #free == 0 then core.raise("option", what .. ": there is no free parameter to optimise: give it a gb.param "
    .. "that is not fixed, a table of them, a network or a model, before the options") end
  param.apart(free)
  local unit <const> = {}
  for i, p in ipairs(free) do unit[i] = units and units[p] or 1.0 end
  return setmetatable({params = free, names = free_names, units = unit, realise = core.eval, resolution = 0}, Space)
end

function Space:read()
  local x <const> = {}
  for i, p in ipairs(self.params) do
    for _, v in ipairs(p.raw:reshape(-1):totable()) do x[#x + 1] = v / self.units[i] end
  end
  return x
end

--- Sets the parameters. Where the objective answers for numbers these wait for Space:settle.
function Space:write(x)
  if self.answers then self.waiting = x else self:set(x) end
end

--- Gives the parameters the numbers that wait.
function Space:settle()
  if self.waiting then self:set(self.waiting) end
  self.waiting = nil
end

function Space:set(x)
  local at = 0
  for i, p in ipairs(self.params) do
    local raw <const>, list <const> = p.raw, {}
    for k = 1, raw.numel do list[k] = x[at + k] * self.units[i] end
    p.raw = core.tensor(list, {dtype = raw.dtype}):reshape(raw.shape)
    at = at + raw.numel
  end
end

--- Something to call that gives a loss.
local function check_objective(f, what)
  local meta <const> = type(f) ~= "function" and debug.getmetatable(f)
  if type(f) == "function" or meta and meta.__call then return end
  core.raise("option", ("%s: the objective must be a function, got %s"):format(what, core.type(f)))
end

local function is_setback(err)
  return raised.is(err, "not_pd", "nan", "not_converged")
end

--- Does y have a gradient by any of these? Other errors are those of the gradient itself.
local function depends(y, raws)
  for _, raw in ipairs(raws) do
    local ok <const>, err <const> = pcall(core.grad, y, {raw})
    if ok or type(err) == "string" or err.code ~= "option" then return true end
  end
  return false
end

--- Raises where the objective moves with no parameter, which would look like a minimum. Once: it is a matter of what f is made of.
function Space:check_dependence(loss)
  if self.checked then return end
  if not depends(loss, self:raws()) then
    core.raise("option",
      ("the objective does not depend on any free parameter (%s): numbers, and what was detached, have no gradient")
      :format(table.concat(self.names, ", ", 1, math.min(3, #self.names)) .. (#self.names > 3 and ", ..." or "")))
  end
  self.checked = true
end

--- Are all of these numbers, and none infinite?
local function is_finite(list)
  for _, v in ipairs(list) do
    if not (math.abs(v) < math.huge) then return false end
  end
  return true
end

--- The same as evaluate, of an f that takes the list of unconstrained values and gives value and flat gradient by them.
function Space:ask(f)
  local x <const>, raws <const>, at = self.waiting or self:read(), {}, 0
  for i, p in ipairs(self.params) do
    for k = at + 1, at + p.raw.numel do raws[k] = x[k] * self.units[i] end
    at = at + p.raw.numel
  end
  local ok <const>, value <const>, g <const> = pcall(f, raws)
  if not ok then
    if is_setback(value) then return math.huge, nil, value end
    error(value, 0)
  end
  self.rounding, at = ROUNDING.f64, 0
  for i, p in ipairs(self.params) do
    for k = at + 1, at + p.raw.numel do g[k] = g[k] * self.units[i] end
    at = at + p.raw.numel
  end
  if not (is_finite(g) and math.abs(value) < math.huge) then return math.huge, nil end
  return value, g
end

--- Value and flat gradient of f at the parameters' current values; value inf where f has none there.
function Space:evaluate(f)
  if self.answers then return self:ask(f) end
  local ok, value, grads = pcall(function()
    local got <const> = f()
    local loss = core.as_tensor(got)
    if loss == nil or loss.numel ~= 1 then
      core.raise("option", ("the objective must return a tensor of one element, got %s"):format(
        loss and "shape " .. tostring(loss.shape) or core.type(got)))
    end
    local prior <const> = param.log_prior(self.params)
    if prior then loss = loss - prior end
    self:check_dependence(loss)
    self.rounding = ROUNDING[loss.dtype] or ROUNDING.f32
    local g <const> = core.grad(loss, self:raws(), {unused = "zero"})
    self.realise(loss, table.unpack(g))
    return loss:item(), g
  end)
  if not ok then
    if is_setback(value) then return math.huge, nil, value end
    error(value, 0)
  end
  local flat <const> = {}
  for i, g in ipairs(grads) do
    for _, v in ipairs(g:reshape(-1):totable()) do flat[#flat + 1] = v * self.units[i] end
  end
  if not (is_finite(flat) and math.abs(value) < math.huge) then return math.huge, nil end
  return value, flat
end

--- The norm of a flat gradient by the unconstrained values themselves.
function Space:norm(g)
  local at, sum = 0, 0.0
  for i, p in ipairs(self.params) do
    for _ = 1, p.raw.numel do
      at = at + 1
      sum = sum + (g[at] / self.units[i]) ^ 2
    end
  end
  return math.sqrt(sum)
end

function Space:raws()
  local raws <const> = {}
  for i, p in ipairs(self.params) do raws[i] = p.raw end
  return raws
end

-- L-BFGS ------------------------------------------------------------------------------------------------------------------

--- A trial moves no bounded parameter by more than a factor of about e^LEAP in its distance to the bound: longer leaps land
-- where the objective is flat, and never come back.
local LEAP <const> = 2.0

local function bounded_elements(params)
  local limit <const> = {}
  local at = 0
  for _, p in ipairs(params) do
    for i = 1, p.raw.numel do
      if p.min or p.max then limit[at + i] = LEAP end
    end
    at = at + p.raw.numel
  end
  return limit
end

local function lbfgs(space, f, o, report, from)
  local best, here, problem = from, nil, nil
  local function move(x)
    if here ~= x then space:write(x) end
    here = x
  end
  local function evaluate(x)
    move(x)
    local value <const>, g <const>, err = space:evaluate(f)
    if g == nil then problem = problem or err end
    if g == nil and best then report.setback() end
    return value, g, space.rounding, space.resolution
  end
  local settings <const> = {steps = o.steps, tol = o.tol, ftol = o.ftol, limit = bounded_elements(space.params)}
  local reason <const>, converged <const>, iterations <const> = quasi_newton.minimize(evaluate, space:read(), settings,
    function(state)
      best = state
      move(state.x)
      report(state)
    end, from)
  if best == nil then error(problem or core.error("nan", "the objective is not finite at the starting point"), 0) end
  move(best.x)
  return best.value, reason, converged, iterations
end

-- First-order methods -----------------------------------------------------------------------------------------------------

--- Kingma & Ba (2015), algorithm 1. The state's lists are replaced, never changed.
local function adam_update(state, x, g, lr)
  local out <const>, ms <const>, vs <const>, t <const> = {}, {}, {}, (state.t or 0) + 1
  for i = 1, #x do
    ms[i] = 0.9 * (state.m and state.m[i] or 0) + 0.1 * g[i]
    vs[i] = 0.999 * (state.v and state.v[i] or 0) + 0.001 * g[i] * g[i]
    local m <const>, v <const> = ms[i] / (1 - 0.9 ^ t), vs[i] / (1 - 0.999 ^ t)
    out[i] = x[i] - lr * m / (math.sqrt(v) + 1e-8)
  end
  state.t, state.m, state.v = t, ms, vs
  return out
end

local function sgd_update(_, x, g, lr) return axpy(-lr, g, x) end

--- Where it stands after a point that has a value: {step, x, value, g, best, best_x, lr, moments}.
local function first_order(update)
  return function(space, f, o, report, from)
    local start <const> = from or {}
    local moments <const> = shallow_copy(start.moments or {})
    local x, g, best_x = start.x or space:read(), start.g, start.best_x
    local best, lr, step = start.best or math.huge, start.lr or o.lr, start.step or -1
    local function step_from(v, slope)
      x = update(moments, v, slope, lr)
      space:write(x)
    end
    if from and largest(g) <= o.tol then
      space:write(best_x)
      return best, "gradient below tol", true, step
    elseif from and step < o.steps then
      step_from(x, g)
    end
    for iteration = step + 1, o.steps do
      local value
      value, g = space:evaluate(f)
      if g == nil then
        if best_x == nil then error(core.error("nan", "the objective is not finite at the starting point"), 0) end
        report.setback()
        x, lr = best_x, lr / 2
        space:write(x)
      else
        if value < best then best, best_x = value, x end
        report{step = iteration, x = x, value = value, g = g, best = best, best_x = best_x, lr = lr,
          moments = shallow_copy(moments)}
        if largest(g) <= o.tol then
          space:write(best_x)
          return best, "gradient below tol", true, iteration
        end
        if iteration < o.steps then step_from(x, g) end
      end
    end
    space:write(best_x)
    return best, M.LIMIT, false, o.steps
  end
end

local methods <const> = {lbfgs = lbfgs, adam = first_order(adam_update), sgd = first_order(sgd_update)}

local Info <const> = object.record("gibbous.optim_info", "the report of a minimisation", "solve gradient_norm precision")

function Info.__tostring(self)
  return ("%s after %s of %s: value %.6g, %s, %.2f s%s"):format(
    self.converged and "converged (" .. self.reason .. ")" or "stopped (" .. self.reason .. ")",
    counted(self.iterations, "step"), self.method, self.value, counted(self.evaluations, "evaluation"), self.seconds,
    self.setbacks > 0 and (", %s undone"):format(counted(self.setbacks, "step")) or "")
end

M.spec = {method = {"lbfgs", "adam", "sgd"}, steps = "count", lr = "positive", tol = "positive", ftol = "positive",
  on_step = "function"}

local MINIMIZE <const> = {resume = "table"}
for key, kind in pairs(M.spec) do MINIMIZE[key] = kind end

-- By report, while it lives: where the descent stood at the last point that on_step heard of.
local states <const> = setmetatable({}, {__mode = "k"})

--- Where the descent of this report stood last: what M.run goes on from as o.from; nil: nowhere.
function M.state(info) return states[info] end

--- Minimises f() over the free parameters below 'root'. f returns a tensor of one element; each step asks for value and
-- gradients in one traversal. on_step gets {step, value, gradient_norm} and may return false to stop.
-- The parameters end at the best point seen, also when interrupted (then info.interrupted). resume: the report of a minimisation
-- that was interrupted or reached its steps, which goes on with the same bits as if it had not ended.
---@return table info  converged reason iterations evaluations value seconds method setbacks
function M.minimize(f, root, opts)
  local o <const> = options.parse(opts, MINIMIZE, "gb.optim.minimize")
  check_objective(f, "gb.optim.minimize")
  if o.resume then
    local from <const> = states[o.resume]
    if not from then core.raise("option", "gb.optim.minimize: resume: expected the report of an earlier call of it") end
    if o.method and o.method ~= from.method then
      core.raise("option", ("gb.optim.minimize: resume: this is a descent of %s, which stays its method"):format(from.method))
    end
    o.method, o.from = from.method, from
  end
  M.check(o, "gb.optim.minimize")
  return M.run(f, root, o)
end

--- Raises for checked options 'o' that the method has no use for. what: begins the message.
function M.check(o, what)
  if o.lr and (o.method or "lbfgs") == "lbfgs" then
    core.raise("option", ('%s: lr is of method = "adam" or "sgd"; with "lbfgs" a line search finds the length of steps'):format(
      what))
  end
end

--- How many steps a method makes at most where nothing else is said; nil: the usual method.
function M.usual_steps(method) return (method or "lbfgs") == "lbfgs" and 200 or 500 end

local function check_unknowns(space, from)
  if #space:read() == #from.at.x then return end
  core.raise("option", ("resume: the descent had %d unknowns, and there are %d free now"):format(#from.at.x, #space:read()))
end

--- The same with options already checked, and 'realise', which computes tensors given one after another (gb.eval),
-- 'resolution', relative: smaller changes of f say nothing (0: those of rounding), 'units' of parameters (see space_of), and
-- 'from', a state to go on from, 'answers': f takes the list of unconstrained values, in the order of the parameters, and gives the
-- value, priors included, and the list of its derivatives; the parameters are set when the descent ends.
function M.run(f, root, o)
  local method <const> = o.method or "lbfgs"
  local realise <const>, resolution <const>, units <const>, from <const> = o.realise, o.resolution, o.units, o.from
  local answers <const> = o.answers
  o = {steps = o.steps or M.usual_steps(method), lr = o.lr or (method == "sgd" and 1e-3 or 0.05),
    tol = o.tol or 1e-5, ftol = o.ftol or 1e-9, on_step = o.on_step}
  local space <const> = space_of(root, "gb.optim.minimize", units)
  space.realise, space.resolution, space.answers = realise or core.eval, resolution or 0, answers
  local start <const> = core.clock()
  local info <const> = {method = method, evaluations = 0, setbacks = 0, interrupted = false}
  local best, best_x, last, state = math.huge, space:read(), 0, from
  if from then
    check_unknowns(space, from)
    best, best_x, last = from.best, from.best_x, from.at.step
    info.evaluations, info.setbacks = from.evaluations, from.setbacks
  end
  local counted <const> = function(...)
    info.evaluations = info.evaluations + 1
    return f(...)
  end
  local report <const> = setmetatable({setback = function() info.setbacks = info.setbacks + 1 end}, {
    __call = function(_, at)
      last = at.step
      if at.value < best then best, best_x = at.value, at.x end
      state = {method = method, at = at, best = best, best_x = best_x, evaluations = info.evaluations, setbacks = info.setbacks}
      if o.on_step and o.on_step{step = at.step, value = at.value, gradient_norm = space:norm(at.g)} == false then
        error(core.error("interrupted", "stopped by on_step"), 0)
      end
    end,
  })
  local ok, value, reason, converged, iterations = pcall(methods[method], space, counted, o, report, from and from.at)
  if not ok then space:write(best_x) end -- nothing is lost: the best point stays
  space:settle()
  if not ok then
    local err <const> = value
    if not raised.is(err, "interrupted") then error(err, 0) end
    value, reason, converged, iterations = best, tostring(err.message), false, last
    info.interrupted = true
  end
  info.value, info.reason, info.converged, info.iterations = value, reason, converged, iterations
  info.seconds = core.clock() - start
  states[info] = state
  return setmetatable(info, Info)
end

-- Stateful optimisers -----------------------------------------------------------------------------------------------------

local Optimiser <const> = {__name = "gibbous.optimiser"}

--- One step on f(). Returns the loss before the step (a number) and {undone, gradient_norm}.
function Optimiser:step(f)
  check_objective(f, "step")
  local space <const> = self.space
  local x <const> = space:read()
  local value, g = space:evaluate(f)
  if g == nil then
    if self.previous then space:write(self.previous) end
    return value, {undone = true}
  end
  rawset(self, "previous", x)
  space:write(self.update(self.state, x, g, self.lr))
  return value, {undone = false, gradient_norm = space:norm(g)}
end

object.guard(Optimiser, "an optimiser", "opt")
object.settle(Optimiser, "an optimiser", "previous lr")

local function stateful(name, update, lr)
  M[name] = function(root, opts)
    local o <const> = options.parse(opts, {lr = "positive"}, "gb.optim." .. name)
    return setmetatable({space = space_of(root, "gb.optim." .. name), update = update, state = {}, lr = o.lr or lr}, Optimiser)
  end
end

stateful("adam", adam_update, 0.05)
stateful("sgd", sgd_update, 1e-3)

local Lbfgs <const> = {__name = "gibbous.optimiser"}

--- One L-BFGS iteration with its line search; the curvature memory stays between calls.
function Lbfgs:step(f)
  check_objective(f, "step")
  local before
  local info <const> = M.run(f, self.root, {method = "lbfgs", steps = self.steps,
    on_step = function(s) before = before or s.value end})
  return before, info
end

object.guard(Lbfgs, "an optimiser", "opt")
object.settle(Lbfgs, "an optimiser", "steps")

function M.lbfgs(root, opts)
  local o <const> = options.parse(opts, {steps = "count"}, "gb.optim.lbfgs")
  space_of(root, "gb.optim.lbfgs")
  return setmetatable({root = root, steps = o.steps or 20}, Lbfgs)
end

return require "gibbous.base.names"(M, "gb.optim")
