--- Methods of tensors that move, cut and mask elements: compositions of slices, joins and masks. Lazy.
local core <const> = require "gibbous.core"
local labels_of <const> = require "gibbous.tensor.labels"
local options <const> = require "gibbous.base.options"
local subject <const> = require "gibbous.tensor.subject"

local M <const> = {}

--- v where mask holds, else x.
function M.masked_fill(x, mask, v)
  local what <const> = "masked_fill"
  local t <const>, m <const> = subject.tensor(x, what), subject.tensor(mask, what .. ": the mask")
  if m.dtype ~= "bool" then core.raise("dtype", ("%s: a mask is bool, got %s: x:ne(0) makes one"):format(what, m.dtype)) end
  return core.where(m, v, t)
end

--- Moves elements by 'shift' along d; those that leave come in at the other end.
function M.roll(x, shift, d)
  local what <const> = "roll"
  local t <const> = subject.tensor(x, what)
  local by, axis <const> = options.whole(shift), subject.dimension(t, d, what)
  if by == nil then
    core.raise("option", ("%s: the shift must be a whole number, got %s"):format(what, options.got(shift)))
  end
  local n <const> = t.shape[axis]
  by = n > 0 and by % n or 0
  if by == 0 then return t end
  return core.cat({t:slice(axis, n - by + 1, n), t:slice(axis, 1, n - by)}, axis)
end

local most_parts <const> = 65536

local function parts_of(t, sizes, axis, what)
  if #sizes > most_parts then core.raise("option", ("%s: %d parts, at most %d are possible"):format(what, #sizes, most_parts)) end
  local out <const>, at = {}, 0
  for i, size in ipairs(sizes) do
    out[i] = t:slice(axis, at + 1, at + size)
    at = at + size
  end
  return out
end

local function equal_sizes(n, size, what)
  local count <const> = (n - 1) // size + 1
  if count > most_parts then core.raise("option", ("%s: %d parts, at most %d are possible"):format(what, count, most_parts)) end
  local sizes <const> = {}
  for i = 1, count do sizes[i] = math.min(size, n - (i - 1) * size) end
  return sizes
end

--- A list of views along d (1): parts of 'sizes' entries, the last one perhaps smaller, or of the sizes in a list.
function M.split(x, sizes, d)
  local what <const> = "split"
  local t <const> = subject.tensor(x, what)
  local axis <const> = subject.dimension(t, d == nil and 1 or d, what)
  local n <const> = t.shape[axis]
  if type(sizes) ~= "table" then return parts_of(t, equal_sizes(n, subject.whole(sizes, 1, "the size", what), what), axis, what) end
  local list <const>, sum = {}, 0
  for i, size in ipairs(sizes) do
    list[i] = subject.whole(size, 0, "size " .. i, what)
    sum = sum + list[i]
  end
  if sum ~= n then core.raise("shape", ("%s: sizes that add up to %d for a dimension of extent %d"):format(what, sum, n)) end
  return parts_of(t, list, axis, what)
end

--- A list of at most 'count' views along d (1), all of one size but the last.
function M.chunk(x, count, d)
  local what <const> = "chunk"
  local t <const> = subject.tensor(x, what)
  local axis <const> = subject.dimension(t, d == nil and 1 or d, what)
  local c <const>, n <const> = subject.whole(count, 1, "the number of parts", what), t.shape[axis]
  return parts_of(t, equal_sizes(n, math.max(1, (n - 1) // c + 1), what), axis, what)
end

-- Entries of the last two dimensions on one side of the diagonal k, others 0.
local function triangle(x, k, what, lower)
  local t <const> = subject.tensor(x, what)
  local by <const> = options.whole(k == nil and 0 or k)
  if by == nil then
    core.raise("option", ("%s: the diagonal must be a whole number, got %s"):format(what, options.got(k)))
  end
  if t.ndim < 2 then core.raise("shape", ("%s: expected a matrix, got %s"):format(what, core.told(t))) end
  local n <const>, m <const> = t.shape[-2], t.shape[-1]
  local bound <const> = math.max(-n - 1, math.min(m + 1, by))
  local row <const>, column <const> = subject.range_along(1 + bound, 1, n, 1, 2, t.device),
    subject.range_along(1, 1, m, 2, 2, t.device)
  local kept
  if lower then kept = column:le(row) else kept = column:ge(row) end
  if t.dtype == "bool" then return t & kept end
  return core.where(kept, t, 0)
end

--- The lower triangle of the last two dimensions, with diagonal k (0) and all below; others 0.
function M.tril(x, k) return triangle(x, k, "tril", true) end

--- The upper triangle of the last two dimensions, with diagonal k (0) and all above; others 0.
function M.triu(x, k) return triangle(x, k, "triu", false) end

--- The sum of x[i, i] over the last two dimensions.
function M.trace(x)
  local t <const> = subject.tensor(x, "trace")
  if t.ndim < 2 then core.raise("shape", ("trace: expected a matrix, got %s"):format(core.told(t))) end
  return t:diagonal():sum(-1)
end

-- The entries that 'low' places in front of an axis of n entries, and 'high' places behind it, repeat.
local padding <const> = {
  reflect = {least = 1, make = function(t, axis, low, high, n)
    return t:slice(axis, 2, low + 1):flip(axis), t:slice(axis, n - high, n - 1):flip(axis)
  end},
  replicate = {make = function(t, axis, low, high, n)
    return t:slice(axis, 1, 1):expand(subject.shape_with(t, axis, low)), t:slice(axis, n, n):expand(subject.shape_with(t, axis,
      high))
  end},
  circular = {least = 0, make = function(t, axis, low, high, n)
    return t:slice(axis, n - low + 1, n), t:slice(axis, 1, high)
  end},
}

local function padded_by(t, axis, low, high, mode, what)
  local rule <const>, n <const> = padding[mode], t.shape[axis]
  if n == 0 or rule.least and math.max(low, high) > n - rule.least then
    core.raise("shape", ("%s: mode '%s' of a dimension of extent %d adds at most %d entries, got %d and %d"):format(what, mode, n,
      math.max(0, n - (rule.least or n)), low, high))
  end
  local front <const>, back <const> = rule.make(t, axis, low, high, n)
  local list <const> = {t}
  if low > 0 then table.insert(list, 1, front) end
  if high > 0 then list[#list + 1] = back end
  return #list > 1 and core.cat(list, axis) or t
end

--- x with 'before' entries in front of dimension d, and 'after' (before) behind it: of 'value' (0), or by mode: "reflect" those
-- beyond the first and the last mirrored, "replicate" the first and the last, "circular" those from the other end.
function M.pad(x, d, before, after, opts)
  local what <const> = "pad"
  local t <const> = subject.tensor(x, what)
  local axis <const> = subject.dimension(t, d, what)
  if type(after) == "table" then after, opts = nil, after end
  local o <const> = options.parse(opts, {value = "number|boolean", mode = {"constant", "reflect", "replicate", "circular"}}, what)
  local low <const> = subject.whole(before, 0, "the number in front", what)
  local high <const> = subject.whole(after == nil and low or after, 0, "the number behind", what)
  if o.mode and o.mode ~= "constant" then
    if o.value ~= nil then core.raise("option", ("%s: mode '%s' takes no value"):format(what, o.mode)) end
    return padded_by(t, axis, low, high, o.mode, what)
  end
  local v = o.value
  if v == nil then if t.dtype == "bool" then v = false else v = 0 end end
  local list <const> = {t}
  local function filled(n) return core.full(subject.shape_with(t, axis, n), v, {dtype = t.dtype, device = t.device}) end
  if low > 0 then table.insert(list, 1, filled(low)) end
  if high > 0 then list[#list + 1] = filled(high) end
  return #list > 1 and core.cat(list, axis) or t
end

local most_slices <const> = 64

--- Windows of 'size' entries of dimension d, each 'step' (1) further: d counts the windows, a new last dimension their entries.
function M.unfold(x, d, size, step)
  local what <const> = "unfold"
  local t <const> = subject.tensor(x, what)
  local axis <const> = subject.dimension(t, d, what)
  local n <const> = t.shape[axis]
  size, step = subject.whole(size, 1, "the size", what), subject.whole(step == nil and 1 or step, 1, "the step", what)
  if size > n then core.raise("shape", ("%s: windows of %d entries of a dimension of extent %d"):format(what, size, n)) end
  local count <const> = (n - size) // step + 1
  if size > most_slices then
    local at <const> = subject.range_along(1, step, count, 1, 2, t.device) + subject.range_along(0, 1, size, 2, 2, t.device)
    local shape <const>, order <const> = subject.shape_with(t, axis, count), {}
    table.insert(shape, axis + 1, size)
    for i = 1, t.ndim do order[i] = i > axis and i + 1 or i end
    order[t.ndim + 1] = axis + 1
    return t:index(axis, at:reshape(-1)):reshape(shape):permute(order)
  end
  local slices <const> = {}
  for i = 1, size do slices[i] = t:slice(axis, i, i + (count - 1) * step, step) end
  return core.stack(slices, t.ndim + 1)
end

-- Positions of elements ---------------------------------------------------------------------------------------------------------

local few <const> = 4        -- entries along d that are picked by masks, in as many passes over x

--- Checks index against x along axis; every other extent is that of x.
local function checked_index(t, axis, index, what)
  if index == nil then core.raise("option", ("%s: positions along dimension %d are needed, got nil"):format(what, axis)) end
  local i <const> = labels_of.of(index, what, t.device)
  local fits = i.ndim == t.ndim
  for a = 1, fits and t.ndim or 0 do fits = fits and (a == axis or i.shape[a] == t.shape[a]) end
  if not fits then
    core.raise("shape", ("%s: positions must have the shape of x but for dimension %d: x %s, positions %s"):format(what, axis,
      core.told(t), core.told(i)))
  end
  return labels_of.checked(i, t.shape[axis], what)
end

--- Positions in x:reshape(-1) of what 'index' means along axis.
local function flat_positions(t, axis, index)
  local stride, at = 1, nil
  for a = t.ndim, 1, -1 do
    local part
    if a == axis then part = (index - 1) * stride
    else part = subject.range_along(0, stride, t.shape[a], a, t.ndim, t.device) end
    at = at and at + part or part
    stride = stride * t.shape[a]
  end
  return (at + 1):reshape(-1)
end

--- out[i, j] = x[i, index[i, j]] along d (here the last of two): one position an element, counted from 1.
function M.gather(x, d, index)
  local what <const> = "gather"
  local t <const> = subject.tensor(x, what)
  local axis <const> = subject.dimension(t, d, what)
  local i <const> = checked_index(t, axis, index, what)
  if i.numel == 0 then return core.zeros(i.shape, {dtype = t.dtype, device = t.device}) end
  if t.ndim == 1 then return t:index(1, i) end
  if i.shape[axis] <= few and t.dtype ~= "bool" and t.dtype ~= "i32" and t.ndim < 8 then
    local own <const> = labels_of.mask(i:unsqueeze(axis + 1), t.shape[axis], axis + 1, t.dtype)
    return core.where(own, t:unsqueeze(axis), 0):sum(axis + 1)
  end
  return t:reshape(-1):index(1, flat_positions(t, axis, i)):reshape(i.shape)
end

--- x with src[i, j] added at [i, index[i, j]] along d (here the last of two), in their order: the reverse of gather.
function M.scatter_add(x, d, index, src)
  local what <const> = "scatter_add"
  local t = subject.tensor(x, what)
  if t.dtype == "i32" then t = t:to "i64" end                              -- as index_add does
  local axis <const> = subject.dimension(t, d, what)
  local i <const> = checked_index(t, axis, index, what)
  local y = type(src) == "number" and src or subject.tensor(src, what .. ": the values")
  if type(y) == "number" then y = core.full(i.shape, y, {dtype = t.dtype, device = t.device}) end
  if y.shape ~= i.shape then
    core.raise("shape", ("%s: expected a value for each position: positions %s, values %s"):format(what, core.told(i),
      core.told(y)))
  end
  if t.dtype == "bool" then core.raise("dtype", ("%s: no arithmetic on bool"):format(what)) end
  if i.numel == 0 then return t end
  if t.ndim == 1 then return t:index_add(1, i, y) end
  return t:reshape(-1):index_add(1, flat_positions(t, axis, i), y:reshape(-1)):reshape(t.shape)
end

return M
