--- A device that does not open, has no room, or is lost: what the error says, and what stays. The far device pretends.
local process <const> = require "spec.process"

local folder <const>, has_far <const> = process.tests, process.has_far

local function far(fault, script)
  local env <const> = ("GIBBOUS_DEVICE=far GIBBOUS_FAR_NAME=far GIBBOUS_DEVICE_PATH=%s GIBBOUS_FAR_FAULT=%s"):format(folder, fault)
  return process.run({"-e", script}, {env = env})
end

-- Prints the result of a model's work, or code, line and message of the error; then what the host still has.
local work <const> = [[
local gb = require "gibbous"
local x, v = gb.randn(40, 3, {seed = 1}):eval(), gb.randn(40, 2, {seed = 2}):eval()
local before = x:totable()
local ok, got = pcall(function()
  local k = gb.kernels.matern52{}(x, x) + 0.1 * gb.eye(40)
  local s, l = gb.solvers.cg{tol = 1e-8}:solve(k, v), gb.linalg.cholesky(k)
  local y = gb.tensor{1, 2, 3}
  return ("%a %a %a"):format(s:sum():item(), l:sum():item(), (y * y):sum():item())
end)
print(ok and got or got.code .. " " .. got.line .. " " .. got.message)
print(#before, x:totable()[40][3] == before[40][3], pcall(function() return (x + 1):sum():item() end))
]]

describe("a device", function()
  it("that does not open is named, with the reason", function()
    if not has_far() then return pending "the far device was not built" end
    local _, errors <const>, rc <const> = far("open", "require 'gibbous'")
    assert.not_equal(0, rc)
    assert.matches("the device 'far' does not open: it does not answer", errors, 1, true)
  end)

  it("without room is named, and what fits still works", function()
    if not has_far() then return pending "the far device was not built" end
    local out <const>, errors <const>, rc <const> = far("bytes=60000", [[
      local gb = require "gibbous"
      local x = gb.ones(100):eval()
      local ok, e = pcall(function() return gb.ones(100, 100):eval() end)
      print(ok, e.code, e.line, e.message)
      print(x:sum():item(), (x + x):sum():item())]])
    assert.equal("", errors)
    assert.equal(0, rc)
    assert.matches("^false\toom\t[^\t]*:3\t.*78%.12 KiB needed for a .*on device far, which has no such room", out)
    assert.matches("\n100.0\t200.0\n$", out)
  end)

  it("that is lost at any call is named with the line and what is gone; what was read stays", function()
    if not has_far() then return pending "the far device was not built" end
    local right <const>, why <const> = far("none", work)
    assert.equal("", why)
    local result <const>, after <const> = right:match "^(.-)\n(.*)"
    assert.matches("^%-?0x", result)
    local lost, n, step = 0, 4, 1 -- the first calls make x and v
    repeat
      local out <const>, errors <const>, rc <const> = far("lost=" .. n, work)
      local said <const>, rest <const> = out:match "^(.-)\n(.*)"
      assert.equal("", errors)
      assert.equal(0, rc)
      if said ~= result then
        lost = lost + 1
        assert.matches("^device .-:%d+ device error: device far is lost %(it does not answer%)", said)
        assert.matches("gone with it: %d+ values of .* of .-:2", said)
        assert.matches("^40\ttrue\tfalse\t.*device far is lost", rest)
      end
      n, step = n + step, step + (step < 37 and n > 30 and 6 or 0)
    until rest == after
    assert.is_true(lost > 25)
  end)
end)
