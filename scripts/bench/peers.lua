-- The same jobs here, in GPyTorch, in KeOps and in scikit-learn, in turns: seconds and bytes as a table in Markdown.
-- Run: build/gibbous scripts/bench/peers.lua --python peers/bin/python [--out scripts/bench/peers/results.csv] [--rounds 5]
--   [--jobs step,predict,product,solve,memory] [--scale 1] [--limit 12]
-- or: build/gibbous scripts/bench/peers.lua --from scripts/bench/peers/results.csv
--
-- Each library has a process of its own for a job; points, type, kernel, parameters and number of threads (GIBBOUS_THREADS) are the
-- same. After a small warm-up the processes take turns, up to --rounds each. Parameters differ from turn to turn, so that no value
-- is remembered. Figures of the results must agree, or the script fails. A cell has the least of the turns, their median, and by
-- how much the process grew at its peak. --scale 0.1 takes a tenth of the points. --limit: GiB of address space of a peer; the
-- table says so if a job needs more. --from prints the table of earlier results and measures nothing.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local here <const> = arg[0]:gsub("[^/]*$", "")
local support <const> = dofile(here .. "support.lua")

local NOISE <const>, SHIFT <const>, TOLERANCE <const> = 0.1, 1, 1e-3          -- of models; of the system of "solve"
local LIBRARIES <const> = {"gibbous", "gpytorch", "keops", "scikit-learn"}
local TITLES <const> = {gibbous = "Gibbous", gpytorch = "GPyTorch", keops = "KeOps", ["scikit-learn"] = "scikit-learn"}

-- run: the job in peers/jobs.py; turns: the most it takes; within: how far figures may be apart, of their size.
local JOBS <const> = {
  {name = "step", run = "step", n = 2000, d = 3, within = {1e-6, 1e-5}, among = {"gpytorch", "scikit-learn"},
    title = "log marginal likelihood and its gradient, n = %s, d = 3, f64"},
  {name = "predict", run = "predict", n = 2000, d = 3, m = 1000, within = {1e-6, 1e-5}, among = {"gpytorch", "scikit-learn"},
    title = "factor, means and variances at 1,000 points, n = %s, d = 3, f64"},
  {name = "product", run = "product", n = 20000, d = 3, within = {1e-4}, among = {"gpytorch", "keops"},
    title = "K v, n = %s, d = 3, f32"},
  {name = "solve", run = "solve", n = 10000, d = 3, turns = 3, within = {2e-2}, among = {"gpytorch", "keops"},
    title = "(K + I) z = y by plain conjugate gradients to 1e-3, n = %s, d = 3, f32"},
  {name = "memory", run = "product", n = 50000, d = 3, turns = 3, within = {1e-4}, among = {"gpytorch", "keops"},
    title = "K v, n = %s, d = 3, f32"},
}

-- Our side ------------------------------------------------------------------------------------------------------------------------

local function lengthscale(i) return 0.5 * (1 + i / 1000) end

local function timed(f)
  local began <const> = gb.clock()
  local results <const> = table.pack(f())
  return gb.clock() - began, table.unpack(results, 1, results.n)
end

local function model(i, x, y)
  local at <const> = {}
  for k = 1, x.shape[2] do at[k] = lengthscale(i) end
  return gb.gp.exact{kernel = gb.kernels.matern52{lengthscale = at, variance = 1}, noise = NOISE, solver = "direct"}:condition(x, y)
end

local run <const> = {}

function run.step(i, x, y)
  local m <const> = model(i, x, y)
  local seconds <const>, value <const>, slopes <const> = timed(function()
    local value <const> = m:log_marginal_likelihood()
    local slopes <const> = gb.grad(value, gb.params(m), {raw = true})
    gb.eval{value, table.unpack(slopes)}
    return value, slopes
  end)
  return seconds, value:item(), slopes[1][1]:item()
end

function run.predict(i, x, y, t)
  local seconds <const>, p <const> = timed(function()
    local p <const> = model(i, x, y):predict(t)
    gb.eval(p.mean, p.f_var)
    return p
  end)
  return seconds, p.mean:abs():sum():item(), p.f_var:sum():item()
end

local function kernel_matrix(i, x) return gb.kernels.rbf{lengthscale = lengthscale(i)}(x) end

function run.product(i, x, y)
  local seconds <const>, z <const> = timed(function() return kernel_matrix(i, x):matmul(y):eval() end)
  return seconds, z:norm():item()
end

function run.solve(i, x, y)
  local seconds <const>, z <const> = timed(function()
    return gb.solvers.cg{tol = TOLERANCE}:solve(kernel_matrix(i, x) + SHIFT * gb.eye(#x, {dtype = x.dtype}), y):eval()
  end)
  local residual <const> = y - kernel_matrix(i, x):matmul(z) - SHIFT * z
  return seconds, z:norm():item(), (residual:norm() / y:norm()):item()
end

--- Answers as peers/jobs.py does.
local function serve(job, folder)
  local dtype <const> = (job == "step" or job == "predict") and "f64" or "f32"
  local function read(name) return core.npy_read(folder .. "/" .. name .. ".npy"):to{dtype = dtype}:eval() end
  local x <const>, y <const>, t <const> = read "x", read "y", read "t"
  run[job](0, x:slice(1, 1, 200):eval(), y:slice(1, 1, 200):eval(), t:slice(1, 1, 20):eval())
  local refs <close> = io.open("/proc/self/clear_refs", "w")
  if refs then refs:write "5" refs:close() end
  local before <const> = support.process_bytes "VmRSS"
  io.write("ready ", gb.version, "\n"):flush()
  for line in io.lines(folder .. "/gibbous") do
    if line == "end" then
      io.write(("peak %d\n"):format(support.process_bytes "VmHWM" - before)):flush()
      break                                             -- not at the end of the pipe, which later children hold open as well
    end
    local answer <const> = {run[job](tonumber(line), x, y, t)}
    for k, v in ipairs(answer) do answer[k] = ("%.17g"):format(v) end
    io.write("turn ", table.concat(answer, " "), "\n"):flush()
  end
end

if arg[1] == "--serve" then
  serve(arg[2], arg[3])
  os.exit(true)
end

local o <const> = support.options{python = "", out = "", from = "", rounds = 5, jobs = "", scale = 1, limit = 12}
local threads <const> = gb.config().threads

-- Turns ---------------------------------------------------------------------------------------------------------------------------

--- The words of a child's next answer of this kind; nil and why, if it gave up.
local function answer(child, kind)
  for line in child.pipe:lines() do
    local first <const>, rest <const> = line:match "^(%S+) ?(.*)$"
    if first == kind then return rest end
    if first == "failed" then return nil, rest end
  end
  return nil, "ended without an answer"
end

local function start(library, job, folder)
  local fifo <const> = support.quoted(folder .. "/" .. library)
  assert(os.execute("mkfifo " .. fifo))
  local command <const> = library == "gibbous"
    and ("%s %s --serve %s %s"):format(support.quoted(support.binary()), support.quoted(arg[0]), job.run, support.quoted(folder))
    or ("OMP_NUM_THREADS=%d OPENBLAS_NUM_THREADS=%d %s %s %s %s %s %d %g 2>&1"):format(threads, threads, support.quoted(o.python),
      support.quoted(here .. "peers/jobs.py"), library, job.run, support.quoted(folder), threads, o.limit)
  local child <const> = {library = library, pipe = assert(io.popen(command)), seconds = {}}
  child.version, child.note = answer(child, "ready")
  if child.version then child.questions = assert(io.open(folder .. "/" .. library, "w")) end
  return child
end

local function take_turn(child, i)
  if child.note then return end
  child.questions:write(i, "\n"):flush()
  local text <const>, why <const> = answer(child, "turn")
  child.note, child.figures = why, {}
  for word in (text or ""):gmatch "%S+" do child.figures[#child.figures + 1] = tonumber(word) or 0 / 0 end
  child.seconds[#child.seconds + 1] = table.remove(child.figures, 1)
end

local function finish(child)
  if not child.note then
    child.questions:write "end\n":flush()
    child.bytes = tonumber((answer(child, "peak")))
  end
  if child.questions then child.questions:close() end
  child.pipe:close()
end

--- Fails unless the figures of all children agree.
local function compare(job, children)
  local ours <const> = children[1]
  for _, child in ipairs(children) do
    for k, within in ipairs(child.note and {} or job.within) do
      local a <const>, b <const> = ours.figures[k], child.figures[k]
      if not (math.abs(a - b) <= within * math.abs(a)) then
        error(("%s: %s has %.9g where gibbous has %.9g"):format(job.name, child.library, b, a))
      end
    end
    local residual <const> = not child.note and job.run == "solve" and child.figures[2] or 0
    if not (residual <= 1.05 * TOLERANCE) then error(("%s: %s has a residual of %g"):format(job.name, child.library, residual)) end
  end
end

local function median(list)
  table.sort(list)
  local half <const> = #list // 2
  return #list % 2 == 1 and list[half + 1] or (list[half] + list[half + 1]) / 2
end

local function measure(job, folder)
  local n <const> = math.tointeger(math.max(400, job.n * o.scale // 1))
  local x <const> = gb.randn(n, job.d, {seed = 1}):eval()
  core.npy_write(folder .. "/x.npy", x)
  core.npy_write(folder .. "/y.npy", ((2 * x):sin():sum(2) + 0.3 * gb.randn(n, {seed = 2})):eval())
  core.npy_write(folder .. "/t.npy", gb.randn(job.m or 20, job.d, {seed = 3}):eval())
  local children <const> = {start("gibbous", job, folder)}
  if children[1].note then error(("%s: gibbous %s"):format(job.name, children[1].note)) end
  for _, library in ipairs(job.among) do children[#children + 1] = start(library, job, folder) end
  for i = 1, math.min(o.rounds, job.turns or o.rounds) // 1 do
    for _, child in ipairs(children) do take_turn(child, i) end
    compare(job, children)
  end
  local rows <const> = {}
  for _, child in ipairs(children) do
    finish(child)
    os.remove(folder .. "/" .. child.library)
    local middle <const> = not child.note and median(child.seconds)
    rows[#rows + 1] = {job = job.name, n = n, library = child.library, version = child.version or "", threads = threads,
      turns = #child.seconds, median = middle or 0 / 0, least = middle and child.seconds[1] or 0 / 0, bytes = child.bytes or 0 / 0,
      note = child.note or ""}
    io.stderr:write(("%s %s: %s\n"):format(job.name, child.library, child.note or ("%.4f s"):format(middle)))
  end
  return rows
end

-- Results -------------------------------------------------------------------------------------------------------------------------

local FIELDS <const> = {"job", "n", "library", "version", "threads", "turns", "median", "least", "bytes", "note"}

local function write(path, rows)
  local f <const> = assert(io.open(path, "w"))
  f:write(table.concat(FIELDS, ","), "\n")
  for _, row in ipairs(rows) do
    local cells <const> = {}
    for k, field in ipairs(FIELDS) do cells[k] = (tostring(row[field]):gsub(",", ";"):gsub("^%-?nan$", "")) end
    f:write(table.concat(cells, ","), "\n")
  end
  f:close()
end

local function read(path)
  local rows <const> = {}
  for line in io.lines(path) do
    local row <const>, k = {}, 0
    for cell in (line .. ","):gmatch "([^,]*)," do
      k = k + 1
      row[assert(FIELDS[k], path .. ": too many columns")] = cell
    end
    if row.job ~= "job" then rows[#rows + 1] = row end
  end
  return rows
end

local function grouped(n)
  local text <const> = ("%d"):format(n):reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
  return text
end

local function size(bytes)
  if bytes < 2 ^ 20 then return "under 1 MiB" end
  return bytes < 2 ^ 30 and ("%.0f MiB"):format(bytes / 2 ^ 20) or ("%.1f GiB"):format(bytes / 2 ^ 30)
end

local function cell(row)
  if not row then return "-" end
  if row.note ~= "" then return row.note end
  return ("%.3g s (%.3g), %s"):format(tonumber(row.least), tonumber(row.median), size(tonumber(row.bytes)))
end

local function print_table(rows)
  local by <const>, version <const> = {}, {}
  for _, row in ipairs(rows) do
    by[row.job] = by[row.job] or {}
    by[row.job][row.library] = row
    if row.version ~= "" then version[row.library] = row.version end
  end
  local head <const> = {"least (median), peak"}
  for _, library in ipairs(LIBRARIES) do head[#head + 1] = ("%s %s"):format(TITLES[library], version[library] or "") end
  print("| " .. table.concat(head, " | ") .. " |")
  print("|" .. ("---|"):rep(#head))
  for _, job in ipairs(JOBS) do
    if by[job.name] then
      local cells <const> = {job.title:format(grouped(tonumber(by[job.name].gibbous.n)))}
      for _, library in ipairs(LIBRARIES) do cells[#cells + 1] = cell(by[job.name][library]) end
      print("| " .. table.concat(cells, " | ") .. " |")
    end
  end
end

if o.from ~= "" then
  print_table(read(o.from))
  os.exit(true)
end

assert(o.python ~= "", "--python names a Python that has the peers: scripts/bench/peers/README.md")
local folder <const> = os.tmpname() .. ".peers"
assert(os.execute("mkdir " .. support.quoted(folder)))
local rows <const> = {}
for _, job in ipairs(JOBS) do
  if o.jobs == "" or ("," .. o.jobs .. ","):find("," .. job.name .. ",", 1, true) then
    table.move(measure(job, folder), 1, #LIBRARIES, #rows + 1, rows)
  end
end
os.execute("rm -rf " .. support.quoted(folder))
if o.out ~= "" then write(o.out, rows) end
print_table(rows)
