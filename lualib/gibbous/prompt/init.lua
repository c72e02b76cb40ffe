--- The prompt's side in Lua: what follows an entry, commands, completion. Called by host/shell/repl.c; each part is read when it is
-- first needed.
local M <const> = {}

local session = false                      -- an interactive session runs: results are kept

--- The session begins: what is there now is not the user's. shell: print(...) prints as the values of an entry, history() reads
-- the entries of this and earlier sessions.
function M.start(shell)
  session, M.print, M.history = true, shell.print, shell.history
  local core <const> = require "gibbous.core"
  require "gibbous.text.window".columns = function() return core.columns(1) end
  require "gibbous.prompt.variables".note()
end

local before <const> = setmetatable({}, {__mode = "v"})   -- the report of the last interrupted fit, as the entry began

local function interrupted_fit()
  local resume <const> = package.loaded["gibbous.gp.fit.resume"]
  return resume and (resume.last()) or nil
end

--- An entry that shows nothing says that its fit was interrupted.
local function say_interrupted_fit()
  local report <const> = interrupted_fit()
  if report == nil or rawequal(report, before[1]) then return end
  io.stderr:write "the fit was interrupted and keeps its best point; :continue goes on\n"
end

--- An entry was typed and will run.
function M.typed()
  before[1] = interrupted_fit()
  local said <const> = require "gibbous.prompt.reload".before_entry()
  if said then io.stderr:write(said, "\n") end
end

--- An entry succeeded and gave these values.
function M.entered(text, ...)
  require "gibbous.prompt.inputs".add(text, select("#", ...) > 0)
  require "gibbous.prompt.reload".note()
  if select("#", ...) == 0 then return say_interrupted_fit() end
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
