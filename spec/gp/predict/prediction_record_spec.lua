--- The record of a prediction by itself: its parts are given here, so every field, fact, jitter and text is known exactly.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local prediction <const> = require "gibbous.gp.predict.record"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local f32 <const> = {dtype = "f32"}

--- A record at these points. o: parts, how (of them), noise, many, each, ready (true), draw; what was called stands in .calls.
local function record(points, o)
  o = o or {}
  local calls <const> = {prepare = 0}
  local m <const> = #points
  local working <const> = {dtype = o.dtype or points.dtype}
  local parts <const> = {mean = function() return core.range(1, m):to(working) end,
    prior = function() return core.full({m}, 2, working) end,
    prior_cov = function() return 2 * core.eye(m, working) end,
    info = {algorithm = "direct", variance = "exact", precision = points.dtype, converged = true, reused = false},
    how = o.how, count = 10}
  for key, v in pairs(o.parts or {}) do parts[key] = v end
  local p <const> = prediction.new(points, {
    prepare = function()
      calls.prepare = calls.prepare + 1
      return parts
    end,
    is_ready = function() return o.ready ~= false end,
    noise = function() return o.noise and core.full({}, o.noise, working) or nil end,
    cost = function(key)
      calls.cost = key
      return {what = "the wait for " .. key, bytes = 1, minimum = 1, kept = 1, seconds = 1}
    end,
    announce = function(key) calls.announced = key end,
    draw = o.draw, many = o.many, each = o.each})
  return p, calls
end

local points <const> = gb.zeros(3, 2)

--- What data explain: q and the joint matrix, exactly.
local function explaining(q, o)
  local how <const> = {explained = function(m) return gb.full({m}, q), o and o.size end,
    joint = function(m) return gb.full({m, m}, q) end}
  for key, v in pairs(o or {}) do how[key] = v end
  return how
end

describe("the record of a prediction", function()
  it("has its fields from the parts, each made once", function()
    local p <const>, calls <const> = record(points, {how = explaining(0.5), noise = 0.25})
    near({1, 2, 3}, p.mean, 0)
    near({1.5, 1.5, 1.5}, p.f_var, 0)
    near({1.75, 1.75, 1.75}, p.y_var, 0)
    near({1.5, -0.5, -0.5, -0.5, 1.5, -0.5, -0.5, -0.5, 1.5}, p.f_cov, 0)
    near({0, 0, 0}, p.f_var_bound, 0)
    assert.equal(1, calls.prepare)
    assert.is_true(rawequal(p.f_var, p.f_var) and rawequal(p.y_var, p.y_var))
    near({2, 2, 2}, record(points).f_var, 0)
    near(2 * gb.eye(3), record(points).f_cov, 0)
    local bare <const> = record(gb.zeros(1, 2))
    assert.is_true(rawequal(bare.f_var, bare.y_var))
    assert.matches("\n  noise of new observations not known: y_var is f_var$", tostring(bare))
    assert.same({"prediction", "prediction_info"}, {gb.type(p), gb.type(p.info)})
    local made <const> = {prior = 0, prior_cov = 0}
    local counted <const> = record(points, {parts = {
      prior = function()
        made.prior = made.prior + 1
        return gb.full({3}, 2)
      end,
      prior_cov = function()
        made.prior_cov = made.prior_cov + 1
        return gb.eye(3)
      end}})
    local _ <const> = {counted.f_var, counted.f_var_bound, counted.y_var, counted.f_cov}
    assert.same({prior = 1, prior_cov = 1}, made)
    counted:sample(1)
    assert.same({prior = 2, prior_cov = 1}, made)
  end)

  it("in the dtype of the points, however it was computed", function()
    local p <const> = record(points:to(f32),
      {dtype = "f64", how = explaining(0.5, {bound = function(m) return gb.full({m}, 1) end}),
      noise = 0.25})
    for _, key in ipairs{"mean", "f_var", "y_var", "f_cov", "f_var_bound"} do assert.equal("f32", p[key].dtype, key) end
    assert.equal("f32", p:sample(2).dtype)
    assert.equal("f32", p:sample(2, {of = "y"}).dtype)
  end)

  it("has a bound of variances where one is known, f_var at most", function()
    local order <const> = {}
    local function bound(v)
      local p <const> = record(points, {how = explaining(0.5, {bound = function(m)
        order[#order + 1] = "bound"
        return gb.full({m}, v)
      end, explained = function(m)
        order[#order + 1] = "explained"
        return gb.full({m}, 0.5)
      end})})
      local got <const> = p.f_var_bound
      near({1.5, 1.5, 1.5}, p.f_var, 0)
      return got
    end
    near({0.25, 0.25, 0.25}, bound(0.25), 0)
    assert.same({"explained", "bound"}, order)
    near({1.5, 1.5, 1.5}, bound(math.huge), 0)
  end)

  it("of no points is empty, and computes nothing", function()
    local none <const> = gb.zeros(0, 2)
    local how <const> = {explained = error, joint = error, bound = error, solves = true}
    local p <const> = record(none, {how = how, ready = false})
    for key in ("mean f_var f_cov"):gmatch "%S+" do
      assert.is_false(core.is_promise(record(none, {how = how, ready = false})[key])) end
    local shapes <const> = {mean = "0", f_var = "0", y_var = "0", f_cov = "0x0", f_var_bound = "0"}
    for key, shape in pairs(shapes) do assert.equal(shape, tostring(p[key].shape), key) end
    assert.equal("2x0", tostring(p:sample(2).shape))
    assert.equal("1x0", tostring(p:sample(nil, {of = "y", method = "pathwise"}).shape))
    assert.is_true(p.converged)
    assert.is_nil(p.info.clamped)
    assert.is_nil(p.info.noise)
    local each <const> = record(none, {how = how, many = 4, each = 4, parts = {mean = function() return gb.zeros(4, 0) end}})
    assert.same({"4x0", "4x0", "4x0x0", "4x5x0"},
      {tostring(each.mean.shape), tostring(each.f_var.shape), tostring(each.f_cov.shape),
      tostring(each:sample(5).shape)})
  end)

  it("waits with what computes until it is looked at", function()
    local solving <const> = {how = explaining(0.5, {solves = true})}
    local p <const>, calls <const> = record(points, solving)
    assert.same({false, true, true}, {core.is_promise(p.mean), core.is_promise(p.f_var), core.is_promise(p.f_cov)})
    assert.equal("the wait for f_cov", gb.plan(p.f_cov).waits[1].what)
    assert.is_nil(calls.announced)
    near({1.5, 1.5, 1.5}, p.f_var, 0)
    assert.equal("f_var", calls.announced)
    assert.is_false(core.is_promise(record(points, {how = explaining(0.5)}).f_var))
    assert.is_false(core.is_promise(record(points).f_var))
    local late <const>, seen <const> = record(points, {ready = false, how = explaining(0.5)})
    assert.is_true(core.is_promise(late.mean))
    assert.equal(0, seen.prepare)
    near({1, 2, 3}, late.mean, 0)
    assert.same({1, "mean"}, {seen.prepare, seen.announced})
    assert.is_false(core.is_promise(late.f_var))
    assert.is_true(core.is_promise(record(gb.zeros(1, 2), {ready = false}).mean))
    local o <const> = {ready = false, how = explaining(0.5)}
    local between <const> = record(points, o)
    o.ready = true
    assert.is_false(core.is_promise(between.mean))
    for key, shape in pairs{mean = "4x3", f_var = "4x3", f_cov = "4x3x3"} do
      assert.equal(shape, tostring(record(points, {ready = false, many = 4, each = 4})[key].shape))
    end
    for key, shape in pairs{mean = "4x3", f_var = "3", f_cov = "3x3"} do
      assert.equal(shape, tostring(record(points, {ready = false, many = 4})[key].shape))
    end
  end)

  it("refuses other fields and assignments, and says what it is", function()
    local p <const> = record(points)
    for _, key in ipairs{"var", "variance"} do
      raises("option", ("a prediction has no field '%s': f_var of the function, y_var of a new observation"):format(key),
        function() return p[key] end)
    end
    for _, key in ipairs{"sd", "std", "stddev"} do
      raises("option", "y_var of a new observation; :sqrt() of one is its standard deviation", function() return p[key] end)
    end
    raises("option", "a prediction has no field 'means' (did you mean 'mean'?)", function() return p.means end)
    raises("option", "a prediction has no field 'yvar' (did you mean 'y_var'?)", function() return p.yvar end)
    raises("option", "a prediction is a value; 'mean' cannot be assigned", function() p.mean = 1 end)
    raises("option", "sample is a method of a prediction: write p:sample(...) with a colon, not p.sample(...)", p.sample, 3)
    raises("option", "a prediction of fantasies has no f_var_bound", function() return record(points, {many = 4}).f_var_bound end)
    assert.equal("prediction at 3 points: .mean .f_var .y_var .f_cov .info :interval(level) :sample(k)\n  noise of new "
      .. "observations not "
      .. "known: y_var is f_var", tostring(p))
    assert.equal("prediction of 4 fantasies at 3 points: .mean .f_var .y_var .f_cov .info :interval(level) :sample(k)",
      tostring(record(points, {many = 4, noise = 1})))
    assert.equal("prediction at 0 points: .mean .f_var .y_var .f_cov .info :interval(level) :sample(k)",
      tostring(record(gb.zeros(0, 1))))
  end)

  it("bounds observations, or the function, symmetrically", function()
    local p <const> = record(points, {how = explaining(1), noise = 3})
    local lo <const>, hi <const> = p:interval()
    near({1 - 1.959963984540054 * 2, 1 + 1.959963984540054 * 2}, {lo[1]:item(), hi[1]:item()}, 1e-9)
    local low <const>, high <const> = p:interval(0.5, {of = "f"})
    near({2 - 0.6744897501960817, 2 + 0.6744897501960817}, {low[2]:item(), high[2]:item()}, 1e-9)
    for _, level in ipairs{0, 1, -1, "x", 0 / 0} do
      raises("option", ("interval: the level must be between 0 and 1, got %s"):format(
        level ~= level and "nan" or level == "x" and "string x" or level),
        p.interval, p, level)
    end
    raises("option", "interval: option 'of' must be one of y, f, got string g", p.interval, p, 0.9, {of = "g"})
  end)
end)

describe("the facts of a prediction", function()
  local function facts(o) return record(points, o).info end
  local report <const> = {slices = 1, seconds = 1.5, converged = true, residual = 0.5, iterations = 7}
  local function with(t, more)
    local out <const> = {}
    for key, v in pairs(t) do out[key] = v end
    for key, v in pairs(more or {}) do out[key] = v end
    return out
  end
  local function of(own, mean)
    local info <const> = with({algorithm = "cg", variance = "exact", precision = "f64", converged = true, reused = true}, mean)
    return facts{how = explaining(0.5, {report = own}), parts = {info = info}, noise = 1}
  end

  it("are those of the parts, and the worst of the solves", function()
    assert.same({algorithm = "direct", variance = "exact", precision = "f64", converged = true, reused = false}, facts{noise = 1})
    local info <const> = of(report, {residual = 0.25, iterations = 9})
    assert.same({1, 1.5, 0.5, 9, true}, {info.slices, info.seconds, info.residual, info.iterations, info.converged})
    assert.is_nil(info.missed)
    local other <const> = of(with(report, {residual = 0.125, iterations = 3}), {residual = 0.25, iterations = 2})
    assert.same({0.25, 3}, {other.residual, other.iterations})
    local none <const> = of(with(report, {slices = 0, residual = 9}), {residual = 0.25, iterations = 2})
    assert.same({0.25, 2}, {none.residual, none.iterations})
    assert.is_nil(none.slices)
    local alone <const> = of(report)
    assert.same({0.5, 7}, {alone.residual, alone.iterations})
  end)

  it("say whose solves missed their tolerance", function()
    local failed <const> = {converged = false, reason = "of the mean", residual = 1, iterations = 1}
    local mean <const> = of(report, failed)
    assert.same({false, "mean", "of the mean"}, {mean.converged, mean.missed, mean.reason})
    local alone <const> = of(report, {converged = false})                       -- that says no more
    assert.same({false, "mean"}, {alone.converged, alone.missed})
    local variances <const> = of(with(report, {converged = false, reason = "of variances"}), {residual = 1, iterations = 1})
    assert.same({false, "variances", "of variances"}, {variances.converged, variances.missed, variances.reason})
    local both <const> = of(with(report, {converged = false, reason = "of variances"}), failed)
    assert.same({false, "mean and variances"}, {both.converged, both.missed})
    assert.is_false(record(points, {how = explaining(0.5, {report = with(report, {converged = false})})}).converged)
    assert.is_true(record(points, {how = explaining(0.5, {report = report})}).converged)
    assert.equal("unknown", facts{}.noise)
    assert.is_nil(facts{noise = 1}.noise)
  end)

  it("count variances that were looked at", function()
    local at <const> = gb.tensor{{0, 0}, {0, 1}, {0 / 0, 1}, {1, 1}}
    local how <const> = {explained = function() return gb.tensor{2, 0.5, 0 / 0, 9} end}
    local p <const> = record(at, {how = how, noise = 1})
    assert.is_nil(p.info.clamped)
    p.f_var:eval()
    assert.same({1, 1}, {p.info.clamped, p.info.invalid})
    local waiting <const> = record(at, {how = with(how, {solves = true}), noise = 1})
    local _ <const> = waiting.f_var
    assert.is_nil(waiting.info.clamped)
    local prior <const> = record(at, {noise = 1})
    prior.f_var:eval()
    assert.is_nil(prior.info.clamped)
    raises("option", "the report of a prediction has no field 'clampd'", function() return p.info.clampd end)
    for key in ("rank missed reason residual iterations slices seconds variance_error jitter relative_jitter noise"):gmatch "%S+" do
      assert.is_nil(p.info[key])
    end
  end)

  it("of two solves are the worst of both", function()
    local out <const> = {residual = 1, iterations = 5, converged = true}
    prediction.add_solve(out, {iterations = 9, converged = false})
    assert.same({residual = 1, iterations = 5, converged = true}, out)
    prediction.add_solve(out, {residual = 0.5, iterations = 6, converged = true, reason = "x"})
    assert.same({residual = 1, iterations = 6, converged = true}, out)
    prediction.add_solve(out, {residual = 2, iterations = 3, converged = false, reason = "y"})
    assert.same({residual = 2, iterations = 6, converged = false, reason = "y"}, out)
  end)
end)

describe("joint samples of a prediction", function()
  --- A covariance of two points that needs a jitter above 'gap' of the prior variance 4.
  local function odd(gap, dtype, o)
    local p <const> = record(gb.zeros(2, 1, {dtype = dtype}),
      {parts = {prior = function() return gb.tensor({4, 1}, {dtype = dtype}) end,
      count = o and o.count or 0, prior_cov = function()
        return gb.tensor({{1, 1 + 4 * gap}, {1 + 4 * gap, 1}}, {dtype = dtype})
      end}, draw = o and o.draw})
    return p
  end
  local u <const> = {f64 = 2.0 ^ -53, f32 = 2.0 ^ -24}

  it("need 0, or 4 n u and ten times as much as often as it fails, of the largest prior variance", function()
    local plain <const> = record(points)
    plain:sample(1)
    assert.same({0, 0}, {plain.info.jitter, plain.info.relative_jitter})
    local function needed(gap, dtype, o)
      local p <const> = odd(gap, dtype, o)
      p:sample(1)
      near(4 * p.info.relative_jitter, p.info.jitter, 1e-20)
      return p.info.relative_jitter
    end
    near(1, needed(3 * u.f64, "f64") / (8 * u.f64), 1e-12)
    near(1, needed(300 * u.f64, "f64") / (800 * u.f64), 1e-12)
    near(1, needed(3 * u.f64, "f64", {count = 5}) / (28 * u.f64), 1e-12)
    near(1, needed(3 * u.f32, "f32") / (8 * u.f32), 1e-12)
    near(1, needed(30 * u.f32, "f32") / (80 * u.f32), 1e-12)
    near(1e-6, needed(0.95e-6, "f64"), 1e-18)
    near(1e-3, needed(0.9e-3, "f32"), 1e-12)
  end)

  it("are refused beyond 1e-6 of it, of f32 1e-3", function()
    local text <const> = "sample: the covariance of the 2 points is not positive definite, also with %s of the prior variance added"
    for _, row in ipairs{{1.1e-6, "f64", "1e-06"}, {1.1e-3, "f32", "0.001"}} do
      local p <const> = odd(row[1], row[2])
      assert.equal(text:format(row[3]), raises("not_pd", "", p.sample, p).message)
      local way <const> = odd(row[1], row[2], {draw = function() end})
      assert.equal(text:format(row[3]) .. "; method = \"pathwise\" needs no factor", raises("not_pd", "", way.sample, way).message)
    end
    local refused <const> = record(points, {parts = {prior_cov = function() return gb.zeros(3, 2) end}})
    raises("shape", "", refused.sample, refused)
    support.with(core.linalg, {cholesky = function() error("plain", 0) end}, function()
      local p <const> = record(points)
      assert.equal("plain", select(2, pcall(p.sample, p)))
    end)
  end)

  it("are refused where the covariance is not finite, by the row, or by what the kernel gives", function()
    local function bad(o, at)
      o.prior_cov = o.prior_cov or function() return gb.full({3, 3}, 0 / 0) end
      local p <const> = record(at or points, {parts = o})
      return raises("nan", "", p.sample, p).message
    end
    assert.equal("sample: the covariance of the points is not finite", bad{})
    assert.equal("sample: the kernel is odd", bad{fault = function() return "the kernel is odd" end})
    assert.equal("sample: the covariance of the points is not finite", bad{fault = function() return nil end})
    assert.equal("sample: the point in row 2 is not finite", bad({}, gb.tensor{{1, 1}, {1, 1 / 0}, {0 / 0, 1}}))
    assert.equal("sample: the covariance of the points is not finite", bad{prior_cov = function() return gb.eye(3) end,
      prior = function() return gb.full({3}, math.huge) end})
  end)

  it("of fantasies need the most of what each needs", function()
    local function cov(gap) return gb.tensor{{1, 1 + 4 * gap}, {1 + 4 * gap, 1}} end
    local p <const> = record(gb.zeros(2, 1), {many = 3, each = 3, parts = {mean = function() return gb.zeros(3, 2) end, count = 0,
      prior = function() return gb.full({3, 2}, 4) end,
      prior_cov = function() return gb.stack({cov(0), cov(300 * u.f64), cov(3 * u.f64)}, 1) end}})
    assert.equal("3x5x2", tostring(p:sample(5).shape))
    near(1, p.info.relative_jitter / (800 * u.f64), 1e-12)
    local mild <const> = odd(3 * u.f64, "f64")
    mild:sample(1)
    mild:sample(1)
    near(1, mild.info.relative_jitter / (8 * u.f64), 1e-12)
    raises("option", "sample: fantasies have no method = \"pathwise\"; condition the model on one of them", p.sample, p, 1,
      {method = "pathwise"})
  end)

  it("are the mean and normals by the root, noise of its own seed besides", function()
    local root <const> = gb.tensor{{2, 0, 0}, {1, 1, 0}, {0.5, 0, 1}}
    local o <const> = {noise = 4, parts = {prior_cov = function() return root:matmul(root:t()) end, prior = function()
      return gb.full({3}, 4)
    end}}
    local p <const> = record(points, o)
    local z <const>, e <const> = gb.randn(2, 3, {seed = 5}), gb.randn(2, 3, {seed = 6})
    local want <const> = z:matmul(root:t()) + gb.tensor{1, 2, 3}
    near(want, p:sample(2, {seed = 5}), 1e-12)
    near(want + 2 * e, p:sample(2, {seed = 5, of = "y"}), 1e-12)
    near(want, p:sample(2, {seed = 5, of = "f", method = "cholesky"}), 1e-12)
    assert.equal("1x3", tostring(p:sample().shape))
    gb.seed(1)
    local first <const> = p:sample(1):eval()
    assert.is_false(first:equal(p:sample(1)))
    gb.seed(1)
    assert.is_true(first:equal(p:sample(1)))
    gb.seed(1)
    local noisy <const> = p:sample(1, {of = "y"}):eval()
    assert.is_false(noisy:equal(first))
    for _, k in ipairs{0, -1, 1.5} do
      raises("option", ("sample: the number of draws must be 1 or more, got %s"):format(k), p.sample, p, k)
    end
    raises("option", "sample: option 'features' must be a whole number", p.sample, p, 1, {features = 0.5})
    raises("option", "sample: option 'of' must be one of f, y", p.sample, p, 1, {of = "z"})
    raises("option", "sample: option 'seed' must be", p.sample, p, 1, {seed = 0.5})
    o.many = 4
    o.parts.mean = function() return gb.tensor{{1, 2, 3}, {0, 0, 0}, {9, 9, 9}, {1, 1, 1}} end
    local shared <const> = record(points, o):sample(2, {seed = 5})
    assert.equal("4x2x3", tostring(shared.shape))
    near(want, shared[1], 1e-12)
    near(want - gb.tensor{1, 2, 3} + 9, shared[3], 1e-12)
    local own <const> = record(points, o):sample(2):eval()
    assert.equal("4x2x3", tostring(own.shape))
    assert.is_true((own[1] - gb.tensor{1, 2, 3} - own[2]):abs():max():item() > 1e-3)             -- draws of its own without a seed
  end)

  it("by functions of the prior are those of the settings", function()
    local asked
    local p <const> = record(points, {noise = 1, draw = function(k, settings)
      asked = {k, settings.features, settings.seed}
      return function(at)
        asked[4] = rawequal(at, points)
        return gb.zeros(k, 3)
      end
    end})
    near(gb.zeros(2, 3), p:sample(2, {method = "pathwise", features = 9, seed = 4}), 0)
    assert.same({2, 9, 4, true}, asked)
    near(gb.randn(2, 3, {seed = 5}), p:sample(2, {method = "pathwise", seed = 4, of = "y"}), 1e-12)
    assert.equal(1024, asked[2])
    raises("option", "draw: features must be 1 or more", p.sample, p, 1, {method = "pathwise", features = 0})
    local single <const> = record(gb.zeros(1, 2),
      {noise = 1, draw = function() return function() return gb.full({1, 1}, 7) end end})
    near(7, single:sample(1, {method = "pathwise"}), 0)
  end)
end)
