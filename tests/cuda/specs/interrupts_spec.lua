--- Ctrl-C while the emulated GPU runs one fold of many panels: it ends within two of them, and nothing is lost.
local process <const> = require "spec.process"

-- 40 panels of two passes each; the emulation sends SIGINT at a launch that it is told.
local script <const> = [[
local gb <const> = require "gibbous"
local x, v = gb.rand(20000, 2, {seed = 1}):eval(), gb.randn(100, 1, {seed = 2}):eval()
local z <const> = gb.rand(100, 2, {seed = 3}):eval()
local before <const> = gb.memory.report().used
local function product()
  local y <const> = (gb.kernels.matern32{lengthscale = 0.3}(x, z):matmul(v)):sum():eval()
  return y:item()
end
local ok <const>, err = pcall(product)
print(ok and "done" or err.code, ok and err or err.line)
err = nil
collectgarbage()
collectgarbage()
print(gb.memory.report().used == before)
if arg[1] then print(product()) end
]]

local function run(fail, schedule, again)
  local path <const> = os.tmpname()
  do
    local f <close> = assert(io.open(path, "wb"))
    f:write(script)
  end
  local env <const> = ("EMU_COUNT=1 EMU_LEAKS=1 EMU_SCHEDULE=%s EMU_FAIL=%s GIBBOUS_CUDA_PANEL=4096 GIBBOUS_CUDA_COMPILE=off "
    .. "GIBBOUS_DEVICE=cuda:0 GIBBOUS_CUDA=emulated"):format(schedule, fail)
  local out <const>, errors <const>, rc <const> = process.run({path, again and "again" or nil}, {env = env})
  os.remove(path)
  assert.equal(0, rc, errors)
  local function count(of) return tonumber(errors:match("cuda emulation: " .. of .. " (%d+)\n")) end
  return out, count "kernel:%*", count "cudaEventSynchronize"
end

describe("an interrupt between panels of one fold", function()
  for _, schedule in ipairs{"eager", "lazy", "5"} do
    it("ends it within two of them, work " .. schedule, function()
      local out <const>, launches <const>, waits <const> = run("", schedule)
      local value <const> = out:match "^done\t(%S+)\ntrue\n$"
      assert.is_truthy(value, out)
      assert.is_true(launches > 80 and waits >= 38, "no more than two panels are under way")
      for _, at in ipairs{20, 45, 74} do
        local stopped <const>, made <const> = run(("kernel:*@%d=int"):format(at), schedule)
        assert.matches("^interrupted\t%S+:%d+\ntrue\n$", stopped)
        assert.is_true(made >= at and made <= at + 5, ("interrupted at launch %d, %d were made"):format(at, made))
      end
      local both <const> = run("kernel:*@45=int", schedule, true)
      assert.equal(value, both:match "^interrupted\t%S+\ntrue\n(%S+)\n$")
    end)
  end
end)
