--- Coregionalisation: the covariance of tasks (several outputs), B = W W' + diag(v), at task numbers in a column of the inputs.
-- Source: Bonilla, Chai & Williams (2008), Multi-task Gaussian process prediction, section 2.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local param <const> = require "gibbous.param"
local tasks <const> = require "gibbous.kernels.tasks"

--- The only column of x (n, 1), as the kernel sees it, and its positions.
local function tasks_of(self, x)
  local t <const> = x:detach()
  return t, tasks.positions(x, self.tasks, "index")
end

--- Gathered rows of W (n, r), sqrt(v) (n), and the column (n, 1).
local function gathered(self, x)
  local t <const>, at <const> = tasks_of(self, x)
  local w <const>, v <const> = columns.adopt(self.hyper.weights, x), columns.adopt(self.hyper.diagonal, x)
  return w:index(1, at), v:sqrt():index(1, at), t
end

--- Starts with variances 1 and correlations 1/2 between all tasks; further columns of W are small and break the symmetry.
local function start(tasks, rank, seed)
  local first <const> = core.full({tasks, math.min(rank, 1)}, math.sqrt(0.5), {dtype = "f64"})
  if rank <= 1 then return first end
  return core.cat({first, 0.1 * core.randn(tasks, rank - 1, {seed = seed, dtype = "f64"})}, 2)
end

local function setup(self, o, level)
  local function shaped(p, name, ...)
    local want <const> = {...}
    local fits = p.ndim == #want
    for i, extent in ipairs(want) do fits = fits and p.shape[i] == extent end
    if not fits then
      core.raise("shape", ("gb.kernels.index: '%s' must be %s, got %s"):format(name, table.concat(want, "x"),
        tostring(p.shape)), level + 1)
    end
    return p
  end
  if self.active_dims == nil then self.active_dims = {-1} end
  if #self.active_dims ~= 1 then
    core.raise("option", ("gb.kernels.index: task numbers are one column, got %d"):format(#self.active_dims), level + 1)
  end
  if self.tasks < 1 then core.raise("option", "gb.kernels.index: tasks, the number of tasks, is needed", level + 1) end
  local weights <const> = o.weights or start(self.tasks, self.rank, o.seed or 0)
  local diagonal <const> = o.diagonal or core.full({self.tasks}, 0.5, {dtype = "f64"})
  self.hyper.weights = shaped(param.hyper(weights, "weights", level + 1, {name = "weights"}, 2), "weights", self.tasks, self.rank)
  self.hyper.diagonal = shaped(param.hyper(diagonal, "diagonal", level + 1), "diagonal", self.tasks)
end

--- B, (T, T), lazy.
local function matrix(self)
  local w <const> = self.hyper.weights.value
  return w:matmul(w:t()) + core.linalg.diag(self.hyper.diagonal.value)
end

--- B[t_i, t_j]. Of different whole numbers the squared difference is 1 or more, so relu(1 - s) says where they are equal.
return {index = {
  claims = true, variance = false,
  choices = {{"tasks", 0, "count"}, {"rank", 1, "count"}},
  options = {weights = "any", diagonal = "any", seed = "integer"},
  setup = setup,
  methods = {matrix = matrix},
  form = function(self, x, z)
    local f <const>, u <const>, t <const> = gathered(self, x)
    local g, v, s = f, u, t
    if not rawequal(x, z) then g, v, s = gathered(self, z) end
    return f:matmul(g:t()) + u:unsqueeze(2) * v:unsqueeze(1) * (1 - core.sqdist(t, s)):relu()
  end,
  diag = function(self, x)
    local f <const>, u <const> = gathered(self, x)
    return (f * f):sum(2) + u * u
  end,
}}
