-- gibbous $(command -v busted) NAME_spec.lua
describe("NAME", function()
  local study = dofile "NAME.lua"

  it("gives its metric for a point of its space", function()
    local result = study.run({kernel = "rbf", noise = 0.1, split = 1}, {seed = 1})
    assert.equal("number", type(result[study.metric]))
  end)
end)
