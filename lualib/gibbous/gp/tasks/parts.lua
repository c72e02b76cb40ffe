--- What a model of several outputs is made of, in the long form: inputs (n, d + 1) whose last column is the task.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local gradients <const> = require "gibbous.kernels.gradients"
local kernel <const> = require "gibbous.kernels.kernel"
local kernels <const> = require "gibbous.kernels"
local likelihoods <const> = require "gibbous.likelihoods"
local means <const> = require "gibbous.means"
local param <const> = require "gibbous.param"
local tasks <const> = require "gibbous.kernels.tasks"

local M <const> = {}

--- Points x (n, d) and a task each, (n, d + 1).
function M.join(x, task) return core.cat({x, task:reshape(-1, 1)}, 2) end

--- Every point with every task, point by point: (n T, d + 1).
function M.every(x, T)
  local n <const>, d <const> = #x, x.shape[2]
  local task <const> = core.range(1, T):to{dtype = x.dtype}:unsqueeze(1):expand(n, T):reshape(n * T)
  return M.join(x:unsqueeze(2):expand(n, T, d):reshape(n * T, d), task)
end

local function positions(x, T)
  local d <const> = x.shape[2]
  return tasks.positions(columns.take(x, {d}), T, "tasks")
end

-- Kernels -------------------------------------------------------------------------------------------------------------

local function holds_white(k)
  for _, part in ipairs(k.parts or {}) do
    if holds_white(part) then return true end
  end
  return k.kind == "white"
end

--- k times the kernel of T tasks, "tasks". Its B takes over a variance of k that is k's own, or one of both would be free.
-- White noise between tasks would be another thing by points than by values: it is refused. weights: where W starts.
function M.product(k, T, rank, weights)
  if holds_white(k) then
    core.raise("option", "gb.gp.multitask: white noise belongs into noise, one variance per task, not into the kernel")
  end
  local points <const>, tasks_kernel <const> = gradients.shifted(k), kernels.index{tasks = T, rank = rank}
  if weights and rank > 0 then
    tasks_kernel.hyper.weights = param.set_open(param.hyper(weights, "weights", {name = "weights"}, 2), true)
  end
  local variance <const> = points.hyper.variance
  if variance and not param.shared(variance) then
    local v <const> = variance.value:item()
    points.hyper.variance = nil
    if param.is_open(variance) then return points * tasks_kernel:named "tasks" end
    for name, power in pairs{weights = 0.5, diagonal = 1} do
      local box <const> = tasks_kernel.hyper[name]
      if box then box.value = box.value * v ^ power end
    end
  end
  return points * tasks_kernel:named "tasks"
end

--- The sum of kernels each times a kernel of T tasks of its own: the linear model of coregionalisation. Its terms have the names of
-- the kernels. The first W starts as that of one kernel does, the others at random by the seed, or equal kernels would stay equal.
function M.sum(list, T, rank, seed)
  local out
  for i, k in ipairs(list) do
    local weights <const> = i > 1 and math.sqrt(0.5) * core.randn(T, rank, {seed = seed * 7919 + i, dtype = "f64"}) or nil
    local plain <const> = kernel.clone(k)
    kernel.fields(plain).label = nil
    local term = M.product(plain, T, rank, weights)
    if k.label then term = term:named(k.label) end
    out = out and out + term or term
  end
  return out
end

--- Is it a kernel of the points times one of T tasks, or a sum of such?
function M.is_of_tasks(k, T)
  for _, term in ipairs(k.kind == "sum" and k.parts or {k}) do
    local index <const> = term.kind == "product" and select(2, M.split(term))
    if not index or index.tasks ~= T then return false end
  end
  return true
end

--- The kernel of points and that of tasks in a product of both. They share the product's boxes.
function M.split(product)
  local rest <const> = {}
  local index
  for _, part in ipairs(product.parts) do
    if part.kind == "index" and index == nil then index = part else rest[#rest + 1] = part end
  end
  local points <const> = kernel.clone(#rest == 1 and rest[1] or product)
  if #rest > 1 then kernel.fields(points).parts = rest end
  points.hyper.variance = product.hyper.variance
  return points, index
end

--- k between points x and z, (n, d) without tasks, for a kernel that M.split gave.
function M.between(k, x, z)
  local d <const> = x.shape[2] + 1
  local function padded(t) return M.join(t, core.full({#t}, 1, {dtype = t.dtype})) end
  local a <const> = padded(x)
  return kernel.value(k, a, rawequal(x, z) and a or padded(z), {d})
end

function M.diag(k, x) return kernel.diag(k, M.join(x, core.full({#x}, 1, {dtype = x.dtype})), {x.shape[2] + 1}) end

-- Noise and means -----------------------------------------------------------------------------------------------------

--- One variance for all tasks (a number or gb.param), a list or gb.param with one each, or nil: one each, chosen by a fit.
function M.noise(v, T)
  if v == nil then
    v = {}
    for t = 1, T do v[t] = 1.0 end
    local out <const> = likelihoods.tasks(v)
    param.set_open(out.noise, true)
    return out
  end
  local one <const> = type(v) == "number" or param.is(v) and v.ndim == 0
  local out <const> = one and likelihoods.gaussian(v) or likelihoods.tasks(v)
  if not one and out.noise.numel ~= T then
    core.raise("shape", ("gb.gp.multitask: %d noise variances for %s"):format(out.noise.numel, counted(T, "task")))
  end
  return out
end

--- A mean of x (n, d) as a mean of points with tasks. A constant may have one value a task.
function M.mean(m, T)
  if m.parts then
    local out <const> = m:copy(function(p) return p end)
    for i, part in ipairs(m.parts) do out.parts[i] = M.mean(part, T) end
    return out
  end
  local constants <const> = m.kind == "constant" and m.value.ndim == 1 and m.value or nil
  if constants and constants.numel ~= T then
    core.raise("shape", ("gb.gp.multitask: %d constant means for %s"):format(constants.numel, counted(T, "task")))
  end
  return means.with_task(m, function(self, x)
    if constants then return columns.adopt(self.hyper.value, x):index(1, positions(x, T)) end
    return m.form(self, x:slice(2, 1, x.shape[2] - 1))
  end)
end

return M
