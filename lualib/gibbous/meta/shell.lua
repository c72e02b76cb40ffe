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

--- What the library found on this machine, and whether it works: each check with what mends it. The status is 0 where all are well.
command["gibbous doctor [--json]"] = true

--- Checks answers that are known, an interrupt, the store of a sweep, and each GPU against the CPU. The status is 0 where all are well.
command["gibbous selftest"] = true

--- The versions, libraries, devices and limits, one a line.
command["gibbous env [--json]"] = true

--- Where a running gibbous process is: the script line, the step of its fit, solve or clustering, memory, the last progress, the
--- stack. It is not disturbed: it answers SIGUSR1 with a file that only its user can read. Without PID: the running ones.
command["gibbous attach [PID] [--json]"] = true

--- Data sets: those that are known or found; what is known of one, is its file the expected one, where is it, how to cite it.
command["gibbous data list|info|verify|path|cite [NAME..]"] = true

--- Writes a table that looks like that of a file or of a customary set, which need not be here: ?gb.data.synth.
command["gibbous data synth --like FILE|NAME --out OUT.csv [--rows N] [--seed S]"] = true

--- The usage, or what the documentation says of a topic: a name (gb.gp.exact, m:fit) or words.
command["gibbous help [topic]"] = true

--- Writes the declarations of all names for editors (LuaLS) into a directory, with a .luarc.json that finds them.
command["gibbous stubs DIR"] = true

--- Writes the reference as one HTML file, which needs no network.
command["gibbous reference OUT.html"] = true

--- Studies of many trials, gb.sweep{...}: runs them, and shows what they came to. STORE is the folder of a study, NAME.gibbous. Words
--- behind SCRIPT are the script's, where a verb takes no numbers of trials.
command["gibbous sweep VERB SCRIPT|STORE"] = true

--- Runs the trials of the study that a script gives, each in a process of its own, and keeps what came out in NAME.gibbous; the same
--- line goes on where it was interrupted. -j N: processes at once. --limit BYTES: for all of them together. --store DIR.
--- --retry-failed: failed trials run again. --keep-going: also after failures alike. --quiet. --journal: a store of files, without
--- locks. Behind --: words of the script. The status is 3 where trials failed or the store could not be written, 130 after Ctrl-C, 143
--- after SIGTERM, 99 after SIGUSR1.
command["gibbous sweep run SCRIPT"] = true

--- Helps to run a study: any number of workers, of one machine or several, share its store and take what nobody has. They are started by
--- whatever there is: `parallel -N0 gibbous sweep work study.lua ::: $(seq 4)`, `mpirun -np 4 gibbous sweep work study.lua`, or a job of
--- Slurm (gibbous sweep slurm). SIGUSR1 and SIGTERM end its trials, give them back, and end it with status 99: start it again.
--- -j, --limit, --store, --keep-going, --quiet: as for run.
command["gibbous sweep work SCRIPT"] = true

--- The trials that a run would start, the bytes and seconds of each cell, and what does not fit. -j, --limit, --store: as for run.
command["gibbous sweep plan SCRIPT"] = true

--- How a study stands, each second again at a terminal, until q or its end; elsewhere once. It only reads.
command["gibbous sweep watch SCRIPT|STORE"] = true

--- The trials, one a line. --all: those of an older study too. --class CLASS: those that ended so.
command["gibbous sweep ls SCRIPT|STORE"] = true

--- All that is known of a trial, with the end of its log.
command["gibbous sweep show SCRIPT|STORE N"] = true

--- Makes trials pending again: --failed, --class CLASS, or numbers; one of them must be there. A number that no trial has is an error,
--- and so is a word that is no class.
command["gibbous sweep rerun SCRIPT|STORE [N ...]"] = true

--- Runs a trial that ended again, elsewhere, and compares results and reports bit by bit; the status is 1 where they differ. --except
--- NAME,...: fields that may differ, as seconds do.
command["gibbous sweep replay SCRIPT N"] = true

--- Hands out a trial of the study to whatever calls this: its number, parameters, seed and folder; --json: as an object, null where
--- there is none now. A search that learns names the next cell. The trial is that of the calling process (--holder PID: of
--- another), and pending again when that ends without `tell`. --store DIR, --journal: as for run.
command["gibbous sweep ask SCRIPT"] = true

--- Says what a trial that was handed out came to: the metric, or a JSON object of results; --failed MESSAGE instead where it failed.
command["gibbous sweep tell SCRIPT|STORE N RESULT"] = true

--- Means and standard errors by parameters, with the best of each row by paired tests. --rows A,B --cols C --group A --metric NAME --goal
--- min|max --where A=VALUE --fmt text|md|latex|csv --se|--sd --level 0.05 --out FILE.
command["gibbous sweep table SCRIPT|STORE"] = true

--- Two trials side by side: parameters, result, environment, data, script, reports.
command["gibbous sweep diff SCRIPT|STORE A B"] = true

--- A figure of a study: --kind parallel|slice|heat|curve|importance|timeline|pareto, in the terminal or --out FILE.svg|png|pdf. --metric,
--- --goal and --where as for a table; --x, --y: the parameters of a heat map, the cost of a pareto.
command["gibbous sweep plot SCRIPT|STORE"] = true

--- One row a trial, with all digits: --fmt csv|jsonl|json, --out FILE. --reports: what trials told on the way. --all: older ones too.
--- --fmt optuna: a journal file that Optuna and its dashboard open.
command["gibbous sweep export SCRIPT|STORE"] = true

--- A study as one HTML file, NAME.html or --out FILE: tables, figures, failures, trials, provenance. It needs no network.
command["gibbous sweep report SCRIPT|STORE"] = true

--- Prints a batch job of Slurm whose tasks are workers: --array TASKS, --at-once N, -j N (trials of a task at once), --time 2:00:00, --mem
--- "4 GiB", --cpus N, --gpus N, --partition NAME, --store DIR.
command["gibbous sweep slurm SCRIPT"] = true

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

--- Shows the usage.
command["-h"] = true

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
