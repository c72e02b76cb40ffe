--- Frames in JSON: a list of objects, an object of lists, or JSON lines, an object a line.
local core <const> = require "gibbous.core"
local column <const> = require "gibbous.frame.column"
local frame <const> = require "gibbous.frame"

local M <const> = {}

-- Reading ----------------------------------------------------------------------------------------------------------------------

local function framed(path, read) return require "gibbous.frame.csv"(path, read, {}) end

--- A frame of JSON lines.
function M.read_lines(path) return framed(path, core.json_lines(path)) end

--- A frame of a list of objects or an object of lists; any other value as it is.
function M.read(path)
  local is_table <const>, v <const> = core.json_read(path)
  if is_table then return framed(path, v) end
  return v
end

-- Writing ----------------------------------------------------------------------------------------------------------------------

local function as_list(c)
  local v <const> = c.words and c.words() or column.seen(c)
  return type(v) == "table" and v or v:totable()
end

--- The rows of a frame as objects; NaN is null.
local function objects(f)
  local columns <const>, out <const> = {}, {}
  for k, c in ipairs(frame.columns(f)) do columns[k] = {key = core.json_encode(c.name), list = as_list(c)} end
  for i = 1, #f do
    local cells <const> = {}
    for k, c in ipairs(columns) do
      local v <const> = c.list[i]
      cells[k] = c.key .. ":" .. (v ~= v and "null" or core.json_encode(v))
    end
    out[i] = "{" .. table.concat(cells, ",") .. "}"
  end
  return out
end

--- JSON lines, or with 'whole' one list of objects.
function M.text(f, whole)
  local rows <const> = objects(f)
  if whole then return "[" .. table.concat(rows, ",\n") .. "]\n" end
  return #rows == 0 and "" or table.concat(rows, "\n") .. "\n"
end

return M
