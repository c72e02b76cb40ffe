--- What a sparse model keeps for predictions, until a parameter or the data change (gp/posterior_cache.lua): the state of
-- gp/whitened.lua with S = B^-1 and a = B^-1 b, and
--   R          the factor of B (gp/sgpr/bound.lua)
--   gram, proj the sums, which further rows add to
--   carried    whether these followed from the sums of fewer rows, and made from the start would round otherwise
-- The sums are held (core.hold): plain values with the history of what they are the values of, so that predictions have gradients
-- by parameters, places, noise, inputs and y.
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local model <const> = require "gibbous.gp.model"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local raised <const> = require "gibbous.base.raised"
local update_record <const> = require "gibbous.gp.update_record"
local within <const> = require "gibbous.gp.within"

local M <const> = {}

--- The state with these sums; lazy: sums of all rows that they are the values of.
local function state_of(at, sums, lazy)
  local gram <const>, proj <const> = core.hold(lazy.gram, sums.gram), core.hold(lazy.proj, sums.proj)
  local R <const>, a <const> = bound.solution{gram = gram, proj = proj}
  local weights <const> = core.linalg.triangular_solve(at.L, a, {transposed = true})
  core.eval(at.L, R, weights)
  local function half(U) return core.linalg.triangular_solve(R, U) end
  local function deviates(normals) return core.linalg.triangular_solve(R, normals(#at.z), {transposed = true}) end
  return {z = at.z, L = at.L, R = R, a = a, weights = weights, half = half, deviates = deviates, gram = gram, proj = proj}
end

--- The state of a model with data, and whether it was there already. Cost: O(n m^2).
function M.of(self)
  return posterior_cache.of(self, function()
    local p <const> = bound.data(self)
    local lazy <const> = bound.sums(p)
    local start <const>, f <const> = core.clock(), model.fields(self)
    return M.guarded(self, "predict", function()
      within(f.budget)(p.L, lazy.gram, lazy.proj)
      local out <const> = state_of(p, {gram = lazy.gram:detach():eval(), proj = lazy.proj:detach():eval()}, lazy)
      update_record.note(f, {kind = "sums", rows = p.n, onto = 0, seconds = core.clock() - start,
        reason = update_record.missing(f)})
      return out
    end)
  end)
end

--- Gives a model with data the state with these sums.
function M.put(self, sums, carried)
  posterior_cache.of(self, function()
    local p <const> = bound.data(self)
    local out <const> = state_of(p, sums, bound.sums(p))
    out.carried = carried
    return out
  end)
end

--- Gives a model whose data are those of a model with this state and then x (k, d), y (k) the state that follows: O(k m^2).
function M.carry(before, out, x, y)
  local start <const>, g <const> = core.clock(), model.fields(out)
  local more <const> = bound.sums(bound.rows(out, bound.places(out, before.gram), x, y))
  M.put(out, {gram = (before.gram + more.gram):detach():eval(), proj = (before.proj + more.proj):detach():eval()}, true)
  update_record.note(g, {kind = "sums", rows = #x, onto = #g.x - #x, seconds = core.clock() - start})
end

--- What f() gives. Where a factor of K_zz does not exist, the error says which places are near to each other.
function M.guarded(self, what, f)
  local got <const> = table.pack(pcall(f))
  if got[1] then return table.unpack(got, 2, got.n) end
  local err <const>, of <const> = got[2], model.fields(self)
  local text <const> = raised.is(err, "nan") and kernel_checks.not_finite(of.kernel, of.x, model.row_names(of))
  if text then core.raise("nan", ("%s: %s"):format(what, text)) end
  if not raised.is(err, "not_pd") then error(err, 0) end
  core.raise("not_pd", ("%s: the covariance of the %s could not be factored: %s; fewer points, or shorter lengthscales, keep them "
    .. "apart"):format(what, counted(of.inducing.count, "inducing point"), err.message), {order = err.order})
end

return M
