--- Small networks: blocks are boxes of parameters that are called with a tensor and give a lazy one, and losses.
--
-- A block is called as net(x) with inputs in the last dimension, x (n, d) or (d); gb.params(net) finds its parameters. Blocks
-- are shared, never copied. A network need not be a block: any table of params and functions works with gb.params and gb.optim.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"
local table_text <const> = require "gibbous.table_text"

---@class gibbous.block
---@field weight gibbous.param|nil
---@field bias gibbous.param|nil
---@operator call(gibbous.tensor): gibbous.tensor
local Block <const> = {__name = "gibbous.block"}

local M <const> = {}

local function is_block(v) return type(v) == "table" and getmetatable(v) == Block end

--- The readable fields of a block: its parameters, or its layers by position.
function Block.__index(self, key)
  local parts <const> = rawget(self, "parts")
  for _, pair in ipairs(parts) do
    if pair[1] == key then return pair[2] end
  end
  if math.type(key) == "integer" then return nil end      -- one past the last layer: ipairs ends
  local names <const> = {}
  for _, pair in ipairs(parts) do names[pair[1]] = true end
  local near <const> = type(key) == "string" and options.nearest(key, names)
  local hint <const> = near and (", did you mean '%s'?"):format(near) or ""
  core.raise("index", ("%s has no field '%s'%s"):format(rawget(self, "label"), tostring(key), hint))
end

function Block.__newindex(self, key)
  core.raise("option", ("%s: field '%s' cannot be assigned; give its parameters values: net.weight.value = w"):format(
    rawget(self, "label"), tostring(key)))
end

function Block.__len(self) return #rawget(self, "parts") end
function Block.__children(self) return rawget(self, "parts") end

function Block.__call(self, x)
  local t <const> = core.as_tensor(x)
  if t == nil then core.raise("option", ("%s takes a tensor, got %s"):format(rawget(self, "label"), core.type(x))) end
  return rawget(self, "forward")(self, t, rawget(self, "label"))
end

--- Parameters of one layer as text, and how many numbers they hold.
local function inventory(parts)
  local cells <const>, count = {}, 0
  for _, pair in ipairs(parts) do
    if param.is(pair[2]) then
      cells[#cells + 1] = pair[1] .. " " .. tostring(pair[2].shape) .. (pair[2].fixed and " fixed" or "")
      count = count + pair[2].numel
    end
  end
  return table.concat(cells, ", "), count
end

--- Rows of layers, nested ones numbered 2.1, 2.2; returns how many numbers they hold.
local function list_layers(rows, block, at)
  local own <const>, total = inventory(rawget(block, "parts"))
  local layers <const> = rawget(block, "layers")
  rows[#rows + 1] = {at .. rawget(block, "label"), own, total > 0 and tostring(total) or ""}
  for i, layer in ipairs(layers or {}) do
    local place <const> = at:gsub("%s+$", "") .. (at == "" and "" or ".") .. i .. "  "
    if is_block(layer) then total = total + list_layers(rows, layer, place)
    else rows[#rows + 1] = {place .. (type(layer) == "string" and layer or "function"), "", ""} end
  end
  return total
end

function Block.__tostring(self)
  local rows <const> = {{"layer", "parameters", "numbers"}}
  local total <const> = list_layers(rows, self, "")
  return ("%s\n%d numbers"):format(table_text(rows), total)
end

--- more: layers, of a sequential; made, the constructor and arguments that give such a block again (drawing nothing from the
-- common stream of random numbers).
local function new(label, parts, forward, more)
  local self <const> = {label = label, parts = parts, forward = forward}
  for key, v in pairs(more) do self[key] = v end
  return setmetatable(self, Block)
end

local function checked_count(v, name, what)
  local n <const> = math.tointeger(v)
  if n == nil or n < 1 then
    core.raise("option", ("%s: %s must be a whole number, 1 or more, got %s"):format(what, name, tostring(options.plain(v))))
  end
  return n
end

local function checked_width(x, n, label, weight)
  if x.ndim < 1 or x.shape[-1] ~= n then
    core.raise("shape", ("%s expects %d columns: input %s, weight %s"):format(label, n, tostring(x.shape),
      tostring(weight.shape)))
  end
end

--- A parameter's value on the device of x.
local function at(p, x) return p.value.device == x.device and p.value or p.value:to(x.device) end

local dtypes <const> = {"f32", "f64"}

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

-- Losses ----------------------------------------------------------------------------------------------------------------

local loss_spec <const> = {reduction = {"mean", "sum", "none"}, weights = "any"}

--- Weights (n), one a row, or one an element, shaped to multiply 'losses' (n, ...).
local function checked_weights(v, losses, what)
  local is_list <const> = type(v) == "table" and getmetatable(v) == nil
  local w <const> = core.as_tensor(is_list and core.tensor(v, {dtype = losses.dtype}) or v)
  if w == nil then core.raise("option", ("%s: weights must be a tensor or a list, got %s"):format(what, core.type(v))) end
  local each <const> = w.dtype == losses.dtype and w or w:to{dtype = losses.dtype}
  if w.shape == losses.shape then return each end
  if w.ndim ~= 1 or losses.ndim < 1 or #w ~= #losses then
    core.raise("shape", ("%s: weights must be one a row or one an element: weights %s, losses %s"):format(what,
      tostring(w.shape), tostring(losses.shape)))
  end
  local shape <const> = {#w}
  for i = 2, losses.ndim do shape[i] = 1 end
  return each:reshape(shape)
end

--- sum w l / sum w for "mean" where the sum of weights runs over the same elements.
local function reduced(losses, o, what)
  local reduction <const> = o.reduction or "mean"
  local w <const> = o.weights and checked_weights(o.weights, losses, what)
  local each <const> = w and w * losses or losses
  if reduction == "none" then return each end
  if reduction == "sum" then return each:sum() end
  if not w then return losses:mean() end
  return each:sum() / (w:sum() * (losses.numel / w.numel))
end

--- Squared error (p - t)^2, averaged over all elements. Lazy.
-- weights (n), one a row, or one an element: "mean" is then sum w (p - t)^2 / sum w.
---@param p gibbous.tensor  (n) or (n, d)
---@param t gibbous.tensor  the shape of p
---@param opts {reduction: "mean"|"sum"|"none", weights: gibbous.tensor|number[]}?
---@return gibbous.tensor
function M.mse(p, t, opts)
  local what <const> = "gb.nn.mse"
  local o <const> = options.parse(opts, loss_spec, what)
  local a <const>, b <const> = core.as_tensor(p), core.as_tensor(t)
  if a == nil or b == nil then
    core.raise("option", ("%s takes two tensors, got %s and %s"):format(what, core.type(p), core.type(t)))
  end
  if a.shape ~= b.shape then
    core.raise("shape", ("%s: shapes differ: %s and %s"):format(what, tostring(a.shape), tostring(b.shape)))
  end
  return reduced((a - b) ^ 2, o, what)
end

local function checked_labels(logits, labels, what)
  local z <const>, y <const> = core.as_tensor(logits), core.as_tensor(labels)
  if z == nil or y == nil then
    core.raise("option", ("%s takes two tensors, got %s and %s"):format(what, core.type(logits), core.type(labels)))
  end
  if z.ndim ~= 2 or y.ndim ~= 1 or #z ~= #y then
    core.raise("shape", ("%s: expected logits (n, k) and labels (n), got %s and %s"):format(what, tostring(z.shape),
      tostring(y.shape)))
  end
  if y.dtype ~= "i64" then core.raise("dtype", ("%s: labels are positions from 1, of i64, got %s"):format(what, y.dtype)) end
  if y.device ~= z.device then
    core.raise("device", ("%s: the logits lie on %s, the labels on %s: labels:to '%s' moves them"):format(what, z.device, y.device,
      z.device))
  end
  return z, y
end

local in_range <const> = setmetatable({}, {__mode = "k"})     -- labels that were looked at: their range

--- Labels whose values exist are checked once, at once; others when they are computed, by looking up their class.
local function check_range(y, k, what)
  if not core.known(y) or #y == 0 then return end
  local range <const> = in_range[y] or {y:min():item(), y:max():item()}
  in_range[y] = range
  if range[1] < 1 or range[2] > k then
    core.raise("index", ("%s: labels run from %d to %d, expected 1 to %d"):format(what, range[1], range[2], k))
  end
end

--- Negative log-likelihood of class labels, -log softmax(logits)[i, labels[i]], averaged over rows. Lazy; nothing larger than
-- the logits is stored, and its gradient softmax - [j = label] is one pass over them. A label outside 1 .. k raises: at once
-- where its value is known, else where the loss is computed.
-- weights (n): "mean" is then sum w l / sum w.
---@param logits gibbous.tensor  (n, k)
---@param labels gibbous.tensor  (n), i64, positions from 1 to k
---@param opts {reduction: "mean"|"sum"|"none", weights: gibbous.tensor|number[]}?
---@return gibbous.tensor
function M.cross_entropy(logits, labels, opts)
  local what <const> = "gb.nn.cross_entropy"
  local o <const> = options.parse(opts, loss_spec, what)
  local z <const>, y <const> = checked_labels(logits, labels, what)
  local k <const> = z.shape[2]
  check_range(y, k, what)
  local classes <const> = core.range(1, k, 1, {dtype = "i64"})
  local class <const> = core.name(classes:index(1, y), "the labels of gb.nn.cross_entropy")
  local top <const> = k > 0 and z:max(2):detach() or core.zeros(#z, {dtype = z.dtype})
  local x <const> = z - core.where(top:isfinite(), top, 0):unsqueeze(2)      -- log_softmax does the same, in a pass more
  local chosen <const> = core.where(class:unsqueeze(2):eq(classes:unsqueeze(1)), x, 0):sum(2)
  return reduced(x:logsumexp(2) - chosen, o, what)
end

return require "gibbous.names"(M, "gb.nn")
