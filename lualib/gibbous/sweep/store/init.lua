--- What a sweep knows: a folder, kept by an SQLite file (sqlite.lua) or, where file systems have no locks that can be relied on, by
-- files of events (journal.lua). What is there decides for everyone who opens it. Both have the same methods and the same tables
-- (state.lua). A trial is acknowledged by the holder of its token alone, so nothing is counted twice.
local core <const> = require "gibbous.core"

local M <const> = {}

--- Which carrier keeps this folder: "sqlite", "journal"; nil where nothing is there.
local function there(folder)
  if core.file_exists(folder .. "/journal") then return "journal" end
  if core.file_exists(folder .. "/study.db") then return "sqlite" end
end

--- Which carrier a new store gets. wanted: of the command line.
local function chosen(folder, wanted)
  local name <const> = wanted or os.getenv "GIBBOUS_STORE"
  if not name or name == "" then return core.is_remote(folder) and "journal" or "sqlite" end
  if name ~= "sqlite" and name ~= "journal" then
    core.raise("option", ("GIBBOUS_STORE is \"sqlite\" or \"journal\", got \"%s\""):format(name))
  end
  return name
end

local function carrier(folder, wanted)
  local name <const> = there(folder)
  if name and wanted and name ~= wanted then
    core.raise("option", ("%s has a store of the other kind, %s: name another folder with --store"):format(folder, name))
  end
  return require("gibbous.sweep.store." .. (name or chosen(folder, wanted)))
end

--- f(...), where a folder that cannot be written is said with its remedy.
local function writing(f, ...)
  local ok <const>, result <const> = pcall(f, ...)
  if ok then return result end
  local words <const> = require "gibbous.base.raised".is(result, "io") and tostring(result) or ""
  if not words:find "Read%-only file system" and not words:find "Permission denied" then error(result, 0) end
  core.raise("io", words .. "; the store of a sweep needs a folder that can be written: name one with --store DIR")
end

--- Is there a store in this folder?
function M.is(folder) return there(folder) ~= nil end

--- The store in a folder. mode: "create" makes one that is missing, "write" and "read" do not. wanted: "journal", "sqlite", or nil.
---@return gibbous.sweep.store
function M.open(folder, mode, wanted)
  if mode == "create" then
    writing(core.make_folder, folder)
  elseif not there(folder) then
    core.raise("io", ("there is no sweep in %s: gibbous sweep run SCRIPT makes one"):format(folder))
  end
  return carrier(folder, wanted).open(folder, mode)
end

local MOMENT <const> = 1                   -- seconds that a killed run, and what it was about to start, may take to be gone

--- The right to be the one `run` of a folder, until it is closed; nil where another process has it.
function M.lock(folder, wanted)
  return writing(function()
    core.make_folder(folder)
    local deadline <const> = core.clock() + MOMENT
    while true do
      local held <const>, is_remote <const> = carrier(folder, wanted).lock(folder)
      if held or is_remote or core.clock() > deadline then return held end
      core.wait({}, 0.02)
    end
  end)
end

return M
