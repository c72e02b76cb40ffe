--- The reports of 'gibbous doctor' and 'gibbous env': what was found, and how to mend what is missing. Changes nothing.
local core <const> = require "gibbous.core"
local printable <const> = require "gibbous.printable"
local progress_line <const> = require "gibbous.text.progress_line"
local screen <const> = require "gibbous.plot.screen"

local M <const> = {}

local function gib(bytes) return ("%.2f GiB"):format(bytes / 2^30) end

local function first_line(path)
  local f <close> = io.open(path)
  return f and f:read "l" or nil
end

local function processor()
  local f <close> = io.open "/proc/cpuinfo"
  for line in f and f:lines() or function() end do
    local name <const> = line:match "^model name%s*:%s*(.*)"
    if name then return name end
  end
  return "unknown processor"
end

-- Libraries mapped into the process, by the start of their file name.
local function loaded(prefix)
  local f <close> = io.open "/proc/self/maps"
  for line in f and f:lines() or function() end do
    local path <const> = line:match("%s(/%S*/" .. prefix .. "[^/]*)$")
    if path then return path end
  end
  return nil
end

local function history_directory()
  local state <const> = os.getenv "XDG_STATE_HOME"
  return (state or (os.getenv "HOME" or "") .. "/.local/state") .. "/gibbous"
end

local function set(name)
  local value <const> = os.getenv(name)
  return value and value ~= "" and value or nil
end

local function cache_directory()
  local cache <const> = set "XDG_CACHE_HOME"
  return cache and cache:sub(1, 1) == "/" and cache or set "HOME" and set "HOME" .. "/.cache"
end

-- Where measured rates are remembered (host/plan/price/profile_store.c), and how many machines' are.
local function wisdom()
  local parent <const> = cache_directory()
  local path <const> = set "GIBBOUS_WISDOM" or parent and parent .. "/gibbous/wisdom"
  if not path then return "nowhere: neither GIBBOUS_WISDOM, XDG_CACHE_HOME nor HOME is set" end
  if not core.file_exists(path) then return path .. ", not written yet" end
  local ok <const>, err <const> = pcall(core.file_lead, path)
  local f <close> = ok and io.open(path) or nil
  if not f then return ok and path .. ", cannot be opened" or err.message end
  if f:read "l" ~= "gibbous wisdom 2" then return path .. ", not understood: it will be written again" end
  local sheets, busy = 0, 0
  for line in f:lines() do
    if line:sub(1, 1) == "[" then sheets = sheets + 1 end
    if line == "calm 0" then busy = busy + 1 end
  end
  return ("%s, %d %s%s"):format(path, sheets, sheets == 1 and "sheet" or "sheets",
    busy > 0 and (", %d measured while the machine was busy: they will be measured again"):format(busy) or "")
end

local function writable(directory)
  local path <const> = directory .. "/.probe" .. tostring(os.time())
  local f <const> = io.open(path, "w")
  if f then
    f:close()
    os.remove(path)
  end
  return f ~= nil
end

local function names_of(devices)
  local names <const> = {}
  for i, d in ipairs(devices) do names[i] = d.name end
  return table.concat(names, ", ")
end

-- The number of GPUs, or the reason that none opens.
local function gpus(devices)
  local cuda <const> = devices.kinds and devices.kinds.cuda
  if not cuda or cuda.count == 0 then return cuda and cuda.why or "unknown" end
  return cuda.count == 1 and "1, cuda:0" or ("%d, cuda:0 to cuda:%d"):format(cuda.count, cuda.count - 1)
end

-- Where compiled kernels of GPUs are kept (cuda/compile/cache.c), and what those that are open say of theirs.
local function kernels(devices)
  local parent <const> = cache_directory()
  local lines <const> = {parent and parent .. "/gibbous/kernels" or "kept nowhere: neither XDG_CACHE_HOME nor HOME is set"}
  for _, d in ipairs(devices) do
    if d.kernels then lines[#lines + 1] = d.name .. ": " .. d.kernels end
  end
  return table.concat(lines, "; ")
end

local function terminal()
  if not core.isatty(1) then return "stdout is not one" end
  local ok <const>, kind <const> = pcall(screen.kind, true)
  return ("%s columns, %s, figures as %s"):format(core.columns(1) or "unknown", progress_line.is_utf8() and "UTF-8"
    or "not UTF-8 by LC_ALL, LC_CTYPE and LANG", ok and kind or kind.message)
end

-- The directory and the type of the file system that it is on: that of the longest mount point above it.
local function working_directory()
  local path <const> = set "PWD"
  if not path then return "unknown: PWD is not set" end
  local f <close> = io.open "/proc/self/mounts"
  local longest, kind = -1, nil
  for line in f and f:lines() or function() end do
    local point, type_ <const> = line:match "^%S+ (%S+) (%S+)"
    point = (point or ""):gsub("\\040", " ")
    local above <const> = point == "/" or (path .. "/"):sub(1, #point + 1) == point .. "/"
    if point ~= "" and above and #point >= longest then longest, kind = #point, type_ end
  end
  return kind and ("%s, on %s"):format(path, kind) or path
end

--- The facts, as a list of {name, text}.
local function facts()
  local devices <const> = core.devices()
  local cpu <const> = devices[1]
  local report <const> = core.memory.report()
  return {
    {"gibbous", core.version}, {"commit", core.build.commit}, {"build", core.build.kind}, {"compiler", core.build.compiler},
    {"lua", _VERSION}, {"processor", processor()},
    {"instruction set", cpu.isa}, {"threads", tostring(cpu.threads)},
    {"system", first_line "/proc/sys/kernel/osrelease" or "unknown"},
    {"BLAS", cpu.blas}, {"BLAS library", loaded "libopenblas" or loaded "libblas" or "not found among the mapped libraries"},
    {"elementary functions", loaded "libsleef" or "built in"},
    {"wisdom", wisdom()}, {"memory limit", gib(report.limit)}, {"devices", names_of(devices)},
    {"GPUs", gpus(devices)}, {"kernels of GPUs", kernels(devices)},
    {"terminal", terminal()}, {"working directory", working_directory()},
    {"package.path", package.path}, {"package.cpath", package.cpath},
  }
end

--- The facts, texts by name, as JSON takes them: names of folders may have any bytes.
function M.facts()
  local out <const> = {}
  for _, row in ipairs(facts()) do out[row[1]] = printable(row[2]) end
  return out
end

--- Prints the facts, a line each, or as JSON; true.
function M.env(json)
  if json then
    print(core.json_encode(M.facts()))
    return true
  end
  for _, row in ipairs(facts()) do print(("%-22s %s"):format(row[1], row[2])) end
  return true
end

-- One check each: name, f() -> ok, text, remedy.
local checks <const> = {
  {"arithmetic", function()
    local x <const> = core.linspace(0, 1, 1000)
    local got <const> = (x:unsqueeze(2) - x:unsqueeze(1)):abs():sum():item()
    local want <const> = (1000^2 - 1) * 1000 / 3 / 999
    return math.abs(got - want) < 1e-6 * want, ("sum of %.6g, %.6g expected"):format(got, want), "please report this"
  end},
  {"linear algebra", function()
    local a <const> = core.eye(64) * 2 + 1
    local x <const> = core.linalg.solve(a, core.ones(64))
    local gap <const> = (a:matmul(x) - 1):abs():max():item()
    return gap < 1e-12, ("residual %.1e"):format(gap), "the BLAS that is loaded may not be the one of the build"
  end},
  {"BLAS threads", function()
    local text <const> = core.devices()[1].blas
    return text:find "SINGLE_THREADED" ~= nil, text:find "SINGLE_THREADED" and "single-threaded build" or text,
      "another build of OpenBLAS came first: install libopenblas-serial-dev and build again, or load gibbous before modules with "
        .. "a BLAS"
  end},
  {"memory", function()
    local limit <const> = core.memory.report().limit
    return limit >= 2^29, gib(limit) .. " may be used", "close other programs, or raise the limit of the control group"
  end},
  {"decimal point", function()
    return ("%.1f"):format(0.5) == "0.5", "numbers print as " .. ("%.1f"):format(0.5), "set LC_NUMERIC=C"
  end},
  {"history", function()
    local directory <const> = history_directory()
    return writable(directory) or first_line(directory) == nil and not io.open(directory), directory,
      "make it writable, or set XDG_STATE_HOME"
  end},
  {"C modules", function()
    local found <const> = {}
    for _, name in ipairs{"cjson", "lfs", "lpeg"} do
      if package.searchpath(name, package.cpath) then
        local ok <const>, why <const> = pcall(require, name)
        if not ok then return false, name .. ": " .. tostring(why), "install the package built for Lua 5.4" end
        found[#found + 1] = name
      end
    end
    return true, #found > 0 and table.concat(found, ", ") .. " load" or "none installed"
  end},
}

--- The outcomes of the checks, a list of {name, ok, text, remedy}; whether all are well.
local function outcomes()
  local list <const>, well = {}, true
  for i, row in ipairs(checks) do
    local ran <const>, ok <const>, text <const>, remedy <const> = pcall(row[2])
    local good <const> = ran and ok or false
    list[i] = {name = row[1], ok = good, text = ran and text or tostring(ok), remedy = not good and ran and remedy or nil}
    well = well and good
  end
  return list, well
end

--- Prints the facts and each check with its outcome, or all as JSON; true where all checks are well.
function M.doctor(json)
  if json then
    local list <const>, well <const> = outcomes()
    for _, check in ipairs(list) do
      check.text, check.remedy = check.text and printable(check.text), check.remedy and printable(check.remedy)
    end
    print(core.json_encode{facts = M.facts(), checks = list, well = well})
    return well
  end
  M.env()
  print()
  local list <const>, well <const> = outcomes()
  for _, c in ipairs(list) do
    print(("%s %-18s %s"):format(c.ok and "ok " or "BAD", c.name, c.text))
    if c.remedy then print("    " .. c.remedy) end
  end
  return well
end

return M
