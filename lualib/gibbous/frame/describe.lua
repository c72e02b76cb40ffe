--- What the columns of a frame hold, in numbers.
local core <const> = require "gibbous.core"
local column <const> = require "gibbous.frame.column"

local FACTS <const> = {"missing", "distinct", "mean", "sd", "min", "median", "max"}

--- Of the values that are there, sorted.
local function of_numbers(v)
  local x <const> = v:to{dtype = "f64"}
  local there <const> = x:index(1, ~x:isnan()):eval()
  local n <const> = #there
  local f <const> = {missing = #x - n}
  if n == 0 then return f end
  local sorted <const> = there:sort(1):eval()
  f.mean, f.min, f.max = there:mean():item(), sorted[1]:item(), sorted[n]:item()
  f.median = (sorted[(n + 1) // 2]:item() + sorted[n // 2 + 1]:item()) / 2
  if n > 1 then f.sd = there:std(1):item() end
  return f
end

local function of_words(words)
  local seen <const>, f <const> = {}, {missing = 0, distinct = 0}
  for _, word in ipairs(words) do
    if word == "" then f.missing = f.missing + 1
    elseif not seen[word] then
      seen[word] = true
      f.distinct = f.distinct + 1
    end
  end
  return f
end

return function(M)
  --- A frame with a row a column of this one: its name and type, how many cells are missing; of words how many are distinct; of
  -- numbers mean, sd (n - 1), least, median and largest value. NaN where a fact does not apply.
  function M.methods.describe(self)
    local names <const>, types <const>, facts <const> = {}, {}, {}
    for _, fact in ipairs(FACTS) do facts[fact] = {} end
    for i, c in ipairs(M.columns(self)) do
      names[i], types[i] = c.name, column.kind(c)
      local f <const> = c.fault and {} or c.value and of_numbers(c.value) or of_words(c.words())
      for _, fact in ipairs(FACTS) do facts[fact][i] = f[fact] or 0 / 0 end
    end
    local out <const> = {column.of_list("column", names), column.of_list("type", types)}
    for _, fact in ipairs(FACTS) do
      out[#out + 1] = #names > 0 and column.of_list(fact, facts[fact]) or {name = fact, value = core.zeros(0)}
    end
    return M.new(out, #names)
  end
end
