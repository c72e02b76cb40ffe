--- Where fig:show() draws: as a picture where the terminal says that it shows them, else as characters.
local core <const> = require "gibbous.core"

local M <const> = {}

local KINDS <const> = {kitty = true, sixel = true, braille = true, off = true}

--- Does the locale write UTF-8? By the same variables, in the same order, as the C library.
function M.is_utf8()
  for _, name in ipairs{"LC_ALL", "LC_CTYPE", "LANG"} do
    local v <const> = os.getenv(name)
    if v and v ~= "" then return v:upper():find "UTF%-?8" ~= nil end
  end
  return false
end

local answer                                  -- what the terminal said, asked once

local function asked()
  if answer == nil then
    local term <const> = os.getenv "TERM"
    local silent <const> = term == nil or term == "" or term == "dumb" or term == "linux"
    answer = not silent and core.terminal_graphics() or false
  end
  return answer
end

--- "kitty", "sixel", "braille", "ascii" or "off": what GIBBOUS_GRAPHICS says, or what the terminal can.
function M.kind(tty)
  local wanted <const> = os.getenv "GIBBOUS_GRAPHICS"
  if wanted and wanted ~= "" then
    if not KINDS[wanted] then
      core.raise("option", ("GIBBOUS_GRAPHICS must be kitty, sixel, braille or off, got %s"):format(wanted))
    end
    return wanted
  end
  return tty and asked() or M.is_utf8() and "braille" or "ascii"
end

return M
