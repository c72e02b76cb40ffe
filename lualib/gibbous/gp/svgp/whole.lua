--- What variational models make of all rows at once, streamed: the ELBO, and the q that is the best there is.
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local elbo <const> = require "gibbous.gp.svgp.elbo"
local model <const> = require "gibbous.gp.model"
local natural <const> = require "gibbous.gp.svgp.natural"
local raised <const> = require "gibbous.base.raised"
local variational <const> = require "gibbous.gp.svgp.variational"
local within <const> = require "gibbous.gp.within"

local M <const> = {}
local fields <const> = model.fields

local WIDE <const> = {dtype = "f64"}

--- Known variances of the observations, nil: the likelihood has others.
function M.known_noise(f) return f.likelihood.kind == "fixed" and f.likelihood:variance(f.x) or nil end

--- x, y and known noise of all rows, of f64, lazy: a batch.
function M.rows(self)
  local f <const> = fields(self)
  local x <const>, y <const>, noise <const> = bound.batch(f.x, f.y, M.known_noise(f))
  return x:to(WIDE), y:to(WIDE), noise and noise:to(WIDE)
end

--- -ELBO of all rows at the present q.
function M.negative(self)
  local x <const>, y <const>, noise <const> = M.rows(self)
  return elbo.negative(self, x, y, 1, noise)
end

-- Bytes of a pass over all rows without a budget: with more it would be no faster. Of m places, 16 matrices (m, m) at least.
local PASS_BYTES <const> = 1 << 28

--- The bytes that a pass over all rows may take.
function M.pass_bytes(self)
  local f <const> = fields(self)
  return f.budget or math.min(core.memory.room(), math.max(PASS_BYTES, 16 * 8 * f.q.count ^ 2 // 1 | 0))
end

-- The best q with Gaussian noise ----------------------------------------------------------------------------------------------

--- Sets q to the best there is with Gaussian noise, from the sums over rows p (gp/sgpr/bound.lua), of "low_rank" its mean. Gives
-- -ELBO less that of a full q.
function M.put(self, p, sums) return natural.finish(fields(self).q, p.L:detach():eval(), sums) end

--- The same in one pass over all rows. Gives -ELBO, of a full q the collapsed bound.
function M.polish(self)
  local p <const> = bound.data(self, "vfe")
  local sums <const> = bound.computed(p, bound.sums(p), M.pass_bytes(self))
  local more <const> = M.put(self, p, sums)
  return bound.value(sums, p.n, true):item() + more
end

-- The best q with other likelihoods ---------------------------------------------------------------------------------------------

-- Natural steps at most; the least rate of one; the part of the ELBO by which a step that changes it ends the search.
local STEPS <const>, LEAST <const>, CLOSE <const> = 100, 2 ^ -20, 1e-11

--- The tensors of a natural step of this rate on all rows: -ELBO before it, the whitened natural parameters after it, and L where
-- q is not whitened.
function M.natural(self, rate)
  local x <const>, y <const>, noise <const> = M.rows(self)
  local value <const>, new <const> = elbo.step(self, x, y, 1, rate, noise, true)
  return {value:detach(), new[1], new[2], not fields(self).q.whiten and new[3] or nil}
end

--- These, computed; nil and why where they have no values.
local function computed(self, rate)
  local t
  local ok <const>, err <const> = pcall(function()
    t = M.natural(self, rate)
    within(fields(self).budget)(table.unpack(t))
  end)
  if not ok and not raised.is(err, "not_pd", "nan") then error(err, 0) end
  local value <const> = ok and t[1]:item() or math.huge
  if math.abs(value) < math.huge then return {value = value, q = {t[2], t[3], t[4]}} end
  return nil, err or core.error("nan", "the ELBO is not finite")
end

--- The values of a full q as they are.
function M.state(q) return {precision = q.precision.raw, shift = q.shift.raw} end

--- Sets a full q to these.
function M.restore(q, state) q.precision.raw, q.shift.raw = state.precision, state.shift end

local function half_way(a, b)
  local out <const> = {precision = (a.precision + b.precision):detach() / 2, shift = (a.shift + b.shift):detach() / 2}
  core.eval(out.precision, out.shift)
  return out
end

--- Sets a full q to the best there is for the present parameters, by natural steps on all rows from the q there is. A step of rate
-- r goes the r-th part of the way in natural parameters, so where the ELBO falls q goes half of the way back and the next step has
-- half the rate; after one that raises it the rate is doubled, up to 1. Cost: a pass, O(n m^2), a step. Errors: nan, not_pd, where
-- the q there is has no ELBO.
function M.search(self)
  local q <const> = fields(self).q
  local rate, best, was = 1, math.huge, nil                          -- best: -ELBO of 'was', the last q that lowered it
  for _ = 1, STEPS do
    local at <const>, err <const> = computed(self, rate)
    local gain <const>, close <const> = at and best - at.value or -math.huge, CLOSE * math.max(1, at and math.abs(at.value) or 0)
    if math.abs(gain) <= close then return end
    if gain > 0 then
      was, best, rate = M.state(q), at.value, was and math.min(1, 2 * rate) or 1
      variational.put(q, at.q)
    elseif was == nil then
      error(err, 0)
    else
      rate = rate / 2
      if rate < LEAST then return M.restore(q, was) end
      M.restore(q, half_way(was, M.state(q)))
    end
  end
end

return M
