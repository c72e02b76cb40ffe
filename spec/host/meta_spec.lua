local core <const> = require "gibbous.core"
local help <const> = require "gibbous.help"
local gb <const> = require "gibbous"

describe("the documentation", function()
  local text <const> = core.source "gibbous._meta" .. core.source "gibbous.meta.plot"

  local function documented(name)
    return text:find("\nfunction [%w_.:]-[.:]" .. name:gsub("_", "_") .. "%(") ~= nil
  end

  it("covers every function and method written in C", function()
    local missing <const> = {}
    for _, library in ipairs{core, core.linalg, core.memory, core.methods} do
      for name, f in pairs(library) do
        if type(f) == "function" and not documented(name) then missing[#missing + 1] = name end
      end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("covers every kernel", function()
    for name in pairs(gb.kernels) do assert.is_true(documented(name), name) end
  end)

  it("documents nothing that does not exist", function()
    local plan <const> = gb.plan(gb.ones(2):sum())
    local kernel <const> = setmetatable({}, {__index = function(_, name)
      for _, k in ipairs{gb.kernels.index{tasks = 1}, gb.kernels.spectral_mixture{components = 1}} do
        local ok <const>, method <const> = pcall(function() return k[name] end)
        if ok then return method end
      end
    end})
    local owners <const> = {gb = gb, ["gb.linalg"] = gb.linalg, ["gb.memory"] = gb.memory, ["gb.mpi"] = gb.mpi, core = core,
      ["core.memory"] = core.memory, tensor = gb.zeros(1), plan = plan, ["gb.kernels"] = gb.kernels, ["gb.gp"] = gb.gp,
      ["gb.likelihoods"] = gb.likelihoods, ["gb.plot"] = gb.plot,
      figure = gb.plot.figure{}, kernel = kernel, kmeans = gb.kmeans{k = 1}}
    for owner, name in text:gmatch "\nfunction ([%w_.]-)[.:]([%w_]+)%(" do
      assert.equal("function", type(owners[owner][name]), owner .. "." .. name)
    end
  end)

  it("says something about each", function()
    for before, name in text:gmatch "([^\n]*)\nfunction ([%w_.:]+)%(" do
      assert.matches("^%-%-%-", before, name)
    end
  end)

  it("answers ?name", function()
    assert.matches("^gb.linspace%(a, b, n, o%)\n  n evenly spaced points", help "gb.linspace")
    assert.matches("^tensor:matmul%(y%)\n", help "matmul")
    assert.matches("did you mean 'linspace'", help "linspce")
    assert.matches("^there is no help", help "qqqqqq")
    assert.matches("explains", help "")
  end)
end)
