--- What a fit's report says of fits that came to little, in words: what a look at y and the noise tells.
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"

-- Of the variance of y: noise that takes so much leaves nothing to explain. In nats: a constant with noise that is nearly as
-- likely as the fit does. In standard deviations of y: a mean so far off costs the fit dearly.
local NOTHING <const>, AS_LIKELY <const>, FAR <const> = 0.95, 1.0, 3

local function is_free(mean)
  for _, p in ipairs((param.collect(mean))) do
    if not p.fixed then return true end
  end
  return false
end

--- How much of y is noise, or how likely y is by a constant and noise alone.
local function explained(f, y, var, info, shift)
  local noise <const> = f.likelihood.noise
  if f.likelihood.kind ~= "gaussian" or not param.is(noise) then return nil end
  local share <const> = noise.value:item() / var
  if share >= NOTHING then return ("the fit explains nothing: noise takes %.0f %% of var(y)"):format(100 * share) end
  if info.objective == "loo" then return nil end
  local n <const> = #y
  local alone <const> = -n / 2 * (math.log(2 * math.pi * var * (n - 1) / n) + 1) - shift
  if info.log_likelihood > alone + AS_LIKELY then return nil end
  return ("the fit explains nothing: a constant with noise alone has the log marginal likelihood %.4f"):format(alone)
end

--- How far the mean function, where nothing of it is free, is from y.
local function off_centre(f, y)
  if is_free(f.mean) then return nil end
  local r <const> = y - f.mean(f.x):detach():to{dtype = "f64"}
  local mean <const>, sd <const> = r:mean():item(), r:std():item()
  if not (math.abs(mean) > FAR * sd) then return nil end
  if f.mean.kind ~= "zero" then return ("y is %.4g standard deviations from its mean function on average"):format(mean / sd) end
  return ("mean(y) is %.4g standard deviations from the zero mean; gb.means.constant() would follow it"):format(mean / sd)
end

--- Sentences about the fit of a model; info: the report so far; shift: nats that scaling took (gp/scaling.lua, log_scale), nil: 0.
return function(self, info, shift)
  local f <const> = model.fields(self)
  local y <const> = f.y:to{dtype = "f64"}
  if #y < 2 then return {} end
  if not likelihoods.varies(y) then return {"y does not vary"} end
  local out <const> = {}
  out[1] = explained(f, y, y:var():item(), info, shift or 0)
  out[#out + 1] = off_centre(f, y)
  return out
end
