--- Optimisers over parameters: L-BFGS, Adam, gradient descent. They move the unconstrained values; bounds hold by
-- construction. A step to a value that is not finite, or where a matrix stops being positive definite, is undone and counted.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"

local M <const> = {}

-- The free parameters of a root as one flat list of numbers ---------------------------------------------------------------

local Space <const> = {}
Space.__index = Space

local function space_of(root, what, level)
  local list <const>, names <const> = param.collect(root)
  local free <const>, free_names <const> = {}, {}
  for i, p in ipairs(list) do
    if not p.fixed then free[#free + 1], free_names[#free_names + 1] = p, names[i] end
  end
  if #free == 0 then core.raise("option", what .. ": there is no free parameter to optimise", level + 1) end
  return setmetatable({params = free, names = free_names, realise = core.eval}, Space)
end

function Space:read()
  local x <const> = {}
  for _, p in ipairs(self.params) do
    for _, v in ipairs(p.raw:reshape(-1):totable()) do x[#x + 1] = v end
  end
  return x
end

function Space:write(x)
  local at = 0
  for _, p in ipairs(self.params) do
    local raw <const> = p.raw
    p.raw = core.tensor(table.move(x, at + 1, at + raw.numel, 1, {}), {dtype = raw.dtype}):reshape(raw.shape)
    at = at + raw.numel
  end
end

local function is_setback(err)
  return type(err) ~= "string" and (err.code == "not_pd" or err.code == "nan")
end

--- Value and flat gradient of f at the parameters' current values; value inf where f has none there.
function Space:evaluate(f)
  local ok, value, grads = pcall(function()
    local loss = core.as_tensor(f())
    if loss == nil then core.raise("option", "the objective must return a tensor of one element", 4) end
    local prior <const> = param.log_prior(self.params)
    if prior then loss = loss - prior end
    local g <const> = core.grad(loss, self:raws(), {unused = "zero"})
    self.realise(loss, table.unpack(g))
    return loss:item(), g
  end)
  if not ok then
    if is_setback(value) then return math.huge, nil, value end
    error(value, 0)
  end
  local flat <const> = {}
  for _, g in ipairs(grads) do
    for _, v in ipairs(g:reshape(-1):totable()) do flat[#flat + 1] = v end
  end
  for _, v in ipairs(flat) do
    if v ~= v or v == math.huge or v == -math.huge then return math.huge, nil end
  end
  if value ~= value or math.abs(value) == math.huge then return math.huge, nil end
  return value, flat
end

function Space:raws()
  local raws <const> = {}
  for i, p in ipairs(self.params) do raws[i] = p.raw end
  return raws
end

-- Small vectors -----------------------------------------------------------------------------------------------------------

local function dot(a, b)
  local s = 0.0
  for i = 1, #a do s = s + a[i] * b[i] end
  return s
end

local function axpy(alpha, x, y)
  local out <const> = {}
  for i = 1, #x do out[i] = alpha * x[i] + y[i] end
  return out
end

local function scaled(alpha, x)
  local out <const> = {}
  for i = 1, #x do out[i] = alpha * x[i] end
  return out
end

local function largest(a)
  local m = 0.0
  for i = 1, #a do m = math.max(m, math.abs(a[i])) end
  return m
end

-- L-BFGS ------------------------------------------------------------------------------------------------------------------

--- Two-loop recursion. Source: Nocedal & Wright (2006), algorithm 7.4.
local function lbfgs_direction(memory, g)
  local q = scaled(-1, g)
  local alpha <const> = {}
  for i = #memory, 1, -1 do
    local m <const> = memory[i]
    alpha[i] = m.rho * dot(m.s, q)
    q = axpy(-alpha[i], m.y, q)
  end
  local last <const> = memory[#memory]
  if last then
    q = scaled(1 / (last.rho * dot(last.y, last.y)), q)
  end
  for i, m in ipairs(memory) do
    q = axpy(alpha[i] - m.rho * dot(m.y, q), m.s, q)
  end
  return q
end

--- A step that satisfies the strong Wolfe conditions (c1 = 1e-4, c2 = 0.9), by bracketing and cubic interpolation; nil when
-- none is found in 25 evaluations. Source: Nocedal & Wright (2006), algorithms 3.5 and 3.6.
local function line_search(at, f0, slope0, step)
  local c1 <const>, c2 <const> = 1e-4, 0.9
  local lo <const> = {t = 0, f = f0, slope = slope0}
  local hi
  for _ = 1, 25 do
    local p <const> = at(step)
    p.t = step
    if not (p.f <= f0 + c1 * step * slope0) or p.f >= lo.f and lo.t > 0 then
      hi = p
    elseif math.abs(p.slope) <= -c2 * slope0 then
      return p
    elseif p.slope * ((hi and hi.t or math.huge) - lo.t) >= 0 then
      hi = {t = lo.t, f = lo.f, slope = lo.slope}
      lo.t, lo.f, lo.slope, lo.point = p.t, p.f, p.slope, p
    else
      lo.t, lo.f, lo.slope, lo.point = p.t, p.f, p.slope, p
    end
    if not hi then
      step = 2 * step
    else
      local width <const> = hi.t - lo.t
      local guess
      if hi.f < math.huge then          -- quadratic through lo's value and slope and hi's value
        guess = lo.t - 0.5 * lo.slope * width * width / (hi.f - lo.f - lo.slope * width)
      end
      local near <const>, far <const> = lo.t + 0.1 * width, lo.t + 0.9 * width
      local inside <const> = guess and guess == guess and (guess - near) * (guess - far) <= 0
      step = inside and guess or lo.t + (hi.f < math.huge and 0.5 or 0.2) * width
      if math.abs(width) < 1e-14 * math.max(1, math.abs(lo.t)) then break end
    end
  end
  return lo.point                       -- the best sufficient decrease seen, or nil
end

local function lbfgs(space, f, o, report)
  local x = space:read()
  local value, g, problem = space:evaluate(f)
  if g == nil then error(problem or core.error("nan", "the objective is not finite at the starting point"), 0) end
  local memory <const> = {}
  report(0, value, g)
  for iteration = 1, o.steps do
    if largest(g) <= o.tol then return value, "gradient below tol", true, iteration - 1 end
    local d = lbfgs_direction(memory, g)
    local slope = dot(d, g)
    if not (slope < 0) then
      for i = #memory, 1, -1 do memory[i] = nil end
      d = lbfgs_direction(memory, g)
      slope = dot(d, g)
    end
    local function at(t)
      local xt <const> = axpy(t, d, x)
      space:write(xt)
      local ft <const>, gt <const> = space:evaluate(f)
      if gt == nil then report.setback() end
      return {x = xt, f = ft, g = gt, slope = gt and dot(d, gt) or math.huge}
    end
    local first <const> = #memory == 0 and math.min(1, 1 / math.max(largest(g), 1e-300)) or 1
    local p <const> = line_search(at, value, slope, first)
    if p == nil then
      space:write(x)
      if #memory == 0 then return value, "no further decrease along the gradient", largest(g) <= math.sqrt(o.tol), iteration - 1 end
      for i = #memory, 1, -1 do memory[i] = nil end
    else
      local s <const>, y <const> = axpy(-1, x, p.x), axpy(-1, g, p.g)
      local sy <const> = dot(s, y)
      if sy > 1e-10 * math.sqrt(dot(s, s) * dot(y, y)) then
        memory[#memory + 1] = {s = s, y = y, rho = 1 / sy}
        if #memory > 10 then table.remove(memory, 1) end
      end
      local change <const> = value - p.f
      x, value, g = p.x, p.f, p.g
      space:write(x)
      report(iteration, value, g)
      if change <= o.ftol * math.max(1, math.abs(value)) then
        return value, "relative change below tolerance", true, iteration
      end
    end
  end
  return value, "step limit reached", false, o.steps
end

-- First-order methods -----------------------------------------------------------------------------------------------------

--- Kingma & Ba (2015), algorithm 1.
local function adam_update(state, x, g, lr)
  state.t = (state.t or 0) + 1
  state.m, state.v = state.m or {}, state.v or {}
  local out <const> = {}
  for i = 1, #x do
    state.m[i] = 0.9 * (state.m[i] or 0) + 0.1 * g[i]
    state.v[i] = 0.999 * (state.v[i] or 0) + 0.001 * g[i] * g[i]
    local m <const>, v <const> = state.m[i] / (1 - 0.9 ^ state.t), state.v[i] / (1 - 0.999 ^ state.t)
    out[i] = x[i] - lr * m / (math.sqrt(v) + 1e-8)
  end
  return out
end

local function sgd_update(_, x, g, lr) return axpy(-lr, g, x) end

local function first_order(update)
  return function(space, f, o, report)
    local state <const> = {}
    local x, best_x = space:read(), nil
    local best, g = math.huge, nil
    local lr = o.lr
    for iteration = 1, o.steps + 1 do
      local value
      value, g = space:evaluate(f)
      if g == nil then
        if best_x == nil then error(core.error("nan", "the objective is not finite at the starting point"), 0) end
        report.setback()
        x, lr = best_x, lr / 2
        space:write(x)
      else
        if value < best then best, best_x = value, x end
        report(iteration - 1, value, g)
        if largest(g) <= o.tol then
          space:write(best_x)
          return best, "gradient below tol", true, iteration - 1
        end
        if iteration <= o.steps then
          x = update(state, x, g, lr)
          space:write(x)
        end
      end
    end
    space:write(best_x)
    return best, "step limit reached", false, o.steps
  end
end

local methods <const> = {lbfgs = lbfgs, adam = first_order(adam_update), sgd = first_order(sgd_update)}

local Info <const> = {__name = "gibbous.info"}

function Info.__tostring(self)
  return ("%s after %d steps of %s: value %.6g, %d evaluations, %.2f s%s"):format(
    self.converged and "converged (" .. self.reason .. ")" or "stopped (" .. self.reason .. ")",
    self.iterations, self.method, self.value, self.evaluations, self.seconds,
    self.setbacks > 0 and (", %d steps undone"):format(self.setbacks) or "")
end

M.spec = {method = {"lbfgs", "adam", "sgd"}, steps = "count", lr = "positive", tol = "positive", ftol = "positive",
  on_step = "function"}

--- Minimises f() over the free parameters below 'root'. f returns a tensor of one element; each step asks for value and
-- gradients in one traversal. on_step gets {step, value, gradient_norm} and may return false to stop.
-- The parameters end at the best point seen, also when interrupted (then info.interrupted).
---@return table info  converged reason iterations evaluations value seconds method setbacks
function M.minimize(f, root, opts)
  local o <const> = options.parse(opts, M.spec, "gb.optim.minimize", 2)
  return M.run(f, root, o)
end

--- The same with options already checked, and 'realise', which computes tensors given one after another (gb.eval).
function M.run(f, root, o)
  local method <const> = o.method or "lbfgs"
  local realise <const> = o.realise
  o = {steps = o.steps or (method == "lbfgs" and 200 or 500), lr = o.lr or (method == "sgd" and 1e-3 or 0.05),
    tol = o.tol or 1e-5, ftol = o.ftol or 1e-9, on_step = o.on_step}
  local space <const> = space_of(root, "gb.optim.minimize", 3)
  space.realise = realise or core.eval
  local start <const> = core.clock()
  local info <const> = {method = method, evaluations = 0, setbacks = 0, interrupted = false}
  local best, best_x, last = math.huge, space:read(), 0
  local counted <const> = function()
    info.evaluations = info.evaluations + 1
    return f()
  end
  local report <const> = setmetatable({setback = function() info.setbacks = info.setbacks + 1 end}, {
    __call = function(_, step, value, g)
      last = step
      if value < best then best, best_x = value, space:read() end
      if o.on_step and o.on_step{step = step, value = value, gradient_norm = math.sqrt(dot(g, g))} == false then
        error(core.error("interrupted", "stopped by on_step"), 0)
      end
    end,
  })
  local ok, value, reason, converged, iterations = pcall(methods[method], space, counted, o, report)
  if not ok then
    space:write(best_x)                 -- nothing is lost: the best point stays
    local err <const> = value
    if type(err) == "string" or err.code ~= "interrupted" then error(err, 0) end
    value, reason, converged, iterations = best, tostring(err.message), false, last
    info.interrupted = true
  end
  info.value, info.reason, info.converged, info.iterations = value, reason, converged, iterations
  info.seconds = core.clock() - start
  return setmetatable(info, Info)
end

-- Stateful optimisers -----------------------------------------------------------------------------------------------------

local Optimiser <const> = {__name = "gibbous.optimiser"}
Optimiser.__index = Optimiser

--- One step on f(). Returns the loss before the step (a number) and {undone, gradient_norm}.
function Optimiser:step(f)
  local space <const> = self.space
  local x <const> = space:read()
  local value, g = space:evaluate(f)
  if g == nil then
    if self.previous then space:write(self.previous) end
    return value, {undone = true}
  end
  self.previous = x
  space:write(self.update(self.state, x, g, self.lr))
  return value, {undone = false, gradient_norm = math.sqrt(dot(g, g))}
end

local function stateful(name, update, lr)
  M[name] = function(root, opts)
    local o <const> = options.parse(opts, {lr = "positive"}, "gb.optim." .. name, 2)
    return setmetatable({space = space_of(root, "gb.optim." .. name, 2), update = update, state = {}, lr = o.lr or lr}, Optimiser)
  end
end

stateful("adam", adam_update, 0.05)
stateful("sgd", sgd_update, 1e-3)

local Lbfgs <const> = {__name = "gibbous.optimiser"}
Lbfgs.__index = Lbfgs

--- One L-BFGS iteration with its line search; the curvature memory stays between calls.
function Lbfgs:step(f)
  local before
  local info <const> = M.run(f, self.root, {method = "lbfgs", steps = self.steps,
    on_step = function(s) before = before or s.value end})
  return before, info
end

function M.lbfgs(root, opts)
  local o <const> = options.parse(opts, {steps = "count"}, "gb.optim.lbfgs", 2)
  space_of(root, "gb.optim.lbfgs", 2)
  return setmetatable({root = root, steps = o.steps or 20}, Lbfgs)
end

return require "gibbous.names"(M, "gb.optim")
