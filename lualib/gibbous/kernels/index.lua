--- Coregionalisation: the covariance of tasks (several outputs), B = W W' + diag(v), at task numbers in a column.
-- Source: Bonilla, Chai & Williams (2008), Multi-task Gaussian process prediction, section 2.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"
local param <const> = require "gibbous.param"
local tasks <const> = require "gibbous.kernels.tasks"

--- Of the only column of x (n, 1): rows of W (n, r), nil for rank 0, sqrt(v) (n), and the column itself.
local function gathered(self, x)
  local at <const> = tasks.positions(x, self.tasks, "index")
  local w <const>, v <const> = self.hyper.weights, columns.adopt(self.hyper.diagonal, x)
  return w and columns.adopt(w, x):index(1, at), v:sqrt():index(1, at), x:detach()
end

--- Starts with variances 1 and correlations 1/2 between all tasks; further columns of W are small and break the symmetry.
local function start(tasks, rank, seed)
  local first <const> = core.full({tasks, 1}, math.sqrt(0.5), {dtype = "f64"})
  if rank == 1 then return first end
  return core.cat({first, 0.1 * core.randn(tasks, rank - 1, {seed = seed, dtype = "f64"})}, 2)
end

local function setup(self, o)
  local function shaped(p, name, ...)
    local want <const> = {...}
    local fits = p.ndim == #want
    for i, extent in ipairs(want) do fits = fits and p.shape[i] == extent end
    if not fits then
      core.raise("shape", ("gb.kernels.index: '%s' must be %s, got %s"):format(name, table.concat(want, "x"),
        tostring(p.shape)))
    end
    return p
  end
  if self.active_dims == nil then kernel.fields(self).active_dims = {-1} end
  if #self.active_dims ~= 1 then
    core.raise("option", ("gb.kernels.index: task numbers are one column, got %d"):format(#self.active_dims))
  end
  if self.tasks < 1 then core.raise("option", "gb.kernels.index: tasks, the number of tasks, is needed") end
  local diagonal <const> = o.diagonal or core.full({self.tasks}, self.rank > 0 and 0.5 or 1, {dtype = "f64"})
  if self.rank > 0 then
    local weights <const> = param.hyper(o.weights or start(self.tasks, self.rank, o.seed or 0), "weights",
      {name = "weights"}, 2)
    self.hyper.weights = param.set_open(shaped(weights, "weights", self.tasks, self.rank), not o.weights)
  end
  local own <const> = shaped(param.hyper(diagonal, "diagonal"), "diagonal", self.tasks)
  self.hyper.diagonal = param.set_open(own, not o.diagonal)
end

--- B, (T, T), lazy.
local function matrix(self)
  local own <const>, w <const> = core.linalg.diag(self.hyper.diagonal.value), self.hyper.weights and self.hyper.weights.value
  return w and w:matmul(w:t()) + own or own
end

--- B[t_i, t_j]. Of different whole numbers the squared difference is 1 or more, so relu(1 - s) says where they are equal.
return {index = {
  claims = true, variance = false, rough = "tasks are numbers, not places; a model of each task has derivatives",
  choices = {{"tasks", 0, "count"}, {"rank", 1, "count"}},
  options = {weights = "any", diagonal = "any", seed = "integer"},
  setup = setup,
  methods = {matrix = matrix},
  form = function(self, x, z)
    local f <const>, u <const>, t <const> = gathered(self, x)
    local g, v, s = f, u, t
    if not rawequal(x, z) then g, v, s = gathered(self, z) end
    local own <const> = u:unsqueeze(2) * v:unsqueeze(1) * (1 - core.sqdist(t, s)):relu()
    return f and f:matmul(g:t()) + own or own
  end,
  diag = function(self, x)
    local f <const>, u <const> = gathered(self, x)
    return f and (f * f):sum(2) + u * u or u * u
  end,
}}
