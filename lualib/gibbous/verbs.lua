--- Commands with verbs: gibbous COMMAND VERB [words].
local options <const> = require "gibbous.options"
local raised <const> = require "gibbous.raised"

local INTERRUPTED <const> = 130

--- Runs the verb that the words begin with, and says what is wrong. verbs: functions of the other words by name; command: its name;
-- listed: its verbs, and what else is said of a word that is not one. Gives what the function gives, false after an error, 130 after Ctrl-C.
---@param verbs table<string, fun(words: string[]): boolean|integer>
---@param words string[]
---@param command string
---@param listed string
return function(verbs, words, command, listed)
  local verb <const> = table.remove(words, 1)
  local f <const> = verbs[verb or ""]
  if not f then
    local near <const> = verb and options.nearest(verb, verbs)
    local hint <const> = near and ("; did you mean '%s'?"):format(near) or ""
    io.stderr:write(("gibbous: %s takes a verb: %s%s\n"):format(command, listed, hint))
    return false
  end
  local ok <const>, result <const> = pcall(f, words)
  if ok then return result end
  io.stderr:write("gibbous: ", tostring(type(result) == "table" and result.message or result), "\n")
  return raised.is(result, "interrupted") and INTERRUPTED
end
