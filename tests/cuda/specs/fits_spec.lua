--- Gaussian processes on the emulated GPU against the CPU: values, gradients, fits, predictions and refusals of fits.lua.
local process <const> = require "spec.process"

local function run(env)
  local out <const>, errors <const>, rc <const> = process.run({"tests/cuda/specs/fits.lua"}, {env = env})
  assert.equal("", errors)
  assert.equal(0, rc)
  local lines <const> = {}
  for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

describe("a Gaussian process in f64 on a GPU", function()
  local near <const> = run "GIBBOUS_DEVICE=cpu"
  local there <const> = run "GIBBOUS_DEVICE=cuda:0 GIBBOUS_CUDA=emulated EMU_SCHEDULE=lazy"

  it("says as much as on the CPU", function()
    assert.equal(#near, #there)
    assert.is_true(#near > 1300, #near)
  end)

  -- A number is near another one by the largest of its list: means and gradients go through 0.
  it("has its values, gradients, fitted parameters and predictions within 1e-9", function()
    local largest <const>, worst, count = {}, {by = 0}, 0
    for _, line in ipairs(near) do
      local key <const>, v <const> = line:match "^(.+)%[%d+%] (%S+)$"
      if key then largest[key] = math.max(largest[key] or 0, math.abs(tonumber(v))) end
    end
    for i, line in ipairs(near) do
      local key <const>, at <const>, v <const> = line:match "^(.+)(%[%d+%]) (%S+)$"
      if key then
        local got <const> = there[i]:match "%S+$"
        assert.equal(key .. at, there[i]:match "^(.+) %S+$")
        local by <const> = math.abs(tonumber(v) - tonumber(got)) / largest[key]
        assert.is_true(by <= 1e-9, ("%s%s: %s on the CPU, %s on the GPU"):format(key, at, v, got))
        count = count + 1
        if by > worst.by then worst = {by = by, key = key} end
      end
    end
    print(("# %d numbers, the worst differs by %.2g: %s"):format(count, worst.by, worst.key or "none"))
  end)

  it("is refused in the same words", function()
    local count = 0
    for i, line in ipairs(near) do
      if line:find(" refused ", 1, true) then
        assert.equal(line, there[i])
        count = count + 1
      end
    end
    assert.equal(6, count)
  end)
end)
