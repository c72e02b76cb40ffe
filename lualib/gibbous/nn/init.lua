--- Small networks: blocks are boxes of parameters that are called with a tensor and give a lazy one, and losses.
--
-- A block is called as net(x) with inputs in the last dimension, x (n, d) or (d); gb.params(net) finds its parameters. Blocks
-- are shared, never copied. A network need not be a block: any table of params and functions works with gb.params and gb.optim.
local block <const> = require "gibbous.nn.block"
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

local at <const>, checked_count <const>, checked_width <const>, dtypes <const>, is_block <const>, new <const> = block.at,
  block.checked_count, block.checked_width, block.dtypes, block.is, block.new

local M <const> = {}

--- A fully connected layer: net(x) = x weight + bias, x (..., n_in), weight (n_in, n_out), bias (n_out).
-- weight starts uniform in +-sqrt(6 / n_in), bias in +-1 / sqrt(n_in).
-- Source: He, Zhang, Ren & Sun (2015), Delving deep into rectifiers: variance 2 / n_in keeps the scale through relu.
---@param n_in integer
---@param n_out integer
---@param opts {bias: boolean, seed: integer, dtype: "f32"|"f64"}?  bias = true; the seed as for gb.rand; dtype of the parameters
---@return gibbous.block
function M.linear(n_in, n_out, opts)
  local what <const> = "gb.nn.linear"
  local o <const> = options.parse(opts, {bias = "boolean", seed = "integer", dtype = dtypes}, what)
  n_in, n_out = checked_count(n_in, "n_in", what), checked_count(n_out, "n_out", what)
  local dtype <const> = o.dtype or core.config().dtype
  local draws <const> = core.rand(n_in * n_out + n_out, {dtype = "f64", seed = o.seed or nil}) * 2 - 1
  local weight <const> = draws:slice(1, 1, n_in * n_out):reshape(n_in, n_out) * math.sqrt(6 / n_in)
  local parts <const> = {{"weight", param.new(weight, {name = "weight"}, dtype)}}
  if o.bias ~= false then
    local bias <const> = draws:slice(1, n_in * n_out + 1, n_in * n_out + n_out) / math.sqrt(n_in)
    parts[2] = {"bias", param.new(bias, {name = "bias"}, dtype)}
  end
  return new(("linear(%d, %d)"):format(n_in, n_out), parts, function(self, x, label)
    checked_width(x, n_in, label, self.weight)
    local y <const> = x:matmul(at(self.weight, x))
    return o.bias ~= false and y + at(self.bias, x) or y
  end, {made = {kind = "linear", arguments = {n_in, n_out, {bias = o.bias ~= false, dtype = dtype, seed = 0}}}})
end

--- Layer normalisation: (x - mean) / sqrt(var + eps) * weight + bias over the last dimension, var with ddof 0; weight starts
-- at 1, bias at 0, both (d).
-- Source: Ba, Kiros & Hinton (2016), Layer normalization.
---@param d integer
---@param opts {eps: number, dtype: "f32"|"f64"}?  eps = 1e-5
---@return gibbous.block
function M.layer_norm(d, opts)
  local what <const> = "gb.nn.layer_norm"
  local o <const> = options.parse(opts, {eps = "positive", dtype = dtypes}, what)
  d = checked_count(d, "d", what)
  local eps <const>, dtype <const> = o.eps or 1e-5, o.dtype or core.config().dtype
  local parts <const> = {
    {"weight", param.new(core.ones(d), {name = "weight"}, dtype)},
    {"bias", param.new(core.zeros(d), {name = "bias"}, dtype)},
  }
  return new(("layer_norm(%d)"):format(d), parts, function(self, x, label)
    checked_width(x, d, label, self.weight)
    local centred <const> = x - x:mean(-1, {keepdim = true})
    local variance <const> = (centred * centred):mean(-1, {keepdim = true})
    return centred * (variance + eps):rsqrt() * at(self.weight, x) + at(self.bias, x)
  end, {made = {kind = "layer_norm", arguments = {d, {eps = eps, dtype = dtype}}}})
end

--- Normalisation by the root of the mean square: x / sqrt(mean x^2 + eps) * weight over the last dimension; weight (d) starts at 1.
-- Source: Zhang & Sennrich (2019), Root mean square layer normalization.
---@param d integer
---@param opts {eps: number, dtype: "f32"|"f64"}?  eps = 1e-6
---@return gibbous.block
function M.rms_norm(d, opts)
  local what <const> = "gb.nn.rms_norm"
  local o <const> = options.parse(opts, {eps = "positive", dtype = dtypes}, what)
  d = checked_count(d, "d", what)
  local eps <const>, dtype <const> = o.eps or 1e-6, o.dtype or core.config().dtype
  local parts <const> = {{"weight", param.new(core.ones(d), {name = "weight"}, dtype)}}
  return new(("rms_norm(%d)"):format(d), parts, function(self, x, label)
    checked_width(x, d, label, self.weight)
    return x * ((x * x):mean(-1, {keepdim = true}) + eps):rsqrt() * at(self.weight, x)
  end, {made = {kind = "rms_norm", arguments = {d, {eps = eps, dtype = dtype}}}})
end

local function checked_layer(layer, i)
  local what <const> = ("gb.nn.sequential: layer %d"):format(i)
  if type(layer) == "string" then
    if core.methods[layer] then return end
    local near <const> = options.nearest(layer, core.methods)
    local hint <const> = near and (", did you mean '%s'?"):format(near) or ""
    core.raise("option", ("%s: a tensor has no method '%s'%s"):format(what, layer, hint))
  end
  local meta <const> = type(layer) == "table" and getmetatable(layer)
  if type(layer) == "function" or type(meta) == "table" and meta.__call then return end
  core.raise("option", ("%s must be a block, a function or the name of a tensor method, got %s"):format(what,
    core.type(layer)))
end

--- Layers one after the other: blocks, functions of one tensor, names of tensor methods such as "relu". net[i] is layer i.
---@param layers (gibbous.block|function|string)[]
---@return gibbous.block
function M.sequential(layers)
  if type(layers) ~= "table" or getmetatable(layers) ~= nil then
    core.raise("option", ("gb.nn.sequential takes a list of layers, got %s"):format(core.type(layers)))
  end
  local parts <const>, list <const> = {}, {}
  for key in pairs(layers) do
    if math.type(key) ~= "integer" then
      core.raise("option", ("gb.nn.sequential takes a list of layers, got the key '%s'"):format(tostring(key)))
    end
  end
  for i, layer in ipairs(layers) do
    checked_layer(layer, i)
    parts[i], list[i] = {i, layer}, layer
  end
  return new("sequential", parts, function(_, x, label)
    for i, layer in ipairs(list) do
      if is_block(layer) then
        x = rawget(layer, "forward")(layer, x, ("%s[%d]: %s"):format(label, i, rawget(layer, "label")))
      elseif type(layer) == "string" then
        x = core.methods[layer](x)
      else
        x = layer(x)
      end
      if core.type(x) ~= "tensor" then
        core.raise("option", ("%s[%d] must give a tensor, got %s"):format(label, i, core.type(x)))
      end
    end
    return x
  end, {layers = list, made = {kind = "sequential"}})
end

for _, part in ipairs{"tensor.activations", "nn.conv", "nn.layers", "nn.losses", "nn.norms"} do
  for name, f in pairs(require("gibbous." .. part)) do M[name] = f end
end

return require "gibbous.base.names"(M, "gb.nn")
