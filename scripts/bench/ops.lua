-- Milliseconds of processor time of single ops on one thread, beside the same in torch where its figures are given.
-- Each op runs on tensors not seen before, so that nothing is remembered; the least of some rounds counts, and the
-- ops of a dtype take turns, so that a busy moment meets them all. 'copy' is memcpy as a script reaches it: the bound of what
-- moves.
-- Run: GIBBOUS_THREADS=1 build/gibbous scripts/bench/ops.lua [--rounds n] [--only word] [--peers FILE]
-- with FILE by scripts/bench/peers/ops_torch.py on a machine as busy.
local gb <const> = require "gibbous"
local table_text <const> = require "gibbous.text.table"
local support <const> = dofile((arg[0]:gsub("[^/]*$", "")) .. "support.lua")

local o <const> = support.options{rounds = 5, only = "", peers = "", out = ""}

local SQUARE <const>, TALL <const>, WIDE <const>, SMALL <const> = {2000, 2000}, {100000, 10}, {10, 100000}, {20000, 64}
local FLAT <const>, CUBE <const>, POINTS <const> = {1000000}, {100, 200, 100}, {4000, 3}

--- Name, shape of the random input, function of it (and of a second one alike); the names are those of ops_torch.py.
local cases <const> = {
  {"x + y", SQUARE, function(x, y) return x + y end},
  {"x % y", SQUARE, function(x, y) return x % y end},
  {"x % 0.7", SQUARE, function(x) return x % 0.7 end},
  {"erf", SQUARE, function(x) return x:erf() end},
  {"exp", SQUARE, function(x) return x:exp() end},
  {"log", SQUARE, function(x) return x:abs():log() end},
  {"tanh", SQUARE, function(x) return x:tanh() end},
  {"where", SQUARE, function(x, y) return gb.where(x:gt(0), x, y) end},
  {"outer", SQUARE, function(x, y) return x:select(2, 1):unsqueeze(2) * y:select(1, 1):unsqueeze(1) end},
  {"matvec", SQUARE, function(x, y) return x:matmul(y:select(1, 1)) end},
  {"cat 1", SQUARE, function(x, y) return gb.cat({x, y}, 1) end},
  {"cat 2", SQUARE, function(x, y) return gb.cat({x, y}, 2) end},
  {"stack 1", SQUARE, function(x, y) return gb.stack({x, y}, 1) end},
  {"stack 3", SQUARE, function(x, y) return gb.stack({x, y}, 3) end},
  {"cat 2", TALL, function(x, y) return gb.cat({x, y}, 2) end},
  {"copy", SQUARE, function(x) return gb.cat({x}, 1) end},
  {"-x", SQUARE, function(x) return -x end},
  {"-x transposed", SQUARE, function(x) return -x:t() end},
  {"-x transposed", TALL, function(x) return -x:t() end},
  {"-x transposed", WIDE, function(x) return -x:t() end},
  {"x + y transposed", SQUARE, function(x, y) return x + y:t() end},
  {"-x permuted 3 1 2", CUBE, function(x) return -x:permute(3, 1, 2) end},
  {"-x permuted 2 1 3", CUBE, function(x) return -x:permute(2, 1, 3) end},
  {"-x permuted 3 2 1", CUBE, function(x) return -x:permute(3, 2, 1) end},
  {"-x every second row", SQUARE, function(x) return -x:slice(1, 1, -1, 2) end},
  {"-x every second column", SQUARE, function(x) return -x:slice(2, 1, -1, 2) end},
  {"-x flipped 2", SQUARE, function(x) return -x:flip(2) end},
  {"topk 10 of rows", SQUARE, function(x) return x:topk(10, 2) end},
  {"topk 10 of columns", SQUARE, function(x) return x:topk(10, 1) end},
  {"topk 10", FLAT, function(x) return x:topk(10, 1) end},
  {"5 nearest of points", POINTS, function(x, y)
    return ((x:unsqueeze(2) - y:unsqueeze(1))^2):sum(3):topk(5, 2, {largest = false})
  end},
}

for _, shape in ipairs{SQUARE, TALL, WIDE, SMALL, CUBE} do
  local last <const> = #shape
  for _, d in ipairs(shape == SQUARE and {1, last} or {last}) do
    for _, name in ipairs{"sum", "mean", "var", "max", "argmax", "logsumexp", "softmax", "log_softmax"} do
      cases[#cases + 1] = {("%s %d"):format(name, d), shape, function(x) return x[name](x, d) end}
    end
  end
end
cases[#cases + 1] = {"sum", SQUARE, function(x) return x:sum() end}
cases[#cases + 1] = {"sum 2 of x * 3", SQUARE, function(x) return (x * 3):sum(2) end}
cases[#cases + 1] = {"sum 1 and 3", CUBE, function(x) return x:sum{1, 3} end}

local function label(case) return case[1] .. ", " .. table.concat(case[2], " x ") end

--- Seconds of processor time.
local function seconds(f, x, y)
  local results <const> = {f(x, y)}
  local start <const> = os.clock()
  gb.eval(results)
  local took <const> = os.clock() - start
  for _, r in ipairs(results) do r:close() end
  return took
end

--- {[dtype .. label] = ms} of a peer.
local function peers(file)
  local ms <const> = {}
  if file == "" then return ms end
  for line in io.lines(file) do
    local dtype <const>, name <const>, value <const> = line:match '^(f%d%d),"(.-)",([%d.]+)$'
    if dtype then ms[dtype .. name] = tonumber(value) end
  end
  return ms
end

local theirs <const> = peers(o.peers)
for _, dtype in ipairs{"f32", "f64"} do
  local best <const> = {}
  for round = 1, o.rounds do
    for i, case in ipairs(cases) do
      if label(case):find(o.only, 1, true) then
        local x <const> = gb.randn(case[2], {seed = 2 * round, dtype = dtype}):eval()
        local y <const> = gb.randn(case[2], {seed = 2 * round + 1, dtype = dtype}):eval()
        best[i] = math.min(best[i] or math.huge, seconds(case[3], x, y))
        x:close()
        y:close()
      end
    end
  end
  local rows <const> = {{dtype, "ms", o.peers ~= "" and "torch ms" or "", o.peers ~= "" and "ratio" or ""}}
  for i, case in ipairs(cases) do
    if best[i] then
      local peer <const> = theirs[dtype .. label(case)]
      rows[#rows + 1] = {label(case), ("%.3f"):format(best[i] * 1e3), peer and ("%.3f"):format(peer) or "",
        peer and ("%.2f"):format(best[i] * 1e3 / peer) or ""}
    end
  end
  print(table_text(rows))
end
