--- Columns as core.csv_read, core.json_lines and queries give them, to a frame.
local core <const> = require "gibbous.core"
local column <const> = require "gibbous.frame.column"
local frame <const> = require "gibbous.frame"

--- Why a column is neither numbers nor words; nil where it is. A few words among numbers are a mistake in the file, and so are
-- numbers with a decimal comma that nobody expected.
local function fault_of(c, path, decimal)
  if c.comma and not decimal then
    return "format", ("column '%s' holds numbers with a decimal comma: %s:%d has '%s'; read it with decimal = \",\" (or, as text, "
      .. "with decimal = \".\")"):format(c.name, path, c.line, c.sample)
  end
  if not c.words then
    return "format", ("column '%s' is not all numbers: %s:%d has '%s' (%d such cells; name it in na = \"...\" to read it as NaN)")
      :format(c.name, path, c.line, c.sample, c.odd)
  end
end

local function one(c, index, read, path, decimal)
  local out <const> = {name = c.name, value = c.value, date = c.date or nil}
  if c.value and not c.date then return out end
  if not c.value then
    local code <const>, message <const> = fault_of(c, path, decimal)
    if code then
      out.fault = function() core.raise(code, message) end
      return out
    end
    out.first = c.line > 0 and {line = c.line, sample = c.sample} or nil
  end
  out.source = {read.frame, index}                           -- where the text lies as it was read
  out.words = column.lazily(read.rows, c.bytes + column.STRING * read.rows,
    function(most) return core.csv_text(read.frame, index, most) end)
  return out
end

--- read: what core.csv_read gives. o: names, decimal, columns of gb.data.read.
return function(path, read, o)
  local columns <const> = {}
  for i, c in ipairs(read) do
    if o.names then c.name = o.names[i] end
    if c.name == "" then c.name = "V" .. i end
    if c.value or c.odd then columns[#columns + 1] = one(c, i, read, path, o.decimal) end
  end
  for _, text in ipairs(read.notes) do io.stderr:write("gibbous: warning: ", text, "\n") end
  return frame.new(columns, read.rows, {path = path, warnings = read.notes})
end
