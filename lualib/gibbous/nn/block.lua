--- Blocks: boxes of parameters that are called with a tensor and give a lazy one. How they are read, called and printed.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local table_text <const> = require "gibbous.text.table"

---@class gibbous.block
---@field weight gibbous.param|nil
---@field bias gibbous.param|nil
---@operator call(gibbous.tensor): gibbous.tensor
local Block <const> = {__name = "gibbous.block"}

local M <const> = {Block = Block}

function M.is(v) return type(v) == "table" and getmetatable(v) == Block end

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
    if M.is(layer) then total = total + list_layers(rows, layer, place)
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
function M.new(label, parts, forward, more)
  local self <const> = {label = label, parts = parts, forward = forward}
  for key, v in pairs(more) do self[key] = v end
  return setmetatable(self, Block)
end

function M.checked_count(v, name, what)
  local n <const> = options.whole(v)
  if n == nil or n < 1 then
    core.raise("option", ("%s: %s must be a whole number, 1 or more, got %s"):format(what, name, options.got(v)))
  end
  return n
end

function M.checked_width(x, n, label, weight)
  if x.ndim < 1 or x.shape[-1] ~= n then
    core.raise("shape", ("%s expects %s: input %s, weight %s"):format(label, counted(n, "column"), core.told(x),
      tostring(weight.shape)))
  end
end

--- A parameter's value on the device of x.
function M.at(p, x) return p.value.device == x.device and p.value or p.value:to(x.device) end

M.dtypes = {"f32", "f64"}

return M
