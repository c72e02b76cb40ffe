--- Rows of products, linear algebra and kernels.
local dense <const> = require "spec.fuzz.dense"
local scalar <const> = require "spec.fuzz.scalar"

local rows <const> = {}
local function row(name, ops, weight, public, make)
  rows[#rows + 1] = {name = name, ops = ops, public = public, weight = weight, smooth = true, make = make}
end

local function number_text(v) return require "spec.fuzz.generate".number_text(v) end

local function dot(S, a, b)
  local terms <const> = {}
  for i = 1, #a do terms[i] = S.mul(a[i], b[i]) end
  return S.sum(terms)
end

-- Products ------------------------------------------------------------------------------------------------------------------

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

-- Linear algebra: by the textbook, in any algebra ------------------------------------------------------------------------------

local function cholesky(S, a, n)
  local l <const> = {}
  for i = 1, n do
    l[i] = {}
    for j = 1, n do
      if j > i then
        l[i][j] = S.lift(0.0)
      else
        local terms <const> = {a[i][j]}
        for k = 1, j - 1 do terms[#terms + 1] = S.neg(S.mul(l[i][k], l[j][k])) end
        local s <const> = S.sum(terms)
        l[i][j] = i == j and S.fn("sqrt", s) or S.div(s, l[j][j])
      end
    end
  end
  return l
end

--- x with l x = b, columns of b in lists of rows; upper: from the last row.
local function substitute(S, l, b, n, upper)
  local x <const> = {}
  for step = 1, n do
    local i <const> = upper and n + 1 - step or step
    x[i] = {}
    for c = 1, #b[i] do
      local terms <const> = {b[i][c]}
      for k = upper and i + 1 or 1, upper and n or i - 1 do terms[#terms + 1] = S.neg(S.mul(l[i][k], x[k][c])) end
      x[i][c] = S.div(S.sum(terms), l[i][i])
    end
  end
  return x
end

local function transposed(a, n, m)
  local t <const> = {}
  for j = 1, m do
    t[j] = {}
    for i = 1, n do t[j][i] = a[i][j] end
  end
  return t
end

local function columns(b)
  local rows_ <const> = {}
  if #b.shape == 1 then
    for i, x in ipairs(b.v) do rows_[i] = {x} end
    return rows_
  end
  return dense.matrices(b)[1] or {}
end

--- Solutions in the shape of their right-hand sides. The order of an elimination is the library's: what is exact in another
--- may be rounded in this one, by the size of the column.
local function as_rhs(S, x, b, n)
  local count <const> = #b.shape == 1 and 1 or b.shape[2]
  for c = 1, S.level == 0 and count or 0 do
    local size = 0.0
    for i = 1, n do size = math.max(size, math.abs(x[i][c])) end
    for i = 1, n do x[i][c] = scalar.blur(x[i][c], size) end
  end
  return dense.new(b.shape, b.dtype, dense.from_matrix(x, n, count, b.dtype).v)
end

--- A A' + 2 I of a matrix: its text, and its rows.
local positive <const> = "(%1:matmul(%1:t()) + gb.eye(#%1, {dtype = %1.dtype}) * 2)"

local function positive_rows(S, a)
  local x <const>, out <const> = dense.matrices(a)[1], {}
  for i = 1, #x do
    out[i] = {}
    for j = 1, #x do out[i][j] = S.add(dot(S, x[i], x[j]), S.lift(i == j and 2.0 or 0.0)) end
  end
  return out
end

local function factorable(v)
  return #v.shape == 2 and v.shape[1] > 0 and v.shape[2] > 0 and v.shape[1] <= 6 and v.shape[2] <= 6 and v.most < 8 and v.finite
    and (v.dtype == "f64" or v.dtype == "f32")
end

local function right_side(g, x, n)
  local b <const> = g:pick(function(v)
    return v.dtype == x.dtype and (#v.shape == 1 or #v.shape == 2) and v.shape[1] == n and v.finite and v.most < 100
      and (v.shape[2] or 1) > 0
  end)
  if b then return b end
  return g:leaf(g:chance(2) and {n} or {n, 1 + g:draw(3)}, x.dtype, g:choose{1, 2, 3})
end

row("gb.linalg.cholesky", {"cholesky"}, 1, {"gb.linalg.cholesky"}, function(g)
  local x <const> = g:float(factorable)
  if not x then return nil end
  local n <const> = x.shape[1]
  return g:emit("gb.linalg.cholesky" .. positive, {x}, {n, n}, x.dtype, function(S, a)
    return dense.from_matrix(cholesky(S, positive_rows(S, a), n), n, n, x.dtype)
  end)
end)

-- A matrix without symmetry to see, from the same one: running sums down its columns, and i added to entry (i, i).
local function lopsided(n) return positive .. ":cumsum(1) + gb.linalg.diag(gb.range(1, " .. n .. ", {dtype = %1.dtype}))" end

local function lopside(S, m, n)
  for i = 2, n do
    for j = 1, n do m[i][j] = S.add(m[i][j], m[i - 1][j]) end
  end
  for i = 1, n do m[i][i] = S.add(m[i][i], S.lift(i + 0.0)) end
end

--- Gauss with row exchanges, in place: m upper triangular, the rows of y (if any) alike.
local function eliminate(S, m, y, n)
  for k = 1, n do
    local p = k
    for i = k + 1, n do if math.abs(S.val(m[i][k])) > math.abs(S.val(m[p][k])) then p = i end end
    m[k], m[p], y[k], y[p] = m[p], m[k], y[p], y[k]
    for i = k + 1, n do
      local f <const> = S.div(m[i][k], m[k][k])
      for _, rows_ in ipairs{m, y} do
        local line <const> = {}
        for j = 1, #(rows_[i] or {}) do line[j] = S.sub(rows_[i][j], S.mul(f, rows_[k][j])) end
        if rows_[i] then rows_[i] = line end
      end
    end
  end
end

row("gb.linalg.solve", {"solve_chol", "lu_solve"}, 2, {"gb.linalg.solve"}, function(g)
  local x <const> = g:float(factorable)
  if not x then return nil end
  local n <const> = x.shape[1]
  local b <const> = right_side(g, x, n)
  if not b then return nil end
  local general <const> = g:chance(2)                  -- by LU
  return g:emit("gb.linalg.solve(" .. (general and lopsided(n) or positive) .. ", %2)", {x, b}, b.shape, x.dtype, function(S, a, c)
    local m <const>, y <const> = positive_rows(S, a), columns(c)
    if general then
      lopside(S, m, n)
      eliminate(S, m, y, n)
      return as_rhs(S, substitute(S, m, y, n, true), c, n)
    end
    local l <const> = cholesky(S, m, n)
    return as_rhs(S, substitute(S, transposed(l, n, n), substitute(S, l, y, n), n, true), c, n)
  end)
end)

row("gb.linalg.triangular_solve", {"triangular_solve"}, 1, {"gb.linalg.triangular_solve"}, function(g)
  local x <const> = g:float(factorable)
  if not x then return nil end
  local n <const> = x.shape[1]
  local b <const> = right_side(g, x, n)
  if not b then return nil end
  local upper <const>, flip <const> = g:chance(2), g:chance(2)
  local options <const> = {}
  if upper then options[#options + 1] = "upper = true" end
  if flip then options[#options + 1] = "transposed = true" end
  local text <const> = "gb.linalg.triangular_solve(" .. positive .. ", %2"
    .. (#options > 0 and ", {" .. table.concat(options, ", ") .. "}" or "") .. ")"
  return g:emit(text, {x, b}, b.shape, x.dtype, function(S, a, c)
    local m = positive_rows(S, a)
    if flip then m = transposed(m, n, n) end
    return as_rhs(S, substitute(S, m, columns(c), n, upper ~= flip), c, n)
  end)
end)

row("gb.linalg.logdet", {"logdet", "lu_logdet"}, 1, {"gb.linalg.logdet"}, function(g)
  local x <const> = g:float(factorable)
  if not x then return nil end
  local n <const> = x.shape[1]
  local general <const> = g:chance(2)
  return g:emit("gb.linalg.logdet(" .. (general and lopsided(n) or positive) .. ")", {x}, {}, x.dtype, function(S, a)
    local m <const>, terms <const> = positive_rows(S, a), {}
    if general then
      lopside(S, m, n)
      eliminate(S, m, {}, n)
      for i = 1, n do terms[i] = S.fn("log", S.fn("abs", m[i][i])) end
    else
      local l <const> = cholesky(S, m, n)
      for i = 1, n do terms[i] = S.mul(S.lift(2.0), S.fn("log", l[i][i])) end
    end
    return dense.new({}, x.dtype, {S.sum(terms)})
  end)
end)

row("gb.linalg.inv_quad", {"inv_quad", "chol_inverse"}, 1, {"gb.linalg.inv_quad"}, function(g)
  local x <const> = g:float(factorable)
  if not x then return nil end
  local n <const> = x.shape[1]
  local b <const> = right_side(g, x, n)
  if not b then return nil end
  return g:emit("gb.linalg.inv_quad(" .. positive .. ", %2)", {x, b}, {}, x.dtype, function(S, a, c)
    local terms <const> = {}
    for _, line in ipairs(substitute(S, cholesky(S, positive_rows(S, a), n), columns(c), n)) do
      for _, e in ipairs(line) do terms[#terms + 1] = S.mul(e, e) end
    end
    return dense.new({}, x.dtype, {S.sum(terms)})
  end)
end)

--- Q and R by Gram and Schmidt, twice for the angles.
-- Columns of q are known up to rounding of their length, 1, as a factorisation by reflections gives them.
local function gram_schmidt(S, a, n, m)
  local q <const>, r <const> = {}, {}
  for i = 1, m do
    r[i] = {}
    for j = 1, m do r[i][j] = S.lift(0.0) end
  end
  local cols <const> = transposed(a, n, m)
  for j = 1, m do
    local v = cols[j]
    for _ = 1, 2 do
      for i = 1, j - 1 do
        local c <const> = dot(S, q[i], v)
        r[i][j] = S.add(r[i][j], c)
        local w <const> = {}
        for k = 1, n do w[k] = S.sub(v[k], S.mul(c, q[i][k])) end
        v = w
      end
    end
    r[j][j] = S.fn("sqrt", dot(S, v, v))
    q[j] = {}
    for k = 1, n do
      local e <const>, at <const> = S.div(v[k], r[j][j]), S.val(v[k])
      local error <const> = S.lift(scalar.blur(S.val(e), 1) - S.val(e))
      q[j][k] = S.add(e, error)
      r[j][j] = S.add(r[j][j], S.mul(error, S.sub(v[k], S.lift(at))))            -- the slopes of r are products with q
    end
  end
  return transposed(q, m, n), r
end

-- n x m, n >= m, of full rank: the matrix over (2 I, 0).
local function tall(g)
  return g:float(function(v) return factorable(v) and v.shape[1] + v.shape[2] <= 8 end)
end
local stacked <const> = "gb.cat({%1, gb.eye(%1.shape[2], {dtype = %1.dtype}) * 2}, 1)"

local function stacked_rows(S, a)
  local x <const>, m <const> = dense.matrices(a)[1], a.shape[2]
  for i = 1, m do
    local line <const> = {}
    for j = 1, m do line[j] = S.lift(i == j and 2.0 or 0.0) end
    x[#x + 1] = line
  end
  return x, #x, m
end

row("gb.linalg.qr", {"qr", "pick"}, 1, {"gb.linalg.qr"}, function(g)
  local x <const> = tall(g)
  if not x then return nil end
  local second <const>, n <const>, m <const> = g:chance(2), x.shape[1] + x.shape[2], x.shape[2]
  local text <const> = second and "select(2, gb.linalg.qr(" .. stacked .. "))" or "(gb.linalg.qr(" .. stacked .. "))"
  return g:emit(text, {x}, {second and m or n, m}, x.dtype, function(S, a)
    local rows_ <const>, k <const>, c <const> = stacked_rows(S, a)
    local q <const>, r <const> = gram_schmidt(S, rows_, k, c)
    local out <const> = second and dense.from_matrix(r, m, m, x.dtype) or dense.from_matrix(q, n, m, x.dtype)
    if S.level > 0 then return out end
    return dense.map(function(e) return scalar.blur(e, second and x.most * n + 2 or 1) end, x.dtype, out)
  end)
end)

row("gb.linalg.lstsq", {"qr"}, 1, {"gb.linalg.lstsq"}, function(g)
  local x <const> = tall(g)
  if not x then return nil end
  local n <const>, m <const> = x.shape[1] + x.shape[2], x.shape[2]
  local b <const> = right_side(g, x, n)
  if not b then return nil end
  local shape <const> = dense.with_extent(b.shape, 1, m)
  return g:emit("gb.linalg.lstsq(" .. stacked .. ", %2)", {x, b}, shape, x.dtype, function(S, a, c)
    local rows_ <const>, k <const>, d <const> = stacked_rows(S, a)
    local q <const>, r <const> = gram_schmidt(S, rows_, k, d)
    local y <const>, right <const> = {}, columns(c)
    for i = 1, m do
      y[i] = {}
      for j = 1, #right[1] do
        local terms <const> = {}
        for t = 1, n do terms[t] = S.mul(q[t][i], right[t][j]) end
        y[i][j] = S.sum(terms)
      end
    end
    local z <const> = substitute(S, r, y, m, true)
    return dense.new(shape, x.dtype, dense.from_matrix(z, m, #right[1], x.dtype).v)
  end)
end)

row("gb.linalg.diag", {"eye"}, 2, {"gb.linalg.diag"}, function(g)
  local x <const> = g:float(function(v) return #v.shape == 1 and v.finite end)
  if not x then return nil end
  local n <const> = x.shape[1]
  return g:emit("gb.linalg.diag(%1)", {x}, {n, n}, x.dtype, function(S, a)
    local out <const> = {}
    for i = 1, n do for j = 1, n do out[#out + 1] = i == j and a.v[i] or S.lift(0.0) end end
    return dense.new({n, n}, x.dtype, out)
  end)
end)

--- Eigenvalues, ascending, by Jacobi's rotations. Those of a multiple eigenvalue have no derivatives.
local function eigenvalues(S, a, n)
  for _ = 1, 14 do
    for p = 1, n - 1 do
      for q = p + 1, n do
        local gap <const> = S.sub(a[q][q], a[p][p])
        local twice <const> = S.mul(S.lift(2.0), a[p][q])
        if not (S.is_zero and S.level == 0 and S.val(twice) == 0) then
          local h <const> = S.add(S.mul(gap, gap), S.mul(twice, twice))
          if S.val(h) < 1e-6 then
            if S.level > 0 then scalar.state.undefined = true end
            if S.val(h) == 0 then goto next_ end
          end
          local root <const> = S.fn("sqrt", h)
          local sign <const> = S.lift(S.val(gap) < 0 and -1.0 or 1.0)
          local t <const> = S.div(twice, S.add(gap, S.mul(sign, root)))
          local c <const> = S.div(S.lift(1.0), S.fn("sqrt", S.add(S.lift(1.0), S.mul(t, t))))
          local s <const> = S.mul(t, c)
          for k = 1, n do
            local x <const>, y <const> = a[k][p], a[k][q]
            a[k][p], a[k][q] = S.sub(S.mul(c, x), S.mul(s, y)), S.add(S.mul(s, x), S.mul(c, y))
          end
          for k = 1, n do
            local x <const>, y <const> = a[p][k], a[q][k]
            a[p][k], a[q][k] = S.sub(S.mul(c, x), S.mul(s, y)), S.add(S.mul(s, x), S.mul(c, y))
          end
        end
        ::next_::
      end
    end
  end
  local values <const> = {}
  for i = 1, n do values[i] = a[i][i] end
  table.sort(values, function(x, y) return S.val(x) < S.val(y) end)
  return values
end

-- Values only: the vectors have signs of their own, and are checked by what they make of the values.
local function spectral_row(name, ops, public, text, shape_of, f)
  rows[#rows + 1] = {name = name, ops = ops, public = public, weight = 1, smooth = false, make = function(g)
    local x <const> = g:float(function(v) return factorable(v) and v.shape[1] <= 4 and v.shape[2] <= 4 end)
    if not x then return nil end
    local shape <const> = shape_of(x)
    return g:emit(text, {x}, shape, x.dtype, function(S, a) return dense.new(shape, x.dtype, f(S, a)) end)
  end}
end

spectral_row("gb.linalg.eigh", {"eigh", "pick"}, {"gb.linalg.eigh"}, "(gb.linalg.eigh" .. positive .. ")",
  function(x) return {x.shape[1]} end,
  function(_, a)
    -- errors of eigenvalues are relative to the largest
    local values <const> = eigenvalues(scalar.number, positive_rows(scalar.number, a), a.shape[1])
    for i, e in ipairs(values) do values[i] = scalar.blur(e, values[#values]) end
    return values
  end)

spectral_row("gb.linalg.eigh vectors", {"eigh", "pick"}, {},
  "(function(w, v) return (v * w:unsqueeze(1)):matmul(v:t()) end)(gb.linalg.eigh" .. positive .. ")",
  function(x) return {x.shape[1], x.shape[1]} end,
  function(S, a)
    local m <const>, v <const> = positive_rows(S, a), {}
    local size = 0
    for i = 1, #m do size = math.max(size, m[i][i]) end
    for _, line in ipairs(m) do for _, e in ipairs(line) do v[#v + 1] = scalar.blur(e, size * #m) end end
    return v
  end)

spectral_row("gb.linalg.svd", {"svd", "pick"}, {"gb.linalg.svd"},
  "(function(u, s, v) return (u * s:unsqueeze(1)):matmul(v:t()) end)(gb.linalg.svd(%1))",
  function(x) return {x.shape[1], x.shape[2]} end,
  function(_, a)
    local v <const> = {}
    local size = 0
    for _, e in ipairs(a.v) do size = size + math.abs(e) end
    for i, e in ipairs(a.v) do v[i] = scalar.blur(e, size) end
    return v
  end)

-- Kernels -------------------------------------------------------------------------------------------------------------------------

--- u = |x - z|^2 / lengthscale^2
-- Derivatives are as exact as sums over both points make them: to a share of the points' own, not of the differences.
local function squared(S, a, b, l)
  local terms <const> = {}
  for k = 1, #a do
    local d <const> = S.div(S.sub(a[k], b[k]), S.lift(l))
    terms[k] = S.mul(d, d)
    if S.level > 0 then
      local p <const>, q <const> = S.div(a[k], S.lift(l)), S.div(b[k], S.lift(l))
      local cross <const> = S.rough_mul(S.lift(-2.0), S.rough_mul(p, q))
      terms[k] = scalar.with_value(S, S.rough_add(S.rough_add(S.rough_mul(p, p), S.rough_mul(q, q)), cross), S.val(terms[k]))
    end
  end
  return S.sum(terms)
end

local function over_distance(f) return function(S, a, b, o) return f(S, squared(S, a, b, o.lengthscale), o) end end

--- max(0, 1 - r)^(j + degree) times its polynomial, by Horner.
local function compact(S, a, b, o)
  local u <const> = squared(S, a, b, o.lengthscale)
  local q <const>, j <const> = o.degree, #a // 2 + o.degree + 1
  if S.val(u) >= 1 then return S.lift(0.0) end
  if S.level > 0 and S.val(u) == 0 then
    if q == 0 or S.level > 1 then scalar.state.undefined = true end
    return S.lift(1.0)
  end
  local r <const> = S.fn("sqrt", u)
  local factors <const> = ({[0] = {1}, {1, j + 1}, {1, j + 2, (j * j + 4 * j + 3) / 3},
    {1, j + 3, (6 * j * j + 36 * j + 45) / 15, (j ^ 3 + 9 * j * j + 23 * j + 15) / 15}})[q]
  local poly = S.lift(0.0)
  for i = #factors, 1, -1 do poly = S.add(S.mul(poly, r), S.lift(factors[i] + 0.0)) end
  return S.mul(S.pow(S.sub(S.lift(1.0), r), S.lift(j + q + 0.0)), poly)
end

--- 4 sin^2(rate (a - b) / 2), the squared distance of two points on a circle.
local function chord(S, a, b, rate)
  local s <const> = S.fn("sin", S.mul(S.sub(a, b), S.lift(rate / 2)))
  local value <const> = S.mul(S.lift(4.0), S.mul(s, s))
  if S.level == 0 then return value end
  local p <const>, q <const> = S.mul(a, S.lift(rate)), S.mul(b, S.lift(rate))
  local points <const> = {{S.fn("cos", p), S.fn("sin", p)}, {S.fn("cos", q), S.fn("sin", q)}}
  return scalar.with_value(S, squared(S, points[1], points[2], 1.0), S.val(value))
end

local function inner(S, a, b, o)
  local l <const> = (o.lengthscale or 1) ^ -2
  return S.mul(dot(S, a, b), S.lift(l))
end

local kernels <const> = {
  {"rbf", {"lengthscale"}, over_distance(function(S, u) return S.fn("exp", S.mul(S.lift(-0.5), u)) end)},
  {"matern12", {"lengthscale"}, over_distance(function(S, u) return S.fn("decay", u) end)},
  {"matern32", {"lengthscale"}, over_distance(function(S, u) return S.fn("decay_1", S.mul(S.lift(3.0), u)) end)},
  {"matern52", {"lengthscale"}, over_distance(function(S, u) return S.fn("decay_2", S.mul(S.lift(5.0), u)) end)},
  {"rational_quadratic", {"lengthscale", "alpha"}, over_distance(function(S, u, o)
    return S.pow(S.add(S.lift(1.0), S.mul(u, S.lift(0.5 / o.alpha))), S.lift(-o.alpha))
  end)},
  {"periodic", {"lengthscale", "period"}, function(S, a, b, o)
    local terms <const> = {}
    for k = 1, #a do terms[k] = chord(S, a[k], b[k], 2 * math.pi / o.period) end
    return S.fn("exp", S.mul(S.sum(terms), S.lift(-0.5 / o.lengthscale ^ 2)))
  end},
  {"cosine", {"period"}, function(S, a, b, o)
    return S.sub(S.lift(1.0), S.mul(S.lift(0.5), chord(S, S.sum(a), S.sum(b), 2 * math.pi / o.period)))
  end},
  {"linear", {}, inner},
  {"linear", {"lengthscale"}, inner},
  {"polynomial", {"offset", "degree"}, function(S, a, b, o)
    return S.pow(S.add(dot(S, a, b), S.lift(o.offset)), S.lift(o.degree + 0.0))
  end},
  {"piecewise_polynomial", {"lengthscale", "degree"}, compact},
  {"constant", {}, function(S) return S.lift(1.0) end},
}

row("gb.kernels", {"sqdist", "radial", "diffmv"}, 7, {"gb.kernels.rbf", "gb.kernels.matern12", "gb.kernels.matern32",
  "gb.kernels.matern52", "gb.kernels.rational_quadratic", "gb.kernels.periodic", "gb.kernels.cosine", "gb.kernels.linear",
  "gb.kernels.polynomial",
  "gb.kernels.piecewise_polynomial", "gb.kernels.constant", "gb.kernels.white"}, function(g)
  local function points(v)
    return #v.shape == 2 and v.shape[1] > 0 and v.shape[2] > 0 and v.shape[2] <= 6 and v.finite and v.most < 20
      and (v.dtype == "f64" or v.dtype == "f32")
  end
  local x <const> = g:float(points)
  if not x then return nil end
  local k <const> = g:choose(kernels)
  local values <const> = {lengthscale = g:choose{1.0, 0.5, 2.0, 1.5}, alpha = g:choose{1.0, 2.5}, period = g:choose{3.0, 1.5},
    offset = 1.0, degree = k[1] == "polynomial" and 1 + g:draw(3) or k[1] == "piecewise_polynomial" and g:draw(4),
    variance = g:choose{1.0, 2.0}}
  local options <const> = {"variance = " .. number_text(values.variance)}
  local lengthscale = false
  for _, name in ipairs(k[2]) do
    options[#options + 1] = name .. " = " .. number_text(values[name])
    lengthscale = lengthscale or name == "lengthscale"
  end
  local own <const> = setmetatable({lengthscale = lengthscale and values.lengthscale or 1.0}, {__index = values})
  local z <const> = not g:chance(2) and x or g:float(function(v)
    return points(v) and v.dtype == x.dtype and v.shape[2] == x.shape[2]
  end) or x
  local noise <const> = z == x and g:chance(5) and 0.25 or nil
  local kernel <const> = ("gb.kernels.%s{%s}%s"):format(k[1], table.concat(options, ", "),
    noise and " + gb.kernels.white{variance = 0.25}" or "")
  local text <const> = ("(%s)(%%1%s)"):format(kernel, z ~= x and ", %2" or "")
  local shape <const> = {x.shape[1], z.shape[1]}
  return g:emit(text, {x, z ~= x and z or nil}, shape, x.dtype, function(S, a, b)
    local p <const> = dense.matrices(a)[1]
    local q <const>, out <const> = b and dense.matrices(b)[1] or p, {}
    for i = 1, #p do
      for j = 1, #q do
        local e = S.mul(S.lift(values.variance), k[3](S, p[i], q[j], own))
        if noise and i == j then e = S.add(e, S.lift(noise)) end
        out[#out + 1] = e
      end
    end
    return dense.new(shape, x.dtype, out)
  end)
end)

-- Squared distances as scripts write them, for the planner to recognise.
row("squared distances", {"sqdist", "diffmv"}, 3, {}, function(g)
  local x <const> = g:float(function(v)
    return #v.shape == 2 and v.most < 100 and v.finite and v.dtype ~= "f16" and v.dtype ~= "bf16"
  end)
  if not x then return nil end
  local how <const> = g:draw(3)
  local text <const> = ({"((%1:unsqueeze(2) - %1:unsqueeze(1)) ^ 2):sum(-1)",
    "((%1 * %1):sum(2):unsqueeze(2) + (%1 * %1):sum(2):unsqueeze(1) - 2 * %1:matmul(%1:t()))",
    "core.sqdist(%1, %1)"})[how + 1]
  return g:emit(text, {x}, {x.shape[1], x.shape[1]}, x.dtype, function(S, a)
    local p <const>, out <const> = dense.matrices(a)[1] or {}, {}
    for i = 1, x.shape[1] do
      for j = 1, x.shape[1] do
        local d <const> = x.shape[2] > 0 and squared(S, p[i], p[j], 1.0) or S.lift(0.0)
        out[#out + 1] = how == 1 and S.level == 0 and scalar.blur(d, x.most * x.most * x.shape[2]) or d
      end
    end
    return dense.new({x.shape[1], x.shape[1]}, x.dtype, out)
  end)
end)

return rows
