--- Sums, products and scales of kernels. Sums keep the variances of their parts; a product has one variance, the product
-- of its factors'. One traversal computes the whole expression.
local build <const> = require "gibbous.kernels.build"
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local simple <const> = require "gibbous.kernels.simple"

local constant <const> = build.constructor("constant", simple.constant)
local Kernel <const>, methods <const>, clone <const> = kernel.Kernel, kernel.methods, kernel.clone

--- 'each' of the parts, joined.
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

-- The factors of a product have no variance of their own.
local rows <const> = {
  sum = {
    form = function(self, x, z, hidden)
      return over(self.parts, add, function(k) return kernel.value(k, x, z, hidden) end)
    end,
    diag = function(self, x, hidden) return over(self.parts, add, function(k) return kernel.diag(k, x, hidden) end) end,
  },
  product = {
    form = function(self, x, z, hidden)
      return over(self.parts, mul, function(k) return kernel.value(k, x, z, hidden) end)
    end,
    diag = function(self, x, hidden) return over(self.parts, mul, function(k) return kernel.diag(k, x, hidden) end) end,
  },
}

-- The sum of some of its parts. It holds the others too, to whom columns of its inputs may belong.
local function chosen(self)
  local out <const> = {}
  for n, i in ipairs(self.chosen) do out[n] = self.parts[i] end
  return out
end

rows.some = {
  form = function(self, x, z, hidden)
    return over(chosen(self), add, function(k) return kernel.value(k, x, z, hidden) end)
  end,
  diag = function(self, x, hidden) return over(chosen(self), add, function(k) return kernel.diag(k, x, hidden) end) end,
}

--- Makes a sum, which nothing else holds, that of its parts at these positions.
local function choose(sum, positions)
  local f <const> = kernel.fields(sum)
  f.row, f.chosen = rows.some, positions
end

local function composite(kind, parts)
  local out <const> = kernel.new(kind, rows[kind])
  kernel.fields(out).parts = parts
  return out
end

local function flatten(kind, list)
  local out <const> = {}
  for _, k in ipairs(list) do
    local plain <const> = k.kind == kind and not k.label and not k.warp_by
    if plain and not (kind == "sum" and k.hyper.variance) then
      for _, part in ipairs(k.parts) do out[#out + 1] = part end
    else
      out[#out + 1] = k
    end
  end
  return out
end

local function operands(a, b, event)
  if kernel.is(a) and kernel.is(b) then return end
  core.raise("option", ("kernel %s: both sides must be kernels, got %s and %s"):format(event,
    kernel.is(a) and "a kernel" or "a " .. core.type(a), kernel.is(b) and "a kernel" or "a " .. core.type(b)))
end

--- A constant kernel in the place of a number or a gb.param; 0 makes none.
local function constant_of(c)
  if param.is(c) then return constant{variance = c} end
  if c == 0 then return nil end
  if not (c > 0 and c < math.huge) then
    core.raise("option", ("kernel +: a constant that is added is a variance, a positive number, got %s; gb.means.constant(c) "
      .. "shifts f"):format(options.got(c)))
  end
  return constant{variance = c}
end

local function is_constant(v) return type(v) == "number" or param.is(v) end

--- The sum. A number or a gb.param is the variance of a constant.
function Kernel.__add(a, b)
  if is_constant(a) then return a == 0 and b or constant_of(a) + b end
  if is_constant(b) then return b == 0 and a or a + constant_of(b) end
  operands(a, b, "+")
  return composite("sum", flatten("sum", {a, b}))
end

--- Operators that make no kernel of kernels in general say what does.
local function refuse(event, instead)
  return function(a, b)
    core.raise("option", ("kernel %s: %s; got %s and %s"):format(event, instead, kernel.is(a) and "a kernel" or core.type(a),
      kernel.is(b) and "a kernel" or core.type(b)))
  end
end

local GREATEST <const> = 16                 -- power

--- The product of so many factors k, whose parameters are the same boxes. Other powers need not be kernels.
function Kernel.__pow(k, n)
  local count <const> = kernel.is(k) and options.whole(n)
  if not count or count < 1 or count > GREATEST then
    core.raise("option", ("kernel ^: the exponent must be a whole number from 1 to %d: other powers need not be kernels; got %s "
      .. "and %s"):format(GREATEST, kernel.is(k) and "a kernel" or core.type(k), kernel.is(n) and "a kernel" or options.got(n)))
  end
  local out = k
  for _ = 2, count do out = out * k end
  return out
end

Kernel.__sub = refuse("-", "the difference of two kernels is not a kernel: kernels can be added and multiplied")
Kernel.__unm = refuse("-", "the negative of a kernel is not a kernel: kernels can be added and multiplied")
Kernel.__div = refuse("/", "a kernel has no /: (1 / c) * k scales it by a number")

--- The variance a factor brings into a product, and the factor without it.
local function take_variance(k)
  local bare <const> = clone(k)
  bare.hyper.variance = nil
  return k.hyper.variance, bare
end

--- One variance for a product. A shared one of one factor stays if the other's is 1.
local function join_variances(a, b)
  if a == nil or b == nil then return a or b end
  if not param.shared(a) and not param.shared(b) then
    return param.set_open(param.hyper((a.value * b.value):item(), "variance"), param.is_open(a) and param.is_open(b))
  end
  local kept <const>, other <const> = param.shared(a) and a or b, param.shared(a) and b or a
  if not param.shared(other) and other.value:item() == 1 then return kept end
  core.raise("option", "a product has one variance: give at most one factor a variance that is a gb.param")
end

local function scale(factor, k)
  if not (factor > 0) then
    core.raise("option", ("a kernel can be scaled by a positive number, got %s"):format(factor ~= factor and "nan" or factor))
  end
  local out <const> = clone(k)
  local variance <const> = k.hyper.variance
  if variance and param.shared(variance) then
    core.raise("option", "this kernel's variance is a gb.param; scale the parameter instead")
  end
  local before <const> = variance and variance.value:item() or 1
  out.hyper.variance = param.hyper(before * factor, "variance")
  return out
end

local function scale_by_param(p, k)
  operands(k, k, "*")
  local variance <const> = k.hyper.variance
  if variance and (param.shared(variance) or variance.value:item() ~= 1) then
    core.raise("option", "this kernel already has a variance; scale a kernel of variance 1")
  end
  if p.ndim ~= 0 then
    core.raise("shape", ("a kernel's variance must be one number, got shape %s"):format(tostring(p.shape)))
  end
  local out <const> = clone(k)
  out.hyper.variance = p
  return out
end

function Kernel.__mul(a, b)
  if type(a) == "number" then return scale(a, b) end
  if type(b) == "number" then return scale(b, a) end
  if param.is(a) then return scale_by_param(a, b) end
  if param.is(b) then return scale_by_param(b, a) end
  operands(a, b, "*")
  local va <const>, ka <const> = take_variance(a)
  local vb <const>, kb <const> = take_variance(b)
  local out <const> = composite("product", flatten("product", {ka, kb}))
  out.hyper.variance = join_variances(va, vb)
  return out
end

--- The same kernel under a name of its own in paths and reports.
function methods.named(self, name)
  if type(name) ~= "string" or not name:match "^[%a_][%w_]*$" then
    core.raise("option", ("a kernel's name must be an identifier, got %s"):format(tostring(name)))
  end
  local out <const> = clone(self)
  kernel.fields(out).label = name
  return out
end

--- The kernel of f(x): any function from (n, d) to (n, d') tensors. Composed ones apply the last given first.
function methods.warp(self, f)
  local meta <const> = getmetatable(f)
  if type(f) ~= "function" and not (meta and meta.__call) then
    core.raise("option", ("warp takes a function, got %s"):format(type(f)))
  end
  local out <const> = clone(self)
  local of <const>, before <const> = kernel.fields(out), self.warp_by
  of.warp_by = before and function(x) return before(columns.points(f(x), "the warped inputs")) end or f
  of.warps = table.move(self.warps or {}, 1, #(self.warps or {}), 1, {})
  table.insert(of.warps, f)
  return out
end

return {over = over, add = add, choose = choose}
