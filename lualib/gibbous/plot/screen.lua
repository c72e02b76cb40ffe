--- Where fig:show() draws: as a picture where the terminal says that it shows them, else as characters.
local core <const> = require "gibbous.core"
local progress_line <const> = require "gibbous.text.progress_line"

local M <const> = {}

local KINDS <const> = {kitty = true, sixel = true, braille = true, off = true}

local answer                                  -- what the terminal said, asked once

local function asked()
  if answer == nil then
    local term <const> = os.getenv "TERM"
    local silent <const> = term == nil or term == "" or term == "dumb" or term == "linux"
    answer = not silent and core.terminal_graphics() or false
  end
  return answer
end

--- Are colours wanted? As the interpreter's own are: NO_COLOR, CLICOLOR_FORCE (--color=always), else at a terminal.
function M.is_coloured(tty)
  local function set(name)
    local v <const> = os.getenv(name)
    return v ~= nil and v ~= "" and v
  end
  if set "NO_COLOR" then return false end
  local forced <const> = set "CLICOLOR_FORCE"
  return forced and forced ~= "0" or tty
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
  return tty and asked() or progress_line.is_utf8() and "braille" or "ascii"
end

return M
