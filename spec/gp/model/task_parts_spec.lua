--- A model of several outputs on a few cells, against the dense covariance of all of them, and the parts it is made of.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local kept <const> = require "gibbous.gp.model".fields
local observations <const> = require "gibbous.gp.tasks.observations"
local parts <const> = require "gibbous.gp.tasks.parts"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const>, S <const> = gb.kernels, gb.solvers
local nan <const> = 0 / 0

local n <const>, T <const>, m <const> = 4, 2, 3
local x <const>, at <const> = gb.tensor{0, 0.6, 1.5, 2.1}, gb.tensor{0.3, 1, 3}
local full <const> = gb.tensor{{0.1, -0.5}, {0.9, 0.2}, {1.2, 1.4}, {0.3, 2}}
local holed <const> = gb.tensor{{0.1, nan}, {0.9, 0.2}, {nan, 1.4}, {0.3, 2}}
local noises <const> = {0.1, 0.2}

local function model(o)
  o = o or {}
  return gb.gp.multitask{kernel = K.rbf{lengthscale = 0.8, variance = 1.5}, tasks = T, noise = o.noise or noises, rank = o.rank,
    mean = o.mean or gb.means.constant{0.5, -0.5}, solver = o.solver}
end

--- Dense: mean (m, T) and covariance (m T, m T) of the functions at 'at', from the cells with a value.
local function dense(of, y, noise)
  local B <const> = of.kernel.tasks:matrix():totable()
  local function k(a, b) return math.exp(-(a - b) ^ 2 / (2 * 0.8 ^ 2)) end
  local xs <const>, ys <const>, ats <const> = x:totable(), y:totable(), at:totable()
  local cells <const>, targets <const>, wanted <const> = {}, {}, {}
  for i, v in ipairs(xs) do
    for t = 1, T do
      if ys[i][t] == ys[i][t] then
        cells[#cells + 1], targets[#targets + 1] = {v, t}, ys[i][t] - (t == 1 and 0.5 or -0.5)
      end
    end
  end
  for _, v in ipairs(ats) do for t = 1, T do wanted[#wanted + 1] = {v, t} end end
  local function matrix(a, b)
    local rows <const> = {}
    for i, p in ipairs(a) do
      rows[i] = {}
      for j, q in ipairs(b) do rows[i][j] = k(p[1], q[1]) * B[p[2]][q[2]] end
    end
    return gb.tensor(rows)
  end
  local d <const> = {}
  for i, c in ipairs(cells) do d[i] = noise[c[2]] end
  local C <const>, cross <const> = matrix(cells, cells) + gb.linalg.diag(gb.tensor(d)), matrix(wanted, cells)
  local mean <const> = cross:matmul(gb.linalg.solve(C, gb.tensor(targets))):reshape(m, T) + gb.tensor{0.5, -0.5}
  local nlml <const> = (gb.linalg.inv_quad(C, gb.tensor(targets)) + gb.linalg.logdet(C) + #cells * math.log(2 * math.pi)) / 2
  return mean, matrix(wanted, wanted) - cross:matmul(gb.linalg.solve(C, cross:t())), -nlml
end

describe("a model of several outputs", function()
  it("predicts as the dense covariance of its cells does, by any algorithm, with all cells or some", function()
    for _, y in ipairs{full, holed} do
      for _, solver in ipairs{"auto", "direct", S.cg{tol = 1e-10}, y == full and "kronecker" or "auto"} do
        for _, noise in ipairs{noises, 0.3} do
          local of <const> = model{solver = solver, noise = noise}:condition(x, y, {missing = "mask"})
          local each <const> = noise == 0.3 and {0.3, 0.3} or noise
          local mean <const>, cov <const>, likelihood <const> = dense(of, y, each)
          local p <const> = of:predict(at)
          near(mean, p.mean, 1e-8)
          near(cov, p.f_cov, 1e-8)
          near(cov:diagonal():reshape(m, T), p.f_var, 1e-8)
          near(cov:diagonal():reshape(m, T) + gb.tensor(each), p.y_var, 1e-8)
          assert.equal("3x2", tostring(p.f_var_bound.shape))
          assert.is_true(rawequal(p.mean, p.mean) and p.converged)
          if solver == "direct" then near(likelihood, of:log_marginal_likelihood(), 1e-9) end
          local lo <const>, hi <const> = p:interval(0.5)
          near(mean - 0.6744897501960817 * p.y_var:sqrt(), lo, 1e-8)
          near(mean + 0.6744897501960817 * p.y_var:sqrt(), hi, 1e-8)
          near(mean + 1.959963984540054 * p.f_var:sqrt(), (select(2, p:interval(nil, {of = "f"}))), 1e-8)
          assert.same({"1x3x2", "4x3x2"}, {tostring(p:sample().shape), tostring(p:sample(4).shape)})
          assert.equal(solver == "auto" and y == full and "decomposition" or solver == "kronecker" and "decomposition"
            or (core.type(solver) == "solver" and "solve" or "factor"), of.update.kind)
        end
      end
    end
  end)

  it("has draws that are those of the long form, in its shape", function()
    local of <const> = model{solver = "direct"}:condition(x, full)
    local flat <const> = kept(of).inner:predict(parts.every(at:unsqueeze(2), T))
    for _, o in ipairs{{seed = 3}, {seed = 3, of = "y"}} do
      near(flat:sample(2, o):reshape(2, m, T), of:predict(at):sample(2, o), 1e-12) end
    local d <const> = of:draw(2, {seed = 3, features = 16})
    assert.equal("2x3x2", tostring(d(at).shape))
    near(kept(of).inner:draw(2, {seed = 3, features = 16})(parts.every(at:unsqueeze(2), T)):reshape(2, m, T), d(at), 1e-10)
    assert.equal("2 functions drawn with 16 features: call with points (m, d) for values (2, m)", tostring(d))
    raises("shape", "draw: the model was given 1 column, x has shape 2x2", d, gb.ones(2, 2))
  end)

  it("says what it is and what it holds", function()
    local function head(of) return (tostring(of):match "^[^\n]+":gsub("%s+", " ")) end
    assert.equal("gp.multitask 2 tasks, no data: the prior", head(model()))
    assert.equal("gp.multitask 2 tasks, 4 points, 1 column, 8 of 8 values, f64", head(model():condition(x, full)))
    local some <const> = model():condition(x, holed, {missing = "mask"})
    assert.equal("gp.multitask 2 tasks, 4 points, 1 column, 6 of 8 values, f64", head(some))
    assert.equal("gp.multitask 2 tasks, 0 points, 1 column, 0 of 0 values, f64",
      head(model():condition(gb.zeros(0, 1), gb.zeros(0, 2))))
    assert.matches("\nparameter ", tostring(some))
    local p <const> = some:predict(at)
    assert.equal("prediction of 2 tasks at 3 points: .mean .f_var .y_var .f_cov .info :interval(level) :sample(k)", tostring(p))
    raises("option", "a prediction is a value; 'mean' cannot be assigned", function() p.mean = 1 end)
    raises("option", "a prediction has no field 'means' (did you mean 'mean'?)", function() return p.means end)
    raises("option", "sample is a method of a prediction: write p:sample(...) with a colon, not p.sample(...)", p.sample, 1)
    assert.same({"prediction", "gp.multitask"}, {gb.type(p), gb.type(some)})
    assert.same({T, "auto"}, {some.tasks, some.solver})
    assert.is_true(some.x:equal(x:unsqueeze(2)) and #some.y == n)
    assert.same({"kernel", "mean", "likelihood"}, {gb.type(some.kernel), gb.type(some.mean), gb.type(some.likelihood)})
    assert.is_nil(model().info)
    raises("option", "a model of several outputs has no field 'task' (did you mean 'tasks'?)", function() return some.task end)
    raises("option", "predict is a method of a model: write m:predict(...) with a colon, not m.predict(...)", some.predict, at)
    raises("option", "field 'tasks' of a model cannot be assigned; m:set sets parameters by their paths",
      function() some.tasks = 3 end)
    raises("option", "it is chosen when a model is made: gb.gp.multitask{solver = ...}", function() some.solver = "direct" end)
    raises("option", "field 'noise' of a model cannot be assigned; to set the parameter, m:set(\"likelihood.noise\", v)",
      function() some.noise = 3 end)
    assert.equal(5, #gb.params(some))                        -- lengthscale, weights, diagonal, means and noise
  end)

  it("refuses data that do not fit, with the cell", function()
    local of <const> = model()
    local function refused(code, text, xs, ys, o) return raises(code, text, of.condition, of, xs, ys, o) end
    local err <const> = refused("nan",
      "condition: y is NaN in 2 cells, the first in row 1, task 2; missing = \"mask\" leaves such cells out", x, holed)
    assert.same({1, 2, 2}, {err.row, err.column, err.count})
    local one <const> = refused("nan", "condition: y is infinite in 1 cell, the first in row 3, task 1", x,
      gb.tensor{{1, nan}, {1, 1}, {1 / 0, 1}, {1, 1}}, {missing = "mask"})
    assert.same({3, 1, 1}, {one.row, one.column, one.count})
    assert.is_nil(one.message:find("mask", 1, true))
    refused("shape", "condition: x has 4 rows, y must be (4, 2), a column a task, got shape 4", x, gb.ones(4))
    refused("shape", "condition: x has 4 rows, y must be (4, 2), a column a task, got shape 3x2", x, gb.ones(3, 2))
    refused("shape", "condition: x has 4 rows, y must be (4, 2), a column a task, got shape 4x3", x, gb.ones(4, 3))
    refused("dtype", 'condition: x is f32, y is f64; y:to{dtype = "f32"} or x:to{dtype = "f64"} makes them one',
      x:to{dtype = "f32"}, full)
    refused("nan", "condition: x: the value in row 2", gb.tensor{1, nan, 2, 3}, full)
    refused("nan", "condition: y is NaN in 1 cell, the first in row 1, task 2", gb.tensor{1}, gb.tensor{{1, nan}})
    refused("option", "condition: x must be", "x", full)
    local single <const> = of:condition(gb.tensor{1}, gb.tensor{{1, 2}})
    single:predict(at).mean:eval()
    assert.equal("decomposition", single.update.kind)
    for _, row in ipairs{{"auto", full, "kronecker"}, {"kronecker", full, "kronecker"}, {"auto", holed, "auto"},
      {"direct", full, "direct"}} do
      assert.equal(row[3], kept(kept(model{solver = row[1]}:condition(x, row[2], {missing = "mask"})).inner).solver)
    end
    refused("option", "condition: y must be a tensor", x, "y")
    local kron <const> = model{solver = "kronecker"}
    raises("option", 'condition: solver = "kronecker" needs a value in every cell, 6 of 8 have one', kron.condition, kron, x,
      holed, {missing = "mask"})
    raises("shape", "score: there are no values to score", of.score, of, x, gb.full({4, 2}, nan), {missing = "mask"})
    raises("shape", "score: there are no values to score", of.score, of, gb.zeros(0, 1), gb.zeros(0, 2))
    raises("option", "score: unknown option 'variance'", of.score, of, x, full, {variance = "exact"})
    assert.equal("0x2", tostring(of:condition(gb.zeros(0, 1), gb.zeros(0, 2)).y.shape))
    assert.same({8, 6, 0, 0}, {observations.count(full), observations.count(holed), observations.count(gb.zeros(0, 2)),
      observations.count(gb.tensor{{nan}})})
  end)

  it("takes its noise and means a task, in the dtype of the data", function()
    local f32 <const> = {dtype = "f32"}
    local of <const> = model{solver = "direct"}:condition(x:to(f32), holed:to(f32), {missing = "mask"})
    local mean <const>, cov <const> = dense(of, holed, noises)
    local p <const> = of:predict(at:to(f32), {precision = "f32"})
    assert.same({"f32", "f32"}, {p.mean.dtype, p.y_var.dtype})
    near(mean, p.mean, 1e-4)
    near(cov:diagonal():reshape(m, T) + gb.tensor(noises), p.y_var, 1e-4)
  end)

  it("plans a step as it takes it", function()
    local of <const> = model()
    local complete <const>, some <const> = of:plan(x, full), of:plan(x, holed, {missing = "mask"})
    assert.is_nil(of.x)
    assert.is_true(complete.peak > 0 and some.peak > 0)
    local holds <const> = model{solver = "direct"}:condition(x, full)
    assert.equal(holds:plan().peak, model{solver = "direct"}:plan(x, full).peak)
    assert.is_true(holds:plan(x:slice(1, 1, 2), full:slice(1, 1, 2)).peak < holds:plan().peak)
    assert.equal(holds:plan{objective = "mll"}.peak, holds:plan().peak)
    raises("option", "plan: the model holds no data; call plan(x, y)", of.plan, of)
    raises("nan", "plan: y is NaN in 2 cells", of.plan, of, x, holed)
    raises("shape", "plan: x has 4 rows, y must be (4, 2)", of.plan, of, x, gb.ones(4))
    local kron <const> = model{solver = "kronecker"}
    raises("option", 'plan: solver = "kronecker" needs a value in every cell, 6 of 8 have one', kron.plan, kron, x, holed,
      {missing = "mask"})
    raises("refused", "", holds.plan, holds, {budget = 100})
  end)
end)

describe("the score of several outputs", function()
  it("has the figures of all cells with a value, and of each task", function()
    local of <const> = model{solver = "direct"}:condition(x, holed, {missing = "mask"})
    local seen <const> = {{0.4, nan}, {0.9, nan}, {nan, nan}}
    local p <const> = of:predict(at)
    local mean <const>, var <const> = p.mean:totable(), p.y_var:totable()
    local function figures(from, to)
      local out <const>, count = {se = 0, mae = 0, nlpd = 0, crps = 0, coverage95 = 0}, 0
      for i = 1, m do
        for t = from, to do
          local e <const> = seen[i][t] - mean[i][t]
          if e == e then
            local sd <const> = math.sqrt(var[i][t])
            local z <const> = e / sd
            count = count + 1
            out.se, out.mae = out.se + e * e, out.mae + math.abs(e)
            out.nlpd = out.nlpd + 0.5 * (math.log(2 * math.pi * var[i][t]) + z * z)
            out.crps = out.crps + sd * (z * (2 * gb.tensor(z):ndtr():item() - 1) + 2 * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
              - 1 / math.sqrt(math.pi))
            out.coverage95 = out.coverage95 + (math.abs(z) <= 1.959963984540054 and 1 or 0)
          end
        end
      end
      for key, v in pairs(out) do out[key] = v / count end
      out.rmse, out.se, out.n = math.sqrt(out.se), nil, count
      return out
    end
    local function check(want, got) for key, v in pairs(want) do near(v, got[key], 1e-9, key) end end
    local s <const> = of:score(at, gb.tensor(seen), {missing = "mask"})
    check(figures(1, 2), s)
    check(figures(1, 1), s.tasks[1])
    assert.equal(0, s.tasks[2].n)
    assert.is_true(s.tasks[2].rmse ~= s.tasks[2].rmse and s.converged and #s.tasks == 2)
    assert.matches("^rmse .*  n 2\ntask 1: rmse .*  n 2\ntask 2: no values$", tostring(s))
    seen[1][2], seen[3][2] = -9, 0.5
    local both <const> = of:score(at, gb.tensor(seen), {missing = "mask"})
    check(figures(1, 2), both)
    check(figures(2, 2), both.tasks[2])
    assert.is_true(both.tasks[2].coverage95 == 0.5 and both.coverage95 == 0.75)
    assert.equal("score", gb.type(s))
    local missed <const> = model{solver = S.cg{tol = 1e-12, max_iter = 1}}:condition(x, full):score(at, gb.ones(3, 2))
    assert.is_false(missed.converged)
  end)
end)

describe("the parts of a model of several outputs", function()
  it("join points and tasks, point by point", function()
    near({{1, 2, 7}, {3, 4, 8}}, parts.join(gb.tensor{{1, 2}, {3, 4}}, gb.tensor{7, 8}), 0)
    near({{1, 2, 1}, {1, 2, 2}, {1, 2, 3}, {3, 4, 1}, {3, 4, 2}, {3, 4, 3}}, parts.every(gb.tensor{{1, 2}, {3, 4}}, 3), 0)
    assert.equal("f32", parts.every(gb.ones(2, 1, {dtype = "f32"}), 2).dtype)
  end)

  it("give the kernel's variance to the tasks, unless it is shared, and count columns from the end without theirs", function()
    local open <const> = parts.product(K.rbf{}, 2, 1)
    near({0.7071067811865476, 0.7071067811865476}, open.tasks.weights, 1e-12)
    local given <const> = parts.product(K.rbf{variance = 9}, 2, 1)
    near({4.5 ^ 0.5, 4.5 ^ 0.5}, given.tasks.weights, 1e-12)
    near({4.5, 4.5}, given.tasks.diagonal, 1e-12)
    local is_open <const> = require "gibbous.param".is_open
    assert.same({true, false}, {is_open(open.tasks.hyper.weights), is_open(given.tasks.hyper.weights)})
    assert.is_nil(given[1].hyper.variance)
    near({{9, 4.5}, {4.5, 9}}, given.tasks:matrix(), 1e-12)
    local none <const> = parts.product(K.rbf{variance = 4}, 2, 0)
    near({{4, 0}, {0, 4}}, none.tasks:matrix(), 1e-12)
    local shared <const> = gb.param(4, {min = 0})
    local tied <const> = parts.product(K.rbf{variance = shared}, 2, 1)
    near({{1, 0.5}, {0.5, 1}}, tied.tasks:matrix(), 1e-12)
    local last <const> = parts.product(K.rbf{active_dims = {-1, 1}} + K.change_point(K.rbf{}, K.linear{active_dims = {-2}},
      {location = 1, column = -1}), 2, 1)
    local text <const> = tostring(last)
    assert.matches("active_dims={%-2, 1}", text)
    assert.matches("active_dims={%-3}", text)
    local at3 <const> = gb.tensor{{0.1, 0.4, 1}, {0.7, 1.4, 2}}
    local plain <const> = K.rbf{active_dims = {-1, 1}} + K.change_point(K.rbf{}, K.linear{active_dims = {-2}},
      {location = 1, column = -1})
    local seen <const> = at3:slice(2, 1, 2):eval()
    near(plain(seen) * gb.tensor{{1, 0.5}, {0.5, 1}}, last(at3), 1e-12)
    for _, k in ipairs{K.white{}, K.rbf{} + K.white{}, K.linear{} * (K.rbf{} + K.white{})} do
      raises("option", "gb.gp.multitask: white noise belongs into noise, one variance per task, not into the kernel",
        parts.product, k, 2, 1)
    end
  end)

  it("are told apart in a product, with its variance", function()
    local product <const> = parts.product(K.rbf{lengthscale = 0.5, variance = gb.param(3, {min = 0})}, 2, 1)
    local points <const>, index <const> = parts.split(product)
    assert.equal("index", index.kind)
    local a <const>, b <const> = gb.tensor{{0.1}, {0.7}}, gb.tensor{{0.2}, {0.5}, {0.9}}
    local rbf <const> = K.rbf{lengthscale = 0.5, variance = 3}
    near(rbf(a, b), parts.between(points, a, b), 1e-12)
    near(rbf(a), parts.between(points, a, a), 1e-12)
    near({3, 3}, parts.diag(points, a), 1e-12)
    local two <const>, tasks <const> = parts.split(K.rbf{lengthscale = 0.5} * K.index{tasks = 2, weights = {{2}, {3}}} * K.linear{})
    near({{4.5, 6}, {6, 9.5}}, tasks:matrix(), 1e-12)
    near({0.1 ^ 2, 0.7 ^ 2}, parts.diag(two, a), 1e-12)
    near(K.rbf{lengthscale = 0.5}(a, b) * K.linear{}(a, b), parts.between(two, a, b), 1e-12)
    assert.is_nil((select(2, parts.split(K.rbf{} * K.linear{}))))
  end)

  it("take one noise, or one a task, and means of points or of tasks", function()
    local each <const> = parts.noise(nil, 3)
    near({1, 1, 1}, each.noise, 0)
    assert.is_true(require "gibbous.param".is_open(each.noise))
    assert.same({"gaussian", "gaussian", "tasks", "tasks"},
      {parts.noise(0.5, 3).kind, parts.noise(gb.param(0.5, {min = 0}), 3).kind,
      parts.noise({1, 2, 3}, 3).kind, parts.noise(gb.param({1, 2, 3}, {min = 0}), 3).kind})
    raises("shape", "gb.gp.multitask: 2 noise variances for 3 tasks", parts.noise, {1, 2}, 3)
    raises("shape", "gb.gp.multitask: 2 constant means for 3 tasks", parts.mean, gb.means.constant{1, 2}, 3)
    local long <const> = gb.tensor{{0.5, 1}, {0.5, 2}, {2, 1}}
    near({7, 8, 7}, parts.mean(gb.means.constant{7, 8}, 2)(long), 0)
    near({7, 7, 7}, parts.mean(gb.means.constant(7), 2)(long), 0)
    near({1, 1, 4}, parts.mean(gb.means.linear{slope = {2}, offset = 0}, 2)(long), 1e-12)
    assert.equal("f32", parts.mean(gb.means.constant{7, 8}, 2)(long:to{dtype = "f32"}).dtype)
    raises("index", "tasks: row 1 has task 3, expected a whole number from 1 to 2",
      function() return parts.mean(gb.means.constant{7, 8}, 2)(gb.tensor{{0.5, 3}}) end)
    local noise <const> = require "gibbous.likelihoods.task_noise"(gb.param({7, 8}, {min = 0}))
    assert.equal("tasks", noise.kind)
    near({7, 8, 7}, noise.variance(noise, long), 1e-12)
    near({7, 8, 7}, noise.new_variance(noise, long), 1e-12)
    assert.equal("f32", noise.variance(noise, long:to{dtype = "f32"}).dtype)
    raises("index", "the noise of each task: row 1 has task 3", noise.variance, noise, gb.tensor{{0.5, 3}})
  end)
end)
