--- The kernel of a function and its partial derivatives, from any kernel of differentiable functions:
-- cov(f(x), df/dz_b) = dk/dz_b, cov(df/dx_a, df/dz_b) = d2k/dx_a dz_b.
-- Source: Rasmussen & Williams (2006), section 9.4; Solak, Murray-Smith, Leithead, Leith & Rasmussen (2003), Derivative
-- observations in Gaussian process models of dynamic systems.
--
-- Its inputs have one more column, the last, that says what a row is about: 1, the value of f, or 1 + a, its derivative by column
-- a. Rows of one kind make a block of the matrix, a lazy expression of its own that the gradients of the graph give: with V a
-- placeholder, g = sum_j V_ij dk_ij / dx_i,a is the gradient of <V, k> by x, and dg_i / dV_ij = dk_ij / dx_i,a.
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"
local tasks <const> = require "gibbous.kernels.tasks"

local M <const> = {}

-- Blocks ------------------------------------------------------------------------------------------------------------------

--- A placeholder of the shape of x.
local function like(x) return core.empty(x.shape, {dtype = x.dtype, device = x.device}) end

--- dK_ij / dx_i,at (n, m) of K (n, m), a function of the placeholder x (n, .) whose row i reads row i of x alone; or, with x (m, .)
-- and columns in the place of rows, the same.
local function slope(K, x, at)
  local V <const> = like(K)
  local g <const> = core.grad(K, x, {cotangent = V, unused = "zero"})
  return core.grad(g:select(2, at):sum(), V, {unused = "zero"})
end

--- The covariance (n, m) of rows x of kind a with rows z of kind b.
local function block(k, x, z, hidden, a, b)
  if a == 1 and b == 1 then return kernel.value(k, x, z, hidden) end
  local p <const>, q <const> = like(x), like(z)
  local v = kernel.value(k, p, q, hidden)
  if a > 1 then v = slope(v, p, a - 1) end
  if b > 1 then v = slope(v, q, b - 1) end
  return core.substitute(v, {p, q}, {x, z})
end

--- The variances (n) of rows x of one kind.
local function variances(k, x, hidden, a)
  if a == 1 then return kernel.diag(k, x, hidden) end
  return core.vmap(function(row)
    local one <const> = row:unsqueeze(1)
    return block(k, one, one, hidden, a, a):reshape({})
  end)(x)
end

-- Rows by kind --------------------------------------------------------------------------------------------------------------

-- inputs -> their groups
local known <const> = setmetatable({}, {__mode = "k"})

--- The rows of each kind, lists by kind, and whether every kind's rows stand together, kinds ascending.
local function listed(kinds, count)
  local rows <const>, ordered = {}, true
  for a = 1, count do rows[a] = {} end
  for i, a in ipairs(kinds) do
    table.insert(rows[a], i)
    ordered = ordered and (i == 1 or kinds[i - 1] <= a)
  end
  return rows, ordered
end

--- Rows of x (n, d + 1) by kind: a list of {kind, rows of x}, and where row i stands among them one after the other (i64), nil:
-- at i. Errors: index.
function M.groups(x)
  if known[x] then return known[x].list, known[x].places end
  local count <const>, list <const>, order <const> = x.shape[2], {}, {}
  local at <const> = tasks.positions(x:slice(2, count, count), count, "the kernel of gradients")
  local rows <const>, ordered <const> = listed(at:totable(), count)
  for a, own in ipairs(rows) do
    if #own > 0 then
      local points <const> = ordered and x:slice(1, own[1], own[#own]) or x:index(1, core.tensor(own, {dtype = "i64"}))
      list[#list + 1] = {kind = a, points = points}
      table.move(own, 1, #own, #order + 1, order)
    end
  end
  local places
  if not ordered then
    places = {}
    for to, from in ipairs(order) do places[from] = to end
    places = core.tensor(places, {dtype = "i64"})
  end
  known[x] = {list = list, places = places}
  return list, places
end

--- Values of groups one after the other, in the order of the rows.
function M.joined(cells, axis, places)
  local v <const> = #cells == 1 and cells[1] or core.cat(cells, axis)
  return places and v:index(axis, places) or v
end

-- The kernel ----------------------------------------------------------------------------------------------------------------

--- The matrix between x and z; of k(x) the blocks below the diagonal are those above it, transposed.
local function form(self, x, z, hidden)
  if #x == 0 or #z == 0 then return core.zeros(#x, #z, {dtype = x.dtype, device = x.device}) end
  local k <const>, same <const> = self.parts[1], rawequal(x, z)
  local left <const>, left_places <const> = M.groups(x)
  local right <const>, right_places <const> = M.groups(z)
  local rows <const>, above <const> = {}, {}
  for i, a in ipairs(left) do
    local cells <const> = {}
    for j, b in ipairs(right) do
      cells[j] = same and j < i and above[j][i]:t() or block(k, a.points, b.points, hidden, a.kind, b.kind)
    end
    above[i], rows[i] = cells, M.joined(cells, 2, right_places)
  end
  return M.joined(rows, 1, left_places)
end

local function diag(self, x, hidden)
  if #x == 0 then return core.zeros(0, {dtype = x.dtype, device = x.device}) end
  local list <const>, places <const> = M.groups(x)
  local cells <const> = {}
  for i, group in ipairs(list) do cells[i] = variances(self.parts[1], group.points, hidden, group.kind) end
  return M.joined(cells, 1, places)
end

--- A copy of k, of the same boxes, in which columns counted from the end lie 'by' further.
local function moved(k, by)
  local out <const> = kernel.clone(k)
  local f <const> = kernel.fields(out)
  if k.active_dims then
    f.active_dims = {}
    for i, at in ipairs(k.active_dims) do f.active_dims[i] = at < 0 and at + by or at end
  end
  if k.column and k.column < 0 then f.column = k.column + by end
  if k.parts and not k.warp_by then
    f.parts = {}
    for i, part in ipairs(k.parts) do f.parts[i] = moved(part, by) end
  end
  return out
end

--- A copy of k, of the same boxes, for inputs with one more column, the last: columns counted from the end leave it out.
function M.shifted(k) return moved(k, -1) end

--- The kernel of f of a kernel that M.of gave: a copy of the same boxes.
function M.base(k) return moved(k.parts[1], 1) end

-- A kernel that presents its only part: it has the part's parameters, paths and text.
local row <const> = {claims = true, presents = M.base, form = form, diag = diag}

--- Raises where functions of a kernel below k have no derivative.
local function check(k, what)
  local rough <const> = k.row.rough
  local instead <const> = type(rough) == "function" and rough(k) or type(rough) == "string" and rough
  if instead then
    core.raise("option", ("%s: gradients: functions of the kernel %s have no derivative: %s"):format(what,
      k.label and ("'%s' (%s)"):format(k.label, k.kind) or ("'%s'"):format(k.kind), instead))
  end
  for _, part in ipairs(k.parts or {}) do check(part, what) end
end

--- The kernel of f and its derivatives, for f of the kernel k, with k's parameters. 'what' begins messages. Errors: option, where
-- functions of k have no derivative.
function M.of(k, what)
  check(k, what)
  local out <const> = kernel.new("gradients", row)
  local f <const> = kernel.fields(out)
  f.parts, f.active_dims = {M.shifted(k)}, {-1}
  return out
end

--- Inputs whose rows are groups, one after the other, of which nothing has to be looked at to know it.
local function grouped(groups)
  local cells <const>, list <const> = {}, {}
  for i, group in ipairs(groups) do
    cells[i] = group.points
    if #group.points > 0 then list[#list + 1] = group end
  end
  local out <const> = #cells == 1 and cells[1] or core.cat(cells, 1)
  known[out] = {list = list}
  return out
end

--- Points x (n, d) as inputs of one kind, (n, d + 1).
local function of_kind(x, kind)
  local column <const> = core.full({#x, 1}, kind, {dtype = x.dtype, device = x.device})
  return {kind = kind, points = core.cat({x, column}, 2)}
end

-- points -> the same as inputs of values
local values <const> = setmetatable({}, {__mode = "k"})

--- Points x (n, d) as inputs of values of f: one handle for one x.
function M.values(x)
  values[x] = values[x] or grouped{of_kind(x, 1)}
  return values[x]
end

--- The points x (n, d) with every kind, kind by kind: (n (d + 1), d + 1).
function M.every(x)
  local groups <const> = {}
  for kind = 1, x.shape[2] + 1 do groups[kind] = of_kind(x, kind) end
  return grouped(groups)
end

return M
