-- gibbous $(command -v busted) NAME_spec.lua
describe("NAME", function()
  it("predicts what it has not seen", function()
    local pipe <close> = assert(io.popen "gibbous NAME.lua --json --seed=1")
    local rmse = tonumber(pipe:read "a":match '"rmse": ([^,]+)')
    assert.is_true(rmse < 0.2)
  end)
end)
