--- What computes a model's posterior: a table of five functions. gp/fit, gp/predict, gp/report and gp/store do the rest for any
-- table that has them, so a new algorithm for a posterior is such a table and a class that names it (gp/model.lua).
--
-- In all of them 'self' is a model that computes; model.fields(self) has kernel, mean, likelihood, x (n, d) and y (n). All but
-- prepare build lazy values, with gradients by parameters, inputs and y. They are called while the parameters have the values
-- that the prediction was asked for.
--
--   prepare(self, query) -> ready    once a prediction. Computes what predictions share at the present parameters, and keeps it
--   with
--       gp/posterior_cache.lua. Cost: that of the algorithm, n^3 / 3 multiply-adds for a factor. Errors: not_pd; nan; refused,
--       oom
--   mean(self, ready, query) -> (m)             m(t) + E[f(t) | y]
--   explained(self, ready, query) -> (m), size  the part of the prior variance that the data explain, 0 or more; size (m): of the
--       terms it is made of, where rounding is relative to these; nil: to the prior variance
--   joint(self, ready, query) -> (m, m)         the part of the prior covariance that the data explain
--   objective(self, algorithm, kind) -> ()      what a fit minimises, in nats (a sum over the data): for kind "mll" the negative
--   log
--       marginal likelihood, for "loo" the negative leave-one-out predictive density. Raises option for a kind that it does not
--       have. A solver's record goes to model.fields(self).solve_info
--
-- query: {inputs, points, count, options, part, gradients, further}
--   inputs (m, d)   the points as the model that computes takes them, in the dtype that it computes in; points: as the caller
--                   gave them; count: m
--   options         of predict: variance, rank, precision
--   part            which terms of the kernel the prediction is of (gp/predict/component.lua); nil: all, and the mean function
--   gradients       true: of derivatives of f too, where the data are values (gp/predict/component.lua); nil: of values
--   further(v, from, to) -> (c, points) or (b, c, points)   more observations than the model's (gp/exact/fantasies.lua), or nil
-- ready: a table, with what the posterior keeps for itself and these, each optional:
--   algorithm       text for info.algorithm ("direct"); variance ("exact"), rank, reused: of info likewise
--   converged       whether the solve behind the mean converged (true); solve: the solver's record of it
--   count           observations behind the difference prior - explained (n), for the bound of its rounding
--   computes        true: explained and joint compute when they are called, so predictions promise them; report: what their
--                   solves said
--   bound(query) -> (m)          how much too small 'explained' may be beside rounding; without it: 0
--   spread()                     of C latent functions, whose means and variances are (m, C): roots (m, C, C) of their covariances
--   prior(query) -> (m), prior_cov(query) -> (m, m)   the prior, where the posterior has a cheaper form of it than the kernel's
--
-- Optional, each with its default:
--   decide(self, budget, untried, method) -> algorithm   "direct"; for the data and parameters as they are. untried: nothing is
--                                                 computed; method: of the fit, nil: the usual one
--   settle(self, ended)                           what it keeps beside the parameters follows them: called where a descent has
--                                                 accepted a point and, ended, where the fit has ended: nothing is kept
--   worker(self, precision, stamp) -> model       the model itself; another one that computes in other precision. stamp: nil
--                                                 instead of anything that would have to be computed
--   components                                    true: follows query.part; without it such queries are refused
--   gradients                                     true: follows query.gradients; without it such queries are refused
--   dtype                                         of all values, whatever the data's is: by default the data's
--   check_options(o)                              raises for options of predict that it cannot follow: nothing is checked
--   guarded(self, what, f) -> f()                 calls f; may add what helps to an error of it
--   step(self, algorithm, kind) -> tensors        the objective and its gradients by the free parameters: what a plan plans
--   room(self, algorithm) -> bytes                with which predictions after a fit take no longer than they must: what the fit
--                                                 itself takes
--   cost(self, query, key) -> record              what a field of a prediction will take (gp/predict/init.lua): bytes of its
--   value announce(self, query, key)                    says on stderr that a field will take hours: nothing is said
--   solve(self, b) -> (n, r), record              C^-1 b; without it and weights functions cannot be drawn
--   weights(self, prior, white, seed) -> (n, r), record   of k(., x) in functions drawn by Matheron's rule, for draws of the prior
--                                                 at x (n, r) and the variance of white noise, or nil: by solve and the noise
--   correct(self, prior, count, seed) -> places (p, d), weights (p, count)   in its place: functions of the posterior are
--                                                 prior(t) + k(t, places) weights, for draws prior(t) (m, count)
--   objective_name(self) -> name                  of what a fit without an objective minimises, for its report: "mll"
--   approximation(self) -> record                 what was approximated, and by how much: nothing
--   leave_one_out(self) -> diagonal, weights, converged   of C^-1, and C^-1 (y - m(x)); without it leave_one_out raises
--   write_state(w, self, caches, described), read_state(r, self, described)   the state in files (gp/store.lua): none is kept
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local training_step <const> = require "gibbous.gp.training_step"

local M <const> = {}

local REQUIRED <const> = {"prepare", "mean", "explained", "joint", "objective"}

-- Words of predictions in messages.
local NAMES <const> = {mean = "the mean", f_var = "the variances", f_cov = "the covariance",
  f_var_bound = "the bounds of variances"}

local defaults <const> = {
  decide = function() return "direct" end,
  worker = function(self) return self end,
  check_options = function() end,
  guarded = function(_, _, f) return f() end,
  announce = function() end,
  settle = function() end,
  objective_name = function() return "mll" end,
  approximation = function() end,
  room = function() return 0 end,
  write_state = function() end,
  read_state = function() end,
}

function defaults.cost(_, query, key)
  local bytes <const> = 8 * (key == "f_cov" and query.count * query.count or query.count)
  return {what = ("%s of %s"):format(NAMES[key], counted(query.count, "point")), bytes = bytes, minimum = bytes, kept = bytes}
end

-- Those without a default.
local OPTIONAL <const> = {components = true, gradients = true, dtype = true, step = true, solve = true, weights = true,
  correct = true, leave_one_out = true}

--- Checks a posterior and gives it the defaults of what it leaves out. Raises internal for a function that is missing or unknown.
function M.check(of)
  local known <const> = {}
  for _, name in ipairs(REQUIRED) do
    known[name] = true
    if type(of[name]) ~= "function" then core.raise("internal", ("a posterior needs a function '%s'"):format(name)) end
  end
  for name in pairs(of) do
    if not (known[name] or OPTIONAL[name] or defaults[name]) then
      core.raise("internal", ("a posterior has no '%s'"):format(tostring(name)))
    end
  end
  for name, f in pairs(defaults) do of[name] = of[name] or f end
  of.step = of.step or function(self, algorithm, kind)
    return training_step.of(self, of.objective(self, algorithm, kind))
  end
  return of
end

return M
