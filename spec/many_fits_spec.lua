-- Models come and go: eighty fits leave no byte behind. scripts/bench/thousand_fits.lua says the same of a thousand, and of
-- time.
package.path = "scripts/bench/?.lua;" .. package.path
local many_fits <const> = require "many_fits"

describe("fitting many models in one process", function()
  it("leaves as many bytes after eighty as after forty", function()
    local rows <const> = many_fits.rows(80, 40, 40)         -- 40 fits run through every size and kernel once
    local first <const>, last <const> = rows[1], rows[2]
    assert.equal(80, last.fits)
    assert.is_true(first.evaluations > 40 and last.evaluations > 40)
    assert.equal(first.used, last.used)
    assert.is_true(last.lua <= first.lua + 1024, ("Lua holds %d bytes, then %d"):format(first.lua, last.lua))
  end)
end)
