-- A thousand models fitted in one process: time and live bytes stay where they were.
-- Run: build/gibbous scripts/bench/thousand_fits.lua [fits]
-- The clock of a shared machine moves by more than what is looked for between the first hundred and the last. So the last are
-- timed against a young process, which fits the same models in turns with this one: model for model, a few milliseconds apart.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local support <const> = require "support"
local many_fits <const> = require "many_fits"

local warm <const> = 20                                 -- fits until every kernel, size and measured rate has been met

--- The young process: fits the models whose numbers arrive, one a line, and answers with processor seconds.
if arg[1] == "--young" then
  many_fits.fit_all(1, warm)
  for line in io.lines(arg[2]) do
    local _, seconds <const> = many_fits.fit(math.tointeger(tonumber(line)))
    io.write(("%.9f\n"):format(seconds)):flush()
  end
  os.exit(true)
end

local count <const> = math.tointeger(tonumber(arg[1] or 1000))
assert(count and count >= 2, "thousand_fits.lua wants a number of fits, 2 or more")
local each <const> = math.max(1, count // 10)

--- Ratio of this process' time to that of a young one over models from .. to, and its standard error.
local function against_a_young_process(from, to)
  local path <const> = os.tmpname()
  assert(os.remove(path) and os.execute("mkfifo " .. support.quoted(path)))
  local answers <const> = assert(io.popen(("%s %s --young %s"):format(support.quoted(support.binary()), support.quoted(arg[0]),
    support.quoted(path))))
  local questions <const> = assert(io.open(path, "w"))  -- waits for the reader
  os.remove(path)
  local old, young, logs = 0.0, 0.0, {}
  for i = from, to do
    questions:write(i, "\n"):flush()
    local theirs <const> = assert(tonumber(answers:read "l"), "the young process ended early")
    local _, ours <const> = many_fits.fit(i)
    old, young, logs[#logs + 1] = old + ours, young + theirs, math.log(ours / theirs)
  end
  questions:close()
  assert(answers:close())
  local mean, squares = 0.0, 0.0
  for _, v in ipairs(logs) do mean = mean + v / #logs end
  for _, v in ipairs(logs) do squares = squares + (v - mean) ^ 2 end
  return old / young, math.sqrt(squares / math.max(1, #logs - 1) / #logs)
end

local rows <const> = many_fits.rows(count, each, each)
local head <const> = "%8s %12s %10s %12s %14s %12s %12s"
print(head:format("fits", "evaluations", "cpu s", "ms / eval", "tensors KiB", "Lua KiB", "process MiB"))
for _, row in ipairs(rows) do
  print(("%8d %12d %10.2f %12.3f %14.1f %12.1f %12.1f"):format(row.fits, row.evaluations, row.seconds,
    1e3 * row.seconds / row.evaluations, row.used / 2 ^ 10, row.lua / 2 ^ 10, row.process / 2 ^ 20))
end

local first <const>, last <const> = rows[1], rows[#rows]
local missed = 0
local function verdict(what, change, of)
  local ok <const> = change <= 0.02
  if not ok then missed = missed + 1 end
  print(("%-36s %+.2f %%%s  (target <= 2 %%)  %s"):format(what, 100 * change, of or "", ok and "PASS" or "MISS"))
end
local function growth(a, b) return a == b and 0 or b / a - 1 end  -- nothing and nothing are equal

print "\nafter all fits, against the first tenth; the process against the most before"
local ratio <const>, error_of_ratio <const> = against_a_young_process(1, each)
verdict("time of a fit, against a young process", ratio - 1, (" ± %.2f"):format(100 * error_of_ratio))
verdict("bytes of tensors", growth(first.used, last.used))
verdict("bytes of Lua", growth(first.lua, last.lua))
-- Resident pages come and go by a few per cent as blocks are reused: growth would pass all that was seen before.
local most = 0
for i = 1, #rows - 1 do most = math.max(most, rows[i].process) end
verdict("bytes of the process", growth(most, last.process))
os.exit(missed == 0)
