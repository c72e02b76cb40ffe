--- The story of one kernel matrix: it runs, its spellings are one program, its clocks agree or say why, its figure is drawn.
local process <const> = require "spec.process"

local function tell(env, args)
  local folder <const> = os.tmpname()
  os.remove(folder)
  os.execute("mkdir " .. folder)
  local words <const> = {"scripts/stories/kernel_matrix.lua", "--sizes", "30,40", "--columns", "1,3", folder}
  for _, a in ipairs(args or {}) do words[#words + 1] = a end
  local out <const>, errors <const>, code <const> = process.run(words, {env = "GIBBOUS_RATES=fixed GIBBOUS_DEVICE= " .. env})
  assert.equal("", errors)
  assert.equal(0, code)
  for _, ending in ipairs{"svg", "png"} do
    local file <close> = assert(io.open(("%s/kernel_matrix.%s"):format(folder, ending), "rb"))
    assert.is_true(#file:read "a" > 1000)
  end
  os.execute("rm -r " .. folder)
  return out
end

--- Rows of the tables by device, and how many of them are of a spelling; each says how its clocks stand.
local function rows_of(out)
  local count <const> = {}
  for line in out:gmatch "[^\n]+" do
    local name <const>, device <const>, clocks <const> = line:match "^%d+ +(%a+) +(%S+) +b?f%d+ .* %d%.%d+e[+-]%d+ +(.+)$"
    if name then
      count[device] = (count[device] or 0) + 1
      count[name] = (count[name] or 0) + 1
      assert.is_truthy(clocks == "agree" or clocks:find "^no step ran for [%d.]+ %a+, [%d.]+ %a+ of it " or
        clocks:find "^runs vary from " or clocks == "steps ran at the same time", line)
    end
  end
  return count
end

local ROWS <const> = 3 * (2 + 5 + 1)       -- spellings, by sizes, by changes of one thing, by columns

describe("the story of one kernel matrix", function()
  it("has one program and one result for three spellings, and draws its curve", function()
    local out <const> = tell ""
    local _, same <const> = out:gsub("on cpu by %S+ rbf%.d3%.%S+, the same bits three times", "")
    assert.equal(2, same)
    assert.matches("\n  fold rbf d=3 symmetric on cpu ", out)
    assert.matches("looked at again: nothing was computed", out)
    assert.same({cpu = ROWS, broadcast = ROWS // 3, vmap = ROWS // 3, native = ROWS // 3}, rows_of(out))
  end)

  it("is told on a GPU, too, where device and profiler have one clock", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local out <const> = tell("GIBBOUS_CUDA=emulated GIBBOUS_CUDA_COMPILE=off GIBBOUS_ISA=avx2")
    local _, same <const> = out:gsub("on cuda:0 by %a+ %S+, the same bits three times", "")
    assert.equal(2, same)
    assert.same({cpu = ROWS, ["cuda:0"] = ROWS, broadcast = 2 * ROWS // 3, vmap = 2 * ROWS // 3, native = 2 * ROWS // 3},
      rows_of(out))
    local rows = 0
    for name, device, profile in out:gmatch "\n%d+ +(%a+) +cuda:0 [^\n]- K%(x, %a%) +%d+ +([%d.]+ %a+) +([%d.]+ %a+)" do
      assert.is_true(name == "native" or device == profile, name)  -- a model clock; the kernel's parameters lie on the CPU
      rows = rows + 1
    end
    assert.equal(ROWS, rows)
  end)

  it("refuses options that it does not know", function()
    for _, args in ipairs{{"--size", "3"}, {"--sizes"}, {"--sizes", "1e3x"}} do
      table.insert(args, 1, "scripts/stories/kernel_matrix.lua")
      local _, errors <const>, code <const> = process.run(args)
      assert.equal(2, code)
      assert.is_truthy(errors:find "unknown option %-%-size; known" or errors:find "%-%-sizes wants a value"
        or errors:find "%-%-sizes wants counts of 1 or more, separated by commas, got '1e3x'", errors)
    end
  end)
end)
