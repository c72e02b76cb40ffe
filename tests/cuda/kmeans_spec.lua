--- gb.kmeans on one emulated GPU, on two, and on the CPU beside them: the bits of the CPU alone, the bytes of the plan on every account,
-- whatever of the rows a device has room for; failures, Ctrl-C, errors.
local process <const> = require "spec.process"

local prelude <const> = [[
local gb <const>, core <const> = require "gibbous", require "gibbous.core"
local function settle()
  core.drop_caches()
  for _ = 1, 3 do collectgarbage() end
end
local function blobs(n, d, dtype)
  local x <const> = gb.randn(n, d, {seed = 3}) * 3 + gb.range(1, n):unsqueeze(2) % 5
  return (dtype == "i64" and (x * 100):round() or x):to{dtype = dtype}:eval()
end
local function same(want, got, what)
  assert(got.centroids:equal(want.centroids), what .. ": centroids")
  assert(got.labels:equal(want.labels), what .. ": labels")
  assert(got.history:equal(want.history), what .. ": history")
  assert(got.inertia == want.inertia and got.empty == want.empty and got.iterations == want.iterations, what .. ": inertia")
end
--- The smallest budget of each device that is not the host, and so many bytes more.
local function smallest(p, more)
  local least <const> = {}
  for _, d in ipairs(p.devices) do least[d.name] = d.minimum + more end
  return least
end
--- A fit whose accounts are those of its plan.
local function fit(o, x, more, what)
  local km <const> = gb.kmeans(o)
  local p <const> = km:plan(x, more)
  settle()
  km:fit(x, more)
  assert(km.bytes == p.peak, ("%s: %d bytes on the host, planned %d"):format(what, km.bytes, p.peak))
  for _, d in ipairs(p.devices) do
    assert(km.device_bytes[d.name] == d.peak, ("%s: %d bytes on %s, planned %d"):format(what, km.device_bytes[d.name], d.name, d.peak))
    assert(not o.budget or d.peak <= (type(o.budget) == "table" and o.budget[d.name] or o.budget), what .. ": over the budget")
  end
  return km, p
end
local lists <const> = {"cuda:0", {"cuda:0", "cuda:1"}, {"cpu", "cuda:1"}, {"cuda:1", "cpu", "cuda:0"}}
local function name(list) return type(list) == "table" and table.concat(list, " ") or list end
local function with(o, more)
  local out <const> = {}
  for k, v in pairs(o) do out[k] = v end
  for k, v in pairs(more) do out[k] = v end
  return out
end
]]

--- What the script prints, by lines. env: further settings.
local function run(script, env)
  local path <const> = os.tmpname()
  do
    local f <close> = assert(io.open(path, "wb"))
    f:write(prelude .. script)
  end
  local out <const>, errors <const>, rc <const> = process.run({path}, {env = "GIBBOUS_DEVICE= GIBBOUS_CUDA=emulated EMU_DEVICES=2 "
    .. "EMU_LEAKS=1 GIBBOUS_CUDA_COMPILE=off " .. (env or "EMU_SCHEDULE=lazy")})
  os.remove(path)
  assert.equal("", errors)
  assert.equal(0, rc)
  local lines <const> = {}
  for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

describe("gb.kmeans on GPUs", function()
  -- Budgets: none, where all rows are copied once; the smallest, where they go through two slots; between, where some stay.
  local grid <const> = [[
local dtype <const> = %q
local x <const>, weights <const> = blobs(9000, 7, dtype), (gb.range(1, 9000) %% 3):eval()
local count = 0
for i, init in ipairs{"k-means++", "random"} do
  local o <const>, more <const> = {k = 9, init = init, n_init = 2, max_iter = 5}, {weights = i == 1 and weights or nil}
  local want <const> = gb.kmeans(o):fit(x, more)
  for at = 1, dtype:match "^f[63]" and #lists or 2 do
    local list <const> = lists[at]
    local there <const> = with(o, {device = list})
    local free <const> = gb.kmeans(there):plan(x, more)
    for way, budget in ipairs{1 << 30, smallest(free, 0), smallest(free, 2 * 960 * 7 * (dtype:match "64" and 8 or dtype == "f32" and 4 or 2))} do
      local what <const> = ("%%s, %%s on %%s, way %%d"):format(dtype, init, name(list), way)
      local km <const>, p <const> = fit(with(there, {budget = budget}), x, more, what)
      same(want, km, what)
      local streamed <const> = tostring(p):find "of %%d+ pieces from the host %%d+ stay" ~= nil
      assert(way == 3 or streamed == (way == 2), what .. ": " .. tostring(p))
      if way == 3 and list == "cuda:0" then assert(tostring(p):find "pieces from the host 2 stay", what .. tostring(p)) end
      if way == 2 then
        assert(want:predict(x):equal(km:predict(x)) and want:score(x, more) == km:score(x, more), what)
        for key, bytes in pairs(budget) do
          local less <const> = gb.kmeans(with(there, {budget = with(budget, {[key] = bytes - 1})}))
          local ok <const>, err <const> = pcall(less.fit, less, x, more)
          assert(not ok and err.code == "refused" and err.minimum == bytes, what .. tostring(err))
          assert(err.message:find(("on %%s, the budget is"):format(key), 1, true), err.message)
        end
      end
      count = count + 1
    end
  end
end
print(count)]]
  local schedules <const> = {f64 = "lazy", f32 = "3", f16 = "eager", bf16 = "7", i64 = "11"}
  for dtype, schedule in pairs(schedules) do
    it(("have the bits of the CPU, and the bytes of the plan, for %s"):format(dtype), function()
      assert.same({dtype:match "^f[63]" and "24" or "12"}, run(grid:format(dtype), "EMU_SCHEDULE=" .. schedule))
    end)
  end
end)
