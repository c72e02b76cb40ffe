-- A thousand models fitted in one process: time and live bytes stay where they were.
-- Run: build/gibbous scripts/bench/thousand_fits.lua [fits]
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local count <const> = math.tointeger(tonumber(arg[1] or 1000))
assert(count and count >= 2, "thousand_fits.lua wants a number of fits, 2 or more")
local each <const> = math.max(1, count // 10)
local rows <const> = require "many_fits"(count, each, each)

--- Time of an evaluation in units of work that is always the same and was done in between: the clock of a shared machine moves.
-- The last row has fewer fits where a tenth does not divide them.
local function paced(row) return row.seconds / row.evaluations / (row.pace / ((row.fits - 1) % each + 1)) end

local head <const> = "%8s %12s %10s %12s %12s %14s %12s %12s"
print(head:format("fits", "evaluations", "cpu s", "ms / eval", "paced", "tensors KiB", "Lua KiB", "process MiB"))
for _, row in ipairs(rows) do
  print(("%8d %12d %10.2f %12.3f %12.4f %14.1f %12.1f %12.1f"):format(row.fits, row.evaluations, row.seconds,
    1e3 * row.seconds / row.evaluations, paced(row), row.used / 2 ^ 10, row.lua / 2 ^ 10, row.process / 2 ^ 20))
end

local first <const>, last <const> = rows[1], rows[#rows]
local missed = 0
local function verdict(what, a, b)
  local change <const> = a == b and 0 or b / a - 1        -- nothing and nothing are equal
  local ok <const> = change <= 0.02
  if not ok then missed = missed + 1 end
  print(("%-28s %+.2f %%  (target <= 2 %%)  %s"):format(what, 100 * change, ok and "PASS" or "MISS"))
end
print "\nlast tenth against the first; the process against the most before"
verdict("time of an evaluation, paced", paced(first), paced(last))
verdict("bytes of tensors", first.used, last.used)
verdict("bytes of Lua", first.lua, last.lua)
-- Resident pages come and go by a few per cent as blocks are reused: growth would pass all that was seen before.
local most = 0
for i = 1, #rows - 1 do most = math.max(most, rows[i].process) end
verdict("bytes of the process", most, last.process)
os.exit(missed == 0)
