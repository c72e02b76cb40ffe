--- What a line of the prompt that begins with ':' does.
local M <const> = {}

--- A message without a traceback: the line was mistyped, nothing ran.
local function complain(text, ...)
  error(setmetatable({text = text:format(...)}, {__tostring = function(self) return self.text end}), 0)
end

local function compiled(text, env)
  if text == "" then complain "an expression or a statement is missing" end
  env = env or _G
  local expression <const>, unfinished <const> = load("return " .. text, "=stdin", "t", env)
  if expression then return expression end
  local chunk <const>, message <const> = load(text, "=stdin", "t", env)
  if not chunk then complain("%s", unfinished:find "near <eof>$" and unfinished or message) end
  return chunk
end

local function needs_path(path, name)
  if path == "" then complain("a file is missing: %s FILE", name) end
  return path
end

local function nothing_after(rest, name)
  if rest ~= "" then complain("%s takes nothing after it", name) end
end

local function read_file(path)
  local f <close>, why = io.open(path, "rb")
  local text
  if f then text, why = f:read "a" end
  if not text then complain("%s", f and ("%s: %s"):format(path, why) or why) end
  return text
end

local function write_file(path, text)
  local f <close>, why = io.open(path, "wb")
  local ok = f
  if f then ok, why = f:write(text) end
  if f and ok then ok, why = f:close() end
  if not ok then complain("%s", f and ("%s: %s"):format(path, why) or why) end
end

-- The commands ----------------------------------------------------------------------------------------------------------------

local function help(rest)
  if rest ~= "" then return print(require "gibbous.commands.help"(rest)) end
  local width = 0
  local columns <const>, text <const> = require "gibbous.text.window".columns() or 100, require "gibbous.reference.text"
  for _, c in ipairs(M.list) do width = math.max(width, #c.call) end
  for _, c in ipairs(M.list) do print(text.row(c.call, c.line, columns, 0, width + 1)) end
  print(text.row("?NAME", "explains a function, a method or a value: ?gb.linspace, ?x:sum", columns, 0, width + 1))
end

--- One run, its results, and how long it took. An expression is computed also where its value is remembered.
local function time(rest)
  local chunk <const> = compiled(rest)
  local results
  local report <const> = require "gibbous.timing".time(function()
    results = table.pack(chunk())
    return table.unpack(results, 1, results.n)
  end, {runs = 1, warmup = 0, seconds = 1e-9})
  require "gibbous.prompt".print(table.unpack(results, 1, results.n))
  print((tostring(report):gsub("^median (%S+ %S+)[^\n]*", "wall %1")))
end

local function timeit(rest) print(require "gibbous.timing".time(compiled(rest))) end

local function profile(rest) print(require "gibbous.profile"(compiled(rest))) end

local function memory(rest)
  nothing_after(rest, ":mem")
  print(require "gibbous.prompt.variables".memory())
end

local function who(rest)
  nothing_after(rest, ":who")
  print(require "gibbous.prompt.variables".who())
end

local function why(rest)
  nothing_after(rest, ":why")
  local columns <const>, report <const> = require "gibbous.text.window".columns(), require "gibbous.prompt.why".report()
  print(columns and require "gibbous.reference.text".fitted(report, columns) or report)
end

--- The last interrupted fit goes on.
local function continue(rest)
  nothing_after(rest, ":continue")
  local report <const>, fitted <const> = require "gibbous.gp.fit.resume".last()
  if not report then complain "there is no interrupted fit, or its model is gone: a model with a name stays" end
  local info <const> = fitted:fit{resume = report}
  require "gibbous.prompt".print(info)
  require "gibbous.prompt.results".keep(info)
  require "gibbous.prompt.why".gave(info)
end

local function plot(rest) require "gibbous.prompt.picture"(compiled(rest)()):show() end

local function cite(rest)
  print(require "gibbous.cite".cite(rest == "" and nil or compiled(rest)()))
end

local function save(rest)
  write_file(needs_path(rest, ":save"), require "gibbous.prompt.inputs".script())
  print("written to " .. rest)
end

local function run(rest)
  local path <const> = needs_path(rest, ":run")
  local chunk <const>, message <const> = load(read_file(path):gsub("^#[^\n]*", ""), "@" .. path, "t")
  if not chunk then complain("%s", message) end
  chunk()
end

--- Opens an editor on a file, or on the last entry, and runs what it leaves.
local function edit(rest)
  local prompt <const> = require "gibbous.prompt"
  local path <const> = rest ~= "" and rest or os.tmpname()
  local before <const> = rest == "" and (require "gibbous.prompt.inputs".last() or "") or nil
  if before then write_file(path, before .. "\n") end
  local editor <const> = os.getenv "VISUAL" or os.getenv "EDITOR" or "vi"
  local ok <const>, how <const>, code <const> = os.execute(("%s '%s'"):format(editor, path:gsub("'", "'\\''")))
  local text <const> = ok and read_file(path) or ""
  if before then os.remove(path) end
  if not ok then complain("%s ended with %s %d: VISUAL or EDITOR names another editor", editor, how, code) end
  if text:match "^%s*$" then return end
  local chunk <const> = compiled(text)
  local results <const> = table.pack(chunk())
  prompt.print(table.unpack(results, 1, results.n))
  prompt.entered(text:gsub("%s+$", ""), table.unpack(results, 1, results.n))
end

local function reload(rest)
  nothing_after(rest, ":reload")
  print(require "gibbous.prompt.reload".changed())
end

local function debug_error(rest)
  local frames <const> = require "gibbous.prompt.frames"
  if rest == "" then return print(frames.show()) end
  require "gibbous.prompt".print(compiled(rest, frames.environment())())
end

local function history(rest)
  local entries <const>, damaged <const> = require "gibbous.prompt".history()
  local last <const> = entries[#entries]
  if last and not last.ended and last.text:find "^:history" then entries[#entries] = nil end             -- this one
  print(require "gibbous.prompt.past".report(rest, entries, damaged))
end

local function move(by, call)
  return function(rest)
    nothing_after(rest, call)
    print(require "gibbous.prompt.frames".move(by))
  end
end

--- A result gets a name, by an assignment that :save writes, too.
local function pin(rest)
  local name <const> = require "gibbous.prompt.results".pin(rest ~= "" and rest or nil, complain)
  require "gibbous.prompt.inputs".add(name .. " = _", false)
  print(("kept as %s; :unpin %s lets go of it"):format(name, name))
end

local function unpin(rest)
  local names <const> = require "gibbous.prompt.results".unpin(rest ~= "" and rest or nil, complain)
  for _, name in ipairs(names) do require "gibbous.prompt.inputs".add(name .. " = nil", false) end
  print("no longer kept: " .. table.concat(names, ", "))
end

local function autoreload(rest)
  local module <const> = require "gibbous.prompt.reload"
  if rest ~= "" and rest ~= "on" and rest ~= "off" then complain(":autoreload takes on or off, got '%s'", rest) end
  if rest ~= "" then module.automatic(rest == "on") end
  print("required modules are " .. (module.is_automatic() and "looked at before each entry" or "read again by :reload only"))
end

local function tour(rest)
  nothing_after(rest, ":tour")
  require "gibbous.prompt.tour".run(function() return io.read "l" end)
end

local function quit(rest)
  nothing_after(rest, ":quit")
  return false
end

--- Every command: how it is called, what it does in a line, and the function for what follows it.
---@type {name: string, call: string, line: string, run: function}[]
M.list = {
  {name = "help", call = ":help [NAME]", line = "lists the commands, or explains a name", run = help},
  {name = "time", call = ":time CODE", line = "runs once; its results, and how long it took", run = time},
  {name = "timeit", call = ":timeit CODE", line = "runs several times with nothing remembered between; the median time",
    run = timeit},
  {name = "prof", call = ":prof CODE", line = "runs once; what each step took, by script line", run = profile},
  {name = "mem", call = ":mem", line = "the memory that is held, and the lines that made the largest holders", run = memory},
  {name = "who", call = ":who", line = "the variables of the session, with the lines that made them", run = who},
  {name = "why", call = ":why", line = "what is known of the last numerical failure", run = why},
  {name = "continue", call = ":continue", line = "goes on with the last fit that Ctrl-C ended", run = continue},
  {name = "plot", call = ":plot VALUES", line = "draws a vector, x and y, a matrix, a model or a figure", run = plot},
  {name = "cite", call = ":cite VALUES", line = "BibTeX of the publications behind models, kernels and solvers", run = cite},
  {name = "history", call = ":history [WORDS]",
    line = "entries of all sessions, and how they ended; --failed: those that failed", run = history},
  {name = "save", call = ":save FILE", line = "writes the entries that succeeded as a script", run = save},
  {name = "run", call = ":run FILE", line = "runs a script in this session", run = run},
  {name = "edit", call = ":edit [FILE]", line = "opens the last entry, or a file, in an editor, then runs it", run = edit},
  {name = "reload", call = ":reload", line = "reads required modules again whose files have changed", run = reload},
  {name = "autoreload", call = ":autoreload [on|off]", line = "reads changed modules again before each entry, or no longer",
    run = autoreload},
  {name = "pin", call = ":pin [NAME]", line = "keeps the last result under a name; _ alone holds it weakly", run = pin},
  {name = "unpin", call = ":unpin [NAME]", line = "lets go of a kept result, or of all", run = unpin},
  {name = "debug", call = ":debug [CODE]", line = "the frames and locals of the last error, or what an expression is there",
    run = debug_error},
  {name = "up", call = ":up", line = "looks at the caller of the frame that :debug shows", run = move(1, ":up")},
  {name = "down", call = ":down", line = "looks at the frame that the one shown has called", run = move(-1, ":down")},
  {name = "tour", call = ":tour", line = "ten steps through the library, each shown and then run", run = tour},
  {name = "quit", call = ":quit", line = "ends the session", run = quit},
}

local by_name <const>, names <const> = {}, {}
for i, c in ipairs(M.list) do by_name[c.name], names[i] = c, c.name end

--- Runs a line without its ':'. False: the session ends.
function M.run(line)
  local name <const>, rest <const> = line:match "^%s*(%w*)%s*(.-)%s*$"
  if name == "" and rest == "" then complain "a command is missing; :help lists them" end
  local command <const> = by_name[name]
  if not command then
    local near <const> = require "gibbous.core".nearest(name, names)
    local typed <const> = name ~= "" and name or rest
    complain("there is no command :%s%s", typed, near and (", did you mean :%s?"):format(near) or "; :help lists them")
  end
  return command.run(rest) ~= false
end

return M
