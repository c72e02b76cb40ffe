--- Rows of what works by labels and by positions of elements, and of moves that are compositions of slices and masks.
local dense <const> = require "spec.fuzz.dense"

local rows <const> = {}
local function row(name, ops, smooth, make)
  rows[#rows + 1] = {name = name, ops = ops, public = {name}, weight = 1, smooth = smooth, make = make}
end

local function generate() return require "spec.fuzz.generate" end

--- A value with a dimension and elements, in a type that sums are exact or rounded once in.
local function summable(g)
  return g:pick(function(v)
    return #v.shape >= 1 and dense.numel(v.shape) > 0 and (v.dtype == "f64" or v.dtype == "f32" or dense.is_whole(v.dtype))
  end)
end

local function with_elements(g, rank)
  return g:pick(function(v) return #v.shape >= rank and dense.numel(v.shape) > 0 end)
end

local function total(S, dtype, list)
  if not dense.is_whole(dtype) then return S.sum(list) end
  local s = 0
  for _, e in ipairs(list) do s = s + e end
  return s
end

local function zero(S, dtype)
  if dense.is_float(dtype) then return S.lift(0.0) end
  if dense.is_whole(dtype) then return 0 end
  return false
end

local function drawn_labels(g, n, k)
  local list <const> = {}
  for i = 1, n do list[i] = g:draw(k) + 1 end
  return list
end

--- f over each line along dimension d.
local function lines(x, d, count, dtype, f)
  local lists <const> = dense.rows(x, {[d] = true})
  for i, list in ipairs(lists) do lists[i] = f(list, i) end
  return dense.from_rows(lists, dense.with_extent(x.shape, d, count), d, count, dtype)
end

-- By label ------------------------------------------------------------------------------------------------------------------

local function segments(name, ops, smooth, one)
  row("gb." .. name, ops, smooth, function(g)
    local x <const> = summable(g)
    if not x or x.shape[1] > 40 then return nil end
    local k <const> = 1 + g:draw(3)
    local at <const>, dtype <const> = drawn_labels(g, x.shape[1], k), dense.computed(x.dtype)
    return g:emit(("gb.%s(%%1, {%s}, %d)"):format(name, table.concat(at, ", "), k), {x}, dense.with_extent(x.shape, 1, k), dtype,
      function(S, a)
      return lines(a, 1, k, dtype, function(list)
        local out <const> = {}
        for j = 1, k do
          local own <const> = {}
          for i, e in ipairs(list) do if at[i] == j then own[#own + 1] = e end end
          out[j] = one(S, x.dtype, own)
        end
        return out
      end)
    end)
  end)
end

local function extreme(largest)
  return function(S, dtype, list)
    local best
    for _, e in ipairs(list) do
      local whole <const> = dense.is_whole(dtype)
      local v <const>, w <const> = whole and e or S.val(e), best and (whole and best or S.val(best))
      if v ~= v then return e end
      if best == nil or (largest and v > w) or (not largest and v < w) then best = e end
    end
    if best ~= nil then return best end
    if dense.is_whole(dtype) then return largest and math.mininteger or math.maxinteger end
    return S.lift(largest and -math.huge or math.huge)
  end
end

segments("segment_sum", {"index_add"}, true, total)
segments("segment_max", {"index_max"}, false, extreme(true))
segments("segment_min", {"index_min"}, false, extreme(false))

row("gb.one_hot", {"eq", "cast"}, true, function(g)
  local n <const>, k <const> = 1 + g:draw(4), 1 + g:draw(3)
  local at <const>, dtype <const> = drawn_labels(g, n, k), g.dtype
  return g:emit(("gb.one_hot({%s}, %d, {dtype = %q})"):format(table.concat(at, ", "), k, dtype), {}, {n, k}, dtype, function(S)
    local out <const> = {}
    for i = 1, n do for j = 1, k do out[#out + 1] = S.lift(at[i] == j and 1.0 or 0.0) end end
    return dense.new({n, k}, dtype, out)
  end)
end)

-- By position of each element -------------------------------------------------------------------------------------------------

--- Positions along d, as text and as a tensor.
local function drawn_index(g, x, d, count)
  local shape <const> = dense.with_extent(x.shape, d, count)
  local v <const> = drawn_labels(g, dense.numel(shape), x.shape[d])
  local dtype <const> = g:choose{"i64", "i32"}
  return ('gb.tensor(%s, {dtype = %q})'):format(generate().list_text(v, shape), dtype), dense.new(shape, dtype, v)
end

row("tensor.gather", {"index"}, true, function(g)
  local x <const> = with_elements(g, 1)
  if not x or dense.numel(x.shape) > 60 then return nil end
  local d <const>, count <const> = g:draw(#x.shape) + 1, 1 + g:draw(6)
  local text <const>, index <const> = drawn_index(g, x, d, count)
  return g:emit(("%%1:gather(%s, %s)"):format(g:dimension_text(x, d), text), {x}, index.shape, x.dtype, function(_, a)
    local at <const> = dense.rows(index, {[d] = true})
    return lines(a, d, count, x.dtype, function(list, i)
      local out <const> = {}
      for k, p in ipairs(at[i]) do out[k] = list[p] end
      return out
    end)
  end)
end)

row("tensor.scatter_add", {"index_add"}, true, function(g)
  local x <const> = summable(g)
  if not x or dense.numel(x.shape) > 60 then return nil end
  local d <const>, count <const> = g:draw(#x.shape) + 1, 1 + g:draw(4)
  local text <const>, index <const> = drawn_index(g, x, d, count)
  local y <const> = g:leaf(index.shape, x.dtype)
  if not y then return nil end
  local dtype <const> = dense.computed(x.dtype)
  return g:emit(("%%1:scatter_add(%s, %s, %%2)"):format(g:dimension_text(x, d), text), {x, y}, x.shape, dtype, function(S, a, b)
    local at <const>, new <const> = dense.rows(index, {[d] = true}), dense.rows(b, {[d] = true})
    return lines(a, d, x.shape[d], dtype, function(list, i)
      local parts <const>, out <const> = {}, {}
      for k, e in ipairs(list) do parts[k] = {e} end
      for k, p in ipairs(at[i]) do table.insert(parts[p], new[i][k]) end
      for k, part in ipairs(parts) do out[k] = total(S, x.dtype, part) end
      return out
    end)
  end)
end)

--- Entries of y join those of x at their positions: join(S, dtype, list) of what meets at one place.
local function joined(name, smooth, join)
  row("tensor." .. name, {name}, smooth, function(g)
    local x <const> = summable(g)
    if not x then return nil end
    local d <const>, count <const> = g:draw(#x.shape) + 1, 1 + g:draw(4)
    local at <const> = drawn_labels(g, count, x.shape[d])
    local y <const> = g:leaf(dense.with_extent(x.shape, d, count), x.dtype)
    if not y then return nil end
    local dtype <const> = dense.computed(x.dtype)
    return g:emit(("%%1:%s(%s, {%s}, %%2)"):format(name, g:dimension_text(x, d), table.concat(at, ", ")), {x, y}, x.shape, dtype,
      function(S, a, b)
      local new <const> = dense.rows(b, {[d] = true})
      return lines(a, d, x.shape[d], dtype, function(list, i)
        local parts <const>, out <const> = {}, {}
        for k, e in ipairs(list) do parts[k] = {e} end
        for k, p in ipairs(at) do table.insert(parts[p], new[i][k]) end
        for k, part in ipairs(parts) do out[k] = join(S, x.dtype, part) end
        return out
      end)
    end)
  end)
end

joined("index_add", true, total)
joined("index_max", false, extreme(true))
joined("index_min", false, extreme(false))

-- Moves and masks -------------------------------------------------------------------------------------------------------------

row("tensor.roll", {"slice", "cat"}, true, function(g)
  local x <const> = with_elements(g, 1)
  if not x then return nil end
  local d <const>, by <const> = g:draw(#x.shape) + 1, g:integer(7)
  local n <const> = x.shape[d]
  return g:emit(("%%1:roll(%d, %s)"):format(by, g:dimension_text(x, d)), {x}, x.shape, x.dtype, function(_, a)
    return lines(a, d, n, x.dtype, function(list)
      local out <const> = {}
      for i = 1, n do out[(i - 1 + by) % n + 1] = list[i] end
      return out
    end)
  end)
end)

row("tensor.pad", {"cat"}, true, function(g)
  local x <const> = with_elements(g, 1)
  if not x then return nil end
  local d <const>, before <const>, after <const> = g:draw(#x.shape) + 1, g:draw(3), g:draw(3)
  local n <const> = x.shape[d]
  return g:emit(("%%1:pad(%s, %d, %d)"):format(g:dimension_text(x, d), before, after), {x},
    dense.with_extent(x.shape, d, n + before + after), x.dtype, function(S, a)
    return lines(a, d, n + before + after, x.dtype, function(list)
      local out <const> = {}
      for i = 1, n + before + after do out[i] = zero(S, x.dtype) end
      for i = 1, n do out[before + i] = list[i] end
      return out
    end)
  end)
end)

for _, name in ipairs{"tril", "triu"} do
  row("tensor." .. name, {"where"}, true, function(g)
    local x <const> = with_elements(g, 2)
    if not x then return nil end
    local k <const>, m <const>, n <const> = g:integer(2), x.shape[#x.shape], x.shape[#x.shape - 1]
    return g:emit(("%%1:%s(%d)"):format(name, k), {x}, x.shape, x.dtype, function(S, a)
      local out <const> = {}
      for e = 1, #a.v do
        local i <const>, j <const> = (e - 1) // m % n, (e - 1) % m
        local kept
        if name == "tril" then kept = j - i <= k else kept = j - i >= k end
        if kept then out[e] = a.v[e] else out[e] = zero(S, x.dtype) end
      end
      return dense.new(x.shape, x.dtype, out)
    end)
  end)
end

row("gb.outer", {"mul"}, true, function(g)
  local x <const> = g:pick(function(v) return #v.shape == 1 and dense.is_float(v.dtype) and v.shape[1] < 20 and v.most < 1e3 end)
  if not x then return nil end
  return g:emit("gb.outer(%1, %1)", {x}, {x.shape[1], x.shape[1]}, x.dtype, function(S, a)
    local out <const> = {}
    for _, u in ipairs(a.v) do for _, v in ipairs(a.v) do out[#out + 1] = S.mul(u, v) end end
    return dense.new({#a.v, #a.v}, x.dtype, out)
  end)
end)

return rows
