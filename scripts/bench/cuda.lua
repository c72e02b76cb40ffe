-- What a GPU reaches, and what its prices predict.
--
-- Run:  GIBBOUS_DEVICE=cuda build/gibbous scripts/bench/cuda.lua [--quick] [--points n] [--json file]
--       build/gibbous scripts/bench/cuda.lua --predict
--
-- First the ceilings: what the units and the memory of this GPU do in a second, measured by kernels that do nothing else. Then
-- each product of a kernel matrix and each op of dense algebra: seconds by the device's own clock, the share of the bound, and
-- what was predicted. --predict runs nothing and needs no GPU: the figures are those of an imaginary GPU of 132 multiprocessors at
-- 1.75 GHz, close to an H200, and the instructions of a pair are those of the generated kernels (cuda/price/slots.c); where no GPU
-- opens, the emulated one of the tests stands for it. "target": 80 % of what the instructions of a hand-written kernel allow.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local duration <const> = require("gibbous.timing").duration
local support <const> = require "support"
local table_text <const> = require "gibbous.text.table"

local flags <const>, rest <const> = {}, {}
for _, word in ipairs(arg or {}) do
  if word == "--predict" or word == "--quick" then flags[word:sub(3)] = true else rest[#rest + 1] = word end
end

--- Predicting starts this script again where the session is not a GPU's.
if flags.predict and not gb.config().device:find "^cuda" then
  local real <const> = (gb.devices().kinds.cuda.count or 0) > 0
  local words <const> = {"GIBBOUS_DEVICE=cuda", real and "" or "GIBBOUS_CUDA=emulated", support.quoted(support.binary()),
    support.quoted(arg[0]), "--predict", flags.quick and "--quick" or ""}
  for _, word in ipairs(rest) do words[#words + 1] = support.quoted(word) end
  local ok <const>, _, code <const> = os.execute(table.concat(words, " "))
  os.exit(ok and 0 or code)
end
local o <const>, extra <const> = support.options({points = flags.quick and 2000 or 1000000, json = ""}, rest)
if #extra > 0 or o.points < 1 or not math.tointeger(o.points) then
  io.stderr:write("usage: cuda.lua [--predict] [--quick] [--points n] [--json file]\n")
  os.exit(2)
end
local device <const> = gb.config().device
if not device:find "^cuda" then
  io.stderr:write("this session's device is ", device, ": start it with GIBBOUS_DEVICE=cuda, or ask for --predict\n")
  os.exit(2)
end
if flags.predict then core.fixed_rates(true) end

local figures <const> = core.figures(device)
local record <const> = {device = gb.devices()[1].blas, isa = gb.devices()[1].isa, arithmetic = gb.config().arithmetic,
  predicted_only = flags.predict or false, figures = figures, rows = {}}

local function per_second(v, unit)
  for _, p in ipairs{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} do
    if v >= p[1] then return ("%.3g %s%s"):format(v / p[1], p[2], unit) end
  end
  return ("%.3g %s"):format(v, unit)
end

print(flags.predict and "an imaginary GPU" or record.device, record.isa, "arithmetic " .. record.arithmetic)
print(table_text({{"ceiling", "a second"},
  {"f32 instructions", per_second(figures.issue, "")},
  {"special functions", per_second(figures.special, "")},
  {"f64 instructions", per_second(figures.fma64, "")},
  {"memory, read", per_second(figures.read, "B")},
  {"memory, written", per_second(figures.write, "B")},
  {"from the host", per_second(figures.up, "B")},
  {"to the host", per_second(figures.down, "B")}}))
print(("a kernel %s, a small copy %s\n"):format(duration(figures.launch_s), duration(figures.copy_s)))

-- Cases -------------------------------------------------------------------------------------------------------------------------

local n <const> = math.tointeger(o.points)
local small <const> = math.min(n, 10000)
local many <const> = math.min(n, 347899)

--- Numbers made on the host and taken there.
local function numbers(seed, dtype, ...)
  local shape <const> = {...}
  shape[#shape + 1] = {seed = seed, dtype = dtype, device = "cpu"}
  local make <const> = flags.predict and gb.zeros or gb.rand
  if flags.predict then shape[#shape] = {dtype = dtype, device = "cpu"} end
  return make(table.unpack(shape)):to(device):eval()
end

local profile <const> = {rbf = gb.kernels.rbf{lengthscale = 0.3}, matern32 = gb.kernels.matern32{lengthscale = 0.3}}

--- A product of a kernel matrix. f: of the points, the others and the columns.
local function product(c)
  local x <const> = numbers(1, c.dtype, c.n, c.d)
  local y <const> = c.symmetric and x or numbers(2, c.dtype, c.n, c.d)
  local v <const> = c.r == 1 and numbers(3, c.dtype, c.n) or numbers(3, c.dtype, c.n, c.r)
  local k <const> = profile[c.profile or "rbf"]
  return function()
    if c.columns then return k(x, y):t():matmul(v) end
    return k(x, y):matmul(v)
  end
end

local products <const> = {
  {"d=3 R=1", d = 3, r = 1, target = 2.9e12},
  {"d=8 R=1", d = 8, r = 1, target = 1.4e12},
  {"d=32 R=1", d = 32, r = 1, target = 3.4e11},
  {"d=3 R=16", d = 3, r = 16, target = 1.05e12},
  {"d=8 R=16", d = 8, r = 16, target = 7.4e11},
  {"d=32 R=16", d = 32, r = 16, target = 2.8e11},
  {"d=3 R=1 symmetric", d = 3, r = 1, symmetric = true, target = 4.0e12},
  {"d=3 column output", d = 3, r = 1, columns = true, target = 2.8e12},
  {"d=3 R=1 f64", d = 3, r = 1, dtype = "f64", target = 5.8e11},
  {("d=3 R=1, %d points"):format(small), d = 3, r = 1, n = small, seconds = 60e-6},
  {("matern32 d=3 R=16, %d points"):format(many), d = 3, r = 16, n = many, profile = "matern32", target = 347899 ^ 2 / 0.15},
}

local function square(order, dtype)
  local a <const> = numbers(4, dtype, order, order)
  return flags.predict and a or (a:matmul(a:t()) + order * gb.eye(order, {dtype = dtype})):eval()
end

local order <const> = math.min(n, flags.quick and 256 or 4096)
local dense <const> = {
  {"product f32", f = function() local a <const> = square(order, "f32") return function() return a:matmul(a) end end},
  {"product f64", f = function() local a <const> = square(order, "f64") return function() return a:matmul(a) end end},
  {"cholesky f64", f = function() local a <const> = square(order, "f64") return function() return gb.linalg.cholesky(a) end end},
  {"eigenvalues f64", f = function()
    local a <const> = square(order // 4, "f64")
    return function() return (gb.linalg.eigh(a)) end
  end},
  {"qr f64", f = function() local a <const> = square(order // 4, "f64") return function() return (gb.linalg.qr(a)) end end},
}

-- Rows --------------------------------------------------------------------------------------------------------------------------

local function predicted(f) return gb.plan(f()).seconds end

--- Seconds of the device's steps, and of the wall; nil where nothing runs.
local function measured(f)
  if flags.predict then return nil end
  local t <const> = gb.time(f, {seconds = flags.quick and 0.05 or 0.5})
  return t.device or t.median, t.median
end

local function share(a, b) return a and b and ("%.2f"):format(a / b) or "" end

local function show(title, cases, line, head)
  local rows <const> = {head}
  for _, c in ipairs(cases) do
    local f <const> = c.f and c.f() or product(c)
    local guess <const> = predicted(f)
    local seconds <const>, wall <const> = measured(f)
    io.stderr:write(("%s: %s, %s by prediction\n"):format(c[1], seconds and duration(seconds) or "not run", duration(guess)))
    rows[#rows + 1] = line(c, guess, seconds)
    record.rows[#record.rows + 1] = {case = c[1], n = c.n, predicted = guess, seconds = seconds, wall = wall, target = c.target,
      target_seconds = c.seconds}
    collectgarbage()
  end
  print(title)
  print(table_text(rows))
  print ""
end

for _, c in ipairs(products) do c.n, c.dtype = c.n or n, c.dtype or "f32" end
show(("products of a kernel matrix, f32 RBF, %d points"):format(n), products, function(c, guess, seconds)
  local pairs_ <const> = c.n * c.n
  local best <const> = seconds or guess
  local met <const> = c.target and pairs_ / best >= c.target or c.seconds and best <= c.seconds
  return {c[1], duration(guess), seconds and duration(seconds) or "", share(seconds, guess), per_second(pairs_ / best, "pairs"),
    c.target and per_second(c.target, "pairs") or duration(c.seconds), n < 250000 and "" or met and "met" or "missed"}
end, {"case", "predicted", "measured", "measured/predicted", "a second", "target", ""})

show(("dense algebra, order %d and a quarter of it"):format(order), dense, function(c, guess, seconds)
  return {c[1], duration(guess), seconds and duration(seconds) or "", share(seconds, guess)}
end, {"case", "predicted", "measured", "measured/predicted"})

if flags.predict then print "Nothing was run." end

-- A record for later comparisons ----------------------------------------------------------------------------------------------

local function text_of(v)
  if type(v) == "table" and #v > 0 then
    local out <const> = {}
    for _, e in ipairs(v) do out[#out + 1] = text_of(e) end
    return "[" .. table.concat(out, ",\n") .. "]"
  elseif type(v) == "table" then
    local keys <const>, out <const> = {}, {}
    for k in pairs(v) do keys[#keys + 1] = k end
    table.sort(keys)
    for _, k in ipairs(keys) do out[#out + 1] = ("%q: %s"):format(k, text_of(v[k])) end
    return "{" .. table.concat(out, ", ") .. "}"
  elseif type(v) == "string" then return '"' .. v:gsub('["\\]', "\\%0") .. '"'
  elseif math.type(v) == "float" then return v == v and v < math.huge and ("%.9g"):format(v) or "null" end
  return tostring(v)
end

if o.json ~= "" then
  local f <const> = assert(io.open(o.json, "w"))
  assert(f:write(text_of(record), "\n"))
  assert(f:close())
end
