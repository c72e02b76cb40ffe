--- The log of a trial, which stays small whatever the trial prints: of a longer one the first part and the latest lines are kept.
-- The trial writes to its end, wherever that is.
local core <const> = require "gibbous.core"

local M <const> = {}

local MOST <const>, FIRST <const> = 64 << 20, 32 << 20     -- bytes that a log may have, that stay of a longer one

local function size_of(path)
  local f <const> = io.open(path, "rb")
  if not f then return 0 end
  local size <const> = f:seek "end"
  f:close()
  return size
end

--- Cuts a log that has become too long, and says so there. left_out: bytes that earlier calls took from it. Gives them all.
function M.trim(path, left_out)
  local size <const> = size_of(path)
  if size <= MOST then return left_out end
  local all <const> = left_out + size - FIRST
  core.cut(path, FIRST)
  core.append(path, ("\n[gibbous: the log grew beyond %d MiB; %d MiB are left out here]\n"):format(MOST >> 20, all >> 20))
  return all
end

return M
