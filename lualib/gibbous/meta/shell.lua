---@meta

-- Commands of the prompt and of the command line; the text in brackets is what is typed.

local command = {}

--- Runs a script with its arguments, after options; without a script, and at a terminal, the prompt starts.
command["gibbous script [args]"] = true

--- Runs a script, also one whose name is that of a command.
command["gibbous run script [args]"] = true

--- What the library found on this machine, and whether it works: each check with what mends it. The status is 0 where all are well.
command["gibbous doctor [--json]"] = true

--- The versions, libraries, devices and limits, one a line.
command["gibbous env [--json]"] = true

--- Data sets: those that are known or found; what is known of one, is its file the expected one, where is it, how to cite it.
command["gibbous data list|info|verify|path|cite [NAME..]"] = true

--- The usage, or what the documentation says of a topic: a name (gb.gp.exact, m:fit) or words.
command["gibbous help [topic]"] = true

--- Writes the declarations of all names for editors (LuaLS) into a directory, with a .luarc.json that finds them.
command["gibbous stubs DIR"] = true

--- Writes the reference as one HTML file, which needs no network.
command["gibbous reference OUT.html"] = true

--- Prints the manual page: gibbous man | man -l -
command["gibbous man"] = true

--- The version.
command["gibbous version"] = true

--- Runs the text as Lua.
command["-e stat"] = true

--- Starts the prompt after the script.
command["-i"] = true

--- Requires a module into a global of its name, or into g.
command["-l [g=]mod"] = true

--- Shows the version.
command["-v"] = true

--- Leaves variables of the environment out.
command["-E"] = true

--- Turns warnings on.
command["-W"] = true

--- Colours of errors and values: at a terminal (auto), always or never. NO_COLOR=1 in the environment is never.
command["--color=WHEN"] = true

--- Ends the options.
command["--"] = true

--- Ends the options, and runs what stdin has.
command["-"] = true

--- What the documentation says of a name: ?gb.gp.exact, ?m:fit, or of a variable by its value: ?m.
command["?name"] = true

--- The entries in which all of these words occur: ??random numbers.
command["??words"] = true
