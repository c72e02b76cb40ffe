--- The value gibbous.gp.batch: models of one make, by number.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.batch.data"
local fit <const> = require "gibbous.gp.batch.fit"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local predict <const> = require "gibbous.gp.batch.predict"
local save <const> = require "gibbous.gp.batch.save"

local M <const> = {}

---@class gibbous.gp.batch
---@field info gibbous.batch_info|nil   of the last fit
---@field [integer] gibbous.gp.exact    a copy of a fitted model
local Batch <const> = {__name = "gibbous.gp.batch"}
local methods <const> = object.methods(Batch, "a batch", "b")

-- Fields: template, the model that all are copies of; models, by number, false where the fit failed; info.
local function fields(self) return rawget(self, "_fields") end

function M.new(template, models, info)
  return setmetatable({_fields = {template = template, models = models or {}, info = info}}, Batch)
end

--- The fitted models. Raises where there are none yet.
local function fitted(self, what)
  local f <const> = fields(self)
  if #f.models == 0 then core.raise("option", what .. ": the batch holds no models yet; call b:fit(x, y)") end
  return f.models
end

local function reason_of(f, i)
  for _, one in ipairs(f.info.failed) do
    if one.model == i then return one.reason end
  end
  return "the fit was interrupted before it"
end

--- An independent copy of model i.
local function one(self, i)
  local f <const> = fields(self)
  local models <const> = fitted(self, ("b[%d]"):format(i))
  if models[i] then return model.copy(models[i]) end
  if models[i] == nil then core.raise("index", ("b[%d]: the batch has %s"):format(i, counted(#models, "model"))) end
  core.raise("option", ("b[%d]: this model has no result: %s"):format(i, reason_of(f, i)))
end

function Batch.__index(self, key)
  if math.type(key) == "integer" then return one(self, key) end
  if methods[key] then return methods[key] end
  if key == "info" then return fields(self).info end
  object.no_field("a batch", key, methods, {info = true})
end

function Batch.__newindex(_, key)
  core.raise("option", ("field '%s' of a batch cannot be assigned; b[i] gives a model of its own, whose parameters m:set sets")
    :format(tostring(key)))
end

function Batch.__len(self) return #fields(self).models end

function Batch.__tostring(self)
  local f <const> = fields(self)
  local t <const> = model.fields(f.template)
  local text <const> = ("gp.batch  %s\n  kernel %s\n  likelihood %s"):format(
    #f.models == 0 and "not fitted" or counted(#f.models, "model"), tostring(t.kernel), tostring(t.likelihood))
  return f.info and ("%s\n  %s"):format(text, tostring(f.info)) or text
end

--- Fits a model to the data of each entry; what the batch held before is replaced. x: (B, n, d), (n, d) for all, or a list of
-- tensors or frames; y: (B, n), a list of (n), or the name of a column.
-- o: method, steps, lr, tol, ftol, restarts, starts, seed, objective, missing, budget, inputs: as of gb.gp.exact's fit, for every
-- model. A model whose numbers fail is named in the report, and the others are what they would be without it.
-- Cost: O(n^3) a step and model; memory beside the data: one model's step. Errors: option, shape, dtype; refused, oom.
---@return gibbous.batch_info
function methods.fit(self, x, y, o)
  local f <const> = fields(self)
  f.models, f.info = fit.run(f.template, x, y, o)
  return f.info
end

--- Means and variances of every model at new points: (B, m, d), (m, d) for all, or a list. Cost: O(n^3 + n^2 m) a model.
-- Errors: option, shape, dtype.
---@return gibbous.batch_prediction
function methods.predict(self, x, ...)
  if select("#", ...) > 0 then
    core.raise("option", "predict: a batch takes points alone; b[i]:predict(x, o) gives what a model has options for")
  end
  return predict.of(fitted(self, "predict"), x)
end

--- How well every model predicts y (B, m), or a list, at points as of predict. Errors: option, shape, dtype.
---@return gibbous.batch_score
function methods.score(self, x, y) return predict.score(fitted(self, "score"), x, y) end

--- k functions drawn from the posterior of each model: a function of points, as of predict but no list, that gives (B, k, m).
-- o: features (1024), seed. Errors: option where a model has no result.
function methods.draw(self, k, o)
  o = options.parse(o, {features = "count", seed = "integer"}, "draw")
  local draws <const> = {}
  for i = 1, #fitted(self, "draw") do
    draws[i] = one(self, i):draw(k, {features = o.features or nil, seed = o.seed and o.seed + i - 1 or nil})
  end
  return function(x)
    local at <const> = data.points(x, #draws, "draw")
    local out <const> = {}
    for i, draw in ipairs(draws) do out[i] = draw(at(i)) end
    return core.stack(out, 1)
  end
end

--- A parameter of all models by its path, (B, ...): b:get "kernel.lengthscale"; NaN of a model without a result. Errors: option.
---@return gibbous.tensor
function methods.get(self, path)
  local models <const>, list <const>, like = fitted(self, "get"), {}, nil
  for i, m in ipairs(models) do
    list[i] = m and m:get(path).value:detach() or false
    like = like or list[i] or nil
  end
  if not like then core.raise("option", "get: no model of the batch has a result") end
  for i = 1, #list do list[i] = list[i] or core.full(like.shape, 0 / 0, {dtype = like.dtype}) end
  return core.stack(list, 1):eval()
end

--- An independent batch of the same models and their last report.
---@return gibbous.gp.batch
function methods.copy(self)
  local f <const>, models <const> = fields(self), {}
  for i, m in ipairs(f.models) do models[i] = m and model.copy(m) end
  return M.new(model.copy(f.template), models, f.info)
end

--- Writes the batch to one file, whole or not at all; gb.load gives it back, and its models predict with the same bits. Histories
-- of fits are not kept. Cost: the bytes of the data. Errors: io; option.
function methods.save(self, path, o) save.write(fields(self), path, o) end

save.reads(M.new)

return M
