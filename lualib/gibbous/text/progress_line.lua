--- The line on stderr that says how far something is: drawn in place at a terminal, cut to its width; in a log, one a minute.
local core <const> = require "gibbous.core"
local text <const> = require "gibbous.text.progress"

local M <const> = {}

local EVERY <const>, MINUTE <const> = 0.1, 60              -- seconds between two drawings, two lines of a log
local USUAL <const> = 80                                   -- columns of a terminal that does not say

--- Does the locale write UTF-8? By the variables of the C library, in its order.
function M.is_utf8()
  for _, name in ipairs{"LC_ALL", "LC_CTYPE", "LANG"} do
    local v <const> = os.getenv(name)
    if v and v ~= "" then return v:upper():find "UTF%-?8" ~= nil end
  end
  return false
end

--- Draws over what was drawn before.
local function draw(words, after)
  io.stderr:write("\r", text.clip(words, (core.columns(2) or USUAL) - 1), "\27[K", after)
end

--- Leaves these last words on the terminal.
function M.leave(words)
  core.said(words)
  draw(words, "\n")
end

--- Takes what was drawn away.
function M.clear()
  if core.isatty(2) then io.stderr:write("\r\27[K") end
end

--- When to say the next thing: is one due now? state.last: when the last one was, at first when it began.
function M.is_due(state, now)
  if now - state.last < (core.isatty(2) and EVERY or MINUTE) then return false end
  state.last = now
  return true
end

--- Says something now: at a terminal in place, in a log as a line.
function M.say(words)
  core.said(words)
  if core.isatty(2) then return draw(words, "") end
  io.stderr:write(words, "\n")
end

return M
