local gb <const> = require "gibbous"
local raises <const> = (require "spec.support").raises

describe("a part of the library", function()
  it("says which names are planned", function()
    for _, case in ipairs{{"gp", "svgp"}, {"plot", "training"}} do
      raises("option", ("gb.%s.%s is not in this version"):format(case[1], case[2]), function()
        local v <const> = gb[case[1]][case[2]]
        return v
      end)
    end
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}}
    raises("option", "gb.sweep is not in this version", function() return gb.sweep end)
  end)

  it("names the nearest of those it has", function()
    raises("index", "gb.kernels.matern23 does not exist, did you mean matern12?", function() return gb.kernels.matern23 end)
    raises("index", "gb.optim.minimise does not exist, did you mean minimize?", function() return gb.optim.minimise end)
    raises("index", "gb.means.x does not exist", function() return gb.means.x end)
  end)
end)
