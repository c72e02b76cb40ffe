--- Values in saved files by themselves: how each class of object is written and read.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

describe("plain data of objects", function()
  local store <const> = require "gibbous.store.classes"
  local object <const> = require "gibbous.base.object"
  local nan <const> = 0 / 0

  local function given(o)
    local out <const> = {kernels = {}, means = {}, functions = {}, priors = {}}
    for key, v in pairs(o or {}) do out[key] = v end
    return out
  end

  --- What a writer makes of v, and the writer.
  local function written(v, path)
    local w <const> = store.writer()
    return w:value(v, path or "at"), w
  end

  local function read(v, tensors, objects, from) return store.reader(tensors or {}, objects or {}, given(from)):value(v) end

  it("are in the order of their keys", function()
    local keys <const> = {}
    for key, v in store.sorted{[10] = 1, [9] = 2, b = 3, a = 4, [true] = 5, [1.5] = 6} do keys[#keys + 1] = tostring(key) .. v end
    assert.same({"1.56", "92", "101", "a4", "b3", "true5"}, keys)
    local numbers <const> = {}
    for key in store.sorted{[10] = 1, [9] = 2, [100] = 3} do numbers[#numbers + 1] = key end
    assert.same({9, 10, 100}, numbers)
    assert.is_nil(store.sorted{}())
  end)

  it("are numbers that JSON lacks, texts, lists and tables", function()
    for _, v in ipairs{1, 1.5, "x", true, false, {1, {2}}, {a = {b = "c"}}, {}} do assert.same(v, (written(v))) end
    assert.is_nil((written(nil)))
    for v, is in pairs{[math.huge] = "inf", [-math.huge] = "-inf"} do
      assert.same({["%"] = "number", is = is}, (written(v)))
      assert.equal(v, read{["%"] = "number", is = is})
    end
    assert.same({["%"] = "number", is = "nan"}, (written(nan)))
    local back <const> = read{["%"] = "number", is = "nan"}
    assert.is_true(back ~= back)
    assert.same({a = {1, "x"}, b = math.huge}, read{a = {1, "x"}, b = {["%"] = "number", is = "inf"}})
    for text, v in pairs{["save: at cannot be saved: a table with the key 'a'"] = {1, a = 2},
      ["save: at cannot be saved: a table with the key 'true'"] = {[true] = 1},
      ["save: at cannot be saved: a table with the key '%'"] = {["%"] = 1},
        ["save: at[2].a cannot be saved: userdata"] = {1, {a = io.stdout}},
      ["save: at cannot be saved: a table with the key '0'"] = {[0] = 1}} do
      assert.equal(text, raises("option", "", written, v).message)
    end
  end)

  it("are tensors by their path, told apart by a number", function()
    local a <const>, b <const> = gb.ones(2), gb.ones(3)
    local w <const> = store.writer()
    assert.same({{["%"] = "tensor", at = "x.a"}, {["%"] = "tensor", at = "x.a~2"}, {["%"] = "tensor", at = "x.a~3"}},
      {w:value(a, "x.a"), w:value(b, "x.a"), w:value(a, "x.a")})
    assert.is_true(rawequal(a, w.tensors["x.a"]) and rawequal(b, w.tensors["x.a~2"]))
    assert.is_true(rawequal(a, read({["%"] = "tensor", at = "t"}, {t = a})))
    for text, v in pairs{["tensor 'u' is missing"] = {["%"] = "tensor", at = "u"}, ["tensor 'nil' is missing"] = {["%"] = "tensor"},
      ["object 3 is missing"] = {["%"] = "object", at = 3}, ["object 1.5 is missing"] = {["%"] = "object", at = 1.5},
      ["objects of class 'x' are unknown to this version"] = {["%"] = "object", at = 1},
        ["objects of class 'nil' are unknown to this version"] = {["%"] = "object", at = 2},
      ["values of kind 'zzz' are unknown to this version"] = {["%"] = "zzz"},
        ["values of kind '3' are unknown to this version"] = {["%"] = 3}} do
      assert.equal(text, raises("format", "", read, v, {t = a}, {{class = "x"}, {}}).message)
    end
  end)

  it("are what a script gives, by path: the same value once", function()
    local function f() end
    local function g() end
    local w <const> = store.writer()
    assert.same({["%"] = "given", name = "m.warp", params = {}}, w:value(f, "m.warp"))
    assert.same({"m.warp", "m.warp~2", "m.warp~2"},
      {w:value(f, "m.warp").name, w:value(g, "m.warp").name, w:value(g, "m.warp").name})
    assert.is_true(rawequal(g, w.given["m.warp~2"]))
    local net <const> = setmetatable({w = gb.param(3), deep = {gb.param{1, 2}}}, {__call = f})
    local out <const> = w:value(net, "net")
    assert.same({["%"] = "given", name = "net", params = {{name = "deep[1]", raw = {["%"] = "tensor", at = "net.deep[1].raw"}},
      {name = "w", raw = {["%"] = "tensor", at = "net.w.raw"}}}}, out)
    local own <const> = setmetatable({w = gb.param(0), deep = {gb.param{0, 0}}}, {__call = f})
    assert.is_true(rawequal(own, read(out, w.tensors, {}, {functions = {net = own}})))
    near({3, {1, 2}}, {own.w, own.deep[1].value:totable()}, 0)
    local other <const> = setmetatable({w = gb.param(0)}, {__call = f})
    assert.equal("'net' has 1 parameter, the one that was saved had 2",
      raises("format", "", read, out, w.tensors, {}, {functions = {net = other}}).message)
    local named <const> = setmetatable({v = gb.param(0), deep = {gb.param{0, 0}}}, {__call = f})
    assert.equal("'net': parameter w (f64 ()) was saved, the one given is v (f64 ())",
      raises("format", "", read, out, w.tensors, {}, {functions = {net = named}}).message)
    local single <const> = setmetatable({w = require "gibbous.param".new(0, nil, "f32"), deep = {gb.param{0, 0}}}, {__call = f})
    assert.equal("'net': parameter w (f64 ()) was saved, the one given is w (f32 ())",
      raises("format", "", read, out, w.tensors, {}, {functions = {net = single}}).message)
    near({0, 0}, single.deep[1], 0)                       -- all or none
    local function missing(name, from) return raises("option", "", read, {["%"] = "given", name = name, params = {}}, {}, {},
      from).message end
    for _, name in ipairs{"warp", "kernel.warp", "kernel[1].warp2", "a.warp12"} do
      assert.equal(("function '%s' is not in the file: give it, gb.load(path, {warp = f})"):format(name), missing(name))
      assert.equal(f, read({["%"] = "given", name = name, params = {}}, {}, {}, {warp = f}))
      assert.equal(g, read({["%"] = "given", name = name, params = {}}, {}, {}, {warp = f, functions = {[name] = g}}))
    end
    for _, name in ipairs{"mean", "unwarp", "warped", "warp.transform"} do
      assert.equal(([[function '%s' is not in the file: give it, gb.load(path, {functions = {["%s"] = f}})]]):format(name, name),
        missing(name, {warp = f}))
    end
    local err <const> = raises("option", "", read, {["%"] = "given", name = "f"})
    assert.equal("f", err.missing)
  end)

  it("are objects, each once, no deeper than 150", function()
    local meta <const> = {__name = "gibbous.test_nest"}
    store.class("gibbous.test_nest", {
      write = function(w, v, path) return {inner = w:value(v.inner, path .. ".in")} end,
      read = function(r, d) return setmetatable({inner = r:value(d.inner)}, meta) end,
    })
    local function nested(n)
      local v = setmetatable({}, meta)
      for _ = 2, n do v = setmetatable({inner = v}, meta) end
      return v
    end
    local one <const> = nested(2)
    local out <const>, w <const> = written{one, one, one.inner}
    assert.same({{["%"] = "object", at = 1}, {["%"] = "object", at = 1}, {["%"] = "object", at = 2}}, out)
    assert.same({{class = "gibbous.test_nest", inner = {["%"] = "object", at = 2}}, {class = "gibbous.test_nest"}}, w.objects)
    local back <const> = read(out, {}, w.objects)
    assert.is_true(rawequal(back[1], back[2]) and rawequal(back[1].inner, back[3]))
    local deep <const>, of <const> = written(nested(150))
    assert.equal(150, #of.objects)
    assert.is_not_nil(read(deep, {}, of.objects))
    assert.equal("save: at" .. (".in"):rep(150) .. " cannot be saved: objects are nested too deep",
      raises("option", "", written, nested(151)).message)
    of.objects[151], of.objects[150] = {class = "gibbous.test_nest"},
      {class = "gibbous.test_nest", inner = {["%"] = "object", at = 151}}
    assert.equal("objects are nested too deep, or in a circle", raises("format", "", read, deep, {}, of.objects).message)
    local many <const> = {}
    for i = 1, 200 do many[i] = nested(1) end
    assert.equal(200, #(select(2, written(many))).objects)
    for _ = 1, 2 do                                       -- the depth is that of one object, not of all
      local r <const> = store.reader({}, w.objects, given())
      for _ = 1, 200 do
        r.made = {}
        r:value(out)
      end
    end
    local r <const> = store.reader({}, w.objects, given())
    assert.equal("gibbous.test_nest", getmetatable(r:of(out[1], "gibbous.test_nest")).__name)
    assert.equal("gibbous.kernel expected, got gibbous.test_nest", raises("format", "", r.of, r, out[1], "gibbous.kernel").message)
    assert.equal("gibbous.kernel expected, got number", raises("format", "", r.of, r, 3, "gibbous.kernel").message)
    assert.equal("a list or object expected, got nil", raises("format", "", r.list, r).message)
  end)

  it("are reports: what is plain in them, and their text", function()
    local meta <const> = object.record("gibbous.test_stored", "the stored report", "absent")
    function meta.__tostring() return "as text" end
    local w <const> = store.writer()
    local inner <const> = setmetatable({v = nan}, {__tostring = function() return "inner" end})
    local out <const> = w:record(setmetatable({a = 1, b = "x", c = true, f = print, t = gb.ones(2), list = {1, 2}, inner = inner,
      [true] = 1, [7] = 2}, meta), "at")
    assert.same({["%"] = "record", class = "gibbous.test_stored", text = "as text", fields = {a = 1, b = "x", c = true,
      list = {["%"] = "record", fields = {1, 2}},
        inner = {["%"] = "record", text = "inner", fields = {v = {["%"] = "number", is = "nan"}}}}}, out)
    assert.is_nil(w:record(nil, "at"))
    assert.equal(3, w:record(3, "at"))
    assert.is_nil(next(w.tensors))
    local back <const> = read(out)
    assert.same({"as text", 1, "x", true, 1, 2, "inner"},
      {tostring(back), back.a, back.b, back.c, back.list[1], back.list[2], tostring(back.inner)})
    assert.is_nil(back.absent)
    assert.same({"gibbous.test_stored", "gibbous.record"}, {getmetatable(back).__name, getmetatable(back.inner).__name})
    assert.is_nil(getmetatable(back.list))
    assert.equal("the stored report has no field 'zzzzzz' (it has a, absent, b, c, inner, list)",
      raises("option", "", function() return back.zzzzzz end).message)
    assert.is_nil(back.inner.zzzzzz)
  end)

  it("find constructors by name", function()
    local r <const> = store.reader({}, {}, given{kernels = {mine = print}})
    assert.is_true(rawequal(K.rbf, r:constructor(K, "rbf", false, "kernel"))
      and rawequal(print, r:constructor(K, "mine", true, "kernel")))
    for text, args in pairs{["kernel 'rbff' is unknown to this version, did you mean 'rbf'?"] = {K, "rbff"},
      ["kernel 'zzzzzzzz' is unknown to this version"] = {K, "zzzzzzzz"},
      ["kernel '3' is unknown to this version"] = {K, 3},
        ["kernel 'x' is unknown to this version, did you mean 'x'?"] = {{x = 3}, "x"}} do
      assert.equal(text, raises("format", "", r.constructor, r, args[1], args[2], false, "kernel").message)
    end
    local err <const> = raises("option", "", r.constructor, r, K, "other", true, "mean")
    assert.same({"mean 'other' is not in the file: give it, gb.load(path, {means = {other = constructor}})", "other"},
      {err.message, err.missing})
  end)

  --- Writes an object, changes its description, and reads it.
  local function again(v, change, from)
    local w <const> = store.writer()
    local top <const> = w:value(v, "at")
    if change then change(w.objects[1], w) end
    return store.reader(w.tensors, w.objects, given(from)):value(top), w
  end

  it("make the same objects again", function()
    local warp <const> = gb.nn.linear(1, 1, {seed = 1})
    for _, v in ipairs{
      gb.param(2, {min = 1, max = 3, fixed = true}), gb.param(0.5, {prior = gb.priors.uniform{}}),
        gb.param(-1, {max = 0, transform = "identity"}),
      gb.priors.normal{mean = 2, sd = 3}, gb.priors.uniform{max = 7}, K.rbf{lengthscale = {1, 2}, active_dims = {2, 1}}:named "n",
      K.spectral_mixture{components = 3}, K.index{tasks = 3, rank = 2}, K.polynomial{degree = 4}, K.arc_cosine{order = 0, ard = 2},
      K.change_point({K.rbf{}, K.linear{}, K.white{}}, {location = {1, 2}, steepness = 0.5, column = 2}),
        3 * (K.rbf{} + K.linear{}):named "s" * K.cosine{},
      K.rbf{}:warp(warp):warp(gb.nn.layer_norm(1)), gb.means.zero(), gb.means.constant(3),
        gb.means.linear{slope = {1, 2}, offset = 3}, gb.means.linear{},
      gb.likelihoods.gaussian{noise = 0.5, min = 0.1}, gb.likelihoods.gaussian{noise = 0.5, floor = 0.1},
        gb.likelihoods.gaussian(0), gb.likelihoods.fixed({1, 2}, {new = 0.3}),
      gb.likelihoods.tasks{1, 2}, gb.likelihoods.heteroscedastic{kernel = K.rbf{}, places = gb.ones(2, 1), noise = 0.5},
      gb.likelihoods.heteroscedastic{log_variance = gb.means.linear{}, noise = 0.5}, gb.nn.linear(2, 3, {bias = false}),
        gb.nn.layer_norm(2, {eps = 0.1}),
      gb.nn.sequential{gb.nn.linear(2, 1), "relu"},
        gb.solvers.cg{tol = 1e-4, probes = 7, precond = gb.precond.pivoted_cholesky{rank = 3}}, gb.solvers.cholesky{jitter = 1e-9},
      gb.solvers.minres{max_iter = 3}, gb.solvers.sdd{batch = 3}, gb.solvers.alternating_projections{block = 7},
        gb.precond.nystrom{rank = 3, seed = 2},
    } do
      local out <const> = again(v)
      assert.equal(tostring(v), tostring(out))
      assert.equal(gb.type(v), gb.type(out))
      local list <const>, names <const> = gb.params(v)
      local others <const>, of <const> = gb.params(out)
      assert.same(names, of)
      for i, p in ipairs(list) do
        assert.same({p.name, p.fixed, p.min, p.max, p.version},
          {others[i].name, others[i].fixed, others[i].min, others[i].max, others[i].version})
        assert.is_true(p.raw:equal(others[i].raw))
      end
    end
    local c <const> = again(gb.likelihoods.gaussian{noise = 0.5, floor = 0.1})
    assert.same({0.1, "gaussian"}, {c.floor, c.kind})
    assert.same({7, 1e-4}, {again(gb.solvers.cg{tol = 1e-4, probes = 7}).probes, again(gb.solvers.cg{tol = 1e-4}).tol})
    local pending <const> = again(K.rbf{ard = true})
    K.resolve_ard(pending, 3)
    assert.equal(3, pending.lengthscale.numel)
    local slope <const> = again(gb.means.linear{})
    gb.means.resolve(slope, 3)
    assert.equal(3, slope.slope.numel)
  end)

  it("are refused by reason", function()
    local function refused(text, v, change, code) assert.equal(text, raises(code or "format", "", again, v, change).message) end
    local sum <const> = K.rbf{} + K.linear{}
    refused("a sum of kernels has 1 parts", sum, function(o) o.parts[2] = nil end)
    refused("a sum of kernels has no parameter 'width'", sum, function(o) o.hyper.width = {["%"] = "object", at = 3} end)
    refused("rbf: parameter 'lengthscale' is missing", K.rbf{}, function(o) o.hyper.lengthscale = nil end)
    refused("rbf: parameter 'zz' is missing", K.rbf{}, function(o) o.pending = {"zz"} end)
    refused("'is' makes no kernel", K.rbf{}, function(o) o.kind = "is" end)
    refused("the mean's parameter 'value' is missing", gb.means.constant(1), function(o) o.hyper = {} end)
    refused("mean 'median' is unknown to this version", gb.means.constant(1), function(o) o.kind = "median" end)
    refused("likelihood 'nil' is unknown to this version", gb.likelihoods.gaussian(1), function(o) o.kind = nil end)
    refused("linear(1, 1): parameter 'bias' is missing or of another shape", gb.nn.linear(1, 1),
      function(o) o.params.bias = nil end)
    refused("linear(1, 2): parameter 'weight' is missing or of another shape", gb.nn.linear(1, 2),
      function(o) o.params.weight = o.params.bias end)
    refused("block 'zzzzzzzz' is unknown to this version", gb.nn.linear(1, 1), function(o) o.kind = "zzzzzzzz" end)
    refused("solver 'zzzzzzzz' is unknown to this version", gb.solvers.cg{}, function(o) o.kind = "zzzzzzzz" end)
    refused("preconditioner 'zzzzzzzz' is unknown to this version", gb.precond.jacobi(), function(o) o.kind = "zzzzzzzz" end)
    refused("prior 'zzzzzzzz' is unknown to this version", gb.priors.normal{}, function(o) o.name = "zzzzzzzz" end)
    refused("a preconditioner's choices are by number of points", gb.precond.jacobi(), function(o) o.choices = {{n = 1.5}} end)
    refused("a list or object expected, got number", gb.precond.jacobi(), function(o) o.choices = {3} end)
    refused("parameter 'p': fixed must be true or false", gb.param(1, {name = "p"}), function(o) o.fixed = 3 end)
    refused("save: at cannot be saved before its places are chosen: fit the model, or give places as inputs (m, d)",
      gb.likelihoods.heteroscedastic{kernel = K.rbf{}}, nil, "option")
    local tent <const> = K.define("rbf", {a = 1}, function(u, v) return (u * v):sum(-1) end)
    refused("kernel 'rbf' is not in the file: give it, gb.load(path, {kernels = {rbf = constructor}})", tent{}, nil, "option")
    assert.equal("rbf{a=1, variance=1}", tostring((again(tent{}, nil, {kernels = {rbf = tent}}))))
    local mean <const> = gb.means.define("m", {a = 1}, function(u) return u:sum(2) end)
    refused("mean 'm' is not in the file: give it, gb.load(path, {means = {m = constructor}})", mean{}, nil, "option")
    assert.equal("m{a=3.0}", tostring((again(mean{a = 3}, nil, {means = {m = mean}}))))
    assert.equal("'m' makes no mean", raises("format", "", again, mean{}, nil, {means = {m = function() return 3 end}}).message)
    local f <const> = gb.func{name = "f", shape = "same", forward = print}
    refused([[function 'f' is not in the file: give it, gb.load(path, {functions = {["f"] = f}})]], f, nil, "option")
    assert.is_true(rawequal(f, (again(f, nil, {functions = {f = f}}))))
    local warped <const> = K.rbf{}:warp(print):warp(select)
    local _, w <const> = again(warped, nil, {functions = {["at.warp"] = print, ["at.warp2"] = select}})
    assert.same({print, select}, {w.given["at.warp"], w.given["at.warp2"]})
    local parts <const> = store.writer()
    parts:value((K.rbf{}:named "trend" + K.linear{}):warp(gb.nn.sequential{gb.nn.linear(1, 1)}), "k")
    local names <const> = {}
    for name in store.sorted(parts.tensors) do names[#names + 1] = name end
    assert.equal("k.trend.lengthscale.raw k.trend.variance.raw k.warp[1].bias.raw k.warp[1].weight.raw k[2].variance.raw",
      table.concat(names, " "))
  end)
end)
