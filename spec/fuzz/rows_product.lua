--- Rows of products.
local dense <const> = require "spec.fuzz.dense"

local rows <const> = {}
local function row(name, ops, weight, public, make)
  rows[#rows + 1] = {name = name, ops = ops, public = public, weight = weight, smooth = true, make = make}
end

local letters <const> = {"a", "b", "c", "d", "e", "f", "g", "h"}

--- Sums of products: terms are {letters, tensor}, result a list of letters.
local function contract(S, terms, result, extents, dtype)
  local order <const>, inner <const>, shape <const> = {}, {}, {}
  for i, l in ipairs(result) do
    order[i], shape[i] = l, extents[l]
  end
  for _, l in ipairs(letters) do
    local kept = extents[l] == nil
    for _, k in ipairs(result) do kept = kept or k == l end
    if not kept then
      order[#order + 1] = l
      inner[#inner + 1] = extents[l]
    end
  end
  local whole <const>, count <const> = {}, dense.numel(inner)
  for i, l in ipairs(order) do whole[i] = extents[l] end
  local flat <const> = {}
  for t, term in ipairs(terms) do
    local own <const>, stride <const> = dense.strides(term[2].shape), {}
    for i, l in ipairs(order) do
      stride[i] = 0
      for d, k in ipairs(term[1]) do if k == l then stride[i] = stride[i] + own[d] end end
    end
    flat[t] = dense.walk(term[2].v, whole, stride, 1)
  end
  local out <const> = {}
  for i = 1, dense.numel(shape) do
    local products <const> = {}
    for j = 1, count do
      local p = flat[1][(i - 1) * count + j]
      for t = 2, #terms do p = S.mul(p, flat[t][(i - 1) * count + j]) end
      products[j] = p
    end
    out[i] = S.sum(products)
  end
  return dense.new(shape, dtype, out)
end

row("matmul", {"matmul", "gemm"}, 8, {"tensor.matmul"}, function(g)
  local function fits_left(v) return #v.shape >= 1 and #v.shape <= 3 and v.most < 1e6 end
  local x <const> = g:float(fits_left)
  if not x then return nil end
  local k <const> = x.shape[#x.shape]
  local function fits(v)
    if v.dtype ~= x.dtype or #v.shape < 1 or #v.shape > 3 or v.most > 1e6 then return false end
    if v.shape[math.max(#v.shape - 1, 1)] ~= k then return false end
    return #x.shape < 3 or #v.shape < 3 or v.shape[1] == x.shape[1] or v.shape[1] == 1 or x.shape[1] == 1
  end
  local y
  local written = "%1:matmul(%2)"
  if #x.shape == 2 and g:chance(3) then
    y, written = x, "%1:matmul(%2:t())"
  else
    y = g:pick(fits) or g:leaf(g:chance(3) and {k} or {k, g:extent()}, x.dtype)
  end
  if not y then return nil end
  local transposed <const> = y == x and written ~= "%1:matmul(%2)"
  if not transposed and not fits(y) then return nil end
  -- A product with an identity is the other factor, whatever that holds: 0 times inf is not formed.
  if not (x.finite and y.finite) then
    for _, s in ipairs(g.list) do if s.row == "gb.eye" or s.row == "gb.linalg.diag" then return nil end end
  end
  local left, right
  if #x.shape == 1 then left = {"k"} elseif #x.shape == 2 then left = {"n", "k"} else left = {"b", "n", "k"} end
  if transposed then right = {"m", "k"}
  elseif #y.shape == 1 then right = {"k"} elseif #y.shape == 2 then right = {"k", "m"} else right = {"b", "k", "m"} end
  -- n, k, m, b by the letters that contract() knows; a batch of 1 grows.
  local rename <const> = {n = "a", k = "b", m = "c", b = "d"}
  local extents <const>, result <const> = {}, {}
  local batch = 1
  local function take(list, shape)
    for i, l in ipairs(list) do
      list[i] = rename[l]
      if l == "b" then batch = math.max(batch, shape[i]) else extents[rename[l]] = shape[i] end
    end
    if list[1] == "d" then
      if shape[1] == 0 then batch = 0 end
      extents.d = true
    end
  end
  take(left, x.shape)
  take(right, y.shape)
  if extents.d then
    if (x.shape[1] == 0 and #x.shape == 3) or (#y.shape == 3 and y.shape[1] == 0) then return nil end
    extents.d = batch
    result[1] = "d"
  end
  if extents.a then result[#result + 1] = "a" end
  if extents.c then result[#result + 1] = "c" end
  local shape <const> = {}
  for i, l in ipairs(result) do shape[i] = extents[l] end
  local function grown(a, list)
    if list[1] ~= "d" or a.shape[1] == batch then return a end
    return dense.expand(a, dense.with_extent(a.shape, 1, batch))
  end
  return g:emit(written, {x, y}, shape, x.dtype, function(S, a, b)
    return contract(S, {{left, grown(a, left)}, {right, grown(b, right)}}, result, extents, x.dtype)
  end)
end)

row("gb.einsum", {"diagonal", "matmul", "sum"}, 6, {"gb.einsum"}, function(g)
  local extents <const>, terms <const>, args <const>, used <const> = {}, {}, {}, {}
  -- Finite ones: what is summed before it is multiplied is for einsum to say.
  local x <const> = g:float(function(v) return v.finite and v.most < 1e4 and #v.shape >= 1 and #v.shape <= 4 end)
  if not x then return nil end
  for t = 1, 1 + g:draw(3) do
    local y <const> = t == 1 and x or g:float(function(v)
      return v.finite and v.dtype == x.dtype and v.most < 1e4 and #v.shape >= 1 and #v.shape <= 3
    end)
    if not y then return nil end
    local list <const> = {}
    for d, n in ipairs(y.shape) do
      -- letters of this extent, and the next new one
      local can <const> = {}
      for _, l in ipairs(letters) do if extents[l] == n then can[#can + 1] = l end end
      for _, l in ipairs(letters) do
        if not extents[l] then
          can[#can + 1] = l
          break
        end
      end
      if #can == 0 then return nil end
      list[d] = g:choose(can)
      extents[list[d]] = n
      used[list[d]] = true
    end
    terms[t], args[t] = list, y
  end
  local result <const>, size = {}, 1
  for _, l in ipairs(letters) do
    if used[l] then
      size = size * extents[l]
      if not g:chance(2) then table.insert(result, g:draw(#result + 1) + 1, l) end
    end
  end
  if size > 3000 or #result > 4 then return nil end
  local spec <const>, places <const>, shape <const> = {}, {}, {}
  for t, list in ipairs(terms) do
    spec[t] = table.concat(list)
    places[t] = "%" .. t
  end
  for i, l in ipairs(result) do shape[i] = extents[l] end
  local text <const> = ("gb.einsum(%q, %s)"):format(table.concat(spec, ",") .. "->" .. table.concat(result),
    table.concat(places, ", "))
  return g:emit(text, args, shape, x.dtype, function(S, ...)
    local list <const> = {}
    for t, a in ipairs{...} do list[t] = {terms[t], a} end
    return contract(S, list, result, extents, x.dtype)
  end)
end)

return rows
