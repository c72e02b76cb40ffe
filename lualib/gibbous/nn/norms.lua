--- Blocks that normalise, by the batch or by groups of channels; and which of them a network's mode concerns.
--
-- Channels are the second dimension, x (n, c) or (n, c, ...). A block of batch statistics has two modes: in training it normalises
-- by the mean and variance of the batch it is given, else by those that gb.nn.calibrate left in it.
local block <const> = require "gibbous.nn.block"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

local M <const> = {}

local function checked_channels(x, c, label)
  if x.ndim < 2 or x.shape[2] ~= c then
    core.raise("shape", ("%s expects %s in the second dimension: input %s"):format(label, counted(c, "channel"), core.told(x)))
  end
end

--- v (c) against x (n, c, ...).
local function along_channels(v, x)
  local shape <const> = {1, #v}
  for i = 3, x.ndim do shape[i] = 1 end
  return v:reshape(shape)
end

local function own(c, dtype)
  return {{"weight", param.new(core.ones(c), {name = "weight"}, dtype)}, {"bias", param.new(core.zeros(c), {name = "bias"}, dtype)}}
end

local function scaled(self, x, y)
  return y * along_channels(block.at(self.weight, x), x) + along_channels(block.at(self.bias, x), x)
end

--- Batch normalisation of c channels: (x - mean) / sqrt(var + eps) * weight + bias, over all dimensions but the second, var with
-- ddof 0. In training, mean and var are those of x; else the fields mean and variance, which gb.nn.calibrate sets.
-- Source: Ioffe & Szegedy (2015), Batch normalization.
---@param c integer
---@param opts {eps: number, training: boolean, dtype: "f32"|"f64"}?  eps = 1e-5, training = true
---@return gibbous.block
function M.batch_norm(c, opts)
  local what <const> = "gb.nn.batch_norm"
  local o <const> = options.parse(opts, {eps = "positive", training = "boolean", dtype = block.dtypes}, what)
  c = block.checked_count(c, "c", what)
  local eps <const>, dtype <const> = o.eps or 1e-5, o.dtype or core.config().dtype
  local parts <const> = own(c, dtype)
  parts[3] = {"mean", param.new(core.zeros(c), {name = "mean", fixed = true}, dtype)}
  parts[4] = {"variance", param.new(core.ones(c), {name = "variance", fixed = true}, dtype)}
  local settings <const> = {eps = eps, dtype = dtype, training = o.training ~= false}
  return block.new(("batch_norm(%d)"):format(c), parts, function(self, x, label)
    checked_channels(x, c, label)
    local axes <const> = {1}
    for i = 3, x.ndim do axes[#axes + 1] = i end
    if not settings.training and not settings.calibrating then
      local scale <const> = (block.at(self.variance, x) + eps):rsqrt()
      return scaled(self, x, (x - along_channels(block.at(self.mean, x), x)) * along_channels(scale, x))
    end
    local mean <const> = x:mean(axes, {keepdim = true})
    local centred <const> = x - mean
    local variance <const> = (centred * centred):mean(axes, {keepdim = true})
    if settings.calibrating then
      self.mean.value, self.variance.value = mean:reshape(c), variance:reshape(c)
    end
    return scaled(self, x, centred * (variance + eps):rsqrt())
  end, {mode = settings, made = {kind = "batch_norm", arguments = {c, settings}}})
end

--- Group normalisation: c channels in 'groups', each normalised over its channels and all dimensions behind them, for every row.
-- Source: Wu & He (2018), Group normalization.
---@param groups integer
---@param c integer  a multiple of groups
---@param opts {eps: number, dtype: "f32"|"f64"}?  eps = 1e-5
---@return gibbous.block
function M.group_norm(groups, c, opts)
  local what <const> = "gb.nn.group_norm"
  local o <const> = options.parse(opts, {eps = "positive", dtype = block.dtypes}, what)
  groups, c = block.checked_count(groups, "groups", what), block.checked_count(c, "c", what)
  if c % groups ~= 0 then
    core.raise("option", ("%s: %s do not divide into %s"):format(what, counted(c, "channel"), counted(groups, "group")))
  end
  local eps <const>, dtype <const> = o.eps or 1e-5, o.dtype or core.config().dtype
  return block.new(("group_norm(%d, %d)"):format(groups, c), own(c, dtype), function(self, x, label)
    checked_channels(x, c, label)
    local parts <const> = x:reshape(#x, groups, #x > 0 and x.numel // (#x * groups) or 1)
    local centred <const> = parts - parts:mean(3, {keepdim = true})
    local variance <const> = (centred * centred):mean(3, {keepdim = true})
    return scaled(self, x, (centred * (variance + eps):rsqrt()):reshape(x.shape))
  end, {made = {kind = "group_norm", arguments = {groups, c, {eps = eps, dtype = dtype}}}})
end

--- Instance normalisation: every channel of every row is normalised over the dimensions behind them; group_norm(c, c).
-- Source: Ulyanov, Vedaldi & Lempitsky (2016), Instance normalization.
---@param c integer
---@param opts {eps: number, dtype: "f32"|"f64"}?  eps = 1e-5
---@return gibbous.block
function M.instance_norm(c, opts)
  c = block.checked_count(c, "c", "gb.nn.instance_norm")
  return M.group_norm(c, c, opts)
end

--- f(mode) for every block of a network that has one.
local function each_mode(net, f, what)
  if not block.is(net) then core.raise("option", ("%s takes a block, got %s"):format(what, core.type(net))) end
  local function visit(b)
    if rawget(b, "mode") then f(rawget(b, "mode")) end
    for _, layer in ipairs(rawget(b, "layers") or {}) do
      if block.is(layer) then visit(layer) end
    end
  end
  visit(net)
  return net
end

--- Training, or evaluation (on = false), for every batch_norm and dropout of a network; gives the network.
---@param net gibbous.block
---@param on boolean?  true
---@return gibbous.block
function M.training(net, on)
  if on ~= nil and type(on) ~= "boolean" then
    core.raise("option", ("gb.nn.training: true or false expected, got %s"):format(core.type(on)))
  end
  return each_mode(net, function(mode) mode.training = on ~= false end, "gb.nn.training")
end

--- Gives every batch_norm the mean and variance that its input has over the rows x, with nothing dropped: what it uses after
-- gb.nn.training(net, false). Evaluates. Exact over x, not an average of past batches.
-- Source: Wu & Johnson (2021), Rethinking "batch" in batch normalization.
---@param net gibbous.block
---@param x gibbous.tensor
---@return gibbous.block
function M.calibrate(net, x)
  each_mode(net, function(mode) mode.calibrating = true end, "gb.nn.calibrate")
  local ok <const>, err <const> = pcall(net, x)
  each_mode(net, function(mode) mode.calibrating = nil end, "gb.nn.calibrate")
  if not ok then error(err, 0) end
  return net
end

return M
