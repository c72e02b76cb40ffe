--- Rows of views, joins and positions.
local dense <const> = require "spec.fuzz.dense"

local function shape_text(shape) return table.concat(shape, ", ") end

local rows <const> = {}
local function row(name, ops, weight, make, public)
  rows[#rows + 1] = {name = name, ops = ops, public = public or {"tensor." .. name}, weight = weight, smooth = true, make = make}
end

local function with_rank(least) return function(v) return #v.shape >= least end end

--- Factors of n in a random order, some of them merged.
local function factored(g, n)
  local factors <const> = {}
  local p = 2
  while n > 1 do
    if n % p == 0 then
      factors[#factors + 1] = p
      n = n // p
    else
      p = p + 1
    end
  end
  local shape <const> = {1}
  for _, f in ipairs(factors) do
    if g:chance(2) then shape[#shape + 1] = f else shape[g:draw(#shape) + 1] = shape[#shape] * f end
  end
  return shape
end

-- reshape, permute and tile can be given the value to look at.
row("reshape", {"reshape"}, 5, function(g, given)
  local x <const> = given or g:any()
  if not x then return nil end
  local n <const> = dense.numel(x.shape)
  local shape
  if n == 0 then shape = {0, 3}
  elseif g:chance(3) then shape = {n}
  else
    shape = factored(g, n)
    local product = 1
    for i = 1, #shape do product = product * shape[i] end
    if product ~= n then shape = {n} end
  end
  if #shape > 4 then shape = {n} end
  local written <const> = table.move(shape, 1, #shape, 1, {})
  if n > 0 and g:chance(4) then written[g:draw(#shape) + 1] = -1 end
  return g:emit(("%%1:reshape(%s)"):format(shape_text(written)), {x}, shape, x.dtype,
    function(_, a) return dense.reshape(a, shape) end)
end)

row("permute", {"permute"}, 5, function(g, given)
  local x <const> = given or g:pick(with_rank(2))
  if not x or #x.shape < 2 then return nil end
  local left <const>, order <const>, shape <const> = {}, {}, {}
  for d = 1, #x.shape do left[d] = d end
  for d = 1, #x.shape do
    order[d] = table.remove(left, #left - g:draw(#left))
    shape[d] = x.shape[order[d]]
  end
  return g:emit(("%%1:permute(%s)"):format(shape_text(order)), {x}, shape, x.dtype,
    function(_, a) return dense.permute(a, order) end)
end)

row("t", {"permute"}, 3, function(g)
  local x <const> = g:pick(with_rank(2))
  if not x then return nil end
  local r <const>, order <const>, shape <const> = #x.shape, {}, {}
  for d = 1, r do order[d] = d end
  order[r], order[r - 1] = r - 1, r
  for d = 1, r do shape[d] = x.shape[order[d]] end
  return g:emit("%1:t()", {x}, shape, x.dtype, function(_, a) return dense.permute(a, order) end)
end)

row("unsqueeze", {"unsqueeze"}, 4, function(g)
  local x <const> = g:pick(function(v) return #v.shape < 5 end)
  if not x then return nil end
  local d <const> = g:draw(#x.shape + 1) + 1
  local shape <const> = table.move(x.shape, 1, #x.shape, 1, {})
  table.insert(shape, d, 1)
  return g:emit(("%%1:unsqueeze(%s)"):format(g:dimension_text(x, d, 1)), {x}, shape, x.dtype,
    function(_, a) return dense.reshape(a, shape) end)
end)

row("squeeze", {"squeeze"}, 2, function(g)
  local function has_one(v)
    for _, n in ipairs(v.shape) do if n == 1 then return true end end
    return false
  end
  local x <const> = g:pick(has_one)
  if not x then return nil end
  local d = g:draw(#x.shape) + 1
  while x.shape[d] ~= 1 do d = d % #x.shape + 1 end
  local shape <const> = table.move(x.shape, 1, #x.shape, 1, {})
  table.remove(shape, d)
  return g:emit(("%%1:squeeze(%s)"):format(g:dimension_text(x, d)), {x}, shape, x.dtype,
    function(_, a) return dense.reshape(a, shape) end)
end)

row("expand", {"expand"}, 3, function(g)
  local x <const> = g:any()
  if not x then return nil end
  local shape <const>, written <const> = {}, {}
  for d, n in ipairs(x.shape) do
    shape[d] = n == 1 and g:choose{2, 3, 1, 4} or n
    written[d] = n ~= 1 and g:chance(3) and -1 or shape[d]
  end
  if #shape < 4 and g:chance(2) then
    local n <const> = g:choose{2, 3, 1}
    table.insert(shape, 1, n)
    table.insert(written, 1, n)
  end
  if #shape == 0 then return nil end
  return g:emit(("%%1:expand(%s)"):format(shape_text(written)), {x}, shape, x.dtype,
    function(_, a) return dense.expand(a, shape) end)
end)

row("tile", {"expand", "reshape"}, 4, function(g, given)
  local x <const> = given or g:pick(function(v) return #v.shape < 4 end)
  if not x or #x.shape > 3 then return nil end
  local times <const>, inner <const>, shape <const> = {}, {}, {}
  local extra <const> = #x.shape == 0 and 1 or g:chance(4) and 1 or 0
  for d = 1, #x.shape + extra do
    times[d] = g:choose{1, 2, 3}
    inner[d] = d > extra and x.shape[d - extra] or 1
    shape[d] = inner[d] * times[d]
  end
  return g:emit(("%%1:tile(%s)"):format(shape_text(times)), {x}, shape, x.dtype, function(_, a)
    -- times_1 x n_1 x times_2 x n_2 x ...
    local wide <const>, stride <const>, own <const> = {}, {}, dense.strides(inner)
    for d = 1, #shape do
      wide[2 * d - 1], stride[2 * d - 1] = times[d], 0
      wide[2 * d], stride[2 * d] = inner[d], own[d]
    end
    return dense.new(shape, a.dtype, dense.walk(a.v, wide, stride, 1))
  end)
end)

--- Positions first, first + step, ... of dimension d.
local function strided(x, d, first, step, n)
  local stride <const> = dense.strides(x.shape)
  local offset <const> = n > 0 and 1 + (first - 1) * stride[d] or 1
  stride[d] = stride[d] * step
  return dense.view(x, dense.with_extent(x.shape, d, n), stride, offset)
end

row("flip", {"slice"}, 3, function(g)
  local x <const> = g:pick(with_rank(1))
  if not x then return nil end
  local d <const> = g:draw(#x.shape) + 1
  local n <const> = x.shape[d]
  return g:emit(("%%1:flip(%s)"):format(g:dimension_text(x, d)), {x}, x.shape, x.dtype,
    function(_, a) return strided(a, d, n, -1, n) end)
end)

row("slice", {"slice"}, 5, function(g)
  local x <const> = g:pick(function(v) return #v.shape >= 1 end)
  if not x then return nil end
  local d <const> = g:draw(#x.shape) + 1
  local n <const> = x.shape[d]
  if n == 0 then return nil end
  local step <const> = g:choose{1, 1, 2, -1, 3, -2}
  local i, j = g:draw(n) + 1, g:draw(n) + 1
  if (step > 0) ~= (i <= j) then i, j = j, i end
  if g.mode == 0 and g:chance(12) then i, j = step > 0 and i or i - 1, step > 0 and i - 1 or i end     -- none
  local count <const> = step > 0 and (j < i and 0 or (j - i) // step + 1) or (j > i and 0 or (i - j) // -step + 1)
  local function text_of(k) return k > 0 and g:chance(4) and k - n - 1 or k end
  return g:emit(("%%1:slice(%s, %d, %d%s)"):format(g:dimension_text(x, d), text_of(i), text_of(j),
    step ~= 1 and ", " .. step or ""), {x},
    dense.with_extent(x.shape, d, count), x.dtype, function(_, a) return strided(a, d, i, step, count) end)
end)

row("select", {"slice", "squeeze"}, 3, function(g)
  local x <const> = g:pick(with_rank(1))
  if not x then return nil end
  local d <const> = g:draw(#x.shape) + 1
  local n <const> = x.shape[d]
  if n == 0 then return nil end
  local i <const> = g:draw(n) + 1
  local shape <const> = table.move(x.shape, 1, #x.shape, 1, {})
  table.remove(shape, d)
  local text <const> = d == 1 and g:chance(3) and ("%%1[%d]"):format(i)
    or ("%%1:select(%s, %d)"):format(g:dimension_text(x, d), g:chance(4) and i - n - 1 or i)
  return g:emit(text, {x}, shape, x.dtype, function(_, a) return dense.reshape(strided(a, d, i, 1, 1), shape) end)
end)

row("diagonal", {"diagonal"}, 4, function(g)
  local x <const> = g:pick(with_rank(2))
  if not x then return nil end
  local r <const> = #x.shape
  local n <const>, m <const> = x.shape[r - 1], x.shape[r]
  local shape <const> = table.move(x.shape, 1, r - 1, 1, {})
  shape[r - 1] = math.min(n, m)
  return g:emit("%1:diagonal()", {x}, shape, x.dtype, function(_, a)
    local stride <const> = dense.strides(x.shape)
    stride[r - 1], stride[r] = stride[r - 1] + stride[r], nil
    return dense.view(a, shape, stride)
  end)
end)

-- Joins -------------------------------------------------------------------------------------------------------------------

--- Along dimension d, of lists of rows.
local function joined(list, shape, d, dtype)
  local lists <const>, axes <const> = {}, {[d] = true}
  for k, x in ipairs(list) do
    for i, part in ipairs((dense.rows(x, axes))) do
      lists[i] = k == 1 and part or table.move(part, 1, #part, #lists[i] + 1, lists[i])
    end
  end
  return dense.from_rows(lists, shape, d, shape[d], dtype)
end

row("gb.cat", {"cat"}, 4, function(g)
  local x <const> = g:pick(with_rank(1))
  if not x then return nil end
  local d <const> = g:draw(#x.shape) + 1
  local function fits(v)
    if v.dtype ~= x.dtype or #v.shape ~= #x.shape then return false end
    for i, n in ipairs(v.shape) do if i ~= d and n ~= x.shape[i] then return false end end
    return true
  end
  local args <const>, text <const>, total = {x}, {"%1"}, x.shape[d]
  for k = 2, 2 + g:draw(2) do
    local y
    if g:chance(3) then y = g:leaf(dense.with_extent(x.shape, d, 1 + g:draw(3)), x.dtype) else y = g:pick(fits) end
    if not y then return nil end
    args[k], text[k] = y, "%" .. k
    total = total + y.shape[d]
  end
  local shape <const> = dense.with_extent(x.shape, d, total)
  return g:emit(("gb.cat({%s}, %s)"):format(table.concat(text, ", "), g:dimension_text(x, d)), args, shape, x.dtype,
    function(_, ...) return joined({...}, shape, d, x.dtype) end)
end, {"gb.cat"})

row("gb.stack", {"cat", "unsqueeze"}, 3, function(g)
  local x <const> = g:pick(function(v) return #v.shape < 4 end)
  if not x then return nil end
  local d <const> = g:draw(#x.shape + 1) + 1
  local args <const>, text <const> = {x}, {"%1"}
  for k = 2, 2 + g:draw(2) do
    args[k] = g:pick(function(v) return v.dtype == x.dtype and dense.same_shape(v.shape, x.shape) end)
    text[k] = "%" .. k
  end
  local one <const> = table.move(x.shape, 1, #x.shape, 1, {})
  table.insert(one, d, 1)
  local shape <const> = dense.with_extent(one, d, #args)
  return g:emit(("gb.stack({%s}, %d)"):format(table.concat(text, ", "), d), args, shape, x.dtype, function(_, ...)
    local list <const> = {}
    for i, a in ipairs{...} do list[i] = dense.reshape(a, one) end
    return joined(list, shape, d, x.dtype)
  end)
end, {"gb.stack"})

-- Positions ---------------------------------------------------------------------------------------------------------------

--- Text of positions along an extent, and what gives them: a list, a mask, a tensor of this program.
local function positions(g, n, unique)
  local how <const> = g:draw(5)
  if how == 4 then
    local p <const> = g:pick(function(v)
      if not dense.is_whole(v.dtype) or #v.shape ~= 1 or v.shape[1] == 0 or unique then return false end
      for _, i in ipairs(v.value.v) do if i < 1 or i > n then return false end end
      return true
    end)
    if p then
      return "%2", p.shape[1], p
    end
  end
  if how == 3 then
    local mask <const>, list <const> = {}, {}
    for i = 1, n do
      local on <const> = g:draw(2) == 1
      mask[i] = tostring(on)
      if on then list[#list + 1] = i end
    end
    if #list > 0 then return "{" .. table.concat(mask, ", ") .. "}", #list, list end
  end
  local list <const>, text <const>, seen <const> = {}, {}, {}
  for _ = 1, 1 + g:draw(4) do
    local i <const> = g:draw(n) + 1
    if not (unique and seen[i]) then
      seen[i] = true
      list[#list + 1] = i
      text[#text + 1] = g:chance(5) and i - n - 1 or i
    end
  end
  if how == 2 then
    for k, i in ipairs(list) do text[k] = i end
    return ('gb.tensor({%s}, {dtype = %q})'):format(table.concat(text, ", "), g:choose{"i64", "i32"}), #list, list
  end
  return "{" .. table.concat(text, ", ") .. "}", #list, list
end

local function taken(list, p)
  local out <const> = {}
  for i, at in ipairs(p) do
    out[i] = list[at]
    if out[i] == nil then out[i] = list[1] end                       -- in samples that moved a position away
  end
  return out
end

row("index", {"index"}, 4, function(g)
  local x <const> = g:pick(function(v) return #v.shape >= 1 and dense.numel(v.shape) > 0 end)
  if not x then return nil end
  local d <const> = g:draw(#x.shape) + 1
  local text <const>, count <const>, p <const> = positions(g, x.shape[d])
  local shape <const> = dense.with_extent(x.shape, d, count)
  return g:emit(("%%1:index(%s, %s)"):format(g:dimension_text(x, d), text), {x, p.id and p or nil}, shape, x.dtype,
    function(_, a, b)
    local lists <const> = dense.rows(a, {[d] = true})
    for i, list in ipairs(lists) do lists[i] = taken(list, b and b.v or p) end
    return dense.from_rows(lists, shape, d, count, x.dtype)
  end)
end)

row("put", {"put"}, 4, function(g)
  local x <const> = g:pick(function(v) return #v.shape >= 1 and dense.numel(v.shape) > 0 end)
  if not x then return nil end
  local d <const> = g:draw(#x.shape) + 1
  local text <const>, count <const>, list <const> = positions(g, x.shape[d], true)
  local shape <const> = dense.with_extent(x.shape, d, count)
  local y, number
  if x.dtype ~= "bool" and g:chance(3) then
    number = g:element(x.dtype, dense.is_whole(x.dtype) and g:choose{0, 5} or 2)
  else
    y = g:pick(function(v) return v.dtype == x.dtype and dense.same_shape(v.shape, shape) end) or g:leaf(shape, x.dtype)
    if not y then return nil end
  end
  local what <const> = y and "%2" or require "spec.fuzz.generate".number_text(number)
  return g:emit(("%%1:put(%s, %s, %s)"):format(g:dimension_text(x, d), text, what), {x, y}, x.shape, x.dtype, function(S, a, b)
    local lists <const>, axes <const> = {}, {[d] = true}
    local new <const> = b and dense.rows(b, axes)
    for i, line in ipairs((dense.rows(a, axes))) do
      for k, at in ipairs(list) do
        if new then line[at] = new[i][k] else line[at] = dense.is_float(x.dtype) and S.lift(number) or number end
      end
      lists[i] = line
    end
    return dense.from_rows(lists, x.shape, d, x.shape[d], x.dtype)
  end)
end)

return rows
