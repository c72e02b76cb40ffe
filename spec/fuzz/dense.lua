--- Tensors of the evaluator: {shape, dtype, v}, v a plain list in row-major order. Everything by loops over indices.
-- Elements of floats are scalars of an algebra (scalar.lua), of i64 and i32 Lua integers, of bool Lua booleans.
local M <const> = {}

function M.numel(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return n
end

function M.strides(shape)
  local s <const>, step = {}, 1
  for i = #shape, 1, -1 do s[i], step = step, step * shape[i] end
  return s
end

function M.new(shape, dtype, v) return {shape = shape, dtype = dtype, v = v} end

function M.same_shape(a, b)
  if #a ~= #b then return false end
  for i, n in ipairs(a) do if b[i] ~= n then return false end end
  return true
end

function M.is_whole(dtype) return dtype == "i64" or dtype == "i32" end
function M.is_float(dtype) return not M.is_whole(dtype) and dtype ~= "bool" end

--- The dtype of what is computed from such elements: i32 is for storage.
function M.computed(dtype) return dtype == "i32" and "i64" or dtype end

--- The nearest number that i32 holds.
function M.to_i32(v) return math.max(-0x80000000, math.min(0x7fffffff, v)) end

--- Elements of a list at offset + sum of index * stride, for all indices of 'shape' in row-major order.
function M.walk(v, shape, stride, offset)
  local out <const>, n, rank <const> = {}, M.numel(shape), #shape
  if n == 0 then return out end
  local index <const>, at = {}, offset
  for i = 1, rank do index[i] = 0 end
  for k = 1, n do
    out[k] = v[at]
    for d = rank, 1, -1 do
      index[d] = index[d] + 1
      at = at + stride[d]
      if index[d] < shape[d] then break end
      at = at - stride[d] * shape[d]
      index[d] = 0
    end
  end
  return out
end

--- The view of x with this shape, these strides (in elements of x) and this first element, from 1.
function M.view(x, shape, stride, offset)
  return M.new(shape, x.dtype, M.walk(x.v, shape, stride, offset or 1))
end

--- The shape that two shapes broadcast to, or nil: of unequal ranks only the one of fewer dimensions may grow.
function M.broadcast(a, b)
  if #a < #b then a, b = b, a end
  local out <const>, gap <const> = {}, #a - #b
  for i, n in ipairs(a) do
    local m <const> = i > gap and b[i - gap] or 1
    if n ~= m and m ~= 1 and (n ~= 1 or gap > 0) then return nil end
    out[i] = n == m and n or m == 1 and n or m
  end
  return out
end

function M.expand(x, shape)
  if M.same_shape(x.shape, shape) then return x end
  local own <const>, stride <const>, gap <const> = M.strides(x.shape), {}, #shape - #x.shape
  for i = 1, #shape do stride[i] = i > gap and x.shape[i - gap] ~= 1 and own[i - gap] or 0 end
  return M.view(x, shape, stride)
end

function M.permute(x, order)
  local own <const>, shape <const>, stride <const> = M.strides(x.shape), {}, {}
  for i, d in ipairs(order) do shape[i], stride[i] = x.shape[d], own[d] end
  return M.view(x, shape, stride)
end

function M.reshape(x, shape) return M.new(shape, x.dtype, x.v) end

--- Lists of what lies along the dimensions of the set 'axes', for each index of the others, both in row-major order; and the
--- shape of the others.
function M.rows(x, axes)
  local order <const>, kept <const>, count = {}, {}, 1
  for d = 1, #x.shape do
    if not axes[d] then
      order[#order + 1] = d
      kept[#kept + 1] = x.shape[d]
    end
  end
  for d = 1, #x.shape do
    if axes[d] then
      order[#order + 1] = d
      count = count * x.shape[d]
    end
  end
  local flat <const>, lists <const> = M.permute(x, order).v, {}
  for i = 1, M.numel(kept) do lists[i] = table.move(flat, (i - 1) * count + 1, i * count, 1, {}) end
  return lists, kept, count
end

--- Lists of the same length, one for each index of the other dimensions, put back along dimension d.
function M.from_rows(lists, shape, d, count, dtype)
  local moved <const>, order <const>, flat <const> = {}, {}, {}
  for i = 1, #shape do
    if i ~= d then moved[#moved + 1] = shape[i] end
  end
  moved[#moved + 1] = count
  for _, list in ipairs(lists) do table.move(list, 1, count, #flat + 1, flat) end
  for i = 1, #shape do order[i] = i < d and i or i == d and #shape or i - 1 end
  return M.permute(M.new(moved, dtype, flat), order)
end

function M.with_extent(shape, d, n)
  local out <const> = table.move(shape, 1, #shape, 1, {})
  out[d] = n
  return out
end

--- f over the elements.
function M.map(f, dtype, x)
  local out <const>, v <const> = {}, x.v
  for i = 1, #v do out[i] = f(v[i]) end
  return M.new(x.shape, dtype, out)
end

--- f over the elements of two tensors that broadcast.
function M.map2(f, dtype, a, b)
  local shape <const> = M.broadcast(a.shape, b.shape)
  local x <const>, y <const>, out <const> = M.expand(a, shape).v, M.expand(b, shape).v, {}
  for i = 1, #x do out[i] = f(x[i], y[i]) end
  return M.new(shape, dtype, out)
end

--- Element (i, j) of a matrix in a batch of n x m matrices.
function M.matrices(x)
  local rank <const> = #x.shape
  local n <const>, m <const> = x.shape[rank - 1], x.shape[rank]
  local list <const> = {}
  for b = 1, M.numel(x.shape) // math.max(n * m, 1) do
    local rows <const> = {}
    for i = 1, n do rows[i] = table.move(x.v, ((b - 1) * n + i - 1) * m + 1, ((b - 1) * n + i) * m, 1, {}) end
    list[b] = rows
  end
  return list, n, m
end

function M.from_matrix(rows, n, m, dtype)
  local v <const> = {}
  for i = 1, n do table.move(rows[i], 1, m, #v + 1, v) end
  return M.new({n, m}, dtype, v)
end

return M
