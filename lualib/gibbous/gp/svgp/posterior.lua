--- The posterior (gp/posterior.lua) of a variational model, from q and the places alone (gp/whitened.lua).
local all_rows <const> = require "gibbous.gp.svgp.all_rows"
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local fit <const> = require "gibbous.gp.svgp.fit"
local model <const> = require "gibbous.gp.model"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local state <const> = require "gibbous.gp.sgpr.state"
local update_record <const> = require "gibbous.gp.update_record"
local variational <const> = require "gibbous.gp.svgp.variational"
local whitened <const> = require "gibbous.gp.whitened"
local whole <const> = require "gibbous.gp.svgp.whole"
local triangular_solve <const> = core.linalg.triangular_solve

--- The state of gp/whitened.lua: L, what q says of whitened values, and the weights L^-T a, held: values with the history of what
-- they are the values of.
local function state_of(self)
  return posterior_cache.of(self, function()
    local f <const>, start <const> = model.fields(self), core.clock()
    return state.guarded(self, "predict", function()
      local at <const> = bound.places(self, f.inducing.points.value)
      local q <const> = variational.at(f.q, at)
      local weights <const> = triangular_solve(at.L, q.latents and q.a:t() or q.a, {transposed = true})
      core.eval{at.L, weights, q.a, q.R}
      update_record.note(f, {kind = "factor", rows = #at.z, onto = 0, seconds = core.clock() - start,
        reason = update_record.missing(f)})
      local function deviates(normals)
        local root <const> = q.half(core.eye(#at.z)):t()
        return root:matmul(normals(root.shape[2]))
      end
      return {z = at.z, L = at.L, a = q.a, weights = weights, half = q.half, deviates = deviates, latents = q.latents}
    end)
  end)
end

local M <const> = whitened.posterior("gb.gp.svgp", state_of)

M.guarded = state.guarded

--- -ELBO of all rows at the present q; while a fit by L-BFGS goes on, at the best q.
function M.objective(self, by, kind)
  if kind == "loo" then core.raise("option", 'fit: gb.gp.svgp maximises the ELBO; the objective "loo" is for gb.gp.exact') end
  return by == all_rows.name and all_rows.objective(self) or whole.negative(self)
end

-- Optional ------------------------------------------------------------------------------------------------------------------------

function M.decide(self, budget, _, method)
  if method == "sgd" then core.raise("option", 'plan: gb.gp.svgp is fitted by method = "adam" or "lbfgs"') end
  model.fields(self).budget = budget
  return method == "lbfgs" and all_rows.name or "svgp"
end

M.settle = all_rows.settle

function M.objective_name() return "elbo" end

--- One step on a batch of the model's size, or an evaluation of all rows.
function M.step(self, by, kind)
  if kind == "loo" then return {M.objective(self, nil, kind)} end
  return by == all_rows.name and all_rows.planned(self) or fit.planned(self)
end

return require "gibbous.gp.posterior".check(M)
