local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local help <const> = require "gibbous.commands.help"
local reference <const> = require "gibbous.reference"

describe("the documentation of what is written in C", function()
  it("covers every function and method", function()
    local missing <const> = {}
    for owner, library in pairs{["core"] = core, ["gb.linalg"] = core.linalg, ["core.memory"] = core.memory,
      ["tensor"] = core.methods} do
      for name, f in pairs(library) do
        local known <const> = reference.of(owner .. "." .. name) or reference.of("gb." .. name)
          or reference.of("gb.memory." .. name)
        if type(f) == "function" and not known then missing[#missing + 1] = owner .. "." .. name end
      end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("names options that it takes", function()
    local x <const> = gb.ones(3, 3)
    local calls <const> = {
      ["gb.config"] = function(o) gb.config(o) end, ["gb.tensor"] = function(o) gb.tensor(1, o) end,
      ["gb.lazy"] = function(o) gb.lazy(x, o) end, ["gb.full"] = function(o) gb.full({2}, 1, o) end,
      ["gb.eye"] = function(o) gb.eye(2, o) end, ["gb.range"] = function(o) gb.range(1, 2, 1, o) end,
      ["gb.linspace"] = function(o) gb.linspace(0, 1, 3, o) end, ["gb.randperm"] = function(o) gb.randperm(3, o) end,
      ["gb.sobol"] = function(o) gb.sobol(2, 2, o) end, ["tensor:allclose"] = function(o) x:allclose(x, o) end,
      ["tensor:to"] = function(o) x:to(o) end, ["tensor:sort"] = function(o) x:sort(1, o) end,
      ["tensor:topk"] = function(o) x:topk(1, 1, o) end, ["gb.vmap"] = function(o) gb.vmap(print, 1, o) end,
      ["gb.linalg.cholesky"] = function(o) gb.linalg.cholesky(x, o) end, ["gb.plan"] = function(o) gb.plan(x, o) end,
      ["gb.linalg.triangular_solve"] = function(o) gb.linalg.triangular_solve(x, x, o) end,
      ["gb.memory.limit"] = function(o) gb.memory.limit(nil, o) end,
    }
    for name in ("zeros ones empty rand randn"):gmatch "%a+" do calls["gb." .. name] = function(o) gb[name](2, o) end end
    for name in ("sum mean prod var std min max argmin argmax logsumexp norm any all"):gmatch "%a+" do
      calls["tensor:" .. name] = function(o) x[name](x, 1, o) end
    end
    for name, call in pairs(calls) do
      local list <const> = reference.options(name)
      assert.is_true(#list > 0, name)
      for _, o in ipairs(list) do
        local _ <const>, err <const> = pcall(call, {[o.key] = print})         -- of no type that any option has
        assert.is_nil(tostring(err):find("unknown option", 1, true), name .. "{" .. o.key .. "}")
      end
      assert.truthy(tostring(select(2, pcall(call, {qqqq = 1}))):find("unknown option 'qqqq'", 1, true), name)
    end
  end)

  it("has nothing of the inside that does not exist", function()
    for _, e in ipairs(reference.all()) do
      local owner <const> = e.area == "core" and (e.name:match "^core%.memory%." and core.memory or core)
      if owner and e.kind == "function" then assert.equal("function", type(owner[e.short]), e.name) end
    end
  end)
end)

describe("?name", function()
  local function env(t) return setmetatable(t, {__index = function() error "a global was read by its metatable" end}) end

  it("explains functions, methods and options", function()
    assert.matches("^gb.linspace%(a, b, n, o%)\n  n evenly spaced points", help "gb.linspace")
    assert.matches("^tensor:matmul%(y%)\n", help "matmul")
    local exact <const> = help "gb.gp.exact"
    for _, line in ipairs{"  options\n    kernel         kernel: the covariance of f", "\n  gives  gp.exact\n", "\n  example\n"} do
      assert.truthy(exact:find(line, 1, true), line)
    end
    assert.matches("^model:fit .*\nsvgp:fit ", help "fit(x, y, {steps")
    assert.matches("^gibbous doctor", help "gibbous doctor")
    assert.matches("^gb.linalg\n.*  functions\n    cholesky ", help "gb.linalg")
  end)

  it("never answers with another name's entry", function()
    for _, case in ipairs{{"gb.nn.linear", "fully connected"}, {"gb.means.constant", "in units of y"},
      {"gb.solvers.cg", "Conjugate gradients"}, {"gb.precond.nystrom", "Nystrom"}, {"gb.plot.figure", "of one panel"}} do
      assert.equal(case[1], help(case[1]):match "^[%w_.]+")
      assert.truthy(help(case[1]):find(case[2], 1, true), case[1])
    end
    assert.equal("there is no help on 'gb.nn.matmul', did you mean 'tensor:matmul'?", help "gb.nn.matmul")
    assert.equal("there is no help on 'gb.nn.linera', did you mean 'gb.nn.linear'?", help "gb.nn.linera")
  end)

  it("explains a variable by its value, and reads no field of it", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}}
    local vars <const> = env{m = m, x = gb.zeros(2), f = gb.zeros, s = "text",
      k = setmetatable({}, {__index = function() error() end})}
    assert.matches("^m is a gibbous.gp.exact\n.*\n    fit   ", help("m", vars))
    assert.matches("^model:fit%(", help("m:fit", vars))
    assert.matches("^kernel:diag%(", help("m.kernel:diag(x)", vars))
    assert.matches("^tensor.shape", help("x.shape", vars))
    assert.matches("^gb.zeros", help("f", vars))
    assert.equal("there is no help on 's'; ??s looks for words", help("s", vars))
    assert.equal("there is no help on 'k.x'; ??x looks for words", help("k.x", vars))
  end)

  it("says which names are of Lua, and which are unknown", function()
    assert.equal("print is of Lua itself: see the reference manual of Lua 5.4, chapter 6", help "print")
    assert.equal("string.format is of Lua itself: see the reference manual of Lua 5.4, chapter 6", help "string.format")
    assert.equal("there is no help on 'linspce', did you mean 'gb.linspace'?", help "linspce")
    assert.equal("there is no help on 'qqqqqq'; ??qqqqqq looks for words", help "qqqqqq")
    assert.equal("there is no help on '+'; ??word looks for words", help "+")
    assert.matches("explains", help "")
    assert.matches("explains", help " (3)")
  end)

  it("looks for words", function()
    assert.matches("^gb.rand ", help "?random numbers")
    assert.matches("explains", help "? ")
    assert.equal("nothing is said about 'qqqq random'", help "?qqqq random")
    assert.matches("and %d+ more: more words find fewer$", help "?the")
    assert.equal("nothing is said about 'j'", help "?j")           -- a letter is a name or nothing
    assert.matches("^tensor:t ", help "?t")
  end)
end)
