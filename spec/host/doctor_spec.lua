--- The report of 'gibbous doctor' for machines of many kinds.
local core <const> = require "gibbous.core"
local doctor <const> = require "gibbous.commands.doctor"
local support <const> = require "spec.support"

--- The lines that a function prints, and its results.
local function printed(f)
  local out <const> = {}
  local got
  support.with(_G, {print = function(...) out[#out + 1] = table.concat({...}, " ") end}, function() got = f() end)
  return table.concat(out, "\n") .. "\n", got
end

--- Files by path; others are not there. The environment has these names alone.
local function machine(files, env, f)
  local function open(path, mode)
    if mode == "w" then return env.writable and {close = function() end} or nil end
    if files[path] == nil then return nil end
    local file <const> = io.tmpfile()
    file:write(files[path])
    file:seek "set"
    return file
  end
  return support.with(io, {open = open}, function()
    return support.with(os, {getenv = function(name) return env[name] end, remove = function() end}, function()
      return support.with(core, {file_exists = function(path) return files[path] ~= nil end,
        file_lead = function(path)
          if files[path] == "?" then error(core.error("io", "cannot read '" .. path .. "'"), 0) end
          return ""
        end}, f)
    end)
  end)
end

local function fact(name, files, env)
  local out <const> = machine(files, env, function() return (printed(doctor.env)) end)
  return out:match("%f[%w_.]" .. name .. " +([^\n]*)\n")
end

describe("gibbous env", function()
  it("names processor, system and libraries", function()
    assert.equal("A Chip", fact("processor", {["/proc/cpuinfo"] = "flags : x\nmodel name\t: A Chip\nmodel name\t: Another\n"}, {}))
    assert.equal("unknown processor", fact("processor", {["/proc/cpuinfo"] = "flags : x\n"}, {}))
    assert.equal("unknown processor", fact("processor", {}, {}))
    assert.equal("6.1", fact("system", {["/proc/sys/kernel/osrelease"] = "6.1\n"}, {}))
    assert.equal("unknown", fact("system", {}, {}))
    local maps <const> = "00-01 r-xp 0 00:00 1   /usr/lib/%s.so.0\n"
    assert.equal("/usr/lib/libopenblas.so.0", fact("BLAS library", {["/proc/self/maps"] = maps:format "libopenblas"}, {}))
    assert.equal("/usr/lib/libblas.so.0", fact("BLAS library", {["/proc/self/maps"] = maps:format "libblas"}, {}))
    assert.equal("not found among the mapped libraries", fact("BLAS library", {["/proc/self/maps"] = maps:format "libm"}, {}))
    assert.equal("/usr/lib/libsleef.so.0", fact("elementary functions", {["/proc/self/maps"] = maps:format "libsleef"}, {}))
    assert.equal("built in", fact("elementary functions", {}, {}))
  end)

  it("says what there is of processor, memory and paths", function()
    local out <const>, good <const> = printed(doctor.env)
    local cpu <const>, names <const> = core.devices()[1], {}
    for i, d in ipairs(core.devices()) do names[i] = d.name end
    assert.is_true(good)
    for name, want in pairs{gibbous = core.version, lua = _VERSION, ["instruction set"] = cpu.isa, threads = tostring(cpu.threads),
      BLAS = cpu.blas, devices = table.concat(names, ", "),
      ["memory limit"] = ("%.2f GiB"):format(core.memory.report().limit / 2 ^ 30),
      ["package.path"] = package.path, ["package.cpath"] = package.cpath} do
      assert.is_true(("\n" .. out):find("\n" .. ("%-22s %s"):format(name, want) .. "\n", 1, true) ~= nil, name)
    end
  end)

  it("says what the terminal shows", function()
    assert.equal("stdout is not one", fact("terminal", {}, {}))
    local function shown(env)
      return support.with(core, {isatty = function() return true end, columns = function() return env.columns end},
        function() return fact("terminal", {}, env) end)
    end
    assert.equal("80 columns, UTF-8, figures as kitty", shown{columns = 80, LANG = "C.UTF-8", GIBBOUS_GRAPHICS = "kitty"})
    assert.equal("unknown columns, not UTF-8 by LC_ALL, LC_CTYPE and LANG, figures as ascii", shown{LC_ALL = "C", TERM = "dumb"})
    assert.matches("figures as GIBBOUS_GRAPHICS must be", shown{GIBBOUS_GRAPHICS = "x"})
  end)

  it("says on which file system it runs", function()
    local mounts <const> = "/dev/a / ext4 rw 0 0\nserver:/h /home nfs4 rw 0 0\nb /home/my\\040data tmpfs rw 0 0\n"
    local function directory(path) return fact("working directory", {["/proc/self/mounts"] = mounts}, {PWD = path}) end
    assert.equal("/home/x, on nfs4", directory "/home/x")
    assert.equal("/homes, on ext4", directory "/homes")
    assert.equal("/home/my data, on tmpfs", directory "/home/my data")
    assert.equal("/x", fact("working directory", {}, {PWD = "/x"}))
    assert.equal("unknown: PWD is not set", fact("working directory", {}, {}))
  end)

  it("says where compiled kernels are kept, and what GPUs say of theirs", function()
    local function kernels(env) return fact("kernels of GPUs", {}, env) end
    assert.equal("kept nowhere: neither XDG_CACHE_HOME nor HOME is set", kernels{XDG_CACHE_HOME = "c"})
    assert.equal("/c/gibbous/kernels", kernels{HOME = "/h", XDG_CACHE_HOME = "/c"})
    assert.equal("/h/.cache/gibbous/kernels", kernels{HOME = "/h"})
    local devices <const> = core.devices()
    devices[#devices + 1] = {name = "cuda:0", kernels = "3 compiled"}
    local out <const> = support.with(core, {devices = function() return devices end}, function()
      return fact("kernels of GPUs", {}, {HOME = "/h"})
    end)
    assert.equal("/h/.cache/gibbous/kernels; cuda:0: 3 compiled", out)
  end)

  it("says where rates are remembered, and how many", function()
    local function wisdom(env, text)
      return fact("wisdom", {["/c/gibbous/wisdom"] = text, ["/h/.cache/gibbous/wisdom"] = text, ["/w"] = text}, env)
    end
    assert.equal("nowhere: neither GIBBOUS_WISDOM, XDG_CACHE_HOME nor HOME is set", wisdom{})
    assert.equal("nowhere: neither GIBBOUS_WISDOM, XDG_CACHE_HOME nor HOME is set",
      wisdom{HOME = "", XDG_CACHE_HOME = "", GIBBOUS_WISDOM = ""})
    assert.equal("/c/gibbous/wisdom, not written yet", wisdom{HOME = "/h", XDG_CACHE_HOME = "/c"})
    assert.equal("/h/.cache/gibbous/wisdom, not written yet", wisdom{HOME = "/h", XDG_CACHE_HOME = "c"})
    assert.equal("/w, not written yet", wisdom{HOME = "/h", XDG_CACHE_HOME = "/c", GIBBOUS_WISDOM = "/w"})
    local head <const> = "gibbous wisdom 2\n"
    assert.equal("/w, not understood: it will be written again", wisdom({GIBBOUS_WISDOM = "/w"}, "gibbous wisdom 1\n[a]\n"))
    assert.equal("cannot read '/w'", wisdom({GIBBOUS_WISDOM = "/w"}, "?"))
    assert.equal("/w, 0 sheets", wisdom({GIBBOUS_WISDOM = "/w"}, head))
    assert.equal("/w, 1 sheet", wisdom({GIBBOUS_WISDOM = "/w"}, head .. "[a]\ncalm 1\n"))
    assert.equal("/w, 2 sheets, 1 measured while the machine was busy: they will be measured again",
      wisdom({GIBBOUS_WISDOM = "/w"}, head .. "[a]\ncalm 0\n[b]\ncalm 1\n"))
    local out <const> = support.with(core, {file_exists = function() return true end,
      file_lead = function() return "" end}, function()
      return support.with(io, {open = function() return nil end}, function() return (printed(doctor.env)) end)
    end)
    assert.matches(", cannot be opened\n", out)
  end)
end)

describe("gibbous doctor", function()
  local function checked(name, changes)
    local out, good
    local function run() out, good = printed(doctor.doctor) end
    for _, change in ipairs(changes) do
      local inner <const> = run
      run = function() support.with(change[1], change[2], inner) end
    end
    run()
    return good, out:match("\n(%S+ +" .. name .. "[^\n]*\n    [^\n]*)\n") or out:match("\n(%S+ +" .. name .. "[^\n]*)\n")
  end

  local function wrong(name, changes, text)
    local good <const>, line <const> = checked(name, changes)
    assert.equal(text, line)
    assert.is_false(good)
  end

  it("is well where all checks are", function()
    local out <const>, good <const> = printed(doctor.doctor)
    assert.is_true(good)
    assert.is_nil(out:find("BAD", 1, true))
    for _, name in ipairs{"arithmetic", "linear algebra", "BLAS threads", "memory", "decimal point", "history", "C modules"} do
      assert.is_true(out:find(("\nok  %-18s "):format(name), 1, true) ~= nil, name)
    end
    assert.matches("\nok  arithmetic         sum of 333667, 333667 expected\n", out)
    assert.matches("\nok  linear algebra     residual %d.%de%-%d+\n", out)
    assert.matches("\nok  BLAS threads       single%-threaded build\n", out)
    assert.matches("\nok  decimal point      numbers print as 0.5\n", out)
    assert.matches(("\nok  memory             %.2f GiB may be used\n"):format(core.memory.report().limit / 2 ^ 30), out)
  end)

  it("names what is wrong, and the remedy", function()
    wrong("arithmetic", {{core, {linspace = function() return core.full({1000}, 2) end}}},
      "BAD arithmetic         sum of 0, 333667 expected\n    please report this")
    wrong("linear algebra", {{core.linalg, {solve = function() return core.ones(64) * (1 + 2 ^ -30) / 66 end}}},
      "BAD linear algebra     residual 9.3e-10\n    the BLAS that is loaded may not be the one of the build")
    wrong("linear algebra", {{core.linalg, {solve = function() error("out of luck", 0) end}}}, "BAD linear algebra     out of luck")
    local cpu <const> = core.devices()[1]
    wrong("BLAS threads", {{core, {devices = function() return {{isa = cpu.isa, threads = 1, blas = "OpenBLAS of many"}} end}}},
      "BAD BLAS threads       OpenBLAS of many\n    another build of OpenBLAS came first: install libopenblas-serial-dev and "
        .. "build again, "
        .. "or load gibbous before modules with a BLAS")
    wrong("memory", {{core.memory, {report = function() return {limit = 2 ^ 29 - 1} end}}},
      "BAD memory             0.50 GiB may be used\n    close other programs, or raise the limit of the control group")
    assert.is_true(checked("memory", {{core.memory, {report = function() return {limit = 2 ^ 29} end}}}))
    wrong("C modules", {{package, {searchpath = function(name) return name == "lfs" and "/lfs.so" or nil end}},
      {_G, {require = function(name) error("no " .. name, 0) end}}},
      "BAD C modules          lfs: no lfs\n    install the package built for Lua 5.4")
    local format <const> = string.format
    wrong("decimal point", {{string, {format = function(f, ...)
      return (format(f, ...):gsub(f == "%.1f" and "%." or "$.", ","))
    end}}},
      "BAD decimal point      numbers print as 0,5\n    set LC_NUMERIC=C")
    local good <const>, line <const> = checked("C modules", {{package, {searchpath = function(name) return name ~= "lfs" end}},
      {_G, {require = function() return true end}}})
    assert.same({true, "ok  C modules          cjson, lpeg load"}, {good, line})
    assert.equal("ok  C modules          none installed", select(2,
      checked("C modules", {{package, {searchpath = function() end}}})))
  end)

  it("wants a directory that it can write its history into", function()
    local function history(files, env) return machine(files, env, function() return checked("history", {}) end) end
    assert.same({true, "ok  history            /s/gibbous"}, {history({}, {XDG_STATE_HOME = "/s", HOME = "/h", writable = true})})
    assert.same({true, "ok  history            /h/.local/state/gibbous"}, {history({}, {HOME = "/h", writable = true})})
    -- Made when it is wanted.
    assert.same({true, "ok  history            /s/gibbous"}, {history({}, {XDG_STATE_HOME = "/s"})})
    assert.same({false, "BAD history            /s/gibbous\n    make it writable, or set XDG_STATE_HOME"},
      {history({["/s/gibbous"] = "x"}, {XDG_STATE_HOME = "/s"})})
    assert.equal(false, (history({["/s/gibbous"] = ""}, {XDG_STATE_HOME = "/s"})))
  end)
end)
