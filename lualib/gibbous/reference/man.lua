--- The manual page of gibbous(1), as text for roff.
local core <const> = require "gibbous.core"
local reference <const> = require "gibbous.reference"

--- Text that roff shows as it is.
local function escaped(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-")
  return (text:gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1"))
end

local function paragraph(lines, call, text)
  lines[#lines + 1] = ".TP\n.B " .. escaped(call)
  lines[#lines + 1] = escaped(text)
end

local function section(lines, title, ...)
  lines[#lines + 1] = ".SH " .. title
  for _, text in ipairs{...} do lines[#lines + 1] = escaped(text) end
end

--- The entries of the prompt and the command line whose call matches.
local function commands(lines, pattern)
  for _, e in ipairs(reference.all()) do
    if e.kind == "command" and e.call:match(pattern) then paragraph(lines, e.call, e.text) end
  end
end

local ENVIRONMENT <const> = {
  {"GIBBOUS_DATA", "directories, separated by colons, in which files and data sets are looked for"},
  {"GIBBOUS_DEVICES", "how many simulated devices there are"},
  {"GIBBOUS_LUA_DIR", "a folder whose gibbous/ is read in place of the library in the program"},
  {"GIBBOUS_WISDOM", "the file in which measurements of this machine are kept"},
  {"LUA_INIT, LUA_PATH, LUA_CPATH", "as of lua(1)"},
  {"NO_COLOR", "no colour, whatever its value"},
  {"XDG_CACHE_HOME, XDG_STATE_HOME", "where measurements and the history of the prompt are kept"},
}

local STATUSES <const> = {
  {"0", "all is well"},
  {"1", "an error of a script or of a command, or an option of gibbous that there is not"},
  {"2", "the words of a script are wrong: its gb.cli refused them"},
  {"3", "a sweep ended, and some of its trials failed"},
  {"4", "numbers failed in a script: a matrix is not positive definite, a solve did not converge, a value is NaN"},
  {"5", "memory did not suffice for a script: an expression was refused, or an allocation failed"},
  {"99", "a worker of a sweep gave its trials back before it was done: start it again"},
  {"130", "an interrupt, Ctrl-C"},
  {"143", "gibbous sweep run was ended by SIGTERM"},
}

return function()
  local lines <const> = {('.TH GIBBOUS 1 "" "gibbous %s" "Gibbous"'):format(core.version)}
  section(lines, "NAME", "gibbous - a Lua workbench for Gaussian processes")
  section(lines, "SYNOPSIS")
  lines[#lines + 1] = ".B gibbous\n[options] [script [args]]\n.br\n.B gibbous\ncommand [words]"
  section(lines, "DESCRIPTION", "gibbous is an interpreter of Lua 5.4 with the library of the same name inside: lazy tensors, a "
    .. "planner that keeps every computation within the memory there is, kernels, solvers, and models of Gaussian processes. "
    .. "Without a script, and at a terminal, it is a prompt; gb is the library there, and in a script local gb = require "
    .. '"gibbous".')
  section(lines, "OPTIONS")
  commands(lines, "^%-")
  section(lines, "COMMANDS")
  commands(lines, "^gibbous")
  section(lines, "AT THE PROMPT")
  commands(lines, "^[?:]")
  section(lines, "ENVIRONMENT")
  for _, row in ipairs(ENVIRONMENT) do paragraph(lines, row[1], row[2]) end
  section(lines, "EXIT STATUS")
  for _, row in ipairs(STATUSES) do paragraph(lines, row[1], row[2]) end
  section(lines, "SEE ALSO", "lua(1); gibbous help NAME for any name of the library; gibbous reference OUT.html for all of them.")
  return table.concat(lines, "\n") .. "\n"
end
