--- What gb.load refuses, and what m:save does: files that are damaged, newer, or of other things.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local raises <const> = support.raises
local K <const> = gb.kernels

local x <const> = gb.rand(40, 2, {seed = 1}):eval()
local y <const> = ((6 * x):sin():sum(2) + 0.1 * gb.randn(40, {seed = 2})):eval()
local new <const> = gb.rand(9, 2, {seed = 3}):eval()

local function saved(m, opts)
  local path <const> = support.path ".gb"
  m:save(path, opts)
  return path
end

local function same_predictions(a, b, at)
  local p <const>, q <const> = a:predict(at or new), b:predict(at or new)
  assert.is_true(p.mean:equal(q.mean))
  assert.is_true(p.f_var:equal(q.f_var))
  assert.is_true(p.y_var:equal(q.y_var))
end

--- A model of the usual parts.
local function usual()
  local shared <const> = gb.param(1.3, {min = 0.1, prior = gb.priors.gamma{shape = 2, rate = 1}})
  local kernel <const> = K.rbf{lengthscale = shared}:named "slow"
    + (2 * K.matern32{ard = true} * K.periodic{period = gb.param(1, {fixed = true})}):named "season"
    + K.polynomial{degree = 3, active_dims = {2}} + K.matern12{lengthscale = shared}
  return gb.gp.exact{kernel = kernel, mean = gb.means.linear{slope = {0.1, 0.2}}, noise = 0.1}:condition(x, y)
end

--- The file at 'path' with its description changed by 'change', and a checksum that fits.
local function forged(path, change)
  local tensors <const>, texts <const> = core.safetensors_read(path)
  local described <const> = core.json_decode(texts.model)
  local other <const> = change(described, texts, tensors)
  texts.model = core.json_encode(other == nil and described or other)
  texts.checksum = require "gibbous.gp.save".checksum(texts, tensors)
  local out <const> = support.path ".gb"
  core.safetensors_write(out, tensors, texts)
  return out
end

describe("files that are no such model", function()
  after_each(support.sweep)

  local function small()
    return saved(gb.gp.exact{kernel = K.rbf{}, noise = 0.1}:condition(x:slice(1, 1, 4), y:slice(1, 1, 4)))
  end

  it("are refused by name", function()
    local path <const> = small()
    raises("io", "cannot open", gb.load, "/nonexistent/m.gb")
    raises("format", "not a model file, which m:save(path) writes", gb.load, support.write(support.path(), "garbage, not a model"))
    raises("format", "not a model file", gb.load, support.write(support.path ".csv", "a,b\n1,2\n"))
    gb.data.write(path .. ".safetensors", {v = gb.ones(2)})
    raises("format", "not a saved model; gb.data.read reads tensors", gb.load, path .. ".safetensors")
    os.remove(path .. ".safetensors")
    raises("format", "in format 7; this version, " .. gb.version .. ", reads up to format 2", gb.load,
      forged(path, function(_, texts)
      texts.version = "7"
    end))
    raises("format", "format 1 to 2 expected, got 'x'", gb.load, forged(path, function(_, texts) texts.version = "x" end))
    raises("format", "kernel 'rbff' is unknown to this version, did you mean 'rbf'?", gb.load, forged(path, function(d)
      for _, o in ipairs(d.objects) do if o.kind == "rbf" then o.kind = "rbff" end end
    end))
    raises("format", "objects of class 'x' are unknown", gb.load, forged(path, function(d) d.objects[1].class = "x" end))
    raises("format", "object 99 is missing", gb.load, forged(path, function(d) d.kernel.at = 99 end))
    raises("format", "tensor 'y' is missing", gb.load, forged(path, function(_, _, t) t.y = nil end))
    raises("format", "its data are no x (n, d) and y (n)", gb.load, forged(path, function(_, _, t) t.y = gb.ones(3) end))
    raises("format", "raw must be finite", gb.load,
      forged(path, function(_, _, t) t["likelihood.noise.raw"] = gb.tensor(0 / 0) end))
    raises("format", "nested too deep, or in a circle", gb.load, forged(path, function(d)
      d.objects[1] = {class = "gibbous.kernel", kind = "sum", own = false, hyper = {}, parts = {d.kernel, d.kernel}}
    end))
    raises("format", "it describes no model", gb.load, forged(path, function() return {1, 2} end))
    local function unknown(what, change)
      raises("format", "its solver is unknown to this version: " .. what, gb.load, forged(path, change))
    end
    for _, key in ipairs{"solver", "active"} do
      unknown("'kronecker'", function(d) d[key] = "kronecker" end)
      unknown("table", function(d) d[key] = {1} end)
    end
    unknown("nil", function(d) d.solver = nil end)
    assert.is_false(pcall(gb.load))
  end)

  it("say what is wrong with an object", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 3, {seed = 1}), "tanh", gb.nn.linear(3, 2, {seed = 2})}
    local m <const> = gb.gp.exact{kernel = (K.rbf{} + K.linear{} * K.periodic{}):warp(net), mean = gb.means.constant(1),
      noise = 0.1,
      solver = gb.solvers.cg{}}:condition(x, y)
    local path <const> = saved(m)
    local function refused(text, class, kind, change)
      local err <const> = raises("format", text, gb.load, forged(path, function(d)
        local found = false
        for _, o in ipairs(d.objects) do
          if o.class == class and (kind == nil or o.kind == kind) and not found then
            found = true
            change(o, d)
          end
        end
        assert.is_true(found)
      end))
      assert.equal(text, err.message:sub(-#text))
    end
    local kernel <const>, mean <const>, block <const> = "gibbous.kernel", "gibbous.mean", "gibbous.block"
    refused("rbf: parameter 'lengthscale' is missing", kernel, "rbf", function(o) o.hyper.lengthscale = nil end)
    refused("rbf: parameter 'x' is missing", kernel, "rbf", function(o) o.pending = {"x"} end)
    refused("a list or object expected, got number", kernel, "rbf", function(o) o.hyper = 3 end)
    refused("gibbous.param expected, got number", kernel, "rbf", function(o) o.hyper.lengthscale = 3 end)
    refused("gibbous.param expected, got gibbous.kernel", kernel, "sum", function(o) o.hyper.variance = o.parts[1] end)
    refused("a sum of kernels has 1 parts", kernel, "sum", function(o) o.parts = {o.parts[1]} end)
    refused("a sum of kernels has 0 parts", kernel, "sum", function(o) o.parts = nil end)
    refused("a product of kernels has no parameter 'width'", kernel, "product", function(o) o.hyper.width = o.hyper.variance end)
    refused("gibbous.kernel expected, got string", kernel, "product", function(o) o.parts[1] = "x" end)
    refused("values of kind 'what' are unknown to this version", kernel, "rbf", function(o) o.settings = {a = {["%"] = "what"}} end)
    refused("mean 'median' is unknown to this version", mean, "constant", function(o) o.kind = "median" end)
    refused("likelihood 'binomial' is unknown to this version", "gibbous.likelihood", "gaussian",
      function(o) o.kind = "binomial" end)
    refused("linear(2, 3): parameter 'weight' is missing or of another shape", block, "linear",
      function(o) o.params.weight = nil end)
    refused("linear(2, 3): parameter 'weight' is missing or of another shape", block, "linear",
      function(o) o.params.weight = o.params.bias end)
    refused("a list or object expected, got boolean", block, "linear", function(o) o.made = false end)
    refused("block 'lstm' is unknown to this version", block, "linear", function(o) o.kind = "lstm" end)
    refused("parameter 'lengthscale': version must be a whole number", "gibbous.param", nil, function(_, d)
      for _, o in ipairs(d.objects) do
        if o.name == "lengthscale" then o.version = 0.5 end
      end
    end)
    same_predictions(m, gb.load(forged(path, function() end)))
  end)

  it("one bit changed anywhere, or cut anywhere, is noticed", function()
    local path <const> = small()
    local bytes <const>, out <const> = support.read(path), support.path()
    for i = 1, #bytes, 2 do
      support.write(out, bytes:sub(1, i - 1) .. string.char(bytes:byte(i) ~ 1 << i // 2 % 8) .. bytes:sub(i + 1))
      local ok <const>, err <const> = pcall(gb.load, out)
      assert.is_false(ok, "byte " .. i)
      assert.equal("format", err.code)
    end
    for i = 0, #bytes - 1, 7 do
      support.write(out, bytes:sub(1, i))
      assert.is_false(pcall(gb.load, out))
    end
  end)

  local exact <const> = gb.gp.exact{kernel = K.rbf{}:named "a" * K.polynomial{} + K.matern32{lengthscale = {1, 2}}:warp(
    gb.nn.sequential{gb.nn.linear(2, 2, {seed = 1}), "tanh"}), mean = gb.means.constant(1), noise = 0.1,
    solver = gb.solvers.cg{precond = gb.precond.jacobi{}}}:condition(x, y)
  local several <const> = gb.gp.multitask{kernel = K.rbf{} + K.linear{}, tasks = 2, mean = gb.means.constant{1, 2}}
    :condition(x, gb.stack({y, -y}, 2))
  several:predict(new).mean:eval()
  local scaled <const> = gb.gp.exact{kernel = K.rbf{ard = true}, noise = 0.1, standardize = true}
  scaled:fit(gb.data.frame{a = x:select(2, 1), b = x:select(2, 2), y = y}, "y", {steps = 2})

  for label, m in pairs{["a model"] = exact, ["a model of several outputs"] = several, ["a model that scales"] = scaled} do
    it("descriptions that a liar signed give a model or a named error: " .. label, function()
      local path <const> = saved(m, {caches = true})
      local state = 1
      local function draw(n)
        state = (state * 6364136223846793005 + 1442695040888963407) & math.maxinteger
        return (state >> 33) % n + 1
      end
      local junk <const> = {0, -1, 1.5, 1e300, "", "x", "kernel", true, false, {}, {1, 2}, {["%"] = "object", at = 1},
        {["%"] = "tensor", at = "x"}, {["%"] = "given", name = "z"}, {["%"] = "number", is = "nan"}, {["%"] = "zzz"}, {a = {b = 1}}}
      local function mutate(t)
        local keys <const> = {}
        for key in pairs(t) do keys[#keys + 1] = key end
        if #keys == 0 then return end
        table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
        local key <const> = keys[draw(#keys)]
        if type(t[key]) == "table" and draw(5) > 1 then return mutate(t[key]) end
        if draw(6) == 1 then t[key] = nil else t[key] = junk[draw(#junk)] end
      end
      local loaded, refused = 0, 0
      for _ = 1, 150 do
        local well <const>, file <const> = pcall(forged, path, function(d) for _ = 1, draw(2) do mutate(d) end end)
        if well then                                             -- a list with a hole is no JSON
          local ok <const>, got <const> = pcall(gb.load, file)
          if ok then
            loaded = loaded + 1
            pcall(function() return got:predict(new).mean:eval() end)
            tostring(got)
          else
            refused = refused + 1
            assert.is_not_equal("string", type(got), got)
            assert.is_truthy(got.code)
          end
          os.remove(file)
        end
      end
      assert.is_true(loaded > 5 and refused > 50, ("%d loaded, %d refused"):format(loaded, refused))
    end)
  end
end)

describe("saving", function()
  after_each(support.sweep)

  it("leaves the old file where it cannot write a new one", function()
    local m <const> = usual()
    raises("io", "cannot write '/nonexistent/a.gb'", m.save, m, "/nonexistent/a.gb")
    raises("option", "unknown option 'cache', did you mean 'caches'?", m.save, m, "x.gb", {cache = true})
    local deep = K.rbf{}
    for i = 1, 200 do deep = (deep + K.rbf{}):named("a" .. i) end
    local nested <const> = gb.gp.exact{kernel = deep}
    raises("option", "objects are nested too deep", nested.save, nested, support.path())
    local own <const> = require "gibbous.solvers.base".new({}, {run = print, text = function() return "own" end})
    local odd <const> = gb.gp.exact{kernel = K.rbf{}, solver = own}
    local path <const> = saved(m)
    local before <const> = support.read(path)
    raises("option", "save: solver is a solver that a script has defined, which cannot be saved", odd.save, odd, path)
    assert.equal(before, support.read(path))
  end)
end)

describe("what cannot be saved", function()
  it("is named by where it is", function()
    local store <const> = require "gibbous.store"
    local function fails(v, path, text)
      local w <const> = store.writer(2)
      support.raises("option", text, w.value, w, v, path)
    end
    fails({a = {b = {io.stdout}}}, "root", "save: root.a.b[1] cannot be saved: userdata")
    fails({a = {b = {[1.5] = 2}}}, "root", "save: root.a.b cannot be saved: a table with the key '1.5'")
    fails({a = {b = {["%"] = 2}}}, "", "save: a.b cannot be saved: a table with the key '%'")
    fails(io.stdout, "", "save: the model cannot be saved: userdata")
  end)
end)
