--- The prompt's side in Lua: what follows an entry, commands, completion. Called by host/shell/repl.c; each part is read when it is
-- first needed.
local M <const> = {}

local session = false                      -- an interactive session runs: results are kept

--- The session begins: what is there now is not the user's. shell: print(...) prints as the values of an entry, history() reads
-- the entries of this and earlier sessions.
function M.start(shell)
  session, M.print, M.history = true, shell.print, shell.history
  local core <const> = require "gibbous.core"
  require "gibbous.window".columns = function() return core.columns(1) end
  require "gibbous.prompt.variables".note()
end

--- An entry was typed and will run.
function M.typed()
  local said <const> = require "gibbous.prompt.reload".before_entry()
  if said then io.stderr:write(said, "\n") end
end

--- An entry succeeded and gave these values.
function M.entered(text, ...)
  require "gibbous.prompt.inputs".add(text, select("#", ...) > 0)
  require "gibbous.prompt.reload".note()
  if select("#", ...) == 0 then return end
  require "gibbous.prompt.results".keep((...))
  require "gibbous.prompt.why".gave(...)
end

--- Is it an error of the library that does not know its line, as of a value that was displayed?
local function is_without_line(err)
  local meta <const> = type(err) == "table" and debug.getmetatable(err)
  return meta and meta.__name == "gibbous.error" and rawget(err, "line") == ""
end

--- The message handler of an entry: the stack is as the error left it.
function M.failed(err)
  if not session then return end
  local where <const> = require "gibbous.prompt.frames".capture(3, M.print)
  if where and is_without_line(err) then err.line = where end
  require "gibbous.prompt.why".failed(err)
  require "gibbous.prompt.inputs".left_out()
end

--- Runs a line that begins with ':'. False: the session ends.
function M.command(text)
  local goes_on <const> = require "gibbous.prompt.commands".run(text:sub(2))
  require "gibbous.prompt.inputs".left_out()
  return goes_on
end

--- Nothing was typed for a moment: reads what the first completion will need.
function M.idle()
  require "gibbous.prompt.complete"
  require "gibbous.reference".of "gb"
end

--- The names that the text before the cursor may go on with, sorted, and how much of them is typed.
function M.complete(text) return require "gibbous.prompt.complete"(text) end

return M
