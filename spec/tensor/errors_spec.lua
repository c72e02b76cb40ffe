local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local raises <const> = require "spec.support".raises

describe("functions of Lua that take numbers", function()
  it("say how to get the number of a tensor", function()
    local t <const> = gb.tensor{3.5}:sum()
    for _, f in ipairs{function() return ("%.2f"):format(t) end, function() return math.sin(t) end,
      function() return ("x"):rep(t) end} do
      local _, err <const> = pcall(f)
      assert.matches("number expected, got gibbous.tensor; x:item%(%) is the number of one element", tostring(err))
    end
    assert.equal("3.50", ("%.2f"):format(t:item()))
  end)

  it("are told when a dimension is missing, and which there are", function()
    local x <const> = gb.zeros(3, 4)
    for _, f in ipairs{function() return x:topk(3) end, function() return x:sort() end, function() return x:cumsum() end,
      function() return x:softmax() end} do
      local _, err <const> = pcall(f)
      assert.matches("errors_spec.lua:%d+: bad argument .*%(a dimension expected, 1 to 2, or %-1 for the last; got no value%)",
        tostring(err))
    end
  end)

  it("take the exclusive or of masks, and of nothing else", function()
    local x <const> = gb.range(1, 4)
    assert.same({true, false, true, true}, (x:gt(2) ~ x:lt(2)):totable())
    assert.same({true, true, false, false}, (x:gt(2) ~ true):totable())
    assert.same({true, false, true, true}, (gb.zeros(1):gt(0) ~ x:ne(2)):totable())
    raises("dtype", "x ~ y is exclusive or of bool, got f64 and f64", function() return x ~ x end)
    raises("dtype", "x ~ y is exclusive or of bool, got i64 and i64", function() return x:to{dtype = "i64"} ~ 3 end)
  end)

  it("compare handles, not elements", function()
    local t <const> = gb.tensor{3.5}
    assert.is_false(t == gb.tensor{3.5})
    assert.is_true(t == t and t:equal(gb.tensor{3.5}))
  end)
end)

describe("messages", function()
  it("give numbers as numbers, not the line where one was first written", function()
    local first <const> = gb.ones(2) + 1
    local t <const> = gb.tensor({true, false})
    local err <const> = raises("dtype", "no arithmetic on bool", function() return t + 1 end)
    assert.matches("the number 1", err.message, 1, true)
    assert.equal(2, first[1]:item())
  end)

  it("name the function that was called, and refuse wrong bounds", function()
    local i <const> = gb.tensor({{1, 2}, {3, 4}}, {dtype = "i64"})
    raises("dtype", "einsum: sums of products are of floats", gb.einsum, "ij,jk->ik", i, i)
    raises("dtype", "matmul: expected float tensors", i.matmul, i, i)
    raises("option", "clamp: a bound is NaN", function() return gb.ones(2):clamp(0 / 0, 1) end)
    raises("option", "clamp: a bound is NaN", function() return gb.ones(2):clamp(nil, 0 / 0) end)
  end)
end)

describe("slips", function()
  it("of a colon for a dot are named by every function of the core", function()
    for _, name in ipairs{"cat", "config", "einsum", "empty", "eval", "eye", "full", "lazy", "linspace", "maximum",
      "minimum", "ones",
      "plan", "rand", "randn", "randperm", "range", "seed", "sobol", "stack", "tensor", "vmap", "where", "zeros"} do
      local text <const> = name .. ": the first argument is the library: call the function with a dot, not a colon: gb."
        .. name .. "("
      raises("option", text, function() return gb[name](gb, 3, 3) end)
    end
    raises("option", "eye: the first argument is the library", function() return gb:eye(3) end)
  end)

  it("of a dot for a colon are named by a plan", function()
    local plan <const> = gb.plan(gb.ones(2) + 1)
    raises("option", "write plan:explain(...) with a colon, not plan.explain(...)", function() print(plan.explain()) end)
    raises("option", "write plan:run(...) with a colon, not plan.run(...)", function() plan.run(3) end)
    raises("option", "a plan expected, got no value: methods are called with a colon", plan.json)
  end)

  it("of gradients and of mapped functions are named at the script's line", function()
    local x <const> = gb.ones(3)
    for _, y in ipairs{3, "x", {}} do
      local err <const> = raises("option", "gb.grad: the first argument must be the tensor to differentiate", function()
        print(gb.grad(y, x))
      end)
      assert.matches("errors_spec.lua", err.line)
    end
    raises("option", "differentiate, got nil", function() return gb.grad(nil, x) end)
    raises("option", "gb.grad: the second argument must be a tensor, a gb.param or a table of them, got nil", function()
      return gb.grad(x:sum())
    end)
    raises("option", "vmap: the function must return tensors, got nothing", function() return gb.vmap(function() end)(x) end)
  end)
end)

describe("shapes", function()
  it("are refused where they are the library, options, or a list and more", function()
    for _, name in ipairs{"rand", "randn", "zeros", "ones", "empty"} do
      raises("option", "call the function with a dot, not a colon", gb[name], gb, 3)
      raises("option", "a table with the key 'dtyp'; options come last", gb[name], {dtyp = 1}, 3)
      raises("option", "unknown option 'dtyp', did you mean 'dtype'?", gb[name], 3, {dtyp = 1})
      raises("shape", "a list of extents is the whole shape, got 3 behind it", gb[name], {2, 3}, 3)
      assert.same({2, 3}, {table.unpack(gb[name]({2, 3}, {dtype = "f32"}).shape)})
    end
    raises("option", "with the key 'n'", gb.full, {3, n = 2}, 1)
    raises("shape", "got 2 behind it", gb.zeros(4).reshape, gb.zeros(4), {2, 2}, 2)
    assert.equal(0, gb.zeros{}.ndim)
  end)
end)

describe("error objects", function()
  it("have code, message, line, and read as text", function()
    local ok <const>, err <const> = pcall(function() return gb.zeros(2) + gb.zeros(3) end)
    assert.is_false(ok)
    assert.equal("shape", err.code)
    assert.matches("^.*errors_spec.lua:%d+$", err.line)
    assert.equal(err.line .. ": " .. err.message, tostring(err))
    assert.equal("failed: " .. tostring(err), "failed: " .. err)
    assert.equal(tostring(err) .. "!", err .. "!")
  end)

  it("name both shapes and the lines that made the tensors", function()
    local x <const> = gb.tensor{{1, 2, 3}, {4, 5, 6}}       -- a leaf of its own: equal expressions share their first line
    local made <const> = debug.getinfo(1, "l").currentline - 1
    local err <const> = raises("shape", "2x3", function() return x + gb.zeros(4) end)
    assert.is_truthy(err.message:find("errors_spec.lua:" .. made, 1, true), err.message)
  end)

  it("are Lua's own strings for wrong argument types", function()
    local ok <const>, err <const> = pcall(gb.linspace, 0, {}, 3)
    assert.is_false(ok)
    assert.equal("string", type(err))
    assert.matches("bad argument #2 to '.-' %(number expected, got table%)", err)
  end)

  it("carry bytes when a plan is refused", function()
    local before <const> = gb.memory.limit("64 KiB")
    local x <const> = gb.rand(20000, {seed = 1})
    local err <const> = raises("refused", "", function() return x:eval() end)
    gb.memory.limit(before)
    assert.is_true(err.need >= 160000 and err.have <= 65536, tostring(err))
    assert.equal("integer", math.type(err.need))
  end)

  it("carry bytes when other tensors have taken all of the limit", function()
    local held <const> = gb.rand(20000, {seed = 1}):eval()
    local before <const> = gb.memory.limit("64 KiB")
    local err <const> = raises("refused", "have 0 B of 64 KiB", function() return (held + 1):eval() end)
    gb.memory.limit(before)
    assert.equal(0, err.have)
    assert.is_true(err.need >= 160000)
  end)

  it("not_pd comes with the order of the minor", function()
    raises("not_pd", "2", function() return gb.linalg.cholesky(gb.tensor{{1, 2}, {2, 1}}):eval() end)
  end)

  it("can be made and raised by the Lua library", function()
    local err <const> = core.error("nan", "not a number", {count = 3})
    assert.equal("nan", err.code)
    assert.equal(3, err.count)
    raises("split", "no", core.raise, "split", "no")
    assert.equal(7, raises("split", "no", core.raise, "split", "no", {minimum = 7}).minimum)
  end)

  it("of codes the contract does not know are plain tables all the same", function()
    assert.equal("tensor", gb.type(gb.zeros(1)))
    assert.equal("error", gb.type(core.error("x", "y")))
  end)
end)

describe("unknown names", function()
  it("raise with hints for other libraries' names", function()
    local x <const> = gb.zeros(2)
    for name, hint in pairs{view = "x:reshape", T = "x:t()", backward = "gb.grad", astype = "x:to{dtype", dot = "x:matmul",
        mm = "x:matmul", size = "x.shape", numpy = "x:totable()", grad = "gb.grad", clone = "never change"} do
      raises("index", hint, function() return x[name] end)
    end
    raises("index", "did you mean 'shape'?", function() return x.shap end)
    raises("index", "a tensor has no field 'foo'", function() return x.foo end)
    for _, name in ipairs{"cholesky", "eigh", "logdet", "qr", "solve", "svd"} do
      raises("index", ("a tensor has no field '%s': use gb.linalg.%s(A"):format(name, name), function() return x[name] end)
    end
  end)

  it("of the library raise too", function()
    raises("index", "gb.lnspace does not exist, did you mean gb.linspace?", function() return gb.lnspace end)
    raises("option", "gb.dispatch is not in this version", function() return gb.dispatch end)
  end)
end)

describe("tensors", function()
  it("have no order, and say what to use", function()
    local x <const> = gb.zeros(2)
    raises("option", "x:lt(y)", function() return x < x end)
    raises("option", "x:le(y)", function() return x <= 1 end)
  end)

  it("never change, and say what to use", function()
    local x <const> = gb.zeros(2)
    raises("index", "x:put", function() x[1] = 3 end)
    raises("index", "x:put", function() x.name = 3 end)
  end)

  it("answer nothing once closed but close and tostring", function()
    local x <const> = gb.zeros(2)
    x:close()
    x:close()
    assert.equal("tensor (closed)", tostring(x))
    for name, method in pairs(core.methods) do
      if name ~= "close" then raises("closed", "closed tensor", method, x, 1, 1, 1) end
    end
    raises("closed", "closed tensor", function() return x + 1 end)
    raises("closed", "closed tensor", function() return 1 - x end)
    raises("closed", "closed tensor", function() return x.shape end)
    raises("closed", "closed tensor", function() return x[1] end)
    raises("closed", "closed tensor", function() return #x end)
    raises("closed", "closed tensor", gb.cat, {x, x}, 1)
    raises("closed", "closed tensor", gb.eval, x)
    raises("closed", "closed tensor", gb.grad, x, x)
  end)

  it("close at the end of a scope", function()
    local kept
    do
      local x <close> = gb.zeros(2)
      kept = x
    end
    assert.equal("tensor (closed)", tostring(kept))
  end)
end)

describe("every method and function", function()
  local x <const> = gb.tensor{{1, 2}, {3, 4}}
  local hostile <const> = {nil, true, 0, -1, 3.5, 0 / 0, 1 / 0, -2 ^ 63, 2 ^ 53, "x", "", {}, {1, {2}}, {x = 1}, print,
    io.stdout, x}

  -- Any outcome is fine but a crash, or an error that is neither a string nor an error object.
  local function attack(f, first)
    for _, a in pairs(hostile) do
      for _, b in pairs(hostile) do
        local ok, err
        if first ~= nil then ok, err = pcall(f, first, a, b) else ok, err = pcall(f, a, b) end
        if not ok and type(err) ~= "string" then
          assert.equal("string", type(err.code))
          assert.equal("string", type(err.message))
          assert.not_equal("internal", err.code, tostring(err))
        end
      end
    end
  end

  local spared <const> = {close = true, fail_after = true, raise = true, error = true, config = true, clock = true, rates = true,
    ranks_agree = true, append = true, claim = true, child = true, cut = true, database = true, defer = true, guard = true,
    heed = true, key = true, lock = true, make_folder = true}

  it("survives wrong arguments", function()
    for name, method in pairs(core.methods) do
      if not spared[name] then
        attack(method, x)
        attack(method)
      end
    end
    for _, library in ipairs{core, core.linalg, core.operators} do
      for name, f in pairs(library) do
        if type(f) == "function" and not spared[name] and not name:find "^figure" and not name:find "_write$" then attack(f) end
      end
    end
    assert.equal("f64", gb.config().dtype)
  end)
end)

describe("what a protected call caught", function()
  local core <const> = require "gibbous.core"
  local raised <const> = require "gibbous.base.raised"

  it("has a code where it is an error object, and is asked for nothing else", function()
    local err <const> = core.error("nan", "x")
    local trap <const> = setmetatable({}, {__index = function() error "asked" end})
    assert.equal("nan", raised.code(err))
    for _, v in ipairs{3, "nan", true, print, {}, {code = 3}, trap} do
      assert.is_nil(raised.code(v))
      assert.is_false(raised.is(v, "nan"))
    end
    assert.is_nil(raised.code(nil))
    assert.same({true, true, true, false, false, false}, {raised.is(err, "nan"), raised.is(err, "io", "nan"),
      raised.is(err, "nan", "io"),
      raised.is(err, "io"), raised.is(err), raised.is(nil, nil)})
    assert.is_true(raised.is({code = "mine"}, "mine"))
  end)
end)

describe("the memory report", function()
  it("names fields it has not, and insists on itself", function()
    local gb <const> = require "gibbous"
    local r <const> = gb.memory.report()
    for text, f in pairs{["the memory report has no field 'zzz'"] = function() return r.zzz end,
      ["a memory report expected, got number"] = function() return debug.getmetatable(r).__index(3, "x") end,
      ["a memory report expected, got table"] = function() return debug.getmetatable(r).__index({}, "x") end} do
      assert.equal(text, select(2, pcall(f)).message:sub(1, #text))
    end
    local err <const> = select(2, pcall(function() return gb.memory.zzz end))
    assert.same({"index", "gb.memory.zzz does not exist; there are limit, report"}, {err.code, err.message})
    assert.is_true(rawequal(gb.memory.limit, require "gibbous.core".memory.limit))
  end)
end)

describe("a NaN in a text", function()
  it("has no sign, whatever the sign of the number", function()
    local function tensor(v) return gb.tensor{{v, 1}, {1, 2}} end
    local makes <const> = {
      function(v) return gb.linalg.cholesky(tensor(v)):eval() end,
      function(v) return gb.linalg.lstsq(tensor(v), gb.ones(2)):eval() end,
      function(v) return gb.full({2}, v, {dtype = "i64"}) end,
      function(v) return gb.linspace(v, 3, 3, {dtype = "i64"}) end,
      function(v) return gb.tensor{1, 2}:norm(nil, {p = v}) end,
      function(v) return gb.memory.limit(v) end,
      function(v) return require "gibbous.core".cg(gb.eye(2), gb.ones(2), {tol = v}) end,
      function(v) return gb.solvers.cg{tol = v} end,
      function(v) return require "gibbous.core".json_encode{v} end,
    }
    for i, f in ipairs(makes) do
      for _, v in ipairs{0 / 0, -(0 / 0)} do
        local ok <const>, err <const> = pcall(f, v)
        assert.is_false(ok, i)
        assert.matches("nan", tostring(err), 1, true)
        assert.not_matches("-nan", tostring(err), 1, true)
      end
    end
    for _, v in ipairs{0 / 0, -(0 / 0)} do
      for _, t in ipairs{gb.tensor(v), gb.tensor{v, 1}, tensor(v), gb.tensor{v} * 2} do
        assert.matches("nan", tostring(t), 1, true)
        assert.not_matches("-nan", tostring(t), 1, true)
      end
      for _, name in ipairs{"cg", "minres"} do
        local _, info <const> = gb.solvers[name]{}:solve(gb.eye(2) * 2 + gb.tensor{{0, v}, {v, 0}}, gb.ones(2))
        assert.is_false(info.converged)
        assert.not_matches("-nan", tostring(info) .. tostring(info.residual), 1, true)
      end
    end
  end)

  it("of the library in Lua neither: reports, errors, priors, figures", function()
    local x <const>, K <const>, P <const> = gb.linspace(0, 1, 5), gb.kernels, gb.priors
    local function exact(o) return gb.gp.exact{kernel = K.rbf{}, noise = o}:condition(x, x) end
    local makes <const> = {
      function(v) return gb.param(1, {min = v}) end, function(v) return K.rbf{lengthscale = v} end,
      function(v) return v * K.rbf{} end, function(v) return exact(v) end, function(v) return P.normal{mean = v} end,
      function(v) return P.uniform{min = v, max = 2} end, function(v) return gb.solvers.sdd{momentum = v} end,
      function(v) return gb.solvers.cholesky{jitter = v} end, function(v) return exact(1):predict(x):interval(v) end,
      function(v) return exact(1):score(x * v, x) end, function(v) return gb.nn.linear(v, 2) end,
      function(v) return gb.progress(v, "loop") end, function(v) return gb.gp.exact{kernel = K.rbf{}}:fit(x, x, {lr = v}) end,
      function(v) return tostring(select(2, gb.data.standardize(gb.tensor{v, 1, 2}))) end,
      function(v) return gb.means.constant(v) end, function(v) return gb.config{digits = v} end,
      function(v) return gb.data.split(x, x, {test = v}) end, function(v) return gb.tensor{v, 1}:item() end,
      function(v) return gb.plot.figure{}:heatmap(gb.tensor{{1, 2}}, {x = {v, 1}}):text(40, 10) end,
      function(v) return gb.plot.figure{}:line(gb.tensor{v, v}, gb.tensor{v, v}):text(40, 10) end,
    }
    for _, f in ipairs(makes) do
      for _, v in ipairs{0 / 0, -(0 / 0)} do
        local _, value <const> = pcall(f, v)
        assert.not_matches("-nan", tostring(value), 1, true)
      end
    end
    for _, v in ipairs{0 / 0, -(0 / 0)} do
      assert.equal("normal(mean=nan, sd=1)", tostring(P.normal{mean = v}))
      assert.matches("got nan and 1e%-06", raises("option", "", gb.solvers.cholesky, {jitter = v}).message)
      assert.matches("got nan$", raises("option", "", gb.progress, v).message)
    end
  end)
end)
