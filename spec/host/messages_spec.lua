--- Messages that once left something open: what is wrong, where in the script, and how to mend it.
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local typed <const> = require "spec.host.typed"

-- What is typed, and texts that its message has.
local rows <const> = {
  {"m.fit(x, y)", "fit is a method of a model", "m:fit(...)"},
  {"m.predict(x)", "predict is a method of a model", "m:predict(...)"},
  {"gb:rand(3)", "rand: the first argument is the library", "with a dot"},
  {"gb:zeros(2)", "zeros: the first argument is the library", "gb.zeros(...)"},
  {"gb.rand({dtyp = 1}, 3)", "key 'dtyp'", "options come last"},
  {"x.sum()", "tensor expected, got nil", "x:sum(d, o)"},
  {"gb.nn.cross_entropy(gb.ones(3, 3), (gb.range(1, 3) - 1):to 'i64'):eval()", "position 0 (entry 1) is outside 1 .. 3",
    "the labels of gb.nn.cross_entropy"},
  {"gb.nn.cross_entropy(gb.ones(3, 3), gb.tensor({0, 1, 2}, {dtype = 'i64'}))", "label 0 of row 1", "counted from 1"},
  {"math.sin(x)", "got gibbous.tensor", "x:item()"},
  {"('%.2f'):format(gb.tensor{1}:sum())", "got gibbous.tensor", "x:item()"},
  {"for _ in pairs(x) do end", "a tensor is no table", "ipairs(x)", "x:totable()"},
  {"gb.gp.exact{kernel = k.rbf}", "option 'kernel'", "call it, gb.kernels.rbf{}"},
  {"gb.gp.exact{kernel = k.rbf{}, mean = 0}", "option 'mean'", "gb.means.constant(0)"},
  {"gb.gp.exact{kernel = k.rbf{}, solver = 'foo'}", "option 'solver'", "\"cholesky\"", "gb.solvers"},
  {"gb.gp.exact{noise = .1}", "a kernel is needed", "gb.kernels.rbf{}"},
  {"bare:fit(x, y, {optimizer = 'adam'})", "unknown option 'optimizer'", "known: budget, ftol"},
  {"bare:fit(x, y, {stpes = 3})", "unknown option 'stpes'", "did you mean 'steps'?", "known: budget, ftol"},
  {"gb.plot.figure{zzzz = 3}", "unknown option 'zzzz'", "known: "},
  {"gb.data.read(dir .. '/table.csv', {sep = ';'})", "unknown option 'sep'", "delimiter"},
  {"gb.randn(2, {zzzz = 1})", "randn: unknown option 'zzzz'", "known: device, dtype, seed"},
  {"gb.randn(2, {sed = 1})", "randn: unknown option 'sed'", "did you mean 'seed'?", "known: device, dtype, seed"},
  {"x:sum{dim = 1}", "sum: unknown option 'dim'", "known: keepdim"},
  {"m:get 'lengthscale'", "no parameter 'lengthscale'", "'kernel.lengthscale'"},
  {"k.rbf{} * x", "got a kernel and a tensor", "both sides must be kernels"},
  {"bare:fit(x:to 'f32', y)", "x is f32, y is f64", "x:to{dtype = \"f64\"}"},
  {"bare:fit({1, 2}, {1, 2})", "x must be a tensor, got a list", "gb.tensor(list)"},
  {"gb.rand(-1)", "rand: bad extent -1", "0 or more"},
  {"gb.optim.minimize(function() return y end, gb.param(1))", "the objective must return a tensor of one element", "shape 30"},
  {"gb.grad(x:sum(), y)", "does not depend on the tensor 30", "unused = \"zero\""},
  {"gb.linalg.cholesky(gb.tensor{{1, 2}, {2, 1}}):eval()", "order 2 of 2 is not positive", "jitter on the diagonal"},
  {"gb.load(dir .. '/table.csv')", "not a model file", "gb.data.read"},
  {"gb.data.read(dir .. '/z.npz')", "z.npz: not a zip archive, or one that is cut short", "it has no directory"},
  {"gb.linspace(0, 1)", "#3 to 'linspace'", "gb.linspace(a, b, n, o)"},
  {"y:topk(100)", "to 'topk'", "x:topk(k, d, o)"},
  {"gb.cat(x, x)", "list of tensors expected, got gibbous.tensor)", "gb.cat(list, d)"},
  {"gb.data.write(dir .. '/q.csv', gb.rand(2, 2, 2))", "vectors and matrices, got shape 2x2x2", ".npy keeps the shape"},
  {"m:nosuch()", "a model has no field 'nosuch'", "it has bound, condition, copy"},
  {"bare:fit(x, y, {steps = 1}).convergd", "no field 'convergd'", "'converged'"},
  {"gb.data.set 'yatch'", "no data set 'yatch'", "none 'yacht', which you may mean", "GIBBOUS_DATA"},
  {"gb.linalg.inv(x)", "gb.linalg.inv does not exist", "gb.linalg.solve(A, b)"},
  {"gb.linalg.qqqqqq(x)", "gb.linalg.qqqqqq does not exist", "there are cholesky, diag"},
  {"x:sum(3)", "sum: dimension 3", "1 to 2, or -1 for the last"},
  {"x:zzzzzzz()", "a tensor has no field 'zzzzzzz'", "x: and Tab"},
  {"x:to 'double'", "unknown dtype 'double'", "f64, f32"},
  {"local function make(o)\n  local a = gb.zeros(2, 3)\n  return (a:matmul(a))\nend\nlocal b = x[1]\nlocal c = x:matmul(x)",
    "inner sizes differ", "x:t() transposes"},
}

describe("the message of", function()
  local dir <const> = os.tmpname()

  setup(function()
    os.remove(dir)
    assert(os.execute(("mkdir '%s'"):format(dir)))
    support.write(dir .. "/table.csv", "a,b\n1,2\n3,4\n")
    support.write(dir .. "/z.npz", "PK\3\4\0\0\0\0")
  end)

  teardown(function()
    for _, name in ipairs{"table.csv", "z.npz"} do os.remove(dir .. "/" .. name) end
    os.remove(dir)
  end)

  for _, row in ipairs(rows) do
    it(row[1], function()
      local text <const> = typed.said(row[1], dir)
      assert.is_string(text)
      assert.is_truthy(text:find(typed.last_line(row[1]), 1, true), text)
      for i = 2, #row do assert.is_truthy(text:find(row[i], 1, true), text) end
    end)
  end
end)

describe("a traceback", function()
  local function errors(code, env)
    local path <const> = support.write(support.path ".lua", code)
    local _, err <const>, rc <const> = process.run({path}, {env = env})
    support.sweep()
    assert.equal(1, rc)
    return err
  end

  local code <const> = 'local gb = require "gibbous"\nlocal m = gb.gp.exact{kernel = gb.kernels.rbf{}}\n'
    .. 'local function train() local i = m:fit(gb.ones(3), gb.ones(3), {steps = "a"}) return i end\nlocal i = train()\n'

  it("has the levels of the script, and counts those of the library", function()
    local err <const> = errors(code)
    assert.matches("^gibbous: [^\n]*:3: fit: option 'steps' must be a whole number[^\n]*\nstack traceback:\n"
      .. "\t%(%d calls within the library%)\n\t[^\n]*:3: in local 'train'\n\t[^\n]*:4: in main chunk\n", err)
    assert.is_nil(err:find("gibbous/", 1, true))
  end)

  it("keeps functions in C that the script calls, and Lua's own remarks", function()
    local err <const> = errors 'local gb = require "gibbous"\nlocal x = gb.zeros(2) + gb.zeros(3)\n'
    assert.matches("traceback:\n\t%[C%]: in metamethod 'add'\n\t[^\n]*:2: in main chunk\n\t%[C%]: in %?\n$", err)
    local deep <const> = errors 'local function f(n) if n == 0 then error "end" end local y = f(n - 1) return y end\nf(100)'
    assert.matches("skipping %d+ levels", deep)
    assert.matches("\n\t%[C%]: in %?\n$", deep)
  end)

  it("has the levels of a function that was mapped", function()
    assert.matches("\n\t[^\n]*:2: in upvalue 'f'\n.*\n\t[^\n]*:3: in main chunk\n", errors('local gb = require "gibbous"\n'
      .. "local function f(x) local y = gb.zeros(2) + gb.zeros(3) return y end\n"
      .. "local z = gb.vmap(function(x) local y = f(x) return y end)(gb.ones(3))\n"))
  end)

  it("is whole for who works on the library", function()
    assert.matches("\n\tgibbous/base/options.lua:%d+: in ", errors(code, "GIBBOUS_LUA_DIR=lualib"))
  end)
end)

describe("a solver that cannot solve", function()
  it("says so on stderr, with the script's line and a remedy", function()
    local _, err <const> = process.run{"-e",
      'local gb = require "gibbous"; print(gb.solvers.cg{}:solve(gb.rand(30, 30, {seed = 1}), gb.ones(30)))'}
    assert.matches("%(command line%):1: a solve missed its tolerance: indefinite", err)
    assert.matches("add noise, or use minres", err)
  end)
end)
