---@meta

-- Commands of the prompt and of the command line; the text in brackets is what is typed.

local command = {}

--- Runs a script with its arguments, after options; without a script, and at a terminal, the prompt starts.
command["gibbous script [args]"] = true

--- Runs a script, also one whose name is that of a command.
command["gibbous run script [args]"] = true

--- Writes a script that runs as it stands, and a spec of it: NAME.lua and NAME_spec.lua. A file that is there stays.
command["gibbous new NAME [--kind experiment|sweep|module]"] = true

--- Lists the examples that are built in; shows and runs one; with --copy writes it, or all of them, into a directory.
command["gibbous example [NAME] [--copy DIR]"] = true

--- Runs a study, or shows what it came to: gibbous sweep run SCRIPT -j 2, gibbous sweep table SCRIPT.
command["gibbous sweep run|work|plan|watch|ls|show|rerun|table|plot|export|report|slurm SCRIPT"] = true

--- What the library found on this machine, and whether it works: each check with what mends it. The status is 0 where all are well.
command["gibbous doctor [--json]"] = true

--- Checks answers that are known, an interrupt, the store of a sweep, and each GPU against the CPU. The status is 0 where all are well.
command["gibbous selftest"] = true

--- The versions, libraries, devices and limits, one a line.
command["gibbous env [--json]"] = true

--- The usage, or what the documentation says of a topic: a name (gb.gp.exact, m:fit) or words.
command["gibbous help [topic]"] = true

--- Writes the declarations of all names for editors (LuaLS) into a directory, with a .luarc.json that finds them.
command["gibbous stubs DIR"] = true

--- Writes the reference as one HTML file, which needs no network.
command["gibbous reference OUT.html"] = true

--- Prints the manual page: gibbous man | man -l -
command["gibbous man"] = true

--- Prints what a shell needs to complete words after gibbous: source <(gibbous completion bash).
command["gibbous completion bash|zsh|fish"] = true

--- The version, the commit (-dirty where files differed from it), the kind of build, the compiler, the versions of the libraries that
--- it is linked with, and the parts that are built only where they can be (cuda, mpi).
command["gibbous version [--json]"] = true

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
