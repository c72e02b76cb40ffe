--- Columns of categories as numbers: codes and one-hot rows.
local core <const> = require "gibbous.core"
local column <const> = require "gibbous.frame.column"

return function(M)
  local methods <const> = M.methods

  --- Bytes of a key of a row while rows are told apart: in lists, as an entry of a table, and as text.
  M.KEY = 256

  --- Is v a number that is no number?
  local function is_nan(v) return v ~= v end

  --- The code of each row, a list of 1 .. k, and the k categories in order: numbers by size, NaN last; words by their bytes; false
  -- before true.
  local function codes_of(c)
    local seen <const> = column.seen(c)
    local list <const>, found <const>, categories <const> = type(seen) == "table" and seen or seen:totable(), {}, {}
    local nan = false
    for _, v in ipairs(list) do
      if is_nan(v) then nan = true
      elseif not found[v] then
        found[v] = true
        categories[#categories + 1] = v
      end
    end
    table.sort(categories, function(a, b)
      if type(a) == "boolean" then return not a and b end
      return a < b
    end)
    for code, v in ipairs(categories) do found[v] = code end
    local codes <const>, of_nan <const> = {}, #categories + 1
    for i, v in ipairs(list) do codes[i] = is_nan(v) and of_nan or found[v] end
    if nan then categories[of_nan] = 0 / 0 end
    return codes, categories
  end
  M.codes_of = codes_of

  local function known_codes(self, name, what)
    local c <const> = M.column(self, name)
    local held <close> = core.account(M.KEY * #self)         -- luacheck: ignore 211
    local codes <const>, categories <const> = codes_of(c)
    if is_nan(categories[#categories]) then
      for i, code in ipairs(codes) do
        if code == #categories then core.raise("nan", ("%s: column '%s' is missing in row %d"):format(what, c.name, i)) end
      end
    end
    return core.tensor(codes, {dtype = "i32"}):reshape(#codes):eval(), categories
  end

  --- The categories of a column as numbers: codes (n), i32, from 1, and the list of categories that they number, in order.
  function methods.encode(self, name) return known_codes(self, name, "encode") end

  --- A column as rows of 0 with one 1 (n, k), f64, and the list of the k categories; figures call the columns name=category.
  function methods.one_hot(self, name)
    local codes <const>, categories <const> = known_codes(self, name, "one_hot")
    local names <const> = {}
    for j, v in ipairs(categories) do names[j] = ("%s=%s"):format(M.column(self, name).name, tostring(v)) end
    local rows <const> = codes:unsqueeze(2):eq(core.range(1, #categories, 1, {dtype = "i32"}):unsqueeze(1)):to{dtype = "f64"}:eval()
    return require "gibbous.frame.named".note(rows, names), categories
  end
end
