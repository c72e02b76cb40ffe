--- Two frames side by side, row for row of equal keys.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local column <const> = require "gibbous.frame.column"

return function(M)
  local function keys_of(self, other, on)
    local list <const> = type(on) == "table" and on or {on}
    if #list == 0 then core.raise("option", "join: on = \"name\" or {names} says which columns must be equal") end
    local a <const>, b <const> = {}, {}
    for i, name in ipairs(list) do
      a[i], b[i] = M.column(self, name), M.column(other, name)
      local is_text <const> = {column.kind(a[i]) == "text", column.kind(b[i]) == "text"}
      if is_text[1] ~= is_text[2] then
        core.raise("dtype", ("join: column '%s' is %s on the left and %s on the right"):format(a[i].name, column.kind(a[i]),
          column.kind(b[i])))
      end
    end
    return a, b
  end

  --- One string a row, equal where all keys are; nil where one is NaN, which equals nothing.
  local function row_keys(columns, n)
    local lists <const>, out <const> = {}, {}
    for k, c in ipairs(columns) do
      local v <const> = column.seen(c)
      lists[k] = type(v) == "table" and v or v:totable()
    end
    for i = 1, n do
      local parts <const>, missing = {}, false
      for k, list in ipairs(lists) do
        local v <const> = list[i]
        missing = missing or v ~= v
        local text <const> = type(v) == "number" and (math.tointeger(v) and ("%d"):format(v) or ("%a"):format(v)) or tostring(v)
        parts[k] = #text .. ":" .. text
      end
      out[i] = not missing and table.concat(parts) or false
    end
    return out
  end

  --- Positions on the left and on the right of each row of the result, 0 on the right where a row has no partner; and the first row
  -- on the left that is kept without one.
  local function pairs_of(left, right, keep)
    local at <const>, a <const>, b <const>, missing = {}, {}, {}, nil
    for j, key in ipairs(right) do
      if key then
        at[key] = at[key] or {}
        table.insert(at[key], j)
      end
    end
    for i, key in ipairs(left) do
      local partners <const> = key and at[key] or keep and {0} or {}
      for _, j in ipairs(partners) do a[#a + 1], b[#b + 1] = i, j end
      if partners[1] == 0 then missing = missing or i end
    end
    return a, b, missing
  end

  local function add_others(out, columns, is_key, positions)
    local taken <const> = {}
    for _, c in ipairs(out) do taken[c.name] = true end
    for _, c in ipairs(columns) do
      if not is_key[c] then
        if taken[c.name] then
          core.raise("option", ("join: both frames have a column '%s': f:rename{%s = \"...\"} or f:select{...} before the join")
            :format(c.name, c.name))
        end
        out[#out + 1] = positions.missing and column.take_or_missing(c, positions.list, positions.missing)
          or column.take(c, positions.at, function() return positions.list end)
      end
    end
  end

  --- The rows of this frame with the columns of the rows of another one that are equal in 'on', in the order of this frame, then
  -- of the other one. A row with several partners comes several times; one without a partner is left out, or with how = "left"
  -- kept, with NaN and "" in the columns of the other: their numbers are f64 then. o: on (a name or a list of names), how =
  -- "inner"|"left".
  function M.methods.join(self, other, opts)
    if not M.is(other) then core.raise("option", "join: a frame expected, got " .. core.type(other)) end
    local o <const> = options.parse(opts, {on = "string|table|integer", how = {"inner", "left"}}, "join")
    local a <const>, b <const> = keys_of(self, other, o.on or {})
    local held <close> = core.account(M.KEY * (#self + #other) * #a)  -- luacheck: ignore 211
    local left <const>, right <const>, missing <const> = pairs_of(row_keys(a, #self), row_keys(b, #other), o.how == "left")
    local at <const>, out <const> = core.tensor(left, {dtype = "i64"}):reshape(#left), {}
    for i, c in ipairs(M.columns(self)) do out[i] = column.take(c, at, function() return left end) end
    local is_key <const> = {}
    for _, c in ipairs(b) do is_key[c] = true end
    add_others(out, M.columns(other), is_key, {list = right, missing = missing,
      at = not missing and core.tensor(right, {dtype = "i64"}):reshape(#right)})
    return M.like(self, out, #left)
  end
end
