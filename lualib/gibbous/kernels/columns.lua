--- Inputs of kernels: points as (n, d), the columns that a kernel looks at, parameters in the inputs' dtype and on their device.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local options <const> = require "gibbous.base.options"

local M <const> = {}

--- Values that are accepted where a tensor is needed, and their conversion.
function M.got(v)
  if core.type(v) == "frame" then return "a frame: f:col{\"a\", \"b\"} makes a tensor of its columns, f.a is one" end
  if type(v) ~= "table" or getmetatable(v) ~= nil or #v == 0 then return core.type(v) end
  for i, entry in ipairs(v) do                          -- a column of a file, of which one cell is no number, say
    if type(entry) == "string" and tonumber(entry) == nil then
      return ("a list of text, whose entry %d is '%s'"):format(i, entry:sub(1, 40))
    end
  end
  return "a list: gb.tensor(list) makes one of it"
end

--- Inputs as (n, d): a vector is one column.
function M.points(x, what)
  local t <const> = core.as_tensor(x)
  if t == nil then
    core.raise("option", ("%s must be a tensor, got %s"):format(what, M.got(x)))
  end
  if t.ndim == 1 then return t:unsqueeze(2) end
  if t.ndim ~= 2 then
    core.raise("shape", ("%s must be (n) or (n, d), got shape %s"):format(what, core.told(t)))
  end
  return t
end

--- A value in the dtype of 'x', on its device; a value without axes follows its readers.
function M.like(v, x)
  if v.ndim > 0 and v.device ~= x.device then return v:to{dtype = x.dtype, device = x.device} end
  return v.dtype == x.dtype and v or v:to{dtype = x.dtype}
end

--- A parameter's value like 'x'.
function M.adopt(p, x) return M.like(p.value, x) end

--- A hyper-parameter that is one number, or one a column of x.
function M.each(self, name, x)
  local v <const> = M.adopt(self.hyper[name], x)
  if v.ndim == 1 and #v ~= x.shape[2] then
    core.raise("shape", ("%s: %d %ss for inputs with %s"):format(self.kind, #v, name, counted(x.shape[2], "column")))
  end
  return v
end

--- The number one like 'x'.
function M.one(x) return core.full({}, 1, {dtype = x.dtype, device = x.device}) end

--- Column numbers as an option: whole, not 0, at least one; negative ones count from the end.
function M.check_list(list, what)
  if not list then return nil end
  local out <const> = {}
  for i, at in ipairs(list) do
    local k <const> = options.whole(at)
    if k == nil or k == 0 then
      core.raise("option", ("%s: active_dims must be column numbers, counted from 1, got %s"):format(what, options.got(at)))
    end
    out[i] = k
  end
  if #out == 0 then core.raise("option", what .. ": active_dims names no column") end
  return out
end

--- The position of column 'at' among d, counted from 1; 'option' (active_dims) is where the kernel names it.
function M.position(self, at, d, option)
  local k <const> = at < 0 and at + d + 1 or at
  if k < 1 or k > d then
    core.raise("index", ("%s: %s %d, but the inputs have %s"):format(self.kind, option or "active_dims", at, counted(d, "column")))
  end
  return k
end

-- Views already taken: the same columns of one handle are one handle, so that what is known of them is found again.
local taken <const> = setmetatable({}, {__mode = "k"})

local function run(x, first, last)
  local list <const> = taken[x] or {}
  taken[x] = list
  local key <const> = first .. ":" .. last
  list[key] = list[key] or x:slice(2, first, last)
  return list[key]
end

--- The columns of x at the given positions. Runs of neighbours are views, so that kernels of the same columns share their
-- distances.
function M.take(x, positions)
  local runs <const> = {}
  local first = 1
  for i = 1, #positions do
    if i == #positions or positions[i + 1] ~= positions[i] + 1 then
      runs[#runs + 1] = run(x, positions[first], positions[i])
      first = i + 1
    end
  end
  return #runs == 1 and runs[1] or core.cat(runs, 2)
end

return M
