--- What m:condition of every class does with the observations that it is given, beside what follows from them.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"

local M <const> = {}

local SPEC <const> = {noise = "tensor", missing = data.missing}

--- x, y and the checked options of m:condition(x, y, o) or m:condition(frame, o). spec: the options, by default noise and missing.
-- Errors: option.
function M.asked(self, x, y, opts, spec)
  local xs <const>, ys <const>, o <const> = frames.observed(self, x, y, opts, "condition")
  return xs, ys, options.parse(o, spec or SPEC, "condition")
end

--- These as data (k, d), (k), checked, and the noise that the options give for them, or nil. Errors: option, shape, dtype, nan.
function M.checked(self, x, y, o)
  local xs <const>, ys <const>, kept <const> = model.class(self).observations.check(self, x, y, "condition", o.missing or nil)
  data.check_width(model.fields(self), xs, "condition")
  return xs, ys, o.noise and kept and o.noise:index(1, kept) or o.noise or nil
end

local function holds_rows(f) return f.x ~= nil and #f.x > 0 end
M.holds_rows = holds_rows

--- Checks 'given', variances (k) of new observations at x where each has its own, nil else, and adds them to the likelihood of
-- 'parts', a model's fields or what they will be. f: the fields of the model that sees the observations.
function M.noise_of(f, parts, x, given)
  local l <const> = parts.likelihood
  if l.kind ~= "fixed" then
    if given then core.raise("option", "condition: noise is for gb.likelihoods.fixed; this model has its own") end
    return nil
  end
  if not holds_rows(f) and given == nil then return nil end                    -- it was made for these observations
  if given == nil then
    core.raise("option",
      ("condition: the model's noise is known per observation: give noise = a tensor of %s"):format(counted(#x, "variance")))
  end
  if given.ndim ~= 1 or #given ~= #x then
    core.raise("shape", ("condition: %s needed, got shape %s"):format(#x == 1 and "1 variance is" or #x .. " variances are",
      core.told(given)))
  end
  if not (#given == 0 or given:min():item() >= 0 and given:max():item() < math.huge) then
    core.raise("option", "condition: noise variances must be 0 or more and finite")
  end
  local own <const> = columns.like(given, l.noise)
  likelihoods.fields(l).noise = (holds_rows(f) and core.cat({l.noise, own}, 1) or own):eval()
  return l:scaled(columns.like(given, x))
end

--- Gives 'out', a model without data, those of 'self' and x (k, d), y (k) after them; these as 'out' holds them, scaled as it asks
-- for.
function M.append(self, out, x, y)
  local f <const> = model.fields(self)
  local own_x <const>, own_y <const> = scaling.extend(self, out, x, y, "condition")
  if holds_rows(f) then
    model.set_data(out, core.cat({f.x, own_x}, 1), core.cat({f.y, own_y}, 1))
  else
    model.set_data(out, own_x, own_y)
  end
  frames.inherit(self, out)
  return own_x, own_y
end

return M
