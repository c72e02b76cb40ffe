--- A whole session in which one call of CUDA, cuBLAS or cuSOLVER fails: an error or the right answer, nothing leaked, and the
-- process goes on. Every 7th call, with three codes in turn: no room, an illegal address, an unknown failure.
local process <const> = require "spec.process"

local function session(fail)
  local env <const> = "GIBBOUS_DEVICE=cuda:0 GIBBOUS_CUDA=emulated GIBBOUS_CUDA_COMPILE=off EMU_SCHEDULE=lazy EMU_COUNT=1 "
    .. "EMU_LEAKS=1 "
  local out <const>, errors <const>, rc <const> = process.run({"tests/cuda/specs/session.lua"}, {env = env .. "EMU_FAIL=" .. fail})
  local lines <const> = {}
  for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines, errors, rc
end

describe("a session on a GPU", function()
  local right <const>, calls, rc <const> = session ""
  assert.equal(0, rc)
  local count <const> = tonumber(calls:match "cuda emulation: %* (%d+)\n")
  -- Data of values that are cached stay, on the CPU as well; nothing else does.
  local function check_held(line, where)
    local tensors <const>, work <const> = line:match "^(%d+)\t(%d+)$"
    assert.equal("0", work, where)
    assert.is_true(tonumber(tensors) <= 400, ("%s: tensors of %s bytes are held"):format(where, tensors))
  end
  check_held(right[2], "no failure")
  assert.matches("^ready\tdone\t", right[3])

  -- What runs at home where a library does not open has other roundings.
  local function check_same(line, where)
    local want <const> = right[1]:gmatch "%S+"
    for word in line:gmatch "%S+" do
      local a <const>, b <const> = want(), word
      local x <const>, y <const> = tonumber(a), tonumber(b)
      assert.is_true(a == b or x ~= nil and y ~= nil and math.abs(x - y) <= 1e-9 * math.abs(x), where .. ": " .. line)
    end
    assert.is_nil(want(), where)
  end

  local seen <const>, spoilt = {}, 0
  local function check(k, code)
    local where <const> = ("call %d with %d"):format(k, code)
    local got <const>, errors <const>, status <const> = session(("*@%d=%d"):format(k, code))
    if #got == 0 then                                                  -- the device does not open, and says why
      assert.is_true(status == 1 and k < 40, where .. ": " .. errors)
      assert.is_truthy(errors:find("cuda:0", 1, true) or errors:find("GPU", 1, true), where .. ": " .. errors)
      seen.unopened = (seen.unopened or 0) + 1
      return
    end
    assert.equal(0, status, where .. ": " .. errors)                   -- 87: memory was not given back
    local how <const> = got[1]:match "^%S+"
    seen[how] = (seen[how] or 0) + 1
    if how == "done" then check_same(got[1], where)
    else
      spoilt = spoilt + 1
      local library <const> = how == "internal" and got[1]:find "internal error: cu%a+%w*_?%w*: status" ~= nil
      assert.is_true(how == "device" or library or code == 2 and how == "oom", where .. ": " .. got[1])
      assert.is_true(#got[1] > 30, where .. ": " .. got[1])
    end
    check_held(got[2], where)
    if got[3]:find "^ready" then                                       -- the failure may have come as late as this
      local late <const> = how == "done" and code == 2 and got[3]:find "^ready\toom\t" ~= nil
      assert.is_true(got[3] == right[3] or late, where .. ": " .. got[3])
    else assert.matches("^lost\tdevice\tdevice error: device cuda:0 is lost ", got[3], where) end
    assert.equal(right[4], got[4], where)
  end

  local codes <const> = {2, 700, 999}
  for part = 1, 4 do
    it(("fails or is right, whichever of its calls fails: part %d of 4"):format(part), function()
      local last <const> = count * part // 4
      for k = 1 + (count * (part - 1) // 4 + 6) // 7 * 7, last, 7 do check(k, codes[1 + k // 7 % 3]) end
    end)
  end

  it("was spoilt often, and in each way", function()
    print(("# %d calls, every 7th failed: %d right, %d without a device, %d lost it, %d had no room, %d of a library"):format(count,
      seen.done or 0, seen.unopened or 0, seen.device or 0, seen.oom or 0, seen.internal or 0))
    assert.is_true(spoilt > count / 7 / 3)
    for _, how in ipairs{"done", "device", "oom", "unopened"} do assert.is_true((seen[how] or 0) > 1, how) end
  end)
end)
