--- Frames in JSON: a list of objects, an object of lists, or JSON lines, an object a line.
local core <const> = require "gibbous.core"
local column <const> = require "gibbous.frame.column"
local frame <const> = require "gibbous.frame"

local M <const> = {}

local ABSENT <const> = {}                    -- null, or a key that a row lacks
local MOST <const> = 1 << 20                 -- bytes of one JSON text
local CHUNK <const> = 1 << 16

--- The value of a JSON text; errors say where it stands.
local function decode(text, where)
  local ok <const>, v <const> = pcall(core.json_decode, text)
  if ok then return v end
  if v.code ~= "format" then error(v, 0) end
  core.raise("format", ("%s: %s"):format(where, (v.message:gsub("^text: ", ""))))
end

-- Rows to columns --------------------------------------------------------------------------------------------------------------

--- Collects objects as columns: names in order of their first row, those of one row in order of the alphabet.
local function collector(path)
  local self <const> = {names = {}, lists = {}, n = 0}

  local function check(name, v, where)
    if type(v) == "table" then
      core.raise("format", ("%s: '%s' is a list or an object; a column holds numbers, strings or truth values"):format(where, name))
    end
  end

  function self.add(row, where)
    if type(row) ~= "table" or row[1] ~= nil then
      core.raise("format", ("%s: an object expected, got %s"):format(where, type(row) == "table" and "a list" or type(row)))
    end
    local fresh <const> = {}
    for name, v in pairs(row) do
      check(name, v, where)
      if not self.lists[name] then fresh[#fresh + 1] = name end
    end
    table.sort(fresh)
    for _, name in ipairs(fresh) do
      local list <const> = {}
      for i = 1, self.n do list[i] = ABSENT end
      self.names[#self.names + 1], self.lists[name] = name, list
    end
    self.n = self.n + 1
    for _, name in ipairs(self.names) do
      local v <const> = row[name]
      self.lists[name][self.n] = v == nil and ABSENT or v
    end
  end

  function self.frame()
    local columns <const> = {}
    for i, name in ipairs(self.names) do columns[i] = column.of_list(name, self.lists[name], ABSENT) end
    return frame.new(columns, self.n, {path = path})
  end

  return self
end

-- Reading ----------------------------------------------------------------------------------------------------------------------

--- Calls f(line, number) for each line that is not blank.
local function each_line(path, f)
  local file <close> = assert(io.open(path, "rb"))
  local rest, number = "", 0
  local function take(line)
    number = number + 1
    if line:find "%S" then f(line, number) end
  end
  while true do
    local some <const> = file:read(CHUNK)
    if some == nil then break end
    rest = rest .. some
    local from, stop = 1, rest:find("\n", 1, true)
    while stop do
      take(rest:sub(from, stop - 1))
      from = stop + 1
      stop = rest:find("\n", from, true)
    end
    rest = rest:sub(from)
    if #rest > MOST then core.raise("format", ("%s:%d: a line of more than %d bytes"):format(path, number + 1, MOST)) end
  end
  if rest ~= "" then take(rest) end
end

--- A frame of JSON lines.
function M.read_lines(path)
  local rows <const> = collector(path)
  each_line(path, function(line, number)
    local where <const> = ("%s:%d"):format(path, number)
    rows.add(decode(line, where), where)
  end)
  return rows.frame()
end

--- Is it an object of lists of one length, each of values of one plain type?
local function is_columns(v)
  local n
  for name, list in pairs(v) do
    if type(name) ~= "string" or type(list) ~= "table" or #list == 0 or n and #list ~= n then return false end
    n = #list
    for _, one in ipairs(list) do
      if type(one) == "table" or type(one) ~= type(list[1]) then return false end
    end
  end
  return n ~= nil
end

--- A frame of a list of objects or an object of lists; any other value as it is.
function M.read(path)
  local file <close> = assert(io.open(path, "rb"))
  local text <const> = file:read(MOST + 1) or ""
  if #text > MOST then
    core.raise("format", ("%s: JSON of more than %d bytes; JSON lines (.jsonl), an object a line, may be of any length"):format(
      path, MOST))
  end
  local v <const> = decode(text, path)
  if type(v) == "table" and type(v[1]) == "table" and v[1][1] == nil then
    local rows <const> = collector(path)
    for i, row in ipairs(v) do rows.add(row, ("%s: row %d"):format(path, i)) end
    return rows.frame()
  end
  return type(v) == "table" and is_columns(v) and frame.of(v) or v
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
