-- Reading tables: MB of file a second, of one core and with all threads, of floats of 17 and of 6 digits, of integers, of words,
-- and of packed floats (MB of the text that was packed).
-- Run: build/gibbous scripts/bench/data.lua [--megabytes 100] [--rounds 5]
--
-- Files of five columns with random cells are made in the folder of temporary files and removed. A core's seconds are those of the
-- processor with one thread, the others those of the wall, both the least of the rounds; a file that was just written lies in the
-- system's cache.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local table_text <const> = require "gibbous.text.table"
local here <const> = arg[0]:gsub("[^/]*$", "")
local support <const> = dofile(here .. "support.lua")

local o <const> = support.options{megabytes = 100, rounds = 5}
local words <const> = {"alpha", "beta gamma", "delta", "eps", "zeta eta theta"}

local kinds <const> = {
  {"floats, 17 digits", function() return ("%.17g"):format(math.random() * 10) end},
  {"floats, 6 digits", function() return ("%.6g"):format(math.random() * 200 - 100) end},
  {"integers", function() return ("%d"):format(math.random(-1000000000, 1000000000)) end},
  {"words", function() return words[math.random(#words)] .. math.random(1000) end},
}

--- Two thousand different rows, repeated.
local function make(path, cell)
  local rows <const> = {}
  for i = 1, 2000 do rows[i] = table.concat({cell(), cell(), cell(), cell(), cell()}, ",") end
  local block <const> = table.concat(rows, "\n") .. "\n"
  local f <const> = assert(io.open(path, "w"))
  f:write "a,b,c,d,e\n"
  for _ = 1, math.ceil(o.megabytes * 1e6 / #block) do f:write(block) end
  local bytes <const> = f:seek()
  f:close()
  return bytes
end

--- The least seconds of reading a file by a clock.
local function least(path, clock)
  local best = math.huge
  for _ = 1, o.rounds do
    local began <const> = clock()
    gb.data.read(path)
    best = math.min(best, clock() - began)
    collectgarbage()
  end
  return best
end

local threads <const> = gb.config().threads

--- {cells, MB/s of a core, MB/s of all threads}
local function row(name, path, bytes)
  local function rate(seconds) return ("%.0f"):format(bytes / seconds / 1e6) end
  gb.config{threads = 1}
  local alone <const> = rate(least(path, os.clock))
  gb.config{threads = threads}
  return {name, alone, rate(least(path, core.clock))}
end

math.randomseed(1)
local path <const> = os.tmpname()
local rows <const> = {{"cells", "MB/s a core", "MB/s, threads: " .. threads}}
for i, kind in ipairs(kinds) do
  local bytes <const> = make(path, kind[2])
  rows[#rows + 1] = row(kind[1], path, bytes)
  if i <= 2 and os.execute("gzip -1 -k -f -S .gz " .. support.quoted(path)) then
    rows[#rows + 1] = row(kind[1] .. ", gzip", path .. ".gz", bytes)
    os.remove(path .. ".gz")
  end
end
os.remove(path)
print(table_text(rows))
