--- gb.kmeans beside scikit-learn from the same start: labels, iterations, inertia. Only where GIBBOUS_PEERS names a Python that
-- has it.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local python <const> = os.getenv "GIBBOUS_PEERS"

local function blobs(n, d, k, offset)
  local at <const> = gb.randn(k, d, {seed = 1}) * 4
  return (at:index(1, gb.range(1, n, 1, {dtype = "i64"}) % k + 1) + gb.randn(n, d, {seed = 2}) * 2 + offset):eval()
end

--- labels from 1, inertia and iterations of scikit-learn.
local function theirs(x, start, weights)
  local folder <const> = os.tmpname() .. ".peers"
  os.execute("mkdir " .. folder)
  core.npy_write(folder .. "/x.npy", x)
  core.npy_write(folder .. "/start.npy", start)
  if weights then core.npy_write(folder .. "/weights.npy", weights) end
  local pipe <const> = io.popen(("%s scripts/bench/peers/kmeans_labels.py %s %d 300"):format(python, folder, #start))
  local inertia <const>, iterations <const> = pipe:read("a"):match "(%S+) (%d+)"
  local labels <const> = core.npy_read(folder .. "/labels.npy") + 1
  labels:eval()
  os.execute("rm -r " .. folder)
  return labels, tonumber(inertia), math.tointeger(tonumber(iterations))
end

describe("gb.kmeans beside scikit-learn", function()
  teardown(support.sweep)

  for _, case in ipairs{{1000, 1, 4}, {3000, 2, 8}, {2000, 5, 20}, {1500, 17, 12}, {900, 64, 30}, {3000, 3, 6, offset = 1000}} do
    local n <const>, d <const>, k <const> = case[1], case[2], case[3]
    it(("has its labels for %d x %d, k = %d"):format(n, d, k), function()
      if not python then return pending "GIBBOUS_PEERS is not set" end
      local x <const> = blobs(n, d, k, case.offset or 0)
      local start <const> = x:slice(1, 1, k):eval()
      for _, weights in ipairs{false, (gb.range(1, n) % 5 + 0.5):eval()} do
        local labels <const>, inertia <const>, iterations <const> = theirs(x, start, weights)
        for _, algorithm in ipairs{"lloyd", "elkan"} do
          local km <const> = gb.kmeans{k = k, init = start, tol = 0, algorithm = algorithm}:fit(x, {weights = weights})
          assert.is_true(km.labels:to "i64":equal(labels), "labels")
          assert.equal(iterations, km.iterations)
          support.near(1, km.inertia / inertia, 1e-12)
        end
      end
    end)
  end
end)
