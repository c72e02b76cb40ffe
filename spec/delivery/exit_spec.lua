--- The exit statuses that gibbous(1) lists.
local folder <const> = require "spec.delivery.folder"
local process <const> = require "spec.process"

local function status(text) return (select(3, process.run{"-e", text})) end

describe("the exit status", function()
  it("is 0 where all is well, and what os.exit says", function()
    assert.equal(0, status "return 7")
    assert.equal(17, status "os.exit(17, true)")
  end)

  it("is 1 after an error", function()
    assert.equal(1, status "error 'no'")
    assert.equal(1, status "local gb = require 'gibbous' gb.kernels.rbf{lengthscal = 1}")
    assert.equal(1, (select(3, process.run{"/no/such/script.lua"})))
    assert.equal(1, (select(3, process.run{"--no-such-option"})))
  end)

  it("is 2 where the words of a script are wrong", function()
    assert.equal(2, status "arg = {[0] = 'script', '--n=x'} require 'gibbous'.cli{n = 3}")
  end)

  it("is 3 where trials of a study failed", function()
    folder.with(function(path, run)
      folder.write(path .. "/study.lua", [[
        return require "gibbous".sweep{name = "study", space = {a = {1, 2}}, metric = "v",
          run = function(p) if p.a == 2 then error "no" end return {v = 1} end}]])
      assert.equal(3, (select(3, run("sweep", "run", "study.lua", "--quiet"))))
    end)
  end)

  it("is 4 where numbers failed", function()
    assert.equal(4, status "local gb = require 'gibbous' print(gb.linalg.cholesky(-gb.eye(3)))")
  end)

  it("is 5 where memory did not suffice", function()
    assert.equal(5, status [[local gb = require "gibbous"
      gb.memory.limit "16 MiB"
      local x = gb.rand(4000, 2, {seed = 1})
      print(gb.kernels.rbf{}(x):exp():eval())]])
  end)

  it("is 130 after an interrupt, whatever came before", function()
    assert.equal(130, status [[local core = require "gibbous.core"
      pcall(require "gibbous".linalg.cholesky, -require "gibbous".eye(2))
      os.execute(("(sleep 0.3; kill -INT %d) &"):format((core.process())))       -- after os.execute, which ignores it
      local began = core.clock()
      repeat until core.clock() - began > 20]])
  end)

  it("is in the manual", function()
    local page <const> = process.run{"man"}
    local part <const> = page:match "\n%.SH EXIT STATUS\n(.-)\n%.SH"
    for _, code in ipairs{"0", "1", "2", "3", "4", "5", "99", "130", "143"} do
      assert.matches("\n%.B " .. code .. "\n", "\n" .. part .. "\n")
    end
  end)
end)
