-- Models come and go: eighty fits leave no byte behind. scripts/bench/thousand_fits.lua says the same of a thousand, and of
-- time. In a process of its own: where other specs ran before, the collector's tables may still change size.
local process <const> = require "spec.process"

local program <const> = [[
  package.path = "scripts/bench/?.lua;" .. package.path
  for _, row in ipairs(require "many_fits".rows(80, 40, 40)) do      -- 40 fits run through every size and kernel once
    print(row.fits, row.evaluations, row.used, row.lua)
  end]]

describe("fitting many models in one process", function()
  it("leaves as many bytes after eighty as after forty", function()
    local out <const>, err <const>, code <const> = process.run{"-e", program}
    assert.equal("", err)
    assert.equal(0, code)
    local rows <const> = {}
    for fits, evaluations, used, lua in out:gmatch "(%d+)\t(%d+)\t(%d+)\t(%d+)\n" do
      rows[#rows + 1] = {fits = tonumber(fits), evaluations = tonumber(evaluations), used = tonumber(used), lua = tonumber(lua)}
    end
    assert.equal(2, #rows)
    local first <const>, last <const> = rows[1], rows[2]
    assert.same({40, 80}, {first.fits, last.fits})
    assert.is_true(first.evaluations > 40 and last.evaluations > 40)
    assert.equal(first.used, last.used)
    assert.is_true(last.lua <= first.lua + 1024, ("Lua holds %d bytes, then %d"):format(first.lua, last.lua))
  end)
end)
