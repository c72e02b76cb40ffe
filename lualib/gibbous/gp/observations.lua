--- How a model's data as scripts give them, and predictions as scripts see them, go with the model that computes.
--
-- A class names a form of observations, a table of functions; 'self' is the model that the script holds:
--   check(self, x, y, what, missing) -> x, y, kept   checks data of a call ('what' begins messages); missing = "mask": values of
--                                    y that are NaN are left out; kept: the rows that remain (i64), nil: all. Errors: option,
--                                    shape, dtype, nan
--   fill(self, x, y, what, kept, given)   gives the model checked data; kept: rows of the 'given' ones that remain, nil: all
--   count(y)                         observations in y; nothing: what is said where there are none
--   inputs(self, t, gradients) -> (m', d')   points t (m, d) as the model that computes takes them; gradients: option of predict
--   outputs(self, record, t, gradients)   a prediction at such inputs, as the script sees it
--   derives                          true: gradients = true asks the posterior for derivatives (gp/predict/component.lua); "held":
--                                    the data have them; nil: predictions have none
--   drawn(self, v, m)                functions (k, m') likewise
--   weights(self, v)                 a value for each observation, (n), in the shape of y
--   axes                             of y; fits(self, x, y): where it has two, may it have that width; width: that, in messages
--   target(frame, name, what)        the targets in a column of a frame, where they are not numbers: optional
--   coded(record)                    the prediction as scores take it, where outputs gives another: optional
-- This file has the form of one output: y (n), as it is.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local gradients <const> = require "gibbous.kernels.gradients"
local model <const> = require "gibbous.gp.model"
local named <const> = require "gibbous.frame.named"
local covariance <const> = require "gibbous.gp.covariance"
local prediction <const> = require "gibbous.gp.tasks.prediction"
local scaling <const> = require "gibbous.gp.scaling"

local M <const> = {}

local single <const> = {nothing = "there are no rows", axes = 1, derives = true}
M.single = single

function single.check(_, x, y, what, missing)
  local xs <const>, ys <const>, kept <const> = data.check(x, y, what, missing)
  return xs, ys, kept
end

function single.fill(self, x, y, what, kept, given)
  local f <const> = model.fields(self)
  if kept and given then f.likelihood = f.likelihood:of_rows(kept, given, what) end
  model.set_data(self, x, y)
end

function single.count(y) return #y end

function single.inputs(_, t, derived) return derived and gradients.every(t) or t end

function single.outputs(_, record, t, derived)
  return derived and prediction(record, #t, t.shape[2] + 1, true) or record
end

function single.drawn(_, v) return v end

function single.weights(_, v) return v end

-- Taking data -----------------------------------------------------------------------------------------------------------------

--- Takes the data of a call in; x == nil: those that the model holds stay. Gives the number of missing values that were left out.
-- Where the data do not go with the model's kernel, mean or noise this raises, and the model keeps those it had. left: columns of a
-- frame that they come from and that are no data.
function M.take(self, x, y, what, missing, left)
  local form <const>, f <const> = model.class(self).observations, model.fields(self)
  if x == nil then
    data.check_session(what, f.x.device)
    if form.count(f.y) == 0 then core.raise("shape", ("%s: %s to fit"):format(what, form.nothing)) end
    if f.inner then form.fill(self, f.x, f.y, what) end           -- what was prepared for the data is dropped
    return f.y.numel - form.count(f.y)
  end
  local xs <const>, ys <const>, kept <const> = form.check(self, x, y, what, missing)
  named.carry(x, xs)
  named.carry(y, ys)
  if form.count(ys) == 0 then
    local gone <const> = #core.as_tensor(y) > 0 and ": y is NaN throughout" or ""
    core.raise("shape", ("%s: %s to fit%s"):format(what, form.nothing, gone), {empty = true})
  end
  model.attempt(self, function()
    frames.remember(self, xs, ys, left)
    local own_x <const>, own_y <const> = scaling.take(self, xs, ys, what)
    form.fill(self, own_x, own_y, what, kept, kept and #core.as_tensor(y))
    frames.label(self)
    covariance.check(model.core(self))
  end)
  return ys.numel - form.count(ys) + (kept and #core.as_tensor(y) - #xs or 0)
end

return M
