--- What a model says about new points.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local kernels <const> = require "gibbous.kernels"
local model <const> = require "gibbous.gp.model"
local prediction <const> = require "gibbous.gp.prediction"
local state_of <const> = require "gibbous.gp.state"

local fields <const>, methods <const> = model.fields, model.methods

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
  data.check_width(f, t, "predict", 2)
  local empty <const> = f.x == nil or #f.x == 0
  if f.x == nil then kernels.resolve_ard(f.kernel, t.shape[2]) end
  local state <const> = not empty and state_of(self) or nil
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
