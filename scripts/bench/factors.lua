-- Milliseconds of products, factors and decompositions on one thread, by order and type.
-- Run: build/gibbous scripts/bench/factors.lua [largest order]. A figure is the best of several runs on fresh matrices; compare
-- two programs by running them in turns.
local gb <const> = require "gibbous"

local most <const> = tonumber(arg and arg[1] or 1000)
local ORDERS <const> = {20, 100, 400, 1000, 2000, 4000}
local cases <const> = {
  {"matmul", 4000, function(a) return a:matmul(a) end},
  {"cholesky", 4000, function(a) return gb.linalg.cholesky(a) end},
  {"solve 1", 4000, function(a) return gb.linalg.solve(a, gb.ones(#a)) end},
  {"solve 12", 4000, function(a, b) return gb.linalg.solve(a, b) end},
  {"qr", 2000, function(a) return gb.linalg.qr(a) end},
  {"eigh", 1000, function(a) return gb.linalg.eigh(a) end},
  {"svd", 400, function(a) return gb.linalg.svd(a) end},
}

--- Processor seconds of the best of several runs.
local function best_of(f, a, b, n)
  local best = math.huge
  for i = 1, math.max(2, math.min(300, 3e8 // n^3)) do
    local fresh <const> = (a + 1e-9 * i):eval()
    local began <const> = os.clock()
    gb.eval(f(fresh, b))
    best = math.min(best, os.clock() - began)
    collectgarbage()
  end
  return best
end

print(gb.devices()[1].blas)
for _, dtype in ipairs{"f64", "f32"} do
  gb.config{threads = 1, dtype = dtype}
  for _, n in ipairs(ORDERS) do
    if n > most then break end
    local r <const> = gb.randn(n, n, {seed = 1})
    local a <const> = (r + r:t() + gb.eye(n) * (4 * n^0.5 + 1)):eval()
    local b <const> = gb.rand(n, 12, {seed = 2}):eval()
    local texts <const> = {}
    for _, case in ipairs(cases) do
      if n <= case[2] then texts[#texts + 1] = ("%s %.3g"):format(case[1], 1e3 * best_of(case[3], a, b, n)) end
    end
    print(("%s %5d  %s"):format(dtype, n, table.concat(texts, "  ")))
  end
end
