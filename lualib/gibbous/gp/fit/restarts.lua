--- The starts of a fit: the one given, those of option 'starts', one with little noise, and random ones.
local core <const> = require "gibbous.core"
local descent <const> = require "gibbous.gp.fit.descent"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"
local shallow_copy <const> = require "gibbous.base.shallow_copy"
local starts <const> = require "gibbous.gp.fit.starts"

local M <const> = {}
local fields <const> = model.fields

-- How far the first extra start lowers the noise, in its unconstrained value: a factor of 400.
local QUIET <const> = 6

--- Where the likelihood's noise stands in the list, whatever its name; nil where it is not free.
local function place_of_noise(self, list)
  local noise <const> = fields(self).likelihood.noise
  for i, p in ipairs(list) do
    if rawequal(p, noise) and not p.fixed and p.min ~= nil then return i end
  end
end

-- Noise that came down by more than this, and by less than QUIET, in its unconstrained value, has not been looked at from below;
-- nor has noise that takes more than this part of the variance of y.
local DOWN <const>, MOST <const> = 1, 0.5

--- Extra starts, where the caller did not say, and whether they leave the start given for the scale of the data: one with little
-- noise, after a start by a factor that has converged where an optimum of less noise may lie below, which its descent has not
-- seen; from the data's scale where noise has taken most of y, as the start given may be far from it.
local function extra_starts(self, o, run, info, list, start, noise)
  local ended <const> = run.solver == "direct" and (o.method or "lbfgs") == "lbfgs" and info and info.converged
  if not (ended and noise) then return 0 end
  if list[noise].value:max():item() > MOST * fields(self).y:var():item() then return 1, true end
  local down <const> = (start[noise] - list[noise].raw):max():item()
  return down > DOWN and down < QUIET and 1 or 0
end

--- A start with little noise, since the likelihood has an optimum that calls variation noise and often a better one that does
-- not, in whose reach this begins (Rasmussen & Williams (2006), section 5.4.1): from the start given, or from the data's scale.
local function quiet_start(list, start, noise, scales)
  descent.set_raw(list, start)
  for _, p in ipairs(scales and list or {}) do starts.put(p, scales) end
  list[noise].raw = list[noise].raw - QUIET
end

--- A random start: every free parameter a standard normal step, in its unconstrained value, from the data's scale or, where it
-- has none there, from the start given.
local function scatter(list, start, scales, seed, attempt)
  descent.set_raw(list, start)
  local stream = 0
  for _, p in ipairs(list) do
    if not p.fixed and not param.is_still(p) then
      stream = stream + 1
      starts.put(p, scales)
      local raw <const> = p.raw
      local step <const> = core.randn(raw.numel, {dtype = "f64", seed = seed * 7919 + attempt * 104729 + stream})
      p.raw = raw + step:reshape(raw.shape)
    end
  end
end

--- A start of the script: the one given, but for the unconstrained values by parameter.
local function listed_start(list, start, values)
  descent.set_raw(list, start)
  for _, p in ipairs(list) do p.raw = values[p] or p.raw end
end

--- Puts the parameters where an attempt begins. listed: the starts of the script, which follow the first.
local function begin(o, at, list, noise, scales, listed)
  local further <const> = at.attempt - 1 - #listed
  if at.attempt == 1 then
    descent.set_raw(list, at.first)
  elseif further < 1 then
    listed_start(list, at.first, listed[at.attempt - 1])
  elseif further == 1 and noise then
    quiet_start(list, at.first, noise, at.from_scale and scales())
  else
    scatter(list, at.first, scales(), o.seed or 0, further)
  end
end

--- Has the descent of a place got anywhere? One that has not begins again.
local function has_begun(place) return place ~= nil and (place.state ~= nil or place.first ~= nil) end

--- Where a fit is before its first attempt: {attempt, total, first, from_scale, best, best_raw, failure, place}. place: of the
-- attempt (fit/descent.lua), nil before it begins. listed: starts of the script.
local function beginning(o, list, listed)
  return {attempt = 1, first = descent.raw_values(list),
    total = {evaluations = 0, setbacks = 0, failed_starts = 0, restarts = o.restarts and o.restarts + listed or nil}}
end

--- All starts: that of the parameters as they are, those that are listed (fit/given_starts.lua), and others; the parameters end at
-- the best point. Gives its record, the totals of all, and where it ended: 'from' of a call that goes on there.
function M.run(self, o, run, list, scales, listed, from)
  local at = from or beginning(o, list, #listed)
  local noise <const> = place_of_noise(self, list)
  while true do
    local now <const> = shallow_copy(at)
    local total <const> = shallow_copy(at.total)
    now.total = total
    local begun <const> = has_begun(at.place)
    if not begun then begin(o, at, list, noise, scales, listed) end
    at.place = begun and shallow_copy(at.place) or {}
    local info <const>, err <const>, reached <const> = descent.attempt(self, o, run,
      (total.restarts or 0) > 0 and ("fit %d/%d"):format(at.attempt, total.restarts + 1) or "fit", at.place)
    if total.restarts == nil then
      total.restarts, now.from_scale = extra_starts(self, o, run, info, list, at.first, noise)
      total.restarts = total.restarts + #listed
    end
    if info then
      total.evaluations, total.setbacks = total.evaluations + info.evaluations, total.setbacks + info.setbacks
      if now.best == nil or info.value < now.best.value then now.best, now.best_raw = info, descent.raw_values(list) end
      if info.interrupted then
        now.best = descent.copied(now.best)
        now.best.interrupted, now.best.reason = true, info.reason
      end
    else
      if not descent.is_failed_start(err) then
        if not (reached < (now.best and now.best.value or math.huge)) then descent.set_raw(list, now.best_raw or at.first) end
        error(err, 0)
      end
      total.failed_starts, now.failure = total.failed_starts + 1, now.failure or err
    end
    if info and info.interrupted or at.attempt > total.restarts then
      descent.set_raw(list, now.best_raw or at.first)
      if now.best == nil then error(now.failure) end
      return now.best, total, at
    end
    now.attempt, now.place = at.attempt + 1, nil
    at = now
  end
end

return M
