--- Matrices with reverse-mode gradients, by plain loops over lists: the evaluator of the programs of passes.lua. It has the
-- operators and methods of tensors that these programs use; sums keep their dimension. No code is shared with what is tested.
local T <const> = {}
T.__index = T

local M <const> = {}

-- Of the evaluation that runs: what was computed, in order.
local tape = {}

function M.forget() tape = {} end

--- (rows, columns) of a list in row-major order. back(bar): adds to the gradients of what it was made of.
local function matrix(rows, columns, v, back)
  local x <const> = setmetatable({rows = rows, columns = columns, v = v, back = back}, T)
  tape[#tape + 1] = x
  return x
end
M.matrix = matrix

local function bar_of(x)
  if not x.bar then
    x.bar = {}
    for i = 1, #x.v do x.bar[i] = 0.0 end
  end
  return x.bar
end

--- The gradients of a sum by matrices, as lists.
function M.grad(loss, by)
  for _, x in ipairs(tape) do x.bar = nil end
  bar_of(loss)[1] = 1.0
  for i = #tape, 1, -1 do
    local x <const> = tape[i]
    if x.bar and x.back then x.back(x.bar) end
  end
  local out <const> = {}
  for i, x in ipairs(by) do out[i] = bar_of(x) end
  return out
end

-- Elementwise -----------------------------------------------------------------------------------------------------------------

--- y = f(x); slope(x, y) its derivative.
local function map(x, f, slope)
  local v <const> = {}
  for i, e in ipairs(x.v) do v[i] = f(e) end
  return matrix(x.rows, x.columns, v, function(bar)
    local to <const> = bar_of(x)
    for i, b in ipairs(bar) do to[i] = to[i] + b * slope(x.v[i], v[i]) end
  end)
end

local function wrap(x) return type(x) == "number" and matrix(1, 1, {x + 0.0}) or x end

--- z = f(x, y) with rows and columns of extent 1 repeated; by_x(x, y), by_y(x, y) the derivatives.
local function pair(x, y, f, by_x, by_y)
  x, y = wrap(x), wrap(y)
  local rows <const>, columns <const> = math.max(x.rows, y.rows), math.max(x.columns, y.columns)
  local function places(a)
    local row <const>, column <const> = a.rows == 1 and 0 or a.columns, a.columns == 1 and 0 or 1
    return function(i, j) return (i - 1) * row + (j - 1) * column + 1 end
  end
  local of_x <const>, of_y <const>, v <const> = places(x), places(y), {}
  for i = 1, rows do
    for j = 1, columns do v[#v + 1] = f(x.v[of_x(i, j)], y.v[of_y(i, j)]) end
  end
  return matrix(rows, columns, v, function(bar)
    local to_x <const>, to_y <const>, at = bar_of(x), bar_of(y), 0
    for i = 1, rows do
      for j = 1, columns do
        local p <const>, q <const> = of_x(i, j), of_y(i, j)
        at = at + 1
        to_x[p] = to_x[p] + bar[at] * by_x(x.v[p], y.v[q])
        to_y[q] = to_y[q] + bar[at] * by_y(x.v[p], y.v[q])
      end
    end
  end)
end

local function one() return 1.0 end
local function zero() return 0.0 end

function T.__add(x, y) return pair(x, y, function(a, b) return a + b end, one, one) end
function T.__sub(x, y) return pair(x, y, function(a, b) return a - b end, one, function() return -1.0 end) end
function T.__mul(x, y)
  return pair(x, y, function(a, b) return a * b end, function(_, b) return b end, function(a) return a end)
end
function T.__div(x, y)
  return pair(x, y, function(a, b) return a / b end, function(_, b) return 1 / b end, function(a, b) return -a / (b * b) end)
end
function T.__pow(x, k)
  return pair(x, k, function(a, b) return a ^ b end, function(a, b) return b * a ^ (b - 1) end, zero)
end

function T:sin() return map(self, math.sin, math.cos) end
function T:exp() return map(self, math.exp, function(_, y) return y end) end
function T:sqrt() return map(self, math.sqrt, function(_, y) return 0.5 / y end) end
function T:tanh()
  return map(self, function(a) local e <const> = math.exp(-2 * math.abs(a)) return (a < 0 and -1 or 1) * (1 - e) / (1 + e) end,
    function(_, y) return 1 - y * y end)
end
function T:relu() return map(self, function(a) return math.max(a, 0.0) end, function(a) return a > 0 and 1.0 or 0.0 end) end
--- Where rows are not before columns, else the number.
function M.past(x, other)
  local v <const> = {}
  for k, e in ipairs(x.v) do v[k] = (k - 1) // x.columns >= (k - 1) % x.columns and e or other end
  return matrix(x.rows, x.columns, v, function(bar)
    local to <const> = bar_of(x)
    for k, b in ipairs(bar) do
      if (k - 1) // x.columns >= (k - 1) % x.columns then to[k] = to[k] + b end
    end
  end)
end

-- Along a dimension --------------------------------------------------------------------------------------------------------------

--- Calls f(first, step, count) for every line of x along a dimension, in order: elements first, first + step, ...
local function lines(x, dim, f)
  for i = 1, dim == 1 and x.columns or x.rows do
    if dim == 1 then f(i, x.columns, x.rows) else f((i - 1) * x.columns + 1, 1, x.columns) end
  end
end

--- One number a line: of_line(first, step, count) gives it; back_line(bar, to, y, first, step, count) passes its gradient on.
local function reduce(x, dim, of_line, back_line)
  local v <const> = {}
  lines(x, dim, function(...) v[#v + 1] = of_line(...) end)
  return matrix(dim == 1 and 1 or x.rows, dim == 1 and x.columns or 1, v, function(bar)
    local to <const>, at = bar_of(x), 0
    lines(x, dim, function(...)
      at = at + 1
      back_line(bar[at], to, v[at], ...)
    end)
  end)
end

local function total(x, first, step, count)
  local s = 0.0
  for k = first, first + step * (count - 1), step do s = s + x.v[k] end
  return s
end

function T:sum(dim)
  if not dim then return self:sum(1):sum(2) end
  return reduce(self, dim, function(...) return total(self, ...) end, function(bar, to, _, first, step, count)
    for k = first, first + step * (count - 1), step do to[k] = to[k] + bar end
  end)
end

function T:mean(dim)
  return self:sum(dim) / (not dim and self.rows * self.columns or dim == 1 and self.rows or self.columns)
end

function T:max(dim)
  return reduce(self, dim, function(first, step, count)
    local most = self.v[first]
    for k = first, first + step * (count - 1), step do most = math.max(most, self.v[k]) end
    return most
  end, function(bar, to, y, first, step, count)
    local ties = 0
    for k = first, first + step * (count - 1), step do if self.v[k] == y then ties = ties + 1 end end
    for k = first, first + step * (count - 1), step do if self.v[k] == y then to[k] = to[k] + bar / ties end end
  end)
end

function T:logsumexp(dim)
  return reduce(self, dim, function(first, step, count)
    local most, s = -math.huge, 0.0
    for k = first, first + step * (count - 1), step do most = math.max(most, self.v[k]) end
    for k = first, first + step * (count - 1), step do s = s + math.exp(self.v[k] - most) end
    return most + math.log(s)
  end, function(bar, to, y, first, step, count)
    for k = first, first + step * (count - 1), step do to[k] = to[k] + bar * math.exp(self.v[k] - y) end
  end)
end

function T:softmax(dim) return (self - self:logsumexp(dim)):exp() end

function T:cumsum(dim)
  local v <const> = {}
  lines(self, dim, function(first, step, count)
    local s = 0.0
    for k = first, first + step * (count - 1), step do
      s = s + self.v[k]
      v[k] = s
    end
  end)
  return matrix(self.rows, self.columns, v, function(bar)
    local to <const> = bar_of(self)
    lines(self, dim, function(first, step, count)
      local s = 0.0
      for k = first + step * (count - 1), first, -step do
        s = s + bar[k]
        to[k] = to[k] + s
      end
    end)
  end)
end

-- Products ---------------------------------------------------------------------------------------------------------------------

function T:t()
  local v <const>, x <const> = {}, self
  for j = 1, x.columns do
    for i = 1, x.rows do v[#v + 1] = x.v[(i - 1) * x.columns + j] end
  end
  return matrix(x.columns, x.rows, v, function(bar)
    local to <const>, at = bar_of(x), 0
    for j = 1, x.columns do
      for i = 1, x.rows do
        at = at + 1
        local k <const> = (i - 1) * x.columns + j
        to[k] = to[k] + bar[at]
      end
    end
  end)
end

function T:matmul(y)
  local x <const>, n <const>, m <const>, inner <const> = self, self.rows, y.columns, self.columns
  local v <const> = {}
  for i = 1, n do
    for j = 1, m do
      local s = 0.0
      for k = 1, inner do s = s + x.v[(i - 1) * inner + k] * y.v[(k - 1) * m + j] end
      v[#v + 1] = s
    end
  end
  return matrix(n, m, v, function(bar)
    local to_x <const>, to_y <const> = bar_of(x), bar_of(y)
    for i = 1, n do
      for j = 1, m do
        local b <const> = bar[(i - 1) * m + j]
        for k = 1, inner do
          local p <const>, q <const> = (i - 1) * inner + k, (k - 1) * m + j
          to_x[p] = to_x[p] + b * y.v[q]
          to_y[q] = to_y[q] + b * x.v[p]
        end
      end
    end
  end)
end

return M
