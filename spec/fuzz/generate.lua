--- Random programs at the level of scripts. A program is a list of statements, each with its text (Lua, over the values of
-- earlier statements) and with what it means (a function of dense tensors, for the evaluator). The rows, one a public name,
-- know how to write a statement of theirs; rows_*.lua hold them.
--
-- Everything random comes from draw(n), an integer from 0 to n - 1, of which 0 is the simplest. The list of all draws *is* the
-- program: shrink.lua makes programs smaller by making the list shorter and its numbers smaller, whatever they decide.
local dense <const> = require "spec.fuzz.dense"
local scalar <const> = require "spec.fuzz.scalar"

local G <const> = {}
G.__index = G

local M <const> = {rows = {}, of_name = {}}

for _, group in ipairs{"make", "map", "shape", "reduce", "product", "linalg", "kernel", "label"} do
  for _, row in ipairs(require("spec.fuzz.rows_" .. group)) do
    M.rows[#M.rows + 1] = row
    M.of_name[row.name] = row
  end
end
-- The commonest first, which shrinking tends to; then by name, since pairs() has no order.
table.sort(M.rows, function(a, b)
  local p <const>, q <const> = a.weight or 2, b.weight or 2
  if p ~= q then return p > q end
  return a.name < b.name
end)

-- Draws -------------------------------------------------------------------------------------------------------------------

function G:draw(n)
  self.at = self.at + 1
  local v
  if self.replay then v = (self.replay[self.at] or 0) % n else v = math.random(0, n - 1) end
  self.draws[self.at] = v
  return v
end

--- True once in n times; false is simpler.
function G:chance(n) return self:draw(n) == n - 1 end

function G:choose(list) return list[self:draw(#list) + 1] end

-- 0, 1, -1, 2, -2, ...
local function zigzag(k) return k % 2 == 1 and (k + 1) // 2 or -(k // 2) end

function G:integer(most) return zigzag(self:draw(2 * most + 1)) end

--- A number that is exact in every float dtype that this program uses.
local coarse <const> = {f16 = true, bf16 = true}

function G:element(dtype, style)
  if dtype == "bool" then return self:draw(2) == 1 end
  if dense.is_whole(dtype) then
    if style ~= 5 then return self:integer(style == 0 and 4 or 40) end
    if dtype == "i32" then return dense.to_i32(self:choose{0, 1 << 24, 0x7fffffff, -0x80000000} + self:integer(3)) end
    local base <const> = self:choose{0, 1 << 53, -(1 << 53), 1 << 62, math.maxinteger, math.mininteger, 1 << 31}
    return base + self:integer(3)
  end
  if style == 0 then return self:draw(5) + 0.0 end
  if style == 1 then return self:integer(3) + 0.0 end
  if style == 2 then return self:integer(16) / 4 end
  if style == 3 then return coarse[dtype] and self:integer(63) / 4 or self:integer(4000) / 1024 end
  if style == 4 then return (1 + self:draw(32)) / (coarse[dtype] and 4 or 8) end
  return self:choose{0.0, 1.0, -0.0, math.huge, -math.huge, 0 / 0, -1.0, 2.0, 0.5}
end

-- Text --------------------------------------------------------------------------------------------------------------------

function M.number_text(v)
  if type(v) == "boolean" then return tostring(v) end
  if math.type(v) == "integer" then return v == math.mininteger and "math.mininteger" or ("%d"):format(v) end
  if v ~= v then return "0/0" end
  if v == math.huge then return "math.huge" end
  if v == -math.huge then return "-math.huge" end
  if v == 0 then return 1 / v < 0 and "-0.0" or "0" end
  return v % 1 == 0 and math.abs(v) < 1e15 and ("%d"):format(v) or ("%.17g"):format(v)
end

function M.shape_text(shape) return "{" .. table.concat(shape, ", ") .. "}" end

--- Nested lists of a flat list.
function M.list_text(v, shape)
  local at = 0
  local function level(d)
    if d > #shape then
      at = at + 1
      return M.number_text(v[at])
    end
    local parts <const> = {}
    for i = 1, shape[d] do parts[i] = level(d + 1) end
    return "{" .. table.concat(parts, ", ") .. "}"
  end
  return level(1)
end

-- Values --------------------------------------------------------------------------------------------------------------------

--- The dtype whose rounding a statement has: of its result, else of its first float argument.
local function precision_of(s, args)
  if dense.is_float(s.dtype) then return s.dtype end
  for _, a in ipairs(args) do if dense.is_float(a.dtype) then return a.dtype end end
  return "f64"
end

--- The value of statement s, from its arguments.
function M.evaluate(s, S, args)
  scalar.use(s.precision or precision_of(s, args))
  return s.meaning(S, table.unpack(args))
end

local function magnitude(x)
  local most, finite = 0.0, true
  if not dense.is_float(x.dtype) then return most, finite end
  for _, v in ipairs(x.v) do
    if v - v ~= 0 then finite = false else most = math.max(most, math.abs(v)) end
  end
  return most, finite
end

local largest <const> = {f64 = 1e30, f32 = 1e12, f16 = 1e3, bf16 = 1e12}

--- Adds a statement: 'text' with %1, %2, ... for the arguments, values of this program; meaning(S, ...) gives its dense value.
-- Gives the new value, or nil where the program would not stay within bounds.
function G:emit(text, args, shape, dtype, meaning, more)
  if #shape > 6 or dense.numel(shape) > self.most or #self.list >= 60 then return nil end
  local s <const> = {text = text, args = args, shape = shape, dtype = dtype, meaning = meaning, row = self.row}
  for key, v in pairs(more or {}) do s[key] = v end
  scalar.sample(0)
  local values <const> = {}
  for i, a in ipairs(args) do
    values[i] = a.value
    s.float_grad = s.float_grad or a.float_grad
  end
  s.float_grad = s.float_grad and dense.is_float(dtype) or nil
  if s.leaf and self.mode > 0 and dense.is_float(dtype) then s.float_grad = true end
  s.value = M.evaluate(s, scalar.number, values)
  assert(#s.value.v == dense.numel(shape) and s.value.dtype == dtype, s.row)
  local most <const>, finite <const> = magnitude(s.value)
  local tame = true
  for _, a in ipairs(args) do tame = tame and a.finite end
  if most > largest[dense.is_float(dtype) and dtype or "f64"] then return nil end
  if not finite and self.mode > 0 then return nil end
  if not finite and tame and not s.leaf and not self:chance(6) then return nil end
  s.finite, s.most = finite, most
  s.id = #self.list + 1
  self.list[s.id] = s
  return s
end

--- A value for which accept(v) holds, the latest are preferred; nil if no value fits.
function G:pick(accept)
  local found <const> = {}
  for i = #self.list, 1, -1 do
    local v <const> = self.list[i]
    if not v.hidden and (not accept or accept(v)) then found[#found + 1] = v end
  end
  if #found == 0 then return nil end
  if self:draw(3) < 2 then return found[self:draw(math.min(2, #found)) + 1] end
  return found[self:draw(#found) + 1]
end

function G:any() return self:pick() or self:leaf() end

local function float(v) return dense.is_float(v.dtype) end

--- A float value; a new leaf if there is no such value.
function G:float(accept)
  local function fits(v) return float(v) and (not accept or accept(v)) end
  return self:pick(fits)
end

function G:numeric(accept)
  local function fits(v) return v.dtype ~= "bool" and (not accept or accept(v)) end
  return self:pick(fits)
end

function G:extent()
  local k <const> = self:draw(24)
  if k < 14 then return 2 + k % 3 end
  if k < 18 then return 1 end
  if k < 22 then return 5 + k % 2 end
  if k == 22 then return self:choose{7, 9, 16, 17} end
  return self.mode == 0 and 0 or 3
end

function G:shape(rank)
  local shape <const> = {}
  for i = 1, rank or self:choose{1, 2, 2, 3, 0, 1, 2, 3, 4} do shape[i] = self:extent() end
  while dense.numel(shape) > 60 do
    local d = 1
    for i = 2, #shape do if shape[i] > shape[d] then d = i end end
    shape[d] = 2
  end
  return shape
end

--- A leaf whose values are written out.
function G:leaf(shape, dtype, style)
  shape, dtype = shape or self:shape(), dtype or self.dtype
  style = style or self:draw(self.mode == 0 and not coarse[dtype] and 6 or 5)
  local v <const> = {}
  for i = 1, dense.numel(shape) do v[i] = self:element(dtype, style) end
  local text
  if #v == 0 then
    text = ("gb.zeros(%s, {dtype = %q}):eval()"):format(table.concat(shape, ", "), dtype)
  else
    text = ("gb.tensor(%s, {dtype = %q})"):format(M.list_text(v, shape), dtype)
  end
  local grad <const> = self.mode > 0 and dense.is_float(dtype)
  if grad then text = text .. ":requires_grad()" end
  local s <const> = self:emit(text, {}, shape, dtype, function(S)
    local out <const> = {}
    for i, x in ipairs(v) do out[i] = dense.is_float(dtype) and S.lift(x) or x end
    return dense.new(shape, dtype, out)
  end, {leaf = true, numbers = v, by = grad or nil})
  return s
end

--- A partner of x for elementwise work: a value, a leaf, or a number (then the second result is the number). 'computes': i32
--- and i64 go together.
function G:partner(x, style, computes)
  local how <const>, dtype = self:draw(8), x.dtype
  if computes and dense.is_whole(dtype) then dtype = self:choose{"i64", "i32"} end
  if how < 3 then
    return self:pick(function(v)
      return (v.dtype == x.dtype or v.dtype == dtype) and dense.broadcast(x.shape, v.shape) ~= nil
    end) or x
  end
  if how < 5 and x.dtype ~= "bool" then
    if computes then dtype = dense.computed(dtype) end
    local v = self:element(dtype, style or self:choose{1, 2, 0, 4})
    if dense.is_whole(dtype) and self:chance(4) then v = self:element(dtype, 5) end
    return nil, v
  end
  local shape <const> = table.move(x.shape, 1, #x.shape, 1, {})
  for d = 1, #shape do if self:chance(3) then shape[d] = 1 end end
  if self:chance(3) then
    local first <const> = self:draw(#shape + 1) + 1
    return self:leaf(table.move(shape, first, #shape, 1, {}), dtype, style)
  end
  return self:leaf(shape, dtype, style)
end

--- Dimension d of x, as a script might count it.
function G:dimension_text(x, d, extra)
  if self:chance(4) then return tostring(d - #x.shape - 1 - (extra or 0)) end
  return tostring(d)
end

-- Programs --------------------------------------------------------------------------------------------------------------------

local function weight_of(row, mode)
  if mode > 0 and not row.smooth then return 0 end
  return row.weight or 2
end

function G:add_statement()
  local total = 0
  for _, row in ipairs(M.rows) do total = total + weight_of(row, self.mode) end
  local k = self:draw(total)
  for _, row in ipairs(M.rows) do
    k = k - weight_of(row, self.mode)
    if k < 0 then
      self.row = row.name
      return row.make(self)
    end
  end
end

--- The sum of an output times small whole numbers: the scalar that gradients are of.
function G:add_loss()
  local y = self:pick(function(v) return v.float_grad and not v.leaf end) or self:pick(function(v) return v.float_grad end)
  if not y then return nil end
  self.row = "loss"
  if #y.shape > 0 then
    local w <const> = {}
    for i = 1, dense.numel(y.shape) do w[i] = 1.0 + self:draw(4) end
    if #w == 0 then return nil end
    local text <const> = ("(%%1 * gb.tensor(%s, {dtype = %q})):sum()"):format(M.list_text(w, y.shape), y.dtype)
    y = self:emit(text, {y}, {}, y.dtype, function(S, x)
      local terms <const> = {}
      for i, e in ipairs(x.v) do terms[i] = S.mul(S.lift(w[i]), e) end
      return dense.new({}, x.dtype, {S.sum(terms)})
    end)
  end
  return y
end

--- A program from a seed, or from a list of draws. mode 0: values; 1: gradients; 2: second derivatives.
-- {list, outputs, loss, directions, draws, spans}; nil where there is nothing to look at.
function M.program(seed, replay)
  if not replay then math.randomseed(seed) end
  local g <const> = setmetatable({list = {}, draws = {}, spans = {}, at = 0, replay = replay}, G)
  g.mode = g:choose{0, 0, 0, 0, 1, 1, 2, 2, 0}
  g.dtype = g.mode > 0 and g:choose{"f64", "f64", "f64", "f32"} or g:choose{"f64", "f64", "f64", "f32", "f32", "f16", "bf16"}
  g.most = g.mode == 0 and 4000 or 64
  g.row = "leaf"
  g:leaf()
  -- Each statement is a run of draws that begins with "and another", so that a shrinker can take one out.
  repeat
    g.spans[#g.spans + 1] = g.at + 1
    local more <const> = g:draw(g.mode == 0 and 10 or 7) > 0
    if more then g:add_statement() end
  until not more or #g.list > 40
  g.spans[#g.spans + 1] = g.at
  local p <const> = {list = g.list, draws = g.draws, spans = g.spans, seed = seed, mode = g.mode, outputs = {}}
  if g.mode > 0 then
    p.loss = g:add_loss()
    if not p.loss then return nil end
    p.outputs[1] = p.loss
    -- Directions of derivatives: numbers other than 0, small and exact.
    for _, s in ipairs(g.list) do
      if s.by then
        s.along, s.across = {}, {}
        for i = 1, dense.numel(s.shape) do
          s.along[i] = g:choose{1.0, 2.0, -1.0, 3.0, 0.5, -2.0, -0.5, 5.0}
          s.across[i] = g:choose{1.0, 0.5, 2.0, -3.0, 1.5, -1.0, 7.0, -0.25}
        end
      end
    end
  else
    local taken <const> = {}
    local function take(s)
      if s and not taken[s] then
        taken[s] = true
        p.outputs[#p.outputs + 1] = s
      end
    end
    take(g.list[#g.list])
    for _ = 1, g:draw(3) do take(g:pick()) end
  end
  p.way = g:draw(1 << 20)
  -- Statements that no output depends on are dropped.
  local needed <const> = {}
  local function need(s)
    if needed[s] then return end
    needed[s] = true
    for _, a in ipairs(s.args) do need(a) end
  end
  for _, s in ipairs(p.outputs) do need(s) end
  local kept <const> = {}
  for _, s in ipairs(g.list) do
    if needed[s] then
      kept[#kept + 1] = s
      s.id = #kept
    end
  end
  p.list = kept
  return p
end

-- As a script -------------------------------------------------------------------------------------------------------------------

local function name_of(a) return "v" .. a.id end

local function statement_text(s, read)
  return (s.text:gsub("%%(%d)", function(i) return read(s.args[tonumber(i)], s) end))
end

--- The statements as Lua. Optional: each(s) gives text to put after a statement, read(a, s) how s writes its argument a.
function M.text(p, each, read)
  local lines <const> = {}
  for _, s in ipairs(p.list) do
    lines[#lines + 1] = ("local v%d = %s%s"):format(s.id, statement_text(s, read or name_of), each and each(s) or "")
  end
  return table.concat(lines, "\n")
end

return M
