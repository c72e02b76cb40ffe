-- Seconds of processor time that figures of many points take to save, and the bytes of their files.
-- Run: build/gibbous scripts/bench/figures.lua [--points n] [--only word]
local gb <const> = require "gibbous"
local table_text <const> = require "gibbous.text.table"
local support <const> = dofile((arg[0]:gsub("[^/]*$", "")) .. "support.lua")

local o <const> = support.options{points = 60000, only = ""}

local function noise(n, seed) return gb.rand(n, {seed = seed}) end
local function walk(n, seed) return gb.randn(n, {seed = seed}):cumsum(1) end

--- The figures of n points: name, function of a figure.
local cases <const> = {
  {"line", function(f, n) f:line(gb.linspace(0, 1, n), noise(n, 1)) end},
  {"40 lines", function(f, n)
    for i = 1, 40 do f:line(gb.linspace(0, 1, n // 40), noise(n // 40, i)) end
  end},
  {"line to and fro", function(f, n) f:line(noise(n, 1), noise(n, 2)) end},
  {"walk", function(f, n) f:line(walk(n, 1), walk(n, 2)) end},
  {"scatter", function(f, n) f:scatter(noise(n, 1), noise(n, 2)) end},
  {"band", function(f, n) f:band(gb.linspace(0, 1, n), noise(n, 1), noise(n, 2) + 1) end},
  {"heatmap", function(f, n)
    local side <const> = math.floor(n ^ 0.5)
    f:heatmap(gb.rand({side, side}, {seed = 1}))
  end},
}

local rows <const> = {{"figure", "svg s", "pdf s", "png s", "svg kB", "pdf kB", "png kB"}}
for _, case in ipairs(cases) do
  if case[1]:find(o.only, 1, true) then
    local figure <const> = gb.plot.figure{}
    case[2](figure, o.points)
    local row <const> = {case[1]}
    for i, format in ipairs{"svg", "pdf", "png"} do
      local path <const> = os.tmpname() .. "." .. format
      local start <const> = os.clock()
      figure:save(path)
      row[1 + i] = ("%.3f"):format(os.clock() - start)
      local file <const> = assert(io.open(path, "rb"))
      row[4 + i] = ("%.0f"):format(file:seek "end" / 1e3)
      file:close()
      os.remove(path)
      os.remove((path:sub(1, -2 - #format)))
    end
    rows[#rows + 1] = row
  end
end
print(table_text(rows))
