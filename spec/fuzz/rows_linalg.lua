--- Rows of linear algebra: by the textbook, in any algebra.
local dense <const> = require "spec.fuzz.dense"
local dot <const> = require "spec.fuzz.sums".dot
local scalar <const> = require "spec.fuzz.scalar"

local rows <const> = {}
local function row(name, ops, weight, public, make)
  rows[#rows + 1] = {name = name, ops = ops, public = public, weight = weight, smooth = true, make = make}
end

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

return rows
