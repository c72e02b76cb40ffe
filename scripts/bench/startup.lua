-- How long the program takes to start, and to be built. Run: build/gibbous scripts/bench/startup.lua [--build]
-- --build also times a clean build of the sources into a folder of its own (minutes), on all processors.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local gb <const> = require "gibbous"
local support <const> = require "support"

--- Wall seconds of a shell command: fastest and median of 'runs'.
local function timed(command, runs)
  local times <const> = {}
  for i = 1, runs do
    local start <const> = gb.clock()
    assert(os.execute(command), "failed: " .. command)
    times[i] = gb.clock() - start
  end
  table.sort(times)
  return times[1], times[(runs + 1) // 2]
end

local function report(what, command, runs)
  local best <const>, median <const> = timed(command, runs)
  print(("%-44s fastest %8.2f ms  median %8.2f ms"):format(what, 1e3 * best, 1e3 * median))
end

local quoted <const> = support.quoted
local gibbous <const> = quoted(support.binary())
report("a shell that does nothing", "true", 30)
report("gibbous -e ''", gibbous .. " -e ''", 30)
report("gibbous -e 'require \"gibbous\"'", gibbous .. " -e 'require \"gibbous\"'", 30)
report("first tensor", gibbous .. " -e 'print(require \"gibbous\".ones(2):sum())' >/dev/null", 30)

if arg[1] == "--build" then
  local source <const> = (arg[0]:match "^(.*)/scripts/bench/[^/]*$") or "."
  local into <const> = os.tmpname()
  os.remove(into)
  local command <const> = (
    "cmake -S %s -B %s -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF >/dev/null && ninja -C %s --quiet")
    :format(quoted(source), quoted(into), quoted(into))
  print(("%-44s %.1f s"):format("clean build", (timed(command, 1))))
  os.execute("rm -r " .. quoted(into))
elseif arg[1] then
  io.stderr:write("usage: startup.lua [--build]\n")
  os.exit(2)
end
