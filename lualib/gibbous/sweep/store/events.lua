--- Events in files, one JSON line each with a digest of it: {"sum":"8 digits","event":{...}}. A file has one writer, and readers
-- that take what is new. A line that is cut, or differs from its digest, is passed over.
local core <const> = require "gibbous.core"
local printable <const> = require "gibbous.printable"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

local DIGITS <const> = 8
local MOST <const> = 1000000              -- bytes of an event, within what core.json_decode takes

--- An event whose texts are JSON's.
local function with_printable_texts(e)
  for key, v in pairs(e) do
    if type(v) == "string" then e[key] = printable(v) end
  end
  return e
end

--- An event as a line.
function M.line(e)
  local text <const> = core.json_encode(with_printable_texts(e))
  if #text > MOST then
    core.raise("option", ("%d bytes are too many for one line of a journal: large results go to files in trial.dir"):format(#text))
  end
  return ('{"sum":"%s","event":%s}\n'):format(core.sha256(text):sub(1, DIGITS), text)
end

--- The event of a line without its end; nil where it is damaged.
function M.parse(line)
  local sum <const>, text <const> = line:match '^{"sum":"(%x+)","event":(.*)}$'
  if not sum or core.sha256(text):sub(1, DIGITS) ~= sum then return nil end
  local ok <const>, e <const> = raised.attempt(core.json_decode, text)
  return ok and type(e) == "table" and e or nil
end

-- Reading ---------------------------------------------------------------------------------------------------------------------

---@class gibbous.sweep.events
---@field place table<string, integer>   how far each file was read: behind its last good line
---@field damaged integer                lines that were passed over
---@field parts table<string, table[]>?   of each file, the bytes that were read: {behind, sum}, SHA-256 from the last part to there
local Reader <const> = {__name = "gibbous.sweep.events"}
Reader.__index = Reader

function M.reader() return setmetatable({place = {}, damaged = 0, parts = {}}, Reader) end

local function new_text(path, place)
  local f <const> = io.open(path, "rb")
  if not f then return "" end
  local ok <const> = f:seek("set", place)
  local text <const> = ok and f:read "a" or ""            -- nil where it is a folder
  f:close()
  return text or ""
end

local function add_part(self, path, bytes, behind)
  local parts <const> = self.parts[path] or {}
  parts[#parts + 1] = {behind = behind, sum = core.sha256(bytes)}
  self.parts[path] = parts
end

--- Appends the new events of a file to a list. Damaged lines at the end are looked at again: they may not have come whole yet.
function Reader:read(path, list)
  local start <const> = self.place[path] or 0
  local text <const> = new_text(path, start)
  local bad = 0
  for line, behind in text:gmatch "([^\n]*)\n()" do
    local e <const> = M.parse(line)
    if e then
      list[#list + 1] = e
      self.place[path] = start + behind - 1
      self.damaged, bad = self.damaged + bad, 0
    else
      bad = bad + 1
    end
  end
  local behind <const> = self.place[path] or 0
  if self.parts and behind > start then add_part(self, path, text:sub(1, behind - start), behind) end
end

return M
