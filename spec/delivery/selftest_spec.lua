local process <const> = require "spec.process"

describe("gibbous selftest", function()
  it("finds this program well", function()
    local out <const>, err <const>, code <const> = process.run{"selftest"}
    assert.same({"", 0}, {err, code}, out)
    for _, name in ipairs{"known answer", "streamed product", "solvers", "files", "figures", "interrupts", "store", "GPUs"} do
      assert.matches("ok  " .. name .. " +%d", out)
    end
  end)

  it("finds what is broken, and goes on", function()
    local out <const>, _, code <const> = process.run{"-e", [[
      local gb = require "gibbous"
      gb.kernels.rbf = gb.kernels.matern12
      local read = gb.data.read
      gb.data.read = function(path) return read(path) * (1 + 2^-52) end
      os.exit(require "gibbous.commands.selftest"() and 0 or 1)]]}
    assert.equal(1, code)
    assert.matches("\n?BAD known answer +%d+%.%d+ s  the log marginal likelihood is ", out)
    assert.matches("\nok  streamed product ", out)
    assert.matches("\nBAD files +%d+%.%d+ s  [%d.]+ was written, [%d.]+ was read\n", out)
    assert.matches("\n2 of 8 failed; gibbous doctor %-%-json says more of this machine\n$", out)
  end)

  it("takes a NaN for a wrong answer", function()
    local out <const> = process.run{"-e", [[
      local gb = require "gibbous"
      local rbf = gb.kernels.rbf
      gb.kernels.matern52 = function(o)
        local k = rbf(o)
        return function(x) return k(x) * (0 / 0) end
      end
      require "gibbous.commands.selftest"()]]}
    assert.matches("\nBAD streamed product +%d+%.%d+ s  the difference is %-?nan, expected 0\n", out)
  end)

  it("takes no words", function()
    assert.same({"", "gibbous: selftest takes no words, got 'now'\n", 1}, {process.run{"selftest", "now"}})
  end)
end)
