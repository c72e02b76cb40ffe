--- Which model fits data within a time and a budget: costs are those of plans, one step's times the usual number of steps;
-- nothing is computed. Preferred are, in this order, a model that approximates nothing, one that approximates by a solver, and
-- inducing points, as many as time and memory allow.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local model <const> = require "gibbous.gp.model"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

-- Evaluations of a fit by L-BFGS, iterations of a solve in it, and steps of a variational model that come to something.
local EVALUATIONS <const>, ITERATIONS <const>, STEPS <const> = 60, 50, 300
-- What a solve needs beside its iterations, in products (gp/exact/solver_choice.lua).
local GRADIENT_PRODUCTS <const> = 4
-- The part of the time that steps may take: the rest is for choosing points, the last pass and the bounds.
local PART <const> = 0.6
-- Passes over the rows after the steps of a sparse model: one for q, two for the bounds.
local PASSES <const> = 3
local SIZES <const> = {4096, 2048, 1024, 512, 256, 128, 64, 32, 16}

--- {seconds, bytes} of what plan() gives; {refused, minimum} where the budget does not hold it.
local function cost_of(plan)
  local ok <const>, p <const> = pcall(plan)
  if ok then
    local out <const> = {seconds = p.seconds, bytes = p.peak}
    p:close()
    return out
  end
  if not raised.is(p, "refused", "oom") then error(p, 0) end
  return {refused = true, minimum = rawget(p, "minimum")}
end

--- make(kind, m): a model that may itself not fit.
local function planned(make, kind, m, x, y, budget, times)
  local c <const> = cost_of(function() return make(kind, m):plan(x, y, {budget = budget}) end)
  c.step, c.seconds = c.seconds, c.seconds and times * c.seconds
  return c
end

--- Seconds of one pass over the rows of a sparse model: a product and half of one, with what they are made of.
local function pass_of(f, n, m, d)
  local z <const>, block <const> = core.empty(m, d, {dtype = "f64"}), core.empty(math.min(n, 4096), d, {dtype = "f64"})
  local U <const> = core.linalg.triangular_solve(core.empty(m, m), f(z, block))
  local c <const> = cost_of(function() return core.plan(U:matmul(U:t())) end)
  return c.seconds and c.seconds * n / #block
end

--- Is a cost known, and within the time? What is not known may take any time.
local function fits(c, seconds) return not c.refused and c.seconds ~= nil and c.seconds <= seconds end

--- The largest number of places that make(m) fits with: m and its cost, or nil and the cost of the smallest.
local function largest(make, n, seconds)
  local c
  for _, m in ipairs(SIZES) do
    if 2 * m <= n or m == SIZES[#SIZES] then
      c = make(math.min(m, n))
      if fits(c, seconds) then return math.min(m, n), c end
    end
  end
  return nil, c
end

--- By a solver: the planned product of a step, times what a solve takes.
local function iterative_cost(self, budget)
  local ok <const>, _ = pcall(model.posterior(self).decide, self, budget, true)
  local choice <const> = ok and model.fields(self).choice
  local c <const> = choice and choice.iterative
  if not c or c.refused or not c.seconds then return {refused = true, minimum = c and c.minimum} end
  if c.bytes and c.bytes > budget then return {refused = true, minimum = c.bytes} end
  local steps <const> = c.steps or 10
  local one <const> = c.at_least and not c.steps and c.seconds / steps or c.seconds / (steps + GRADIENT_PRODUCTS)
  return {seconds = EVALUATIONS * one * (ITERATIONS + GRADIENT_PRODUCTS), bytes = c.bytes}
end

local function time_text(s)
  if s == nil then return "of unknown time" end
  if s >= 86400 then return ("about %.2g days"):format(s / 86400) end
  if s >= 3600 then return ("about %.2g hours"):format(s / 3600) end
  if s >= 60 then return ("about %.2g minutes"):format(s / 60) end
  return ("about %.2g s"):format(s)
end

local function bytes_text(b) return b >= 2 ^ 30 and ("%.3g GiB"):format(b / 2 ^ 30) or ("%.3g MiB"):format(b / 2 ^ 20) end

--- A cost in words.
function M.text(c)
  if c.refused then return c.minimum and "needs " .. bytes_text(c.minimum) or "does not fit" end
  return ("%s, %s"):format(time_text(c.seconds), bytes_text(c.bytes or 0))
end

--- {kind, inducing, reason, costs, step}: 'kind' is "exact", "iterative", "laplace", "sgpr" or "svgp"; costs by kind; step: seconds
-- that a step of it is predicted to take; pass: a pass over the rows. make(kind, m) gives a model without data; first: the most
-- exact kind for the likelihood, "exact", "laplace" or "svgp".
function M.decide(make, x, y, seconds, budget, first)
  core.know_rates()
  local n <const>, d <const>, costs <const> = #x, x.shape[2], {}
  local gaussian <const> = first == "exact"
  if first ~= "svgp" then costs[first] = planned(make, first, nil, x, y, budget, EVALUATIONS) end
  if costs[first] and fits(costs[first], PART * seconds) then
    return {kind = first, reason = gaussian and "it approximates nothing, and it fits" or "the most exact, and it fits",
      costs = costs, step = costs[first].step}
  end
  if gaussian then
    local trial <const> = make "iterative"
    model.set_data(trial, x, y)
    costs.iterative = iterative_cost(trial, budget)
    if not costs.iterative.refused and costs.iterative.seconds and costs.iterative.seconds <= PART * seconds then
      return {kind = "iterative", reason = "a solver is quick enough", costs = costs}
    end
  end
  local by_bound, collapsed
  if gaussian then
    by_bound, collapsed = largest(function(m) return planned(make, "sgpr", m, x, y, budget, EVALUATIONS) end, n, PART * seconds)
    costs.sgpr = collapsed
  end
  local kernel <const> = make("svgp", 1).kernel
  local by_batches <const>, batches <const> = largest(function(m)
    local c <const> = planned(make, "svgp", m, x, y, budget, STEPS)
    local pass <const> = pass_of(kernel, n, m, d)
    c.pass = pass
    if c.seconds and pass and gaussian then c.seconds = c.seconds + PASSES * pass end
    return c
  end, n, seconds)
  costs.svgp = batches
  if by_bound and by_bound >= (by_batches or 0) then
    return {kind = "sgpr", inducing = by_bound, costs = costs, step = collapsed.step,
      reason = ("%s are as many as time and memory allow"):format(counted(by_bound, "inducing point"))}
  end
  if not by_batches and batches.refused then
    core.raise("refused", ("fit: the smallest model, of %s, needs %s"):format(counted(SIZES[#SIZES], "inducing point"),
      M.text(batches):gsub("^needs ", "")), {minimum = batches.minimum, have = budget, need = batches.minimum})
  end
  local m <const> = by_batches or math.min(SIZES[#SIZES], n)
  local places <const> = counted(m, "inducing point")
  local unknown <const> = not batches.refused and batches.seconds == nil
  return {kind = "svgp", inducing = m, costs = costs, step = batches.step, pass = batches.pass,
    reason = unknown and ("no time is known of a step here, so these are the fewest, %s"):format(places)
      or ("%s, in batches, are as many as time and memory allow"):format(places)}
end

return M
