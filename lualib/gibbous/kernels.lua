--- Covariance functions. A kernel is a value: k(x, z) is a lazy tensor that nobody stores unless asked to.
--
-- Every base kernel carries its own variance (units of y squared). Sums keep theirs; a product has one variance, the product
-- of its factors'. A hyper-parameter is a number (positive, free), a list (one per input column: ARD) or a gb.param (shared).
-- Source of all formulas: Rasmussen & Williams (2006), chapter 4.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"

local Kernel <const> = {}
Kernel.__name = "gibbous.kernel"

local M <const> = {}

local function is(v) return type(v) == "table" and getmetatable(v) == Kernel end
M.is = is

--- Inputs as (n, d): a vector is one column.
local function points(x, what, level)
  local t <const> = core.as_tensor(x)
  if t == nil then
    core.raise("option", ("%s must be a tensor, got %s"):format(what, type(x)), level + 1)
  end
  if t.ndim == 1 then return t:unsqueeze(2) end
  if t.ndim ~= 2 then
    core.raise("shape", ("%s must be (n) or (n, d), got shape %s"):format(what, tostring(t.shape)), level + 1)
  end
  return t
end
M.points = points

--- A parameter's value in the dtype of 'x'.
local function adopt(p, x)
  local v <const> = p.value
  return v.dtype == x.dtype and v or v:to{dtype = x.dtype}
end

local function one(x) return core.full({}, 1, {dtype = x.dtype}) end

-- Evaluation ------------------------------------------------------------------------------------------------------------

--- Each kind: parts{name = default}, form(self, x, z) without variance, diag(self, x) without variance (nil = ones).
local kinds <const> = {}

--- (s, c) such that u = c s: ARD weights go into the distance, a single lengthscale stays outside it.
local function scaled_distance(self, x, z)
  local l <const> = adopt(self.hyper.lengthscale, x)
  if l.ndim == 0 then return core.sqdist(x, z), (l * l) ^ -1 end
  if #l ~= x.shape[2] then
    core.raise("shape", ("%s: %d lengthscales for inputs with %d columns"):format(self.kind, #l, x.shape[2]), 5)
  end
  return core.sqdist(x, z, (l * l) ^ -1), one(x)
end

local function radial(profile)
  return {
    hyper = {lengthscale = 1.0},
    form = function(self, x, z)
      local s <const>, c <const> = scaled_distance(self, x, z)
      local alpha <const> = self.hyper.alpha and adopt(self.hyper.alpha, x) or nil
      return core.radial(profile, s, c, alpha)
    end,
  }
end

kinds.rbf = radial "rbf"                     -- exp(-r^2 / 2),  r = |x - z| / lengthscale
kinds.matern12 = radial "m12"                -- exp(-r)
kinds.matern32 = radial "m32"                -- (1 + sqrt(3) r) exp(-sqrt(3) r)
kinds.matern52 = radial "m52"                -- (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)
kinds.rational_quadratic = radial "rq"       -- (1 + r^2 / (2 alpha))^-alpha
kinds.rational_quadratic.hyper = {lengthscale = 1.0, alpha = 1.0}

--- exp(-2 sum_k sin^2(pi (x_k - z_k) / period) / lengthscale^2): an RBF of points on circles, since
-- |(cos a, sin a) - (cos b, sin b)|^2 = 4 sin^2((a - b) / 2). The lengthscale enters squared.
kinds.periodic = {
  hyper = {lengthscale = 1.0, period = 1.0},
  form = function(self, x, z)
    local period <const> = adopt(self.hyper.period, x)
    local function circle(t)
      local angle <const> = t * (2 * math.pi / period)
      return core.cat({angle:cos(), angle:sin()}, 2)
    end
    local a <const> = circle(x)
    local b <const> = rawequal(x, z) and a or circle(z)
    local l <const> = adopt(self.hyper.lengthscale, x)
    return core.radial("rbf", core.sqdist(a, b), (l * l) ^ -1)
  end,
}

--- x . z
kinds.linear = {
  hyper = {},
  form = function(_, x, z) return x:matmul(z:t()) end,
  diag = function(_, x) return (x * x):sum(2) end,
}

--- (x . z + offset)^degree
kinds.polynomial = {
  hyper = {offset = 1.0},
  fixed = {degree = 2},
  form = function(self, x, z) return (x:matmul(z:t()) + adopt(self.hyper.offset, x)) ^ self.degree end,
  diag = function(self, x) return ((x * x):sum(2) + adopt(self.hyper.offset, x)) ^ self.degree end,
}

kinds.constant = {
  hyper = {},
  form = function(_, x, z) return one(x):expand(#x, #z) end,
}

--- 1 where the two points are the same observation: on the diagonal of k(x), nowhere in k(x, z).
kinds.white = {
  hyper = {},
  form = function(_, x, z)
    if rawequal(x, z) then return core.eye(#x, {dtype = x.dtype}) end
    return core.zeros(1, 1, {dtype = x.dtype}):expand(#x, #z)
  end,
}

local function columns(self, x)
  if self.active_dims then
    local d <const> = x.shape[2]
    for _, at in ipairs(self.active_dims) do
      if at < 1 or at > d then
        core.raise("index", ("%s: active_dims %d, but the inputs have %d columns"):format(self.kind, at, d), 5)
      end
    end
    x = x:index(2, core.tensor(self.active_dims, {dtype = "i64"}))
  end
  return self.warp_by and points(self.warp_by(x), "the warped inputs", 5) or x
end

local unscaled

--- Folds the parts of a sum or product with 'join'.
local function over(parts, join, each)
  local acc
  for _, part in ipairs(parts) do
    local v <const> = each(part)
    acc = acc and join(acc, v) or v
  end
  return acc
end

local function add(a, b) return a + b end
local function mul(a, b) return a * b end

local function scaled(self, x, z)
  local v <const> = unscaled(self, x, z)
  return self.hyper.variance and adopt(self.hyper.variance, x) * v or v
end

function unscaled(self, x, z)
  if self.warp_by or self.active_dims then
    local same <const> = rawequal(x, z)
    x = columns(self, x)
    z = same and x or columns(self, z)
  end
  if self.kind == "sum" then return over(self.parts, add, function(k) return scaled(k, x, z) end) end
  if self.kind == "product" then return over(self.parts, mul, function(k) return unscaled(k, x, z) end) end
  return self.form(self, x, z)
end

local function scaled_diag(self, x)
  local at <const> = (self.warp_by or self.active_dims) and columns(self, x) or x
  local v
  if self.kind == "sum" then
    v = over(self.parts, add, function(k) return scaled_diag(k, at) end)
  elseif self.kind == "product" then
    v = over(self.parts, mul, function(k) return M.unit_diag(k, at) end)
  else
    v = self.diagonal and self.diagonal(self, at) or one(x):expand(#x)
  end
  return self.hyper.variance and adopt(self.hyper.variance, x) * v or v
end

--- The diagonal without the kernel's own variance.
function M.unit_diag(self, x)
  local bare <const> = setmetatable({}, Kernel)
  for k, v in pairs(self) do bare[k] = v end
  bare.hyper = {}
  for k, v in pairs(self.hyper) do
    if k ~= "variance" then bare.hyper[k] = v end
  end
  return scaled_diag(bare, x)
end

--- k(x) (n, n) or k(x, z) (n, m), lazy. Cost when contracted: one pass over the n m pairs, O(n + m) memory.
function Kernel.__call(self, x, z)
  x = points(x, "argument 1 of a kernel", 2)
  if z == nil then return scaled(self, x, x) end
  z = points(z, "argument 2 of a kernel", 2)
  if x.shape[2] ~= z.shape[2] then
    core.raise("shape", ("kernel: inputs differ in columns: %s and %s"):format(tostring(x.shape), tostring(z.shape)), 3)
  end
  return scaled(self, x, z)
end

--- The diagonal of k(x), (n), lazy.
function Kernel.diag(self, x)
  return scaled_diag(self, points(x, "argument 1 of diag", 2))
end

-- Algebra ---------------------------------------------------------------------------------------------------------------

local function clone(self)
  local out <const> = setmetatable({}, Kernel)
  for k, v in pairs(self) do out[k] = v end
  out.hyper = {}
  for k, v in pairs(self.hyper) do out.hyper[k] = v end
  return out
end

local function composite(kind, parts)
  return setmetatable({kind = kind, parts = parts, hyper = {}}, Kernel)
end

local function flatten(kind, list)
  local out <const> = {}
  for _, k in ipairs(list) do
    local plain <const> = k.kind == kind and not k.label and not k.warp_by and not k.active_dims
    if plain and not (kind == "sum" and k.hyper.variance) then
      for _, part in ipairs(k.parts) do out[#out + 1] = part end
    else
      out[#out + 1] = k
    end
  end
  return out
end

local function operands(a, b, event)
  if is(a) and is(b) then return end
  core.raise("option", ("kernel %s: both sides must be kernels, got %s and %s"):format(event,
    is(a) and "a kernel" or type(a), is(b) and "a kernel" or type(b)), 4)
end

function Kernel.__add(a, b)
  operands(a, b, "+")
  return composite("sum", flatten("sum", {a, b}))
end

--- A box whose value is the product of two: free unless both are fixed.
local function product_variance(a, b)
  if a == nil or b == nil then return a or b end
  if param.shared(a) or param.shared(b) then
    core.raise("option", "a product has one variance: give at most one factor a variance that is a gb.param", 4)
  end
  return param.hyper((a.value * b.value):item(), "variance", 4)
end

--- The variance a factor brings into a product, and the factor without it. A shared variance of one factor wins: the
-- other's must then be 1.
local function take_variance(k)
  local bare <const> = clone(k)
  bare.hyper.variance = nil
  return k.hyper.variance, bare
end

local function join_variances(a, b)
  if a and b and (param.shared(a) or param.shared(b)) then
    local shared <const>, other <const> = param.shared(a) and a or b, param.shared(a) and b or a
    if not param.shared(other) and other.value:item() == 1 then return shared end
  end
  return product_variance(a, b)
end

local function scale(factor, k)
  if not (factor > 0) then
    core.raise("option", ("a kernel can be scaled by a positive number, got %s"):format(tostring(factor)), 4)
  end
  local out <const> = clone(k)
  local variance <const> = k.hyper.variance
  if variance and param.shared(variance) then
    core.raise("option", "this kernel's variance is a gb.param; scale the parameter instead", 4)
  end
  local before <const> = variance and variance.value:item() or 1
  out.hyper.variance = param.hyper(before * factor, "variance", 4)
  return out
end

function Kernel.__mul(a, b)
  if type(a) == "number" then return scale(a, b) end
  if type(b) == "number" then return scale(b, a) end
  if param.is(a) or param.is(b) then
    local p <const>, k <const> = param.is(a) and a or b, param.is(a) and b or a
    operands(k, k, "*")
    local out <const> = clone(k)
    if k.hyper.variance and (param.shared(k.hyper.variance) or k.hyper.variance.value:item() ~= 1) then
      core.raise("option", "this kernel already has a variance; scale a kernel of variance 1", 3)
    end
    out.hyper.variance = p
    return out
  end
  operands(a, b, "*")
  local va <const>, ka <const> = take_variance(a)
  local vb <const>, kb <const> = take_variance(b)
  local out <const> = composite("product", flatten("product", {ka, kb}))
  out.hyper.variance = join_variances(va, vb)
  return out
end

--- The same kernel under a name of its own in paths and reports.
function Kernel.named(self, name)
  if type(name) ~= "string" or not name:match "^[%a_][%w_]*$" then
    core.raise("option", ("a kernel's name must be an identifier, got %s"):format(tostring(name)), 3)
  end
  local out <const> = clone(self)
  out.label = name
  return out
end

--- The kernel of f(x): any function from (n, d) to (n, d') tensors.
function Kernel.warp(self, f)
  local meta <const> = getmetatable(f)
  if type(f) ~= "function" and not (meta and meta.__call) then
    core.raise("option", ("warp takes a function, got %s"):format(type(f)), 3)
  end
  local out <const> = clone(self)
  local before <const> = self.warp_by
  out.warp_by = before and function(x) return before(f(x)) end or f
  out.warp_root = f
  return out
end

function Kernel.__len(self) return self.parts and #self.parts or 1 end

local methods <const> = {diag = true, named = true, warp = true, copy = true}

function Kernel.__index(self, key)
  if methods[key] then return Kernel[key] end
  local raw <const> = rawget(self, "hyper")
  if type(key) == "number" then
    local parts <const> = rawget(self, "parts")
    if parts == nil then return key == 1 and self or nil end
    return parts[key]
  end
  if raw and raw[key] ~= nil then return raw[key] end
  for _, part in ipairs(rawget(self, "parts") or {}) do
    if rawget(part, "label") == key then return part end
  end
  return nil
end

-- Paths -----------------------------------------------------------------------------------------------------------------

--- Ordered {key, child} pairs for gb.params: hyper-parameters sorted by name, then parts, then a warp.
function Kernel.__children(self)
  local out <const>, names <const> = {}, {}
  for name in pairs(self.hyper) do
    if name ~= "variance" then names[#names + 1] = name end
  end
  table.sort(names)
  if self.hyper.variance then names[#names + 1] = "variance" end
  for _, name in ipairs(names) do out[#out + 1] = {name, self.hyper[name]} end
  for i, part in ipairs(rawget(self, "parts") or {}) do out[#out + 1] = {rawget(part, "label") or i, part} end
  if rawget(self, "warp_root") and type(self.warp_root) == "table" then out[#out + 1] = {"warp", self.warp_root} end
  return out
end

--- An independent copy: implicit hyper-parameters are copied, explicit gb.params and networks are shared.
function Kernel.copy(self, seen)
  seen = seen or {}
  local out <const> = clone(self)
  for name, p in pairs(self.hyper) do
    if not param.shared(p) then
      seen[p] = seen[p] or param.copy(p)
      out.hyper[name] = seen[p]
    end
  end
  if self.parts then
    out.parts = {}
    for i, part in ipairs(self.parts) do out.parts[i] = part:copy(seen) end
  end
  return out
end

local function number_text(p)
  local v <const> = p.value
  if v.ndim == 0 then return ("%.4g"):format(v:item()) end
  local cells <const> = {}
  for i, c in ipairs(v:totable()) do cells[i] = ("%.4g"):format(c) end
  return "{" .. table.concat(cells, ", ") .. "}"
end

function Kernel.__tostring(self)
  local cells <const> = {}
  for _, pair in ipairs(Kernel.__children(self)) do
    if param.is(pair[2]) then cells[#cells + 1] = ("%s=%s"):format(pair[1], number_text(pair[2])) end
  end
  local name <const> = self.label and self.label .. ":" .. self.kind or self.kind
  if not self.parts then return ("%s{%s}"):format(name, table.concat(cells, ", ")) end
  local parts <const> = {}
  for i, part in ipairs(self.parts) do parts[i] = tostring(part) end
  local body = table.concat(parts, self.kind == "sum" and " + " or " * ")
  if self.label then body = ("%s(%s)"):format(self.label, body) end
  return #cells > 0 and ("{%s} (%s)"):format(table.concat(cells, ", "), body) or body
end

-- Constructors ----------------------------------------------------------------------------------------------------------

local function lengthscales(v, ard, level)
  if not ard then return v end
  if type(ard) == "number" and type(v) == "number" then
    local list <const> = {}
    for i = 1, ard do list[i] = v end
    return list
  end
  if type(v) == "table" or param.is(v) then return v end
  core.raise("option", "ard = true needs the number of columns: ard = d, or lengthscale = {l1, l2, ...}", level + 1)
end

local function constructor(kind)
  local row <const> = kinds[kind]
  local spec <const> = {variance = "any", active_dims = "table"}
  for name in pairs(row.hyper) do spec[name] = "any" end
  for name in pairs(row.fixed or {}) do spec[name] = "count" end
  if row.hyper.lengthscale and kind ~= "periodic" then spec.ard = "any" end
  return function(opts)
    local o <const> = options.parse(opts, spec, "gb.kernels." .. kind, 2)
    local self <const> = setmetatable({kind = kind, form = row.form, diagonal = row.diag, hyper = {},
      active_dims = o.active_dims or nil}, Kernel)
    for name, default in pairs(row.hyper) do
      local v = o[name] or default
      if name == "lengthscale" and o.ard then
        if o.ard == true and type(v) == "number" then
          self.ard_pending = v          -- the number of columns is known when data arrives
        else
          v = lengthscales(v, o.ard, 2)
        end
      end
      self.hyper[name] = param.hyper(v, name, 2)
    end
    for name, default in pairs(row.fixed or {}) do self[name] = o[name] or default end
    self.hyper.variance = param.hyper(o.variance or 1.0, "variance", 2)
    return self
  end
end

for kind in pairs(kinds) do M[kind] = constructor(kind) end

--- Gives kernels built with ard = true one lengthscale per column of 'd'-column inputs. Models call it when data arrives.
function M.resolve_ard(k, d)
  if rawget(k, "ard_pending") then
    local width <const> = k.active_dims and #k.active_dims or d
    local list <const> = {}
    for i = 1, width do list[i] = k.ard_pending end
    k.hyper.lengthscale = param.hyper(list, "lengthscale", 2)
    k.ard_pending = nil
  end
  for _, part in ipairs(rawget(k, "parts") or {}) do M.resolve_ard(part, d) end
end

--- A constructor for kernels of one's own.
-- f(x, z, p) is written on points: it sees (n,1,d) and (1,m,d) for a block of k, (n,d) and (n,d) for the diagonal, and
-- reduces the last axis. p holds the current values of the parameters by name. It is traced into the expression, never
-- called per tile, so it streams and differentiates like the built-in ones. Each kernel also has a variance.
---@param name string
---@param params table<string, number|table>   defaults; a hyper-parameter is positive unless given as a gb.param
---@param f fun(x, z, p): gibbous.tensor
function M.define(name, params, f)
  if type(name) ~= "string" then core.raise("option", "gb.kernels.define: the name must be a string", 2) end
  if type(params) ~= "table" then core.raise("option", "gb.kernels.define: the parameters must be a table", 2) end
  if type(f) ~= "function" then core.raise("option", "gb.kernels.define: the third argument must be a function", 2) end
  local spec <const> = {variance = "any", active_dims = "table"}
  for key in pairs(params) do spec[key] = "any" end

  local function values(self, x)
    local p <const> = {}
    for key in pairs(params) do p[key] = adopt(self.hyper[key], x) end
    return p
  end

  local function result(v, want, what)
    if core.type(v) ~= "tensor" then
      core.raise("option", ("kernel '%s' must return a tensor, got %s"):format(name, type(v)), 2)
    end
    local fits = v.ndim == #want
    for i, extent in ipairs(want) do fits = fits and v.shape[i] == extent end
    if not fits then
      core.raise("shape", ("kernel '%s' must reduce the last axis: %s gave shape %s, expected %s"):format(name, what,
        tostring(v.shape), table.concat(want, "x")), 2)
    end
    return v
  end

  return function(opts)
    local o <const> = options.parse(opts, spec, name, 2)
    local self <const> = setmetatable({kind = name, hyper = {}, active_dims = o.active_dims or nil}, Kernel)
    self.form = function(k, x, z)
      return result(f(x:unsqueeze(2), z:unsqueeze(1), values(k, x)), {#x, #z}, "a block")
    end
    self.diagonal = function(k, x) return result(f(x, x, values(k, x)), {#x}, "the diagonal") end
    for key, default in pairs(params) do self.hyper[key] = param.hyper(o[key] or default, key, 2) end
    self.hyper.variance = param.hyper(o.variance or 1.0, "variance", 2)
    return self
  end
end

return require "gibbous.names"(M, "gb.kernels",
  {"cosine", "spectral_mixture", "piecewise_polynomial", "arc_cosine", "change_point", "index"})
