-- One kernel matrix, three spellings, three clocks.
--
-- The product K v with K_ij = exp(-|x_i - y_j|^2 / 2) is the matrix product of Gaussian processes. Elsewhere its speed depends
-- on how it is written: a broadcast stores n x n x d differences, a map over pairs (vmap) stores them too or runs them one by
-- one, and what does neither is a class of its own (KeOps, a fused kernel). How fast any of them is depends on which clock is
-- asked: a call that returns early, a value that was remembered, a first run that compiled.
-- Here the three spellings are rewritten to one expression, so they run one program and have one result, bit for bit. Each is
-- timed by the clocks of the devices (the seconds of its steps in gb.time), by the profiler (the rows of gb.profile) and by the
-- wall; where they differ, the table says when no step ran.
-- Run: build/gibbous scripts/stories/kernel_matrix.lua [--sizes 1000,3000,..] [--columns 1,4,16,64] [--devices cpu,cuda:0]
--   [--seconds s: no size that would take longer] [folder for kernel_matrix.svg and .png]
local gb <const> = require "gibbous"
local duration <const> = require("gibbous.timing").duration
local table_text <const> = require "gibbous.text.table"

local d <const> = 3

-- Options ---------------------------------------------------------------------------------------------------------------------

--- The session's own device, and the first GPU where there is one.
local function devices()
  local own <const> = gb.config().device
  if own == "cpu" and (gb.devices().kinds.cuda.count or 0) > 0 then return "cpu,cuda:0" end
  return own
end

local given <const>, folder = {sizes = "1000,3000,10000,30000,100000,300000,1000000", columns = "1,4,16,64", devices = devices(),
  seconds = "5"}, nil

--- Ends the script with a line on what is wrong.
local function refuse(text, ...)
  io.stderr:write("kernel_matrix.lua: ", text:format(...), "\n")
  os.exit(2)
end

do
  local i = 1
  while arg and arg[i] do
    local key <const> = arg[i]:match "^%-%-(.+)$"
    if key then
      if not given[key] then refuse("unknown option --%s; known: --columns, --devices, --seconds, --sizes", key) end
      given[key] = arg[i + 1] or refuse("--%s wants a value", key)
      i = i + 2
    else
      folder = arg[i]
      i = i + 1
    end
  end
end

--- Counts, separated by commas.
local function counts(key)
  local out <const> = {}
  for word in given[key]:gmatch "[^,]+" do
    local n <const> = math.tointeger(tonumber(word))
    if not n or n < 1 then refuse("--%s wants counts of 1 or more, separated by commas, got '%s'", key, word) end
    out[#out + 1] = n
  end
  if #out == 0 then refuse("--%s wants a value", key) end
  return out
end

local sizes <const>, columns <const> = counts "sizes", counts "columns"
local longest <const> = tonumber(given.seconds)
if not (longest and longest > 0) then refuse("--seconds wants a number above 0, got '%s'", given.seconds) end

-- The three spellings -----------------------------------------------------------------------------------------------------------

local native <const> = gb.kernels.rbf{}
local spellings <const> = {
  {"broadcast", function(x, y) return (((x:unsqueeze(2) - y:unsqueeze(1)) ^ 2):sum(-1) * -0.5):exp() end},
  {"vmap", function(x, y)
    return gb.vmap(function(a)
      return gb.vmap(function(b) return (((a - b) ^ 2):sum() * -0.5):exp() end)(y)
    end)(x)
  end},
  {"native", native},
}

--- The inputs of a case, stored as it says: x (n, d), y (n, d) or x itself, v (n, columns).
local function inputs(case)
  local half <const> = case.storage == "f16" or case.storage == "bf16"
  local compute <const> = half and "f32" or case.storage
  local function points(seed)
    local p <const> = gb.randn(case.n, d, {seed = seed, dtype = compute})
    local stored <const> = (case.layout == "column" and p:t() or p):to{dtype = case.storage}:to(case.device):eval()
    local rows <const> = case.layout == "column" and stored:t() or stored
    return half and rows:to{dtype = compute} or rows               -- a cast of what is stored, made in each run
  end
  local x <const> = points(1)
  return x, case.symmetric and x or points(2), gb.randn(case.n, case.columns, {seed = 3, dtype = compute}):to(case.device):eval()
end

local function product(spell, case)
  local x <const>, y <const>, v <const> = inputs(case)
  return function() return spell(x, y):matmul(v) end
end

--- base with other fields.
local function case_of(base, fields)
  local case <const> = {}
  for key, value in pairs(base) do case[key] = value end
  for key, value in pairs(fields or {}) do case[key] = value end
  return case
end

-- Three clocks ------------------------------------------------------------------------------------------------------------------

--- Seconds of the steps of one run, the middle of three.
local function profiled(f)
  local seconds <const> = {}
  for i = 1, 3 do seconds[i] = gb.profile(f).device end
  table.sort(seconds)
  return seconds[2]
end

--- Why two of the clocks differ, in words.
local function reason(r)
  if r.wall - r.device > 0.05 * r.wall + 20e-6 then
    local w <const> = r.waits[1]
    return ("no step ran for %s, %s of it %s"):format(duration(r.wall - r.device), duration(w.seconds),
      w.op and "before " .. w.op or "after the last step")
  end
  if not r.agree then return "steps ran at the same time" end
  if math.abs(r.profile - r.device) > 0.05 * r.device + 20e-6 then
    return ("runs vary from %s to %s"):format(duration(r.fastest), duration(r.slowest))
  end
  return "agree"
end

local function measured(f)
  local t <const> = gb.time(f)
  local r <const> = {device = t.device, wall = t.wall, agree = t.agree, waits = t.waits, fastest = t.fastest, slowest = t.slowest,
    profile = profiled(f), share = t.share}
  r.why = reason(r)
  return r
end

local function row(case, name, r)
  return {tostring(case.n), name, case.device, case.storage, case.layout, case.symmetric and "K(x, x)" or "K(x, y)",
    tostring(case.columns), duration(r.device), duration(r.profile), duration(r.wall),
    ("%.2e"):format(case.n * case.n / r.device), r.why}
end

local heading <const> = {"n", "spelling", "device", "storage", "points", "matrix", "R", "by devices", "by profiler", "by wall",
  "pairs/s", "clocks"}

-- One fold ----------------------------------------------------------------------------------------------------------------------

--- The step that makes the pairs, and who ran it.
local function fold_of(f)
  local p <const> = gb.profile(f)
  for _, r in ipairs(p) do
    if r.op:find "^fold rbf" then return r.op, ("%s %s"):format(r.carrier, r.kernel) end
  end
  error "no step computes the pairs in one fold"
end

--- Asserts that the spellings of a case are one program with one result.
local function check(case)
  local op, carrier, value
  for _, s in ipairs(spellings) do
    local f <const> = product(s[2], case)
    local this <const>, by <const> = fold_of(f)
    local got <const> = f():to "cpu":eval()
    assert(op == nil or op == this, "two programs: " .. tostring(op) .. " and " .. this)
    assert(value == nil or value:equal(got), s[1] .. ": other bits")
    op, carrier, value = this, by, got
  end
  return op, carrier
end

local base <const> = {n = sizes[1], device = "", storage = "f32", layout = "row", symmetric = true, columns = columns[1]}
local all_devices <const> = {}
for name in given.devices:gmatch "[^,]+" do
  local ok <const>, why <const> = pcall(gb.zeros, 1, {device = name})
  if not ok then refuse("%s", why.message) end
  all_devices[#all_devices + 1] = name
end
if #all_devices == 0 then refuse "--devices wants a value" end

print "broadcast, vmap and the native kernel, as one program with one result:"
for _, device in ipairs(all_devices) do
  for _, symmetric in ipairs{true, false} do
    local op <const>, by <const> = check(case_of(base, {device = device, symmetric = symmetric}))
    print(("  %s on %s by %s, the same bits three times"):format(op, device, by))
  end
end

-- Sizes -------------------------------------------------------------------------------------------------------------------------

local curves <const>, rows <const> = {}, {heading}
for _, device in ipairs(all_devices) do
  for _, s in ipairs(spellings) do
    local curve <const> = {label = ("%s, %s"):format(s[1], device), n = {}, ms = {}}
    local last
    for _, n in ipairs(sizes) do
      local case <const> = case_of(base, {device = device, n = n})
      local expected <const> = last and last.seconds * (n / last.n) ^ 2 or 0
      if expected <= longest then
        local r <const> = measured(product(s[2], case))
        rows[#rows + 1] = row(case, s[1], r)
        curve.n[#curve.n + 1], curve.ms[#curve.ms + 1] = math.log(n, 10), math.log(r.device * 1e3, 10)
        last = {n = n, seconds = r.device}
      end
    end
    curves[#curves + 1] = curve
  end
end
print(("\nK v in %d dimensions, by the number of points\n"):format(d))
print(table_text(rows))

-- One thing changed at a time -------------------------------------------------------------------------------------------------

local changes <const> = {{layout = "column"}, {storage = "f64"}, {storage = "f16"}, {storage = "bf16"}, {symmetric = false}}
for i = 2, #columns do changes[#changes + 1] = {columns = columns[i]} end

local middle <const> = sizes[math.min(2, #sizes)]
local others <const> = {heading}
for _, device in ipairs(all_devices) do
  for _, change in ipairs(changes) do
    local case <const> = case_of(case_of(base, {device = device, n = middle}), change)
    check(case)
    for _, s in ipairs(spellings) do others[#others + 1] = row(case, s[1], measured(product(s[2], case))) end
  end
end
print(("\nn = %d, one thing changed at a time; the spellings of each row have the same bits\n"):format(middle))
print(table_text(others))

-- What the planner remembers is not counted: a value that is there already takes no time at all.
do
  local kept <const> = product(native, case_of(base, {device = all_devices[1]}))():eval()
  print("\nthe same product, looked at again: " .. tostring(gb.time(function() return kept end)):match "\n%s*([^\n]*)")
end

-- The curve ---------------------------------------------------------------------------------------------------------------------

local figure <const> = gb.plot.figure{title = "One kernel matrix, three spellings", xlabel = "log10 of points",
  ylabel = "log10 of milliseconds, by the devices"}
for _, c in ipairs(curves) do figure:line(c.n, c.ms, {label = c.label}) end
print()
figure:show()
if folder then
  for _, ending in ipairs{"svg", "png"} do figure:save(("%s/kernel_matrix.%s"):format(folder, ending)) end
  print(("saved as %s/kernel_matrix.svg and .png"):format(folder))
end
