-- How good the best cell of a search is: the median over 8 seeds of its distance to the minimum, after 20, 40 and 80 cells.
-- Run: build/gibbous scripts/bench/searches.lua [gp]
local gb <const> = require "gibbous"
local identity <const> = require "gibbous.sweep.run.identity"
local space <const> = require "gibbous.sweep.search.space"

local problems <const> = {
  {name = "Branin's function", least = 0.397887,
    space = {x = gb.sweep.uniform(-5, 10), y = gb.sweep.uniform(0, 15)}, f = function(p)
    local b, c, t = 5.1 / (4 * math.pi ^ 2), 5 / math.pi, 1 / (8 * math.pi)
    return (p.y - b * p.x ^ 2 + c * p.x - 6) ^ 2 + 10 * (1 - t) * math.cos(p.x) + 10
  end},
  {name = "mixed, with an axis of one kind alone", least = 0,
    space = {kind = {"a", "b", "c"}, rate = gb.sweep.log_uniform(1e-5, 1), n = gb.sweep.integers(1, 200, {log = true}),
      depth = gb.sweep.integers(1, 8), period = gb.sweep.when({kind = "b"}, gb.sweep.uniform(0.1, 4))}, f = function(p)
      local v <const> = math.log(p.rate / 3e-3, 10) ^ 2 + math.log(p.n / 30) ^ 2 + (p.depth - 5) ^ 2 / 8
      return v + (p.kind == "b" and (p.period - 1.3) ^ 2 or p.kind == "a" and 0.5 or 2)
    end},
  {name = "Hartmann's function of six", least = -3.32237, space = {}, f = function(p)
    local A <const> = {{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}
    local P <const> = {{1312, 1696, 5569, 124, 8283, 5886}, {2329, 4135, 8307, 3736, 1004, 9991},
      {2348, 1451, 3522, 2883, 3047, 6650}, {4047, 8828, 8732, 5743, 1091, 381}}
    local alpha <const>, sum = {1, 1.2, 3, 3.2}, 0
    for i = 1, 4 do
      local e = 0
      for j = 1, 6 do e = e + A[i][j] * (p["x" .. j] - P[i][j] / 1e4) ^ 2 end
      sum = sum - alpha[i] * math.exp(-e)
    end
    return sum
  end},
}
for j = 1, 6 do problems[3].space["x" .. j] = gb.sweep.uniform(0, 1) end

--- The best value after each number of cells. One cell at a time, as with -j 1.
local function searched(problem, search, seed, n)
  local study <const> = gb.sweep{name = "bench", run = print, search = search, trials = n, metric = "v", space = problem.space,
    seed = seed}
  local list <const>, best, curve <const> = {}, math.huge, {}
  local drawn <const> = space.draws(search == "random" and "random" or "sobol", n, #study.space, seed)
  local next_cell <const> = search ~= "random" and require("gibbous.sweep.search." .. search)
  for i = 1, n do
    local is_drawn <const> = not next_cell or i <= 2 * #study.space + 1
    local cell <const> = is_drawn and space.cell(study.space, drawn[i]) or next_cell(study, list)
    best = math.min(best, problem.f(cell))
    list[i] = {cell = cell, key = identity.cell(cell), value = problem.f(cell), ended = true}
    curve[i] = best - problem.least
  end
  return curve
end

local SEEDS <const>, AT <const> = 8, {20, 40, 80}
for _, problem in ipairs(problems) do
  print(problem.name)
  for _, search in ipairs{"random", "tpe", arg[1]} do
    local curves <const>, began <const> = {}, os.clock()
    for seed = 1, SEEDS do curves[seed] = searched(problem, search, seed, AT[#AT]) end
    local out <const> = {}
    for k, at in ipairs(AT) do
      local v <const> = {}
      for seed = 1, SEEDS do v[seed] = curves[seed][at] end
      table.sort(v)
      out[k] = ("%9.4g"):format((v[SEEDS // 2] + v[SEEDS // 2 + 1]) / 2)
    end
    print(("  %-6s  %s   %.1f s"):format(search, table.concat(out, " "), os.clock() - began))
  end
end
