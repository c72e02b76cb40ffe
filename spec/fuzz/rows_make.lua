--- Rows of what makes tensors: gb.tensor, gb.zeros, gb.full, gb.range, gb.rand, ...
local dense <const> = require "spec.fuzz.dense"
local scalar <const> = require "spec.fuzz.scalar"

local function generate() return require "spec.fuzz.generate" end

local function filled(shape, dtype, v)
  return function(S)
    local out <const> = {}
    for i = 1, dense.numel(shape) do out[i] = dense.is_float(dtype) and S.lift(v) or v end
    return dense.new(shape, dtype, out)
  end
end

-- Longer than a block of lanes now and then: what is computed from its indices costs no draws.
local function long_shape(g)
  local shape <const> = g:shape(g:choose{1, 2, 2, 3})
  if g.mode == 0 and g:chance(3) then
    shape[g:draw(#shape) + 1] = g:choose{65, 40, 130, 300}
    while dense.numel(shape) > 2000 do
      local d = 1
      for i = 2, #shape do if shape[i] > 1 and (shape[d] == 1 or shape[i] < shape[d]) then d = i end end
      shape[d] = 1
    end
  end
  return shape
end

local function lifted(S, list)
  if S.level == 0 then return list end
  local out <const> = {}
  for i, x in ipairs(list) do out[i] = S.lift(x) end
  return out
end

-- Philox4x32-10 (Salmon et al. 2011) and the two distributions as base/rng.h states them.
local function philox(seed, stream, index)
  local mask <const> = 0xffffffff
  local c0, c1, c2, c3 = index & mask, index >> 32, stream & mask, stream >> 32
  local k0, k1 = seed & mask, seed >> 32
  for _ = 1, 10 do
    local p0 <const>, p1 <const> = 0xD2511F53 * c0, 0xCD9E8D57 * c2
    c0, c1, c2, c3 = (p1 >> 32) ~ c1 ~ k0, p1 & mask, (p0 >> 32) ~ c3 ~ k1, p0 & mask
    k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
  end
  return c0, c1, c2, c3
end

local function unit(hi, lo) return (((hi << 20) ~ (lo >> 12)) + 0.5) * 0x1p-52 end

local function rounded(x, dtype) return dtype == "f32" and string.unpack("<f", string.pack("<f", x)) or x end

local function random_row(name, draw)
  return {name = "gb." .. name, ops = {name}, weight = 3, smooth = true, make = function(g)
    local shape <const>, seed <const> = long_shape(g), g:draw(1000)
    local dtype <const> = g.dtype
    local text <const> = ("gb.%s(%s, {dtype = %q, seed = %d})"):format(name, table.concat(shape, ", "), dtype, seed)
    return g:emit(text, {}, shape, dtype, function(S)
      local out <const> = {}
      for i = 1, dense.numel(shape) do out[i] = draw(seed, i - 1, dtype) end
      return dense.new(shape, dtype, lifted(S, out))
    end)
  end}
end

--- A vector that Gibbous computes and whose values are taken from it: the check is of what is done with them.
local function observed_row(name, op, text_of, shape_of, dtype_of)
  return {name = "gb." .. name, ops = {op}, weight = 1, smooth = true, make = function(g)
    local shape <const> = shape_of(g)
    local text <const>, dtype <const> = text_of(g, shape), dtype_of(g)
    local gb <const> = require "gibbous"
    local t <const> = load("local gb = ...; return " .. text)(gb)
    local v <const> = dense.numel(shape) == 0 and {} or t:reshape(-1):totable()
    if name == "randperm" then
      local seen <const> = {}
      for _, i in ipairs(v) do
        assert(math.type(i) == "integer" and i >= 1 and i <= #v and not seen[i], "gb.randperm: not a permutation")
        seen[i] = true
      end
    end
    return g:emit(text, {}, shape, dtype, function(S)
      return dense.new(shape, dtype, dense.is_float(dtype) and lifted(S, v) or v)
    end)
  end}
end

local function range_row(g)
  local number_text <const> = generate().number_text
  if g.mode == 0 and g:chance(2) then                   -- whole numbers, the ends of i64 and i32 among them
    local dtype <const> = g:choose{"i64", "i64", "i32"}
    local a, step = g:element(dtype, g:choose{0, 0, 1, 5}), g:choose{1, 2, -1, 3, -2, 5}
    local n <const> = 1 + g:draw(5)
    if g:chance(4) then step = g:choose{1 << 40, (1 << 53) + 1, -(1 << 61) - 1} end
    local last = a
    local count = 1
    while count < n do
      local next_ <const> = last + step
      if (next_ > last) ~= (step > 0) or dtype == "i32" and dense.to_i32(next_) ~= next_ then break end
      last, count = next_, count + 1
    end
    local text <const> = ("gb.range(%s, %s, %s, {dtype = %q})"):format(number_text(a), number_text(last), number_text(step), dtype)
    return g:emit(text, {}, {count}, dtype, function()
      local out <const> = {}
      for i = 1, count do out[i] = a + (i - 1) * step end
      return dense.new({count}, dtype, out)
    end)
  end
  local a <const>, step <const> = g:integer(8) / 2, g:choose{1.0, 0.5, -1.0, 2.0, -0.25}
  local n <const> = 1 + g:draw(6) + (g.mode == 0 and g:chance(8) and 80 or 0)
  if g.dtype == "bf16" and n > 20 then return nil end
  local text <const> = ("gb.range(%s, %s, %s, {dtype = %q})"):format(number_text(a), number_text(a + (n - 1) * step),
    number_text(step), g.dtype)
  return g:emit(text, {}, {n}, g.dtype, function(S)
    local out <const> = {}
    for i = 1, n do out[i] = S.lift(a + (i - 1) * step) end
    return dense.new({n}, g.dtype, out)
  end)
end

return {
  {name = "gb.tensor", ops = {"leaf"}, weight = 6, smooth = true, make = function(g)
    if g.mode == 0 then
      local k <const> = g:draw(7)
      if k == 4 then return g:leaf(nil, "i64") end
      if k == 5 then return g:leaf(nil, "bool") end
      if k == 6 then return g:leaf(nil, "i32") end
    end
    return g:leaf()
  end},

  {name = "gb.full", public = {"gb.full", "gb.zeros", "gb.ones"}, ops = {"const", "expand"}, weight = 4, smooth = true,
    make = function(g)
    local shape <const> = long_shape(g)
    local dtype <const> = g.mode == 0 and g:choose{g.dtype, g.dtype, "i64", "bool", "i32"} or g.dtype
    local how <const> = g:draw(3)
    local v
    if how < 2 then
      v = how + 0.0
      if dense.is_whole(dtype) then v = how elseif dtype == "bool" then v = how == 1 end
    else
      v = g:element(dtype, dense.is_whole(dtype) and g:choose{0, 5} or g:choose{1, 2, 4})
    end
    local text
    if how < 2 and #shape > 0 and dtype ~= "bool" then
      text = ("gb.%s(%s, {dtype = %q})"):format(how == 0 and "zeros" or "ones", table.concat(shape, ", "), dtype)
    else
      text = ("gb.full(%s, %s, {dtype = %q})"):format(generate().shape_text(shape), generate().number_text(v), dtype)
    end
    return g:emit(text, {}, shape, dtype, filled(shape, dtype, v))
  end},

  {name = "gb.range", ops = {"range"}, weight = 5, smooth = true, make = range_row},

  {name = "gb.linspace", ops = {"range"}, smooth = true, make = function(g)
    if g.dtype == "bf16" or g.dtype == "f16" then return nil end
    local a <const>, b <const>, n <const> = g:integer(8) / 2, g:integer(8) / 2, 1 + g:draw(6)
    local text <const> = ("gb.linspace(%s, %s, %d, {dtype = %q})"):format(generate().number_text(a),
      generate().number_text(b), n, g.dtype)
    return g:emit(text, {}, {n}, g.dtype, function(S)
      local out <const> = {}
      for i = 1, n do
        local x <const> = n > 1 and a + (i - 1) * ((b - a) / (n - 1)) or a
        out[i] = S.lift(scalar.on_grid(x) and x or scalar.blur(x, math.abs(a) + math.abs(b)))
      end
      return dense.new({n}, g.dtype, out)
    end)
  end},

  {name = "gb.eye", ops = {"eye"}, smooth = true, make = function(g)
    local n <const> = g:extent()
    local dtype <const> = g.mode == 0 and g:chance(6) and g:choose{"i64", "i32"} or g.dtype
    return g:emit(("gb.eye(%d, {dtype = %q})"):format(n, dtype), {}, {n, n}, dtype, function(S)
      local out <const> = {}
      for i = 1, n do
        for j = 1, n do
          local one <const> = i == j and 1 or 0
          out[#out + 1] = dense.is_whole(dtype) and one or S.lift(one + 0.0)
        end
      end
      return dense.new({n, n}, dtype, out)
    end)
  end},

  random_row("rand", function(seed, index, dtype)
    local a <const>, b <const> = philox(seed, 0, index)
    local x <const> = rounded(unit(a, b), dtype)
    return dtype == "f64" and x or scalar.blur(x, x)
  end),

  random_row("randn", function(seed, index)
    local a <const>, b <const>, c <const>, d <const> = philox(seed, 0, index)
    local r <const> = math.sqrt(-2 * math.log(unit(a, b)))
    return scalar.blur(r * math.cos(2 * math.pi * unit(c, d)), r)
  end),

  observed_row("randperm", "randperm", function(g, shape) return ("gb.randperm(%d, {seed = %d})"):format(shape[1], g:draw(100)) end,
    function(g) return {g:extent()} end, function() return "i64" end),

  observed_row("sobol", "sobol", function(g, shape)
    return ("gb.sobol(%d, %d, {seed = %d, dtype = %q})"):format(shape[1], shape[2], g:draw(100), g.dtype)
  end, function(g) return {g:extent(), g:choose{1, 2, 3}} end, function(g) return g.dtype end),
}
