--- Dropout and embeddings.
local block <const> = require "gibbous.nn.block"
local core <const> = require "gibbous.core"
local labels_of <const> = require "gibbous.tensor.labels"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

local M <const> = {}

--- Dropout: in training each element is 0 with probability p, else x / (1 - p); in evaluation x. The mask is computed from the seed
-- where it is needed, never stored. A call takes the next stream of gb.seed; with a seed of its own every call has the same mask.
-- Source: Srivastava et al. (2014), Dropout.
---@param p number  from 0 to 1, 1 excluded
---@param opts {seed: integer, training: boolean}?  training = true
---@return gibbous.block
function M.dropout(p, opts)
  local what <const> = "gb.nn.dropout"
  local o <const> = options.parse(opts, {seed = "integer", training = "boolean"}, what)
  if type(p) ~= "number" or not (p >= 0 and p < 1) then
    core.raise("option", ("%s: p must be a number from 0 to 1, 1 excluded, got %s"):format(what, tostring(options.plain(p))))
  end
  local settings <const> = {seed = o.seed or nil, training = o.training ~= false}
  return block.new(("dropout(%g)"):format(p), {}, function(_, x)
    if not settings.training or settings.calibrating or p == 0 then return x end
    local draws <const> = core.rand(x.shape, {seed = settings.seed, dtype = x.dtype, device = x.device})
    return core.where(draws:ge(p), x / (1 - p), 0)
  end, {mode = settings, made = {kind = "dropout", arguments = {p, settings}}})
end

--- An embedding: net(labels) gives the row of weight (count, d) of each label, (..., d). weight starts standard normal.
---@param count integer
---@param d integer
---@param opts {seed: integer, dtype: "f32"|"f64"}?
---@return gibbous.block
function M.embedding(count, d, opts)
  local what <const> = "gb.nn.embedding"
  local o <const> = options.parse(opts, {seed = "integer", dtype = block.dtypes}, what)
  count, d = block.checked_count(count, "count", what), block.checked_count(d, "d", what)
  local dtype <const> = o.dtype or core.config().dtype
  local start <const> = core.randn(count, d, {dtype = "f64", seed = o.seed or nil})
  local parts <const> = {{"weight", param.new(start, {name = "weight"}, dtype)}}
  return block.new(("embedding(%d, %d)"):format(count, d), parts, function(self, x, label)
    local y <const> = labels_of.checked(labels_of.of(x, label), count, label)
    local shape <const> = {table.unpack(x.shape)}
    shape[#shape + 1] = d
    return block.at(self.weight, x):index(1, y:reshape(-1)):reshape(shape)
  end, {made = {kind = "embedding", arguments = {count, d, {dtype = dtype, seed = 0}}}})
end

return M
