--- Rows of elementwise work: methods, operators, comparisons, where, clamp, casts, gb.func, gb.vmap.
local dense <const> = require "spec.fuzz.dense"
local scalar <const> = require "spec.fuzz.scalar"

local rows <const> = {}

local function number_text(v) return require "spec.fuzz.generate".number_text(v) end

-- One input ---------------------------------------------------------------------------------------------------------------

-- Domains where the function, and where gradients are wanted its derivatives, are finite numbers that mean something.
local function any() return true end
local function above(low) return function(x) return x > low end end

local domains <const> = {
  exp = function(x) return x < 20 end, expm1 = function(x) return x < 20 end,
  log = above(0), rsqrt = above(0), log1p = above(-0.99), lgamma = above(0.05), digamma = above(0.05),
  asin = function(x) return math.abs(x) < 0.99 end, acos = function(x) return math.abs(x) < 0.99 end,
  sqrt = function(x) return x >= 0 end, tan = function(x) return math.abs(x) < 1.4 end,
  sin = function(x) return math.abs(x) < 1e3 end, cos = function(x) return math.abs(x) < 1e3 end,
}

-- Text and meaning that bring any number into a domain.
local guards <const> = {
  {"(%s^2 + 0.5)", function(S, x) return S.add(S.mul(x, x), S.lift(0.5)) end},
  {"((%s * 0.25):tanh() * 0.75)", function(S, x) return S.mul(S.fn("tanh", S.mul(x, S.lift(0.25))), S.lift(0.75)) end},
}
local guard_of <const> = {log = 1, rsqrt = 1, log1p = 1, lgamma = 1, digamma = 1, sqrt = 1, asin = 2, acos = 2, tan = 2, exp = 2,
  expm1 = 2, sin = 2, cos = 2}

local integral <const> = {
  neg = function(x) return -x end, abs = function(x) return x < 0 and -x or x end,
  sign = function(x) return x > 0 and 1 or x < 0 and -1 or 0 end,
  floor = function(x) return x end, ceil = function(x) return x end, round = function(x) return x end,
  relu = function(x) return x > 0 and x or 0 end, detach = function(x) return x end,
}

local function inside(x, domain)
  for _, v in ipairs(x.v) do if not domain(v) then return false end end
  return true
end

local rough <const> = {sign = true, floor = true, ceil = true, round = true, detach = true}

local function map_row(name, text)
  rows[#rows + 1] = {name = name == "neg" and "-x" or name, ops = {name}, public = {name ~= "neg" and "tensor." .. name or nil},
    weight = rough[name] and 1 or name == "neg" and 3 or 2, smooth = name ~= "trigamma",
    make = function(g)
      local x <const> = (g.mode == 0 and integral[name]) and g:numeric() or g:float()
      if not x then return nil end
      local written = text or "%1:" .. name .. "()"
      if dense.is_whole(x.dtype) then
        local dtype <const> = name == "detach" and x.dtype or "i64"
        return g:emit(written, {x}, x.shape, dtype, function(_, a) return dense.map(integral[name], dtype, a) end)
      end
      local domain <const> = domains[name] or any
      local guard
      if not inside(x.value, domain) and (g.mode > 0 or not g:chance(3)) then guard = guards[guard_of[name] or 1] end
      if guard then written = written:gsub("%%1", function() return (guard[1]:gsub("%%s", "%%1")) end) end
      return g:emit(written, {x}, x.shape, x.dtype, function(S, a)
        return dense.map(function(e)
          if guard then e = guard[2](S, e) end
          return S.fn(name, e)
        end, x.dtype, a)
      end)
    end}
end

map_row("neg", "-%1")
for _, name in ipairs{"abs", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "tanh", "sigmoid",
  "softplus", "relu", "erf", "ndtr", "log_ndtr", "lgamma", "digamma", "sqrt", "rsqrt", "sign", "floor", "ceil", "round",
  "detach"} do
  map_row(name)
end

local function test_row(name, f)
  rows[#rows + 1] = {name = name, ops = {name}, public = {"tensor." .. name}, weight = 1, make = function(g)
    local x <const> = g:float()
    if not x then return nil end
    return g:emit("%1:" .. name .. "()", {x}, x.shape, "bool", function(S, a)
      return dense.map(function(e) return f(S.val(e)) end, "bool", a)
    end)
  end}
end

test_row("isnan", function(x) return x ~= x end)
test_row("isfinite", function(x) return x - x == 0 end)

-- Two inputs ------------------------------------------------------------------------------------------------------------------

--- A statement of x and a partner. text has %1 and %2; float(S, a, b), whole(a, b) and truth(a, b) are its meanings by dtype.
local function emit_pair(g, x, text, float, whole, truth, dtype, style)
  local y <const>, number <const> = g:partner(x, style, true)
  if not y and number == nil then return nil end
  if math.type(number) == "integer" and number == 0 and (text:find "//" or text:find " %% ") then return nil end   -- refused
  local swap <const> = g:chance(3) and (y ~= nil or text:sub(1, 3) ~= "%1:")       -- a number has no methods
  local f
  if x.dtype == "bool" then f = function() return truth end
  elseif dense.is_whole(x.dtype) then f = function() return whole end
  else f = function(S) return function(a, b) return float(S, a, b) end end end
  dtype = dtype or dense.computed(x.dtype)
  if y then
    local a, b = x, y
    if swap then a, b = y, x end
    return g:emit(text, {a, b}, dense.broadcast(x.shape, y.shape), dtype,
      function(S, p, q) return dense.map2(f(S), dtype, p, q) end)
  end
  local written <const> = swap and text:gsub("%%1", "\0"):gsub("%%2", "%%1"):gsub("\0", function() return number_text(number) end)
    or text:gsub("%%2", function() return number_text(number) end)
  return g:emit(written, {x}, x.shape, dtype, function(S, p)
    local h <const> = f(S)
    local c <const> = dense.is_float(x.dtype) and S.lift(number + 0.0) or number
    return dense.map(function(e)
      if swap then return h(c, e) end
      return h(e, c)
    end, dtype, p)
  end)
end

local function whole_div(a, b) return b == 0 and 0 or b == -1 and -a or a // b end
local function whole_mod(a, b) return b == 0 and a or b == -1 and 0 or a % b end

--- The remainder with the sign of y; its slope in y is that of -floor(x / y).
local function float_mod(S, a, b)
  local x <const>, y <const> = S.val(a), S.val(b)
  if S.level > 0 then return S.sub(a, S.mul(S.lift(math.floor(x / y) + 0.0), b)) end
  if y == 0 or x - x ~= 0 or y ~= y then return 0 / 0 end
  if math.abs(y) == math.huge then return (x >= 0) == (y > 0) and x or x == 0 and x or y end
  local exact <const>, q <const> = scalar.on_grid(x) and scalar.on_grid(y), x / y
  if not scalar.on_grid(y) and math.abs(y) < 1e-3 and not scalar.toss() then return 0 / 0 end     -- it may be 0
  if not exact and scalar.close(q, math.floor(q + 0.5)) then return scalar.toss() and x % y or scalar.toss() and 0.0 or y end
  local r <const> = math.fmod(x, y)
  if exact then return r ~= 0 and (r < 0) ~= (y < 0) and r + y or r end
  return scalar.blur(x % y, math.abs(x) + math.abs(y))
end

local operators <const> = {
  {"+", "add", function(S, a, b) return S.add(a, b) end, function(a, b) return a + b end, 6},
  {"-", "sub", function(S, a, b) return S.sub(a, b) end, function(a, b) return a - b end, 6},
  {"*", "mul", function(S, a, b) return S.mul(a, b) end, function(a, b) return a * b end, 8},
  {"/", "div", function(S, a, b) return S.div(a, b) end, nil, 4},
  {"//", "idiv", function(S, a, b)
    local q <const> = S.val(S.level == 0 and S.div(a, b) or S.lift(S.val(a) / S.val(b)))
    return S.lift(q - q ~= 0 and q or math.floor(q) + 0.0)
  end, whole_div, 1},
  {"%", "mod", float_mod, whole_mod, 2},
}

for _, row in ipairs(operators) do
  local sign <const>, op <const>, float <const>, whole <const> = row[1], row[2], row[3], row[4]
  rows[#rows + 1] = {name = "x " .. sign .. " y", ops = {op}, weight = row[5], smooth = true, make = function(g)
    local x <const> = whole and g.mode == 0 and g:numeric() or g:float()
    if not x or (dense.is_whole(x.dtype) and not whole) then return nil end
    local style
    if op == "div" or op == "mod" or op == "idiv" then style = not (g.mode == 0 and g:chance(4)) and 4 or nil end
    return emit_pair(g, x, "(%1 " .. sign .. " %2)", float, whole, nil, nil, style)
  end}
end

rows[#rows + 1] = {name = "x ^ y", ops = {"pow", "square", "recip"}, weight = 6, smooth = true, make = function(g)
  local x <const> = g:float(function(v) return v.most < 1e4 end)
  if not x then return nil end
  local positive <const> = inside(x.value, above(0.01))
  if positive and x.most < 20 and g:chance(3) then                              -- an exponent that is a tensor
    local y <const> = g:leaf(x.shape, x.dtype, g:choose{1, 2})
    return y and g:emit("%1 ^ %2", {x, y}, x.shape, x.dtype, function(S, a, b) return dense.map2(S.pow, x.dtype, a, b) end)
  end
  if x.most < 20 and g:chance(6) then                                            -- a number to the power of a tensor
    local c <const> = g:choose{2.0, 0.5, 3.0}
    return g:emit(number_text(c) .. " ^ %1", {x}, x.shape, x.dtype, function(S, a)
      return dense.map(function(e) return S.pow(S.lift(c), e) end, x.dtype, a)
    end)
  end
  local p <const> = positive and g:choose{2.0, 0.0, 1.0, 3.0, 0.5, -1.0, -0.5, 1.5, -2.0} or g:choose{2.0, 0.0, 1.0, 3.0, 4.0}
  return g:emit("%1 ^ " .. number_text(p), {x}, x.shape, x.dtype, function(S, a)
    return dense.map(function(e) return S.pow(e, S.lift(p)) end, x.dtype, a)
  end)
end}

--- The one that is ahead; both for half of it on ties; NaN if either is.
local function extreme(S, a, b, ahead)
  local x <const>, y <const> = S.val(a), S.val(b)
  if x ~= x then return a end
  if y ~= y then return b end
  if ahead(a, b) then return a end
  if ahead(b, a) then return b end
  if S.level > 0 and not scalar.on_grid(x) then return scalar.toss() and a or b end
  return scalar.average(S, {a, b})
end

local function larger(S, a, b) return extreme(S, a, b, function(p, q) return S.less(q, p) end) end
local function smaller(S, a, b) return extreme(S, a, b, function(p, q) return S.less(p, q) end) end

for name, float in pairs{maximum = larger, minimum = smaller} do
  local whole <const> = name == "maximum" and math.max or math.min
  rows[#rows + 1] = {name = "gb." .. name, ops = {name}, weight = 2, smooth = true, make = function(g)
    local x <const> = g.mode == 0 and g:numeric() or g:float()
    return x and emit_pair(g, x, "gb." .. name .. "(%1, %2)", float, whole)
  end}
end

rows[#rows + 1] = {name = "clamp", public = {"tensor.clamp"}, ops = {"maximum", "minimum"}, weight = 2, smooth = true,
  make = function(g)
  local x <const> = g:float()
  if not x then return nil end
  local lo, hi = g:integer(3) / 2, nil
  if g:chance(2) then hi = lo + 1 + g:draw(3) / 2 end
  if hi and g:chance(3) then lo = nil end
  local text <const> = ("%%1:clamp(%s%s)"):format(lo and number_text(lo) or "nil", hi and ", " .. number_text(hi) or "")
  return g:emit(text, {x}, x.shape, x.dtype, function(S, a)
    return dense.map(function(e)
      if lo then e = larger(S, e, S.lift(lo)) end
      if hi then e = smaller(S, e, S.lift(hi)) end
      return e
    end, x.dtype, a)
  end)
end}

-- Comparisons and truth --------------------------------------------------------------------------------------------------------

local comparisons <const> = {
  lt = {function(S, a, b) return S.less(a, b) end, function(a, b) return a < b end},
  le = {function(S, a, b) return S.less(a, b) or S.equal(a, b) end, function(a, b) return a <= b end},
  gt = {function(S, a, b) return S.less(b, a) end, function(a, b) return a > b end},
  ge = {function(S, a, b) return S.less(b, a) or S.equal(a, b) end, function(a, b) return a >= b end},
  eq = {function(S, a, b) return S.equal(a, b) end, function(a, b) return a == b end, function(a, b) return a == b end},
  ne = {function(S, a, b) return not S.equal(a, b) end, function(a, b) return a ~= b end, function(a, b) return a ~= b end},
}

for name, f in pairs(comparisons) do
  rows[#rows + 1] = {name = name, ops = {name}, public = {"tensor." .. name}, weight = 2, make = function(g)
    local x <const> = f[3] and g:any() or g:numeric()
    return x and emit_pair(g, x, "%1:" .. name .. "(%2)", f[1], f[2], f[3], "bool")
  end}
end

for sign, row in pairs{["&"] = {"and", function(a, b) return a and b end}, ["|"] = {"or", function(a, b) return a or b end}} do
  rows[#rows + 1] = {name = "x " .. sign .. " y", ops = {row[1]}, weight = 1, make = function(g)
    local x <const> = g:pick(function(v) return v.dtype == "bool" end) or g:leaf(nil, "bool")
    return x and emit_pair(g, x, "(%1 " .. sign .. " %2)", nil, nil, row[2], "bool")
  end}
end

rows[#rows + 1] = {name = "~x", ops = {"not"}, weight = 1, make = function(g)
  local x <const> = g:pick(function(v) return v.dtype == "bool" end) or g:leaf(nil, "bool")
  return x and g:emit("~%1", {x}, x.shape, "bool", function(_, a) return dense.map(function(e) return not e end, "bool", a) end)
end}

rows[#rows + 1] = {name = "gb.where", ops = {"where"}, weight = 4, smooth = true, make = function(g)
  local x <const> = g.mode == 0 and g:any() or g:float()
  if not x then return nil end
  local condition
  if g.mode == 0 then
    condition = g:pick(function(v) return v.dtype == "bool" and dense.broadcast(v.shape, x.shape) ~= nil end)
  end
  if not condition then
    local shape <const> = table.move(x.shape, 1, #x.shape, 1, {})
    for d = 1, #shape do if g:chance(3) then shape[d] = 1 end end
    condition = g:leaf(shape, "bool")
    if not condition then return nil end
  end
  local swap <const>, y <const>, number <const> = g:chance(2), g:partner(x)
  if not y and number == nil then return nil end
  local shape = dense.broadcast(condition.shape, x.shape)
  if y then
    shape = dense.broadcast(shape, y.shape)
    if not shape or #condition.shape ~= #shape or #x.shape ~= #shape or #y.shape ~= #shape then return nil end
  end
  local other <const> = y and "%3" or number_text(number)
  local text <const> = swap and ("gb.where(%%1, %s, %%2)"):format(other) or ("gb.where(%%1, %%2, %s)"):format(other)
  return g:emit(text, {condition, x, y}, shape, x.dtype, function(S, c, a, b)
    local p <const>, q <const>, out <const> = dense.expand(c, shape).v, dense.expand(a, shape).v, {}
    local r <const> = b and dense.expand(b, shape).v
    local fill <const> = not b and (dense.is_float(x.dtype) and S.lift(number + 0.0) or number)
    for i = 1, #p do
      local e
      if r then e = r[i] else e = fill end
      if p[i] ~= swap then out[i] = q[i] else out[i] = e end
    end
    return dense.new(shape, x.dtype, out)
  end)
end}

-- Casts --------------------------------------------------------------------------------------------------------------------------

--- x as a number of another dtype.
local function cast(S, x, from, to)
  if to == "bool" then
    if dense.is_whole(from) then return x ~= 0 end
    return S.val(x) ~= 0
  end
  if to == "i32" then return dense.to_i32(cast(S, x, from, "i64")) end
  if to == "i64" then
    if from == "bool" then return x and 1 or 0 end
    if dense.is_whole(from) then return x end
    local v <const> = S.val(x)
    if v ~= v then return 0 end
    if v >= 0x1p63 then return math.maxinteger end
    if v <= -0x1p63 then return math.mininteger end
    return math.tointeger(v >= 0 and math.floor(v) or math.ceil(v))
  end
  if from == "bool" then return S.lift(x and 1.0 or 0.0) end
  if dense.is_whole(from) then
    local v <const> = x + 0.0
    return S.lift((math.tointeger(v) == x and scalar.on_grid(v)) and v or scalar.blur(v, v))
  end
  if S.level > 0 then return S.mul(x, S.lift(1.0)) end
  return (scalar.on_grid(x) or x - x ~= 0) and x or scalar.blur(x, math.abs(x))
end

rows[#rows + 1] = {name = "to", ops = {"cast"}, public = {"tensor.to"}, weight = 3, smooth = true, make = function(g)
  local x <const> = g.mode == 0 and g:any() or g:float()
  if not x then return nil end
  local to <const> = g.mode == 0 and g:choose{g.dtype, "i64", "f64", "bool", "f32", g.dtype, "f16", "i32", "i32"}
    or g:choose{"f32", "f64"}
  if dense.is_float(to) and x.most > 3e4 and to == "f16" then return nil end
  if to == x.dtype then return nil end
  local narrow = to
  if dense.is_float(x.dtype) and not dense.is_float(to) then narrow = x.dtype end
  if dense.is_float(x.dtype) and to == "f64" then narrow = x.dtype end
  return g:emit(("%%1:to{dtype = %q}"):format(to), {x}, x.shape, to, function(S, a)
    return dense.map(function(e) return cast(S, e, x.dtype, to) end, to, a)
  end, {precision = narrow})
end}

-- Computed on another device, and back.
rows[#rows + 1] = {name = "to device", ops = {"move"}, public = {"tensor.to"}, weight = 2, smooth = true, make = function(g)
  local x <const> = g:float()
  if not x then return nil end
  return g:emit("(function(x) gb.config{devices = 2} local d <const> = gb.devices() "
    .. "return (-x:to(d[2].name)):to(d[1].name) end)(%1)", {x}, x.shape, x.dtype, function(S, a)
      return dense.map(function(e) return S.fn("neg", e) end, x.dtype, a)
    end)
end}

-- Functions from scripts ----------------------------------------------------------------------------------------------------------

rows[#rows + 1] = {name = "gb.func", ops = {"call"}, weight = 1, smooth = true, make = function(g)
  local x <const> = g:float(function(v) return v.most < 1e3 and v.dtype ~= "f16" and v.dtype ~= "bf16" end)
  if not x then return nil end
  local text <const> = 'gb.func{name = "cube", shape = "same", bytes = "1 MiB", forward = function(x) return x ^ 3 end, ' ..
    "backward = function(dy, x) return 3 * x ^ 2 * dy end}(%1)"
  return g:emit(text, {x}, x.shape, x.dtype, function(S, a)
    return dense.map(function(e) return S.mul(e, S.mul(e, e)) end, x.dtype, a)
  end)
end}

rows[#rows + 1] = {name = "core.with_slope", ops = {"with_slope"}, weight = 1, smooth = true, make = function(g)
  local x <const> = g:float(function(v) return v.most < 1e3 end)
  if not x then return nil end
  return g:emit("core.with_slope(%1 * %1, %1, 2 * %1)", {x}, x.shape, x.dtype, function(S, a)
    return dense.map(function(e)
      local d <const> = S.mul(e, e)
      if S.level == 0 then return d end
      local slope <const> = S.mul(S.lift(2.0), e)
      -- of y both the value and, by y's own graph, nothing: the derivative is slope times that of x
      return {d[1], require("spec.fuzz.scalar").algebras[S.level - 1].mul(slope[1], e[2])}
    end, x.dtype, a)
  end)
end}

-- A mapped function of slices is the function of the whole, where it is elementwise or reduces the slices.
rows[#rows + 1] = {name = "gb.vmap", ops = {}, public = {"gb.vmap"}, weight = 2, smooth = true, make = function(g)
  local x <const> = g:float(function(v) return #v.shape >= 2 and v.most < 20 and dense.numel(v.shape) > 0 end)
  if not x then return nil end
  local d <const> = g:draw(#x.shape) + 1
  local moved <const> = {d}
  for i = 1, #x.shape do if i ~= d then moved[#moved + 1] = i end end
  local whole <const> = g:chance(2)                                  -- else each slice is summed
  local text <const> = ("gb.vmap(function(s) return (s * s + 1)%s end, %d)(%%1)"):format(whole and "" or ":sum()", d)
  local shape <const> = {}
  for i, from in ipairs(moved) do shape[i] = x.shape[from] end
  local out_shape <const> = whole and shape or {shape[1]}
  return g:emit(text, {x}, out_shape, x.dtype, function(S, a)
    local y <const> = dense.map(function(e) return S.add(S.mul(e, e), S.lift(1.0)) end, x.dtype, dense.permute(a, moved))
    if whole then return y end
    local axes <const>, v <const> = {}, {}
    for i = 2, #shape do axes[i] = true end
    for i, list in ipairs((dense.rows(y, axes))) do v[i] = S.sum(list) end
    return dense.new({shape[1]}, x.dtype, v)
  end)
end}

return rows
