--- Calls that one rank makes wrongly, all of which raise everywhere, after which the ranks go on: errors.lua folder. Every rank
-- writes what it caught to folder/rank, a line a case.
local folder <const> = arg[1]
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"

local RANK <const>, SIZE <const> = gb.mpi.rank(), gb.mpi.size()
local LAST <const> = SIZE - 1
local N <const>, D <const> = 60, 3
local x <const> = gb.randn(N, D, {seed = RANK}):eval()
local lines <const> = {}

local function case(name, f)
  local ok <const>, err <const> = pcall(f)
  assert(not ok, name .. " did not raise")
  lines[#lines + 1] = ("%s: %s: %s"):format(name, err.code, err.message:gsub("\n", " "))
end

local function mine(bad, good)
  if RANK == LAST then return bad else return good end
end

--- Options, with others at the last rank.
local function km(o, of_last)
  local all <const> = {k = 4, ranks = true, max_iter = 3, n_init = 1}
  for key, v in pairs(o or {}) do all[key] = v end
  if RANK == LAST then
    for key, v in pairs(of_last or {}) do all[key] = v end
  end
  return gb.kmeans(all)
end

local numbers <const> = x:totable()
numbers[7][2] = 0 / 0
local nan <const> = gb.tensor(numbers)
local known <const> = km():fit(x)

case("nan", function() km():fit(mine(nan, x)) end)
case("nan in f32", function() km():fit(mine(nan:to "f32", x:to "f32")) end)
case("nan in a score", function() known:score(mine(nan, x)) end)
case("weight", function() km():fit(x, {weights = mine(gb.ones(N) * -1, gb.ones(N))}) end)
case("weights", function() km():fit(x, {weights = mine(gb.ones(3), gb.ones(N))}) end)
case("width", function() km():fit(mine(gb.ones(5, D + 1), x)) end)
case("width of a score", function() known:score(mine(gb.ones(5, D + 1), x)) end)
case("width of a batch", function() km{}:partial_fit(mine(gb.ones(5, D + 1), x)) end)
case("dtype", function() km():fit(mine(x:to "f32", x)) end)
case("no points", function() km():fit(mine("rows", x)) end)
case("no list", function() km():partial_fit(mine({}, x)) end)
case("empty", function() km():fit(gb.zeros(0, D)) end)
case("few", function() km{k = N * SIZE + 1}:fit(x) end)
case("budget", function() km(nil, {budget = 100}):fit(x) end)
case("k", function() km(nil, {k = 5}):fit(x) end)
case("n_init", function() km(nil, {n_init = 3}):fit(x) end)
case("start", function() km({init = gb.ones(4, D)}, {init = gb.ones(4, D + 2)}):fit(x) end)
case("function", function() km({init = function() return x:slice(1, 1, 4) end}, {init = function() error "mine" end}):fit(x) end)
case("second run", function()
  local start <const> = x:slice(1, 1, 4):eval()
  km({n_init = 3, init = function() return start end},
    {init = function(_, _, run) return run < 2 and start or error "mine" end}):fit(x)
end)

--- Memory ends at the last rank, at its n-th allocation: before the fit, within it, while an iteration computes rows.
local n, ended = 0
repeat
  ended = pcall(function()
    local rows <const> = x * 2.0
    if RANK == LAST then core.fail_after(n) end
    km():fit(rows)
  end)
  core.fail_after(-1)
  collectgarbage()
  n = n + 1
until ended or n > 500
lines[#lines + 1] = ("allocations: %s"):format(ended and n > 8)
lines[#lines + 1] = ("at the end: %.17g"):format(km():fit(x).inertia)

local out <close> = assert(io.open(("%s/%d"):format(folder, RANK), "w"))
out:write(table.concat(lines, "\n"), "\n")
