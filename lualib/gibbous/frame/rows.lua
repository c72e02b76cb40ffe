--- Rows of a frame: the first ones, those that a mask or a function chooses, and all of them in another order.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local column <const> = require "gibbous.frame.column"

--- The values of a column as a list.
local function as_list(c)
  local v <const> = column.seen(c)
  return type(v) == "table" and v or v:totable()
end

return function(M)
  local methods <const> = M.methods

  --- The frame of the rows at these positions, a tensor of i64.
  local function take(self, at)
    local list
    local function rows()
      list = list or at:totable()
      return list
    end
    local out <const> = {}
    for i, c in ipairs(M.columns(self)) do out[i] = column.take(c, at, rows) end
    return M.like(self, out, #at)
  end
  M.take = take

  --- The first n rows, 10 unless it is said; of a negative n all but the last -n.
  function methods.head(self, n)
    if n ~= nil and not options.integral(n) then core.raise("option", "head: a whole number expected, got " .. options.shown(n)) end
    local most <const> = math.tointeger(n or 10)
    return take(self, core.range(1, math.max(0, math.min(#self, most < 0 and #self + most or most)), 1, {dtype = "i64"}))
  end

  --- What a function of rows sees: row.name, of the row that i() says. Columns become lists when they are first asked for.
  local function row_of(self, i)
    local lists <const> = {}
    return setmetatable({}, {
      __index = function(_, name)
        lists[name] = lists[name] or as_list(M.column(self, name))
        return lists[name][i()]
      end,
      __newindex = function() core.raise("option", "filter: a row cannot be assigned to") end,
    })
  end

  local function mask_of(self, f)
    local at
    local row <const>, chosen <const> = row_of(self, function() return at end), {}
    for i = 1, #self do
      at = i
      if f(row) then chosen[#chosen + 1] = i end
    end
    return core.tensor(chosen, {dtype = "i64"}):reshape(#chosen)
  end

  --- The rows where a mask (n) is true, or for which a function of the row gives a true value: f:filter(function(row) return
  -- row.a > 1 end). A row is valid as long as the function runs.
  function methods.filter(self, which)
    if type(which) == "function" then return take(self, mask_of(self, which)) end
    local t <const> = core.as_tensor(which)
    if t == nil or t.dtype ~= "bool" then
      core.raise("option", ("filter: a mask (a tensor of bool) or a function of the row expected, got %s"):format(
        t and "a tensor of " .. t.dtype or core.type(which)))
    end
    if t.ndim ~= 1 or #t ~= #self then
      core.raise("shape", ("filter: a mask (%d) expected, got shape %s"):format(#self, tostring(t.shape)))
    end
    return take(self, core.range(1, #self, 1, {dtype = "i64"}):index(1, t):eval())
  end

  --- Positions that sort words by their bytes, equal ones in their order.
  local function sorted_words(words, descending)
    local at <const> = {}
    for i = 1, #words do at[i] = i end
    table.sort(at, function(i, j)
      local a <const>, b <const> = words[i], words[j]
      if a == b then return i < j end
      return (a < b) ~= descending
    end)
    return core.tensor(at, {dtype = "i64"}):reshape(#at)
  end

  --- The rows in the order of a column; equal ones keep theirs, and NaN is last. o: descending.
  function methods.sort(self, name, opts)
    local o <const> = options.parse(opts, {descending = "boolean"}, "sort")
    local c <const> = M.column(self, name)
    local v <const>, descending <const> = column.seen(c), o.descending or false
    if type(v) == "table" then return take(self, sorted_words(v, descending)) end
    local numbers <const> = v.dtype == "bool" and v:to{dtype = "i64"} or v
    return take(self, numbers:argsort(1, {descending = descending}):eval())
  end
end
