--- The posterior (gp/posterior.lua) of a complete grid of n points by T tasks, whose covariance is a Kronecker product: two small
-- eigendecompositions instead of a factor of order n T (gp/tasks/kronecker.lua). 'self' is the inner model in the long form, with
-- fields.grid = {x (n, d), y (n, T), tasks}. Values are in f64, point by point: (m T) and (m T, m T).
--
-- The covariance of f_t(x) with the data is k(x, .) (x) B[t, .]; with P = k U and Q = B h V the data explain
-- sum_is P_i^2 M_is Q_ts^2 of its variance.
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local kronecker <const> = require "gibbous.gp.tasks.kronecker"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"
local parts <const> = require "gibbous.gp.tasks.parts"
local stored <const> = require "gibbous.gp.stored"

local M <const> = {dtype = "f64", components = true}

local function grid_of(self) return model.fields(self).grid end

--- {state, cross()}: the covariance of points with those of the data, (m, n).
function M.prepare(self, query)
  local state <const>, reused <const> = kronecker.state(self)
  local x <const>, grid <const> = query.points, grid_of(self)
  local m <const>, T <const> = #x, grid.tasks
  local k <const> = query.part and parts.split(component.kernel(query, model.fields(self).kernel)) or state.k
  local function prior()
    return (parts.diag(k, x):unsqueeze(2) * state.B:diagonal():unsqueeze(1)):reshape(m * T)
  end
  local function prior_cov()
    local K <const> = parts.between(k, x, x)
    return (K:reshape(m, 1, m, 1) * state.B:reshape(1, T, 1, T)):reshape(m * T, m * T)
  end
  return {state = state, cross = function() return parts.between(k, x, state.x) end, reused = reused, algorithm = "kronecker",
    count = #state.x * T, prior = prior, prior_cov = prior_cov}
end

function M.mean(self, ready, query)
  local of_data <const> = ready.cross():matmul(ready.state.weights):reshape(query.count)
  return component.mean(query, model.fields(self).mean, query.inputs) + of_data
end

--- The covariances of m T values with the data, (n, m T, T), and C^-1 times them.
local function covariances(state, cross)
  local n <const>, m <const>, T <const> = cross.shape[2], cross.shape[1], state.B.shape[1]
  local G <const> = (cross:t():reshape(n, m, 1, 1) * state.of.B:reshape(1, 1, T, T)):reshape(n, m * T, T)
  return G, kronecker.solve_by(state, G)
end

function M.explained(_, ready, query)
  local state <const> = ready.state
  local cross <const> = ready.cross()
  local P <const>, G <const>, X <const> = cross:matmul(state.U), covariances(state, cross)
  return kronecker.by_form((P * P):matmul(state.M):matmul((state.Q * state.Q):t()):reshape(query.count), (G * X):sum(3):sum(1))
end

function M.joint(self, ready, query)
  local state <const> = ready.state
  local m <const>, n <const>, T <const> = #query.points, #state.x, grid_of(self).tasks
  local cross <const> = ready.cross()
  local P <const> = cross:matmul(state.U)
  local root <const> = P:reshape(m, 1, n, 1) * state.Q:reshape(1, T, 1, T) * state.M:sqrt():reshape(1, 1, n, T)
  local w <const> = root:reshape(m * T, n * T)
  local G <const>, X <const> = covariances(state, cross)
  local function flat(v) return v:permute(2, 1, 3):reshape(m * T, n * T) end
  return kronecker.by_form(w:matmul(w:t()), flat(G):matmul(flat(X):t()))
end

function M.objective(self, algorithm, kind)
  if kind == "loo" then return objective.nlloo(self, algorithm) end
  return kronecker.nlml(self)
end

-- Optional ----------------------------------------------------------------------------------------------------------------

function M.decide() return "kronecker" end

function M.guarded(self, what, f) return objective.guarded(self, what, f) end

--- By the sizes of points and tasks.
function M.cost(self, query, key)
  local grid <const> = grid_of(self)
  local m <const>, n <const>, T <const> = #query.points, #grid.x, grid.tasks
  local count <const> = m * T
  local prepare <close> = core.plan{core.linalg.eigh(core.empty(n, n)), core.linalg.eigh(core.empty(T, T))}
  local product <close> = core.plan(core.empty(key == "f_cov" and count or m, n):matmul(core.empty(n, n)))
  local value <const> = 8 * (key == "f_cov" and count * count or count)
  local kept <const>, own <const> = 8 * (n * n + n * T), product.peak + value + 8 * n * count
  local seconds <const> = prepare.seconds and product.seconds and prepare.seconds + product.seconds
  return {what = ("%s of %s: %seigendecompositions of order %d and %d"):format(key, counted(m, "point"),
    seconds and ("about %.2g s, "):format(seconds) or "", n, T), bytes = math.max(prepare.peak, kept + own), minimum = kept + own,
    kept = kept + value, seconds = seconds}
end

function M.solve(self, b)
  local x <const> = kronecker.solve(self, b)
  return core.hold(x, x)
end

--- (n, T), in the dtype of the data.
function M.leave_one_out(self)
  local diagonal <const>, weights <const> = kronecker.leave_one_out(self)
  local own <const> = {dtype = grid_of(self).y.dtype}
  return diagonal:to(own), weights:to(own), true
end

function M.write_state(w, self, caches, described)
  local grid <const>, state <const> = grid_of(self), model.fields(self).state
  if not (caches and state) then return end
  described.grid = {}
  for name in pairs(kronecker.kept_shapes(#grid.x, grid.tasks)) do described.grid[name] = w:value(state[name], "grid." .. name) end
end

function M.read_state(r, self, described)
  local saved <const>, grid <const>, values <const> = described.grid, grid_of(self), {}
  if described.state ~= nil or described.wide ~= nil then r:fail "its caches do not go with the data" end
  if saved == nil then return end
  for name, shape in pairs(kronecker.kept_shapes(#grid.x, grid.tasks)) do
    values[name] = stored.tensor(r, saved, name, "f64", table.unpack(shape)) or r:fail "its caches are not complete"
  end
  kronecker.restore(self, values)
end

return require "gibbous.gp.posterior".check(M)
