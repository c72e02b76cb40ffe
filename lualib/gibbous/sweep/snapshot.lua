--- What the journals of a store told up to some place, in one file, FOLDER/snapshot, so that a look reads what came since. It is
-- never trusted over them: it has a digest of itself and of the bytes that it covers, and where one differs, or another build wrote
-- it, it is as if it was not there. It appears whole, by a rename; of several writers the last one's stays.
--
--   gibbous snapshot 1 BUILD SUM      SUM: SHA-256 of all that follows
--   an SQLite file: the tables of state.lua, and 'kept', of which known.lua makes the rest
local core <const> = require "gibbous.core"

local M <const> = {}

local HEAD <const> = ("gibbous snapshot 1 %s-%s "):format(core.version, core.build.commit)

local function path_of(folder) return folder .. "/snapshot" end

-- Covered bytes ---------------------------------------------------------------------------------------------------------------

--- Do a file's bytes from one place to another have this digest? f: an open file, at the first place.
local function is_part(f, from, behind, sum)
  local bytes <const> = f:read(behind - from)
  return bytes ~= nil and #bytes == behind - from and core.sha256(bytes) == sum
end

--- Does a file begin with these parts, a list of {behind, sum}?
local function is_covered(path, parts)
  local f <close> = io.open(path, "rb")
  local from = 0
  for _, part in ipairs(parts) do
    if not f or not is_part(f, from, part.behind, part.sum) then return false end
    from = part.behind
  end
  return true
end

-- Reading ---------------------------------------------------------------------------------------------------------------------

--- The database of a snapshot; nil where there is none that is whole and of this build.
local function image_of(folder)
  local f <close> = io.open(path_of(folder), "rb")
  local text <const> = f and f:read "a"
  if not text or text:sub(1, #HEAD) ~= HEAD then return nil end
  local line <const>, image <const> = text:sub(#HEAD + 1, #HEAD + 65), text:sub(#HEAD + 66)
  return core.sha256(image) .. "\n" == line and core.database_image(image) or nil
end

--- Puts a row of 'kept' where it belongs.
local take <const> = {}

function take.count(self, key, value) self[key] = value end
function take.damaged(self, _, value) self.reader.damaged = value end
function take.touched(self, key, value) self.touched[key] = value end
function take.stamp(self, key, value) self.stamps[key] = core.json_decode(value) end
function take.waiting(self, key, value) self.waiting[key] = core.json_decode(value) end
function take.again(self, key) self.trial_at[key].ended = true end

function take.part(self, key, value)
  local path <const> = self.folder .. "/journal/" .. key:match "^(.*)/"
  local parts <const> = self.reader.parts[path] or {}
  local behind <const>, sum <const> = value:match "^(%d+) (%x+)$"
  parts[#parts + 1] = {behind = math.tointeger(tonumber(behind)), sum = sum}
  self.reader.parts[path], self.reader.place[path] = parts, parts[#parts].behind
end

local function take_all(self, tables)
  for _, t in ipairs(tables:rows "SELECT id, number, attempts, state, code, wanted FROM trial") do
    self.trial_at[t.id] = {attempt = t.attempts, ended = t.state == "done" or t.state == "failed", code = t.code,
      wanted = t.wanted == 1}
    self.numbers[t.number] = true
  end
  for _, row in ipairs(tables:rows "SELECT kind, key, value FROM kept ORDER BY kind, place, key") do
    take[row.kind](self, row.key, row.value)
  end
end

--- Fills what is known of nothing (known.lua) by the snapshot, where it is one of the journals that are there. Gives the tables;
-- nil, and leaves it as it is.
function M.load(self, nothing)
  local tables <const> = image_of(self.folder)
  if not tables then return nil end
  local found <const> = nothing()
  found.folder = self.folder
  take_all(found, tables)
  for path, parts in pairs(found.reader.parts) do
    if not is_covered(path, parts) then
      tables:close()
      return nil
    end
    found.covered = found.covered + parts[#parts].behind
  end
  tables:run "DROP TABLE kept"
  for key, v in pairs(found) do self[key] = v end
  return tables
end

-- Writing ---------------------------------------------------------------------------------------------------------------------

local function keep_parts(keep, self)
  for path, parts in pairs(self.reader.parts) do
    for i, part in ipairs(parts) do
      keep("part", ("%s/%d"):format(path:match "[^/]*$", i), ("%d %s"):format(part.behind, part.sum), i)
    end
  end
end

local function keep_all(self)
  self.tables:run "CREATE TABLE kept (kind TEXT, key, value, place INTEGER)"
  local function keep(kind, key, value, place)
    self.tables:run("INSERT INTO kept VALUES (?, ?, ?, ?)", kind, key, value, place or 0)
  end
  for _, name in ipairs{"generation", "since"} do keep("count", name, self[name]) end
  keep("damaged", "", self.reader.damaged)
  for key, generation in pairs(self.touched) do keep("touched", key, generation) end
  for key, e in pairs(self.stamps) do keep("stamp", key, core.json_encode(e)) end
  for i, e in ipairs(self.waiting) do keep("waiting", i, core.json_encode(e), i) end
  for _, t in ipairs(self.tables:rows "SELECT id FROM trial WHERE state = 'pending'") do
    if self.trial_at[t.id].ended then keep("again", t.id) end
  end
  keep_parts(keep, self)
end

--- Writes what is known of the journals alone, and is used for nothing else afterwards.
function M.write(self)
  self.tables:run "BEGIN"
  keep_all(self)
  self.tables:run "COMMIT"
  local image <const> = self.tables:image()
  core.text_write(path_of(self.folder), HEAD .. core.sha256(image) .. "\n" .. image)
end

return M
