--- What the file of a small model holds, part by part, and what is said of files that hold something else.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local kept <const> = require "gibbous.gp.model".fields
local save <const> = require "gibbous.gp.save"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const>, S <const> = gb.kernels, gb.solvers

local x <const>, y <const> = gb.tensor{{0, 1}, {0.5, 0}, {1.5, 0.3}}, gb.tensor{0.1, 0.7, -0.4}
local at <const> = gb.tensor{{0.2, 0.5}, {1, 1}}
local f32 <const> = {dtype = "f32"}

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = K.rbf{}, noise = o.noise or 0.1, solver = o.solver or "direct"}
end

local function several(o) return gb.gp.multitask{kernel = K.rbf{}, tasks = 2, noise = o and o.noise or 0.1,
  solver = o and o.solver} end

--- Asked for a prediction, so that it keeps what that takes.
local function ready(m, t, o)
  m:predict(t or at, o).mean:eval()
  return m
end

local function saved(m, opts)
  local path <const> = support.path ".gb"
  m:save(path, opts)
  return path
end

local function read(path)
  local tensors <const>, texts <const> = core.safetensors_read(path)
  return core.json_decode(texts.model), tensors, texts
end

--- A file as the one at 'path', changed by change(description, tensors, texts), with a checksum that fits.
local function forged(path, change)
  local described <const>, tensors <const>, texts <const> = read(path)
  change(described, tensors, texts)
  texts.model = core.json_encode(described)
  texts.checksum = save.checksum(texts, tensors)
  local out <const> = support.path ".gb"
  core.safetensors_write(out, tensors, texts)
  return out
end

local function keys(t)
  local out <const> = {}
  for key in pairs(t) do out[#out + 1] = key end
  table.sort(out)
  return table.concat(out, " ")
end

local function refused(code, text, path, o)
  local err <const> = raises(code, "", gb.load, path, o)
  assert.equal(text, support.shapes_alone((err.message:gsub("/tmp/lua_%w+", "FILE"))))
end

describe("the file of a model", function()
  after_each(support.sweep)

  it("says what it is, its parts and its data", function()
    local m <const> = model():condition(x, y)
    local d <const>, tensors <const>, texts <const> = read(saved(m))
    assert.same({"gibbous.model", "1", gb.version}, {texts.format, texts.version, texts.library})
    assert.equal(save.checksum(texts, tensors), texts.checksum)
    assert.equal("data kernel likelihood mean objects solver x y", keys(d))
    assert.same({n = 3, d = 2, dtype = "f64", digest = core.digest{x, y}}, d.data)
    assert.equal("kernel.lengthscale.raw kernel.variance.raw likelihood.noise.raw x y", keys(tensors))
    assert.is_true(tensors.x:equal(x) and tensors.y:equal(y))
    local bare <const>, none <const> = read(saved(model()))
    assert.equal("kernel likelihood mean objects solver", keys(bare))
    assert.equal("kernel.lengthscale.raw kernel.variance.raw likelihood.noise.raw", keys(none))
    local tasks <const>, cells <const> = read(saved(several():condition(x, gb.stack({y, y * (0 / 0)}, 2), {missing = "mask"})))
    assert.equal(2, tasks.tasks)
    assert.equal(core.digest{x, gb.stack({y, gb.full({3}, math.huge)}, 2)}, tasks.data.digest)
    assert.is_true(cells.y[1][2]:ne(cells.y[1][2]):item())
    local without <const>, rest <const> = read(saved(ready(m), {data = false, caches = true}))
    assert.same({nil, nil, nil, 3}, {without.x, without.y, without.state, without.data.n})
    assert.is_nil(rest.alpha)
    assert.is_nil(rawget(without, "info"))
    local late <const> = gb.load(saved(several():condition(x, gb.stack({y, y}, 2)), {data = false}))
    raises("option", "predict: the model was saved without its data (3 points, 2 columns, f64); give them back with "
      .. "gb.load(path, {x = x, y = y}), "
      .. "or fit it to others", function() return late:predict(at) end)
    local fitted <const> = model()
    fitted:fit(x, y, {steps = 1})
    assert.is_true(read(saved(fitted)).info ~= nil)
  end)

  it("keeps every mean and likelihood that the library makes", function()
    local parts <const> = {
      {"mean", gb.means, "define fields is of resolve with_task", {
        zero = gb.means.zero(), constant = gb.means.constant(2), linear = gb.means.linear{slope = {1, 2}, offset = 3},
        composite = 2 * (gb.means.constant(2) + gb.means.zero())}},
      {"likelihood", gb.likelihoods, "define fields is is_gaussian laplace new of_gradients varies", {
        bernoulli = gb.likelihoods.bernoulli{link = "logit"}, beta = gb.likelihoods.beta{concentration = 3},
        exponential = gb.likelihoods.exponential{points = 30}, gamma = gb.likelihoods.gamma{shape = 2},
        negative_binomial = gb.likelihoods.negative_binomial{dispersion = 0.5}, ordinal = gb.likelihoods.ordinal{cuts = {0, 1, 3}},
        poisson = gb.likelihoods.poisson(), softmax = gb.likelihoods.softmax{classes = 4, seed = 2},
        student_t = gb.likelihoods.student_t{scale = 0.3},
        gaussian = gb.likelihoods.gaussian(0.2), fixed = gb.likelihoods.fixed{1, 2, 3}, tasks = gb.likelihoods.tasks{1, 2},
        heteroscedastic = gb.likelihoods.heteroscedastic{kernel = K.rbf{}, places = at, noise = 0.5}}},
    }
    for _, part in ipairs(parts) do
      local field <const>, makers <const>, helpers <const>, made <const> = table.unpack(part)
      for name in pairs(makers) do
        if not (" " .. helpers .. " "):find(" " .. name .. " ", 1, true) then
          assert.is_not_nil(made[name], ("no example of the %s '%s'"):format(field, name))
          local likelihood <const> = field == "likelihood" and made[name]
          local maker <const> = likelihood and not gb.likelihoods.is_gaussian(likelihood) and gb.gp.laplace or gb.gp.exact
          local m <const> = gb.load(saved(maker{kernel = K.rbf{}, [field] = made[name]}))
          assert.equal(tostring(made[name]), tostring(m[field]))
        end
      end
    end
  end)

  it("has what predictions need where it is asked for, or followed from a smaller model", function()
    local m <const> = ready(model():condition(x, y))
    assert.is_nil(read(saved(m)).state)
    assert.is_nil(read(saved(m, {caches = false})).state)
    assert.is_nil(read(saved(model():condition(x, y), {caches = true})).state)
    local d <const>, tensors <const> = read(saved(m, {caches = true}))
    assert.equal("alpha converged factor grown system", keys(d.state))
    assert.same({true, false, false}, {d.state.converged, d.state.grown, d.state.system})
    near(gb.linalg.cholesky(K.rbf{}(x) + 0.1 * gb.eye(3)), tensors.factor, 1e-14)
    near(gb.linalg.solve(K.rbf{}(x) + 0.1 * gb.eye(3), y), tensors.alpha, 1e-12)
    m:set("kernel.variance", 2)
    assert.is_nil(read(saved(m, {caches = true})).state)                           -- of other parameters
    local grown <const> = ready(model():condition(x, y)):condition(at, gb.tensor{1, 2})
    for _, o in ipairs{{}, {caches = true}} do
      local e <const>, more <const> = read(saved(grown, o))
      assert.same({true, true, false, true}, {e.state.grown, e.state.carried, e.state.system, e.state.converged})
      assert.same({"5", "5", "5x5"}, {tostring(more.half.shape), tostring(more.alpha.shape), tostring(more.factor.shape)})
      local l <const> = gb.load(saved(grown, o))
      assert.same({true, true}, {kept(l).state.carried, kept(l).state.converged})
      assert.is_true(l:predict(at).info.reused)
      near(grown:predict(at).f_var, l:predict(at).f_var, 0)
      local next <const> = l:condition(at + 1, gb.tensor{3, 4})
      assert.equal("append", next.update.kind)
      near(grown:condition(at + 1, gb.tensor{3, 4}):predict(at).f_var, next:predict(at).f_var, 0)
    end
    assert.is_nil(read(saved(grown, {caches = false})).state)
    local by <const> = ready(model{solver = S.cg{tol = 1e-8}}:condition(x, y))
    local s <const> = read(saved(by, {caches = true}))
    assert.equal("alpha converged grown system", keys(s.state))
    assert.same({true, true, false}, {s.state.system, s.state.converged, s.state.grown})
    local l <const> = gb.load(saved(by, {caches = true}))
    assert.is_true(l:predict(at).info.reused and kept(l).state.converged and not kept(l).state.carried)
    near(by:predict(at).mean, l:predict(at).mean, 0)
    local missed <const> = ready(model{solver = S.cg{tol = 1e-12, max_iter = 1}}:condition(x, y))
    assert.is_false(missed:predict(at).converged)
    assert.is_false(gb.load(saved(missed, {caches = true})):predict(at).converged)
  end)

  it("of f32 data has also that of the twin in f64", function()
    local m <const> = ready(model{noise = 1e-6}:condition(x:to(f32), y:to(f32)), at:to(f32))
    local path <const> = saved(m, {caches = true})
    local d <const>, tensors <const> = read(path)
    assert.equal("alpha converged factor grown system", keys(d.wide))
    assert.is_nil(d.state)
    assert.equal("f64", tensors.alpha.dtype)
    local l <const> = gb.load(path)
    assert.is_true(l:predict(at:to(f32)).info.reused)
    assert.equal("f64", l:predict(at:to(f32)).info.precision)
    assert.is_nil(read(saved(model():condition(x, y), {caches = true})).wide)
    raises("format", "its caches do not go with the data", gb.load, forged(saved(ready(model():condition(x, y)), {caches = true}),
      function(e) e.wide, e.state = e.state, nil end))
  end)

  it("of Kronecker structure has the decompositions where they are asked for", function()
    local m <const> = ready(several():condition(x, gb.stack({y, y * 2}, 2)))
    local path <const> = saved(m, {caches = true})
    local d <const> = read(path)
    assert.equal("M Q U weights", keys(d.grid))
    assert.is_nil(d.state)
    assert.is_nil(read(saved(m)).grid)
    assert.is_nil(read(saved(several():condition(x, gb.stack({y, y * 2}, 2)), {caches = true})).grid)
    local l <const> = gb.load(path)
    assert.is_true(l:predict(at).info.reused)
    assert.is_false(gb.load(saved(m)):predict(at).info.reused)
    near(m:predict(at).f_cov, l:predict(at).f_cov, 0)
    for name in pairs(d.grid) do
      raises("format", "its caches are not complete", gb.load, forged(path, function(e) e.grid[name] = nil end))
      raises("format", ("'%s' does not go with the data"):format(name), gb.load,
        forged(path, function(_, t) t["grid." .. name] = gb.ones(7) end))
    end
    raises("format", "its caches do not go with the data", gb.load, forged(path, function(e) e.solver = "direct" end))
  end)

  it("takes no caches that do not go with the data", function()
    local plain <const> = saved(ready(model():condition(x, y)), {caches = true})
    local grown <const> = saved(ready(model():condition(x, y)):condition(at, gb.tensor{1, 2}))
    local by <const> = saved(ready(model{solver = S.cg{tol = 1e-8}}:condition(x, y)), {caches = true})
    for _, row in ipairs{{plain, "alpha", gb.ones(4)}, {plain, "alpha", gb.ones(3, f32)}, {plain, "alpha", gb.ones(3, 1)},
      {plain, "factor", gb.eye(4)},
      {plain, "factor", gb.ones(3, 4)}, {plain, "factor", gb.ones(3)}, {plain, "factor", gb.eye(3, f32)},
        {grown, "half", gb.ones(4)}} do
      refused("format", ("FILE.gb: '%s' does not go with the data"):format(row[2]),
        forged(row[1], function(_, t) t[row[2]] = row[3] end))
    end
    refused("format", "FILE.gb: 'alpha' does not go with the data", forged(plain, function(d) d.state.alpha = 3 end))
    refused("format", "FILE.gb: its caches are not complete", forged(plain, function(d) d.state.alpha = nil end))
    refused("format", "FILE.gb: its caches are not complete", forged(plain, function(d) d.state.factor = nil end))
    refused("format", "FILE.gb: its caches are not complete", forged(by, function(d) d.state.system = false end))
    refused("format", "FILE.gb: its caches are not complete", forged(by, function(d, t)
      d.state.factor, t.factor = {["%"] = "tensor", at = "factor"}, gb.eye(3)
    end))
    refused("format", "FILE.gb: a list or object expected, got number", forged(plain, function(d) d.state = 3 end))
    assert.is_false(kept(gb.load(forged(plain, function(d) d.state.converged = false end))).state.converged)
    assert.is_false(kept(gb.load(forged(plain, function(d) d.state.converged = 1 end))).state.converged)
    assert.is_true(kept(gb.load(forged(plain, function(d) d.state.carried = true end))).state.carried)
    assert.is_false(kept(gb.load(plain)).state.carried)
    assert.equal("tensor", core.type(kept(gb.load(plain)).state.factor))
    assert.is_true(core.type(kept(gb.load(grown)).state.factor) ~= "tensor")
  end)
end)

describe("the checksum of a file", function()
  it("is of all texts and tensors but itself, by their names", function()
    local seen <const> = {}
    for _, row in ipairs{{{a = "1"}, {}}, {{a = "2"}, {}}, {{b = "1"}, {}}, {{a = "1", b = "2"}, {}}, {{a = "2", b = "1"}, {}},
      {{a = "1"}, {t = x}},
      {{a = "1"}, {t = y}}, {{a = "1"}, {u = x}}, {{a = "1"}, {t = x, u = y}}, {{a = "1"}, {t = y, u = x}}} do
      local sum <const> = save.checksum(row[1], row[2])
      assert.is_nil(seen[sum])
      seen[sum] = true
      row[1].checksum = "z"
      assert.equal(sum, save.checksum(row[1], row[2]))
    end
  end)
end)

describe("a model from a file", function()
  after_each(support.sweep)

  it("has its means, its warps and its solver again", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, mean = gb.means.constant(3), noise = 0.1,
      solver = S.cg{tol = 1e-8}}:condition(x, y)
    local d <const>, tensors <const> = read(saved(ready(m)))
    assert.is_true(tensors["mean.value.raw"] ~= nil and d.active ~= nil)
    near(m:predict(at).mean, gb.load(saved(m)):predict(at).mean, 0)
    assert.equal("cg(tol 1e-08)", tostring(kept(gb.load(saved(m))).active))
    local tasks <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2, noise = {0.1, 0.2}, mean = gb.means.constant{3, 4}}
    near({{3, 4}, {3, 4}}, gb.load(saved(tasks)):predict(at).mean, 1e-12)
    local function square(u) return u * u end
    local warped <const> = gb.gp.exact{kernel = K.rbf{}:warp(square), noise = 0.1, solver = "direct"}:condition(x, y)
    local file <const> = saved(warped)
    raises("option", "function 'kernel.warp' is not in the file: give it, gb.load(path, {warp = f})", gb.load, file)
    for _, warp in ipairs{square, setmetatable({}, {__call = function(_, u) return u * u end})} do
      near(warped:predict(at).mean, gb.load(file, {warp = warp}):predict(at).mean, 0)
    end
    near(warped:predict(at).mean, gb.load(file, {functions = {["kernel.warp"] = square}}):predict(at).mean, 0)
    local trend <const> = gb.means.define("trend", {slope = 0.5}, function(u, p) return u:select(2, 1) * p.slope end)
    local own <const> = gb.gp.exact{kernel = K.rbf{}, mean = trend{slope = 2}, noise = 0.1, solver = "direct"}:condition(x, y)
    near(own:predict(at).mean, gb.load(saved(own), {means = {trend = trend}}):predict(at).mean, 0)
    local wide <const> = gb.priors.define("wide", {width = 2}, function(v, s) return -(v / s.width):abs() end)
    local prior <const> = gb.gp.exact{kernel = K.rbf{lengthscale = gb.param(1, {min = 0, prior = wide{width = 3}})}, noise = 0.1}
    assert.equal("wide(width=3)", tostring(gb.load(saved(prior), {priors = {wide = wide}}).kernel.lengthscale.prior))
  end)
end)

describe("a file that is refused", function()
  after_each(support.sweep)
  local function path() return saved(model():condition(x, y)) end

  it("says what it is not", function()
    local file <const> = path()
    refused("format", "FILE: not a model file, which m:save(path) writes; gb.data.read reads tables and arrays",
      support.write(support.path(), "text"))
    refused("format", "FILE.gb: not a saved model; gb.data.read reads tensors", forged(file, function(_, _, t) t.format = "x" end))
    refused("format", ("FILE.gb: saved by gibbous 9.9 in format 3; this version, %s, reads up to format 2"):format(gb.version),
      forged(file, function(_, _, t) t.version, t.library = "3", "9.9" end))
    for _, version in ipairs{"0", "x", "1.5"} do
      refused("format", ("FILE.gb: format 1 to 2 expected, got '%s'"):format(version),
        forged(file, function(_, _, t) t.version = version end))
    end
    refused("format", "FILE.gb: format 1 to 2 expected, got 'nil'", forged(file, function(_, _, t) t.version = nil end))
    local tensors <const>, texts <const> = core.safetensors_read(file)
    local changed <const> = support.path ".gb"
    tensors.y = tensors.y + 1
    core.safetensors_write(changed, tensors, texts)
    refused("format", "FILE.gb: its checksum does not fit: the file was changed after it was saved", changed)
    local bytes <const> = support.read(file)
    local size <const> = string.unpack("<I8", bytes)
    local heading <const> = bytes:sub(9, 8 + size)
    local spaced <const> = heading:gsub('"x":{', '"x": {', 1):gsub(" $", "", 1)
    refused("format", "FILE.gb: its heading is not spelled as m:save does: the file was changed after it was saved",
      support.write(support.path ".gb", string.pack("<I8", #spaced) .. spaced .. bytes:sub(9 + size)))
    for _, key in ipairs{"objects"} do
      refused("format", "FILE.gb: it describes no model", forged(file, function(d) d[key] = 3 end)) end
    local bad <const> = support.path ".gb"
    local t2 <const>, m2 <const> = core.safetensors_read(file)
    m2.model = "{"
    m2.checksum = save.checksum(m2, t2)
    core.safetensors_write(bad, t2, m2)
    local said <const> = raises("format", "", gb.load, bad).message
    assert.is_true(said:find("^/tmp/[%w_.]+: .") ~= nil and not said:find("describes no model", 1, true))
    m2.model = "3"
    m2.checksum = save.checksum(m2, t2)
    core.safetensors_write(bad, t2, m2)
    refused("format", "FILE.gb: it describes no model", bad)
    m2.model = nil
    m2.checksum = save.checksum(m2, t2)
    core.safetensors_write(bad, t2, m2)
    raises("format", "", gb.load, bad)
  end)

  it("names the part that is missing or invalid", function()
    local file <const> = path()
    for _, key in ipairs{"solver", "active"} do
      refused("format", "FILE.gb: its solver is unknown to this version: 'kronecker'",
        forged(file, function(d) d[key] = "kronecker" end))
      refused("format", "FILE.gb: its solver is unknown to this version: table", forged(file, function(d) d[key] = {1} end))
    end
    refused("format", "FILE.gb: its solver is unknown to this version: 'auto'", forged(file, function(d) d.active = "auto" end))
    for _, name in ipairs{"auto", "direct", "cg", "minres"} do
      assert.equal(name, gb.load(forged(file, function(d) d.solver = name end)).solver)
    end
    assert.equal("minres", kept(gb.load(forged(file, function(d) d.active = "minres" end))).active)
    assert.equal("direct", kept(gb.load(forged(file, function(d) d.active = "direct" end))).active)
    for _, change in ipairs{function(_, t) t.y = gb.ones(4) end, function(_, t) t.y = gb.ones(3, 1) end,
      function(_, t) t.x = gb.ones(3) end,
      function(d) d.x = 3 end, function(d) d.y = 3 end, function(d) d.x = nil end, function(d) d.y = nil end} do
      refused("format", "FILE.gb: its data are no x (n, d) and y (n)", forged(file, change))
    end
    local tasks <const> = saved(several{noise = {0.1, 0.2}}:condition(x, gb.stack({y, y}, 2)))
    for _, change in ipairs{function(_, t) t.y = gb.ones(3, 3) end, function(_, t) t.y = gb.ones(3) end} do
      refused("format", "FILE.gb: its data are no x (n, d) and y (n, tasks)", forged(tasks, change))
    end
    for _, T in ipairs{3, 1.5, "x", false} do
      refused("format", "FILE.gb: its kernel is not one of its tasks", forged(tasks, function(d) d.tasks = T end))
    end
    refused("format", "FILE.gb: its noise is not one of its tasks",
      forged(tasks, function(_, t) t["likelihood.noise.raw"] = gb.zeros(3) end))
    assert.equal("gaussian", gb.load(saved(several())).likelihood.kind)
    local bare <const> = saved(model():condition(x, y), {data = false})
    for key, v in pairs{n = 1.5, d = "x", dtype = 3, digest = 3} do
      refused("format", "FILE.gb: it does not say what its data were", forged(bare, function(d) d.data[key] = v end))
    end
    assert.is_nil(gb.load(saved(model())).x)
  end)

  it("or asked for with what it cannot use, too", function()
    local file <const>, bare <const> = path(), saved(model():condition(x, y), {data = false})
    refused("option", "load: x and y are given together", bare, {x = x})
    refused("option", "load: x and y are given together", bare, {y = y})
    refused("option", "load: the model was saved with its data", file, {x = x, y = y})
    refused("option", "load: the model was saved with its data", saved(model()), {x = x, y = y})
    refused("option", ("load: these are not the data of the model: expected 3 points, 2 columns, f64, digest %s; got 2 "
      .. "points, 1 columns, f32, "
      .. "digest %s"):format(core.digest{x, y}, core.digest{gb.ones(2, 1, f32), gb.ones(2, f32)}), bare,
        {x = gb.ones(2, 1, f32), y = gb.ones(2, f32)})
    near(y, gb.load(bare, {x = x, y = y}).y, 0)
    refused("shape", "load: x has 3 rows, y must be (3), got shape 2 beside x 3x2", bare, {x = x, y = gb.ones(2)})
    raises("option", "gb.load: option 'x' must be a tensor or a frame, got string x", gb.load, bare, {x = "x", y = y})
    raises("option", "gb.load: option 'warp' must be a function", gb.load, file, {warp = 3})
    raises("option", "gb.load: option 'warp' must be a function", gb.load, file, {warp = setmetatable({}, {})})
    for _, name in ipairs{"kernels", "means", "priors", "functions"} do
      raises("option", ("gb.load: option '%s' must be a table of functions by name, got number 3"):format(name), gb.load, file,
        {[name] = 3})
    end
    for _, name in ipairs{"data", "caches"} do
      raises("option", ("save: option '%s' must be a boolean, got number 3"):format(name), model().save, model(), file,
        {[name] = 3})
    end
    raises("option", "load: expected a path, got 3; gb.load(path)", gb.load, 3)
    local err <const> = raises("option", "save: expected a path, got nil; m:save(path)", function() model():save() end)
    assert.matches("store_parts_spec%.lua:%d+: save: expected a path", tostring(err))
    raises("option", "save: expected a path, got nil; b:save(path)", function() gb.gp.batch{kernel = K.rbf{}}:save() end)
    raises("option", "save: expected a path, got nil; km:save(path)", function() gb.kmeans{k = 2}:save() end)
    local holed <const> = several():condition(x, gb.stack({y, gb.tensor{1, 0 / 0, 2}}, 2), {missing = "mask"})
    local other <const> = gb.stack({y, gb.tensor{1, -(0 / 0), 2}}, 2)
    assert.equal(5, #kept(kept(gb.load(saved(holed, {data = false}), {x = x, y = other})).inner).y)
    refused("shape", "load: x has 3 rows, y must be (3, 2), a column a task, got shape 3 beside x 3x2", saved(holed,
      {data = false}),
      {x = x, y = y})
  end)

  it("is not taken for one where a kernel's own error stops it", function()
    local odd <const> = K.define("odd", {}, function(a, b) return (-(a - b) ^ 2):exp():prod(-1) end)
    local file <const> = saved(gb.gp.exact{kernel = odd{}, noise = 0.1}:condition(x, y))
    refused("option", "FILE.gb: kernel 'odd' is not in the file: give it, gb.load(path, {kernels = {odd = constructor}})", file)
    refused("format", "FILE.gb: 'odd' makes no kernel", file, {kernels = {odd = function() return 3 end}})
    assert.matches("^[^:]+: .*boom", raises("format", "", gb.load, file, {kernels = {odd = function() error "boom" end}}).message)
    for _, code in ipairs{"oom", "interrupted"} do
      refused(code, "enough", file, {kernels = {odd = function() core.raise(code, "enough") end}})
    end
    local own <const> = {}
    assert.equal(own, select(2, pcall(gb.load, file, {kernels = {odd = function() error(own) end}})))
  end)
end)
