--- standardize: a model that scales its data is the model of data that were scaled by hand, seen in their units.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local N <const>, D <const> = 40, 2

local function inputs(n, seed, dtype)
  return (gb.rand(n, D, {seed = seed}) * gb.tensor{10, 0.01} + gb.tensor{100, -3}):to{dtype = dtype or "f64"}:eval()
end

local function outputs(x, seed)
  local u <const> = x:to{dtype = "f64"}
  return (500 + 40 * ((u:select(2, 1) - 100) / 2):sin() + 3 * gb.randn(#x, {seed = seed})):to{dtype = x.dtype}:eval()
end

local x <const>, new <const> = inputs(N, 1), inputs(9, 3)
local y <const>, new_y <const> = outputs(x, 2), outputs(new, 4)
local both <const> = gb.stack({y, (y * y * 1e-3):eval()}, 2):eval()

local function exact(o)
  local all <const> = {kernel = K.matern52{ard = true}, noise = 0.1}
  for key, v in pairs(o or {}) do all[key] = v end
  return gb.gp.exact(all)
end

local function several(o)
  local all <const> = {kernel = K.rbf{}, tasks = 2}
  for key, v in pairs(o or {}) do all[key] = v end
  return gb.gp.multitask(all)
end

--- A model that scales, and the same fitted by hand: {own, hand, sx, sy}; xs, ys: data.
local function pair(make, o, xs, ys, fit)
  local zx <const>, sx <const> = gb.data.standardize(xs)
  local zy <const>, sy <const> = gb.data.standardize(ys)
  local scaled <const> = {standardize = true}
  for key, v in pairs(o or {}) do scaled[key] = v end
  local out <const> = {own = make(scaled), hand = make(o), sx = sx, sy = sy}
  out.own_info, out.hand_info = out.own:fit(xs, ys, fit or {steps = 8}), out.hand:fit(zx, zy, fit or {steps = 8})
  return out
end

--- The predictions of both are the same bits.
local function same(p, at)
  local own <const>, hand <const> = p.own:predict(at), p.hand:predict(p.sx:apply(at))
  assert.is_true(own.mean:equal(p.sy:undo(hand.mean)), "mean")
  assert.is_true(own.f_var:equal(p.sy:undo_var(hand.f_var)), "f_var")
  assert.is_true(own.y_var:equal(p.sy:undo_var(hand.y_var)), "y_var")
  assert.is_true(own.y_mean:equal(own.mean), "y_mean")
  local seen <const>, wide <const> = own.mean + own.y_var:sqrt(), {dtype = "f64"}
  near(-0.5 * (1 + (2 * math.pi * own.y_var:to(wide)):log()), own:log_density(seen):to(wide),
    own.mean.dtype == "f64" and 1e-10 or 1e-3, "log_density")
  local lo <const>, hi <const> = own:interval(0.9)
  local hand_lo <const>, hand_hi <const> = hand:interval(0.9)
  assert.is_true(lo:equal(p.sy:undo(hand_lo)) and hi:equal(p.sy:undo(hand_hi)), "interval")
  local of <const> = {of = "y", seed = 5}
  assert.is_true(own:sample(3, of):equal(p.sy:undo(hand:sample(3, of))), "sample")
  assert.is_true(p.own:draw(2, {seed = 1})(at):equal(p.sy:undo(p.hand:draw(2, {seed = 1})(p.sx:apply(at)))), "draw")
  return own, hand
end

describe("a model that scales its data", function()
  it("is the model of scaled data in the units of the data, to the bit", function()
    local p <const> = pair(exact, nil, x, y)
    local own <const>, hand <const> = same(p, new)
    assert.is_true(own.f_cov:equal(p.sy:undo_var(hand.f_cov)))
    assert.equal(N, #p.own.x)
    assert.is_true(p.own.x:equal(x) and p.own.y:equal(y))
  end)

  it("is so by every solver, in f32, and on simulated devices", function()
    for _, solver in ipairs{"direct", "cholesky", "cg", "sdd"} do
      local ok <const>, p <const> = pcall(pair, exact, {solver = solver}, x, y, {steps = 2})
      if ok then same(p, new) else assert.equal("option", p.code, solver .. ": " .. tostring(p)) end
    end
    local narrow <const> = inputs(N, 1, "f32")
    same(pair(exact, nil, narrow, outputs(narrow, 2)), inputs(9, 3, "f32"))
    gb.config{devices = 3}
    local _ <close> = setmetatable({}, {__close = function() gb.config{devices = 1} end})
    same(pair(exact, {solver = "cg"}, x, y, {steps = 2}), new)
  end)

  it("is so of several outputs, with Kronecker structure and with missing values", function()
    local p <const> = pair(several, nil, x, both)
    local own <const>, hand <const> = same(p, new)
    local sd <const> = p.sy.sd:unsqueeze(1):expand(9, 2):reshape(18)
    near(hand.f_cov * sd:unsqueeze(1) * sd:unsqueeze(2), own.f_cov, 1e-12)
    local holes <const> = gb.where(gb.rand(N, 2, {seed = 7}):lt(0.2), 0 / 0, both):eval()
    local with_holes <const> = pair(several, nil, x, holes, {steps = 4, missing = "mask"})
    same(with_holes, new)
    near(with_holes.hand:log_marginal_likelihood():item()
      - (holes:eq(holes):to{dtype = "f64"} * with_holes.sy.sd:log()):sum():item(),
      with_holes.own:log_marginal_likelihood(), 1e-12)
    assert.is_true(holes:eq(holes):eq(with_holes.own.y:eq(with_holes.own.y)):all())
  end)

  it("scales one of x and y where that is asked for, by the scaler of the script", function()
    local zx <const>, sx <const> = gb.data.standardize(x)
    local zy <const>, sy <const> = gb.data.standardize(y)
    local by_x <const>, hand_x <const> = exact{standardize = {x = sx}}, exact()
    by_x:fit(x, y, {steps = 3})
    hand_x:fit(zx, y, {steps = 3})
    assert.is_true(by_x:predict(new).y_var:equal(hand_x:predict(sx:apply(new)).y_var))
    local by_y <const>, hand_y <const> = exact{standardize = {y = sy, x = false}}, exact()
    by_y:fit(x, y, {steps = 3})
    hand_y:fit(x, zy, {steps = 3})
    assert.is_true(by_y:predict(new).y_var:equal(sy:undo_var(hand_y:predict(new).y_var)))
    local prior <const> = exact{standardize = {x = sx, y = sy}}:predict(new)
    near(gb.full({9}, 500 - 500 + sy.mean:item()), prior.mean, 1e-12)
  end)

  it("reports densities of the data: with the Jacobian", function()
    local p <const> = pair(exact, nil, x, y)
    local shift <const> = N * math.log(p.sy.sd:item())
    near(p.hand:log_marginal_likelihood():item() - shift, p.own:log_marginal_likelihood(), 1e-12)
    near(p.hand_info.log_likelihood - shift, p.own_info.log_likelihood, 1e-12)
    near(p.hand_info.value + shift, p.own_info.value, 1e-12)
    near(p.hand_info.history[2].value + shift, p.own_info.history[2].value, 1e-12)
    local own <const>, hand <const> = p.own:score(new, new_y), p.hand:score(p.sx:apply(new), p.sy:apply(new_y))
    local sd <const> = p.sy.sd:item()
    near(hand.nlpd + math.log(sd), own.nlpd, 1e-12)
    near(hand.msll, own.msll, 1e-12)
    near(hand.smse, own.smse, 1e-12)
    near(hand.rmse * sd, own.rmse, 1e-12)
    near(hand.crps * sd, own.crps, 1e-12)
    near(hand.coverage90, own.coverage90, 0)
    near(hand.joint_log_density - 9 * math.log(sd), own.joint_log_density, 1e-10)
    local out <const>, by_hand <const> = p.own:leave_one_out(), p.hand:leave_one_out()
    near(by_hand.nlpd + math.log(sd), out.nlpd, 1e-12)
    near(p.sy:undo(by_hand.mean), out.mean, 1e-12)
    near(p.sy:undo_var(by_hand.var), out.var, 1e-12)
    local seen <const> = {}
    local again <const> = exact{standardize = true}
    again:fit(x, y, {steps = 2, on_step = function(s) seen[#seen + 1] = s.value end})
    near(again.info.history[1].value, seen[1], 0)
  end)

  it("has gradients by points in the units of the data", function()
    local p <const> = pair(exact, nil, x, y)
    local function value(at) return p.own:predict(at).mean:sum() + p.own:predict(at).y_var:sum() end
    local t <const> = new:slice(1, 1, 3):eval()
    local g <const> = gb.grad(value(t), t)
    local function by_hand(at)
      local q <const> = p.hand:predict(p.sx:apply(at))
      return p.sy:undo(q.mean):sum() + p.sy:undo_var(q.y_var):sum()
    end
    near(gb.grad(by_hand(t), t), g, 1e-12)
    local h <const> = 1e-5
    local step <const> = gb.tensor{{h, 0}, {0, 0}, {0, 0}}
    near((value(t + step):item() - value(t - step):item()) / (2 * h), g:select(1, 1):select(1, 1), 1e-5)
  end)

  it("keeps its scale where it is conditioned, and takes another where it is fitted again", function()
    local p <const> = pair(exact, nil, x, y)
    p.own:predict(new).mean:eval()
    p.hand:predict(p.sx:apply(new)).mean:eval()
    local more <const>, more_y <const> = inputs(5, 8), outputs(inputs(5, 8), 9)
    local grown <const> = {own = p.own:condition(more, more_y), sx = p.sx, sy = p.sy,
      hand = p.hand:condition(p.sx:apply(more):eval(), p.sy:apply(more_y):eval())}
    assert.equal("append", grown.own.update.kind)
    same(grown, new)
    assert.equal(N + 5, #grown.own.y)
    local task <const> = pair(several, nil, x, both)
    local two <const> = gb.stack({more_y, more_y}, 2)
    same({own = task.own:condition(more, two), hand = task.hand:condition(task.sx:apply(more), task.sy:apply(two)), sx = task.sx,
      sy = task.sy}, new)
    local other <const> = inputs(20, 21)
    local other_y <const> = (outputs(other, 22) * 3):eval()
    p.own:fit(other, other_y, {steps = 1})
    local zy <const>, sy <const> = gb.data.standardize(other_y)
    near(20 * math.log(sy.sd:item()), -p.own:log_marginal_likelihood() + exact():condition((gb.data.standardize(other)), zy)
      :set{["kernel.lengthscale"] = p.own:get "kernel.lengthscale".value, ["kernel.variance"] = p.own:get "kernel.variance".value,
        ["likelihood.noise"] = p.own:get "likelihood.noise".value}:log_marginal_likelihood():item(), 1e-9)
  end)

  it("has fantasies in the units of the data", function()
    local p <const> = pair(exact, nil, x, y)
    local fy <const> = gb.stack({new_y, new_y + 30}, 1)
    local own <const> = p.own:condition(new, fy):predict(x:slice(1, 1, 4))
    local hand <const> = p.hand:condition(p.sx:apply(new), p.sy:apply(fy)):predict(p.sx:apply(x:slice(1, 1, 4)))
    near(p.sy:undo(hand.mean), own.mean, 1e-12)
    near(p.sy:undo_var(hand.y_var), own.y_var, 1e-12)
    near(p.sy:undo(hand:sample(2, {seed = 1})), own:sample(2, {seed = 1}), 1e-12)
  end)

  it("takes known variances in units of y squared", function()
    local var <const> = (gb.rand(N, {seed = 11}) * 9 + 1):eval()
    local zx <const>, sx <const> = gb.data.standardize(x)
    local zy <const>, sy <const> = gb.data.standardize(y)
    local unit <const> = sy.sd:item() ^ 2
    local own <const> = gb.gp.exact{kernel = K.rbf{}, likelihood = gb.likelihoods.fixed(var, {new = 2}), standardize = true}
    local hand <const> = gb.gp.exact{kernel = K.rbf{}, likelihood = gb.likelihoods.fixed(var / unit, {new = 2 / unit})}
    own:fit(x, y, {steps = 4})
    hand:fit(zx, zy, {steps = 4})
    near(sy:undo_var(hand:predict(sx:apply(new)).y_var), own:predict(new).y_var, 1e-10)
    near(own:predict(new).f_var + 2, own:predict(new).y_var, 1e-12)
    local more <const> = gb.full({9}, 4.0)
    near(sy:undo(hand:condition(sx:apply(new), sy:apply(new_y), {noise = more / unit}):predict(sx:apply(x)).mean),
      own:condition(new, new_y, {noise = more}):predict(x).mean, 1e-9)
    near(hand:score(sx:apply(new), sy:apply(new_y), {noise = 4 / unit}).nlpd + math.log(sy.sd:item()),
      own:score(new, new_y, {noise = 4}).nlpd, 1e-9)
    local holes <const> = gb.where(gb.range(1, N):eq(3), 0 / 0, y):eval()
    local masked <const> = gb.gp.exact{kernel = K.rbf{}, likelihood = gb.likelihoods.fixed(var), standardize = true}
    masked:fit(x, holes, {steps = 1, missing = "mask"})
    assert.equal(N - 1, #masked.y)
  end)

  it("is planned as the model of scaled data is", function()
    local p <const> = pair(exact, nil, x, y)
    local own <close> = p.own:plan(x, y)
    local hand <close> = p.hand:plan(p.sx:apply(x):eval(), p.sy:apply(y):eval())
    assert.equal(hand.peak, own.peak)
    raises("refused", "", p.own.plan, p.own, x, y, {budget = 100})
    assert.is_true(exact{standardize = true}:fit(x, y, {steps = 2, budget = own.peak}).value < math.huge)
  end)

  it("says its parameters in the units of the data", function()
    local m <const> = exact{standardize = true, kernel = K.matern52{ard = true}, mean = gb.means.linear{}}
    m:fit(x, y, {steps = 4})
    local _ <const>, sx <const> = gb.data.standardize(x)
    local _ <const>, sy <const> = gb.data.standardize(y)
    near(m:get "kernel.lengthscale".value * sx.sd, m:value "kernel.lengthscale", 1e-14)
    near(m:get "kernel.variance".value * sy.sd ^ 2, m:value "kernel.variance", 1e-14)
    near(m:get "likelihood.noise".value * sy.sd ^ 2, m:value "likelihood.noise", 1e-14)
    local at <const> = new:slice(1, 1, 1)
    near(sy:undo(m.mean(sx:apply(at))), (at * m:value "mean.slope"):sum() + m:value "mean.offset", 1e-12)
    assert.matches("standardized: inputs and targets", tostring(m), 1, true)
    assert.matches("in units of the data", tostring(m), 1, true)
    local one <const> = exact{standardize = true, kernel = K.rbf{} * K.periodic{} + K.rbf{}:warp(function(v) return v * v end)}
    one:fit(x, y, {steps = 1})
    near(sx.sd * one:get "kernel[1][1].lengthscale".value, one:value "kernel[1][1].lengthscale", 1e-14)
    near(sx.sd * one:get "kernel[1][2].period".value, one:value "kernel[1][2].period", 1e-14)
    near(one:get "kernel[1][2].lengthscale".value, one:value "kernel[1][2].lengthscale", 0)
    raises("option", "value: 'kernel[2].lengthscale' cannot be told in the units of the data", one.value, one,
      "kernel[2].lengthscale")
    local twice <const> = exact{standardize = true, kernel = (K.rbf{} + K.matern12{}) * (K.rbf{} + K.matern32{})}
    twice:fit(x, y, {steps = 1})
    near(twice:get "kernel[1][2].variance".value * sy.sd ^ 2, twice:value "kernel[1][2].variance", 1e-14)
    near(twice:get "kernel[2][2].variance".value, twice:value "kernel[2][2].variance", 0)
    near(exact():get "likelihood.noise".value, exact():value "likelihood.noise", 0)
  end)

  it("is saved with its scalers, and loaded to the same bits", function()
    local path <const> = support.path ".gb"
    for _, m in ipairs{pair(exact, nil, x, y).own, pair(several, nil, x, both).own,
      exact{standardize = {y = (select(2, gb.data.standardize(y)))}}:condition(x, y)} do
      m:save(path)
      local l <const> = gb.load(path)
      assert.is_true(l:predict(new).mean:equal(m:predict(new).mean))
      assert.is_true(l:predict(new).y_var:equal(m:predict(new).y_var))
      assert.is_true(l.x:equal(m.x) and l.y:equal(m.y))
      assert.equal(tostring(m), tostring(l))
      local more <const> = m.y.ndim == 2 and both:slice(1, 1, 9) or new_y
      near(m:condition(new, more):predict(x).mean, l:condition(new, more):predict(x).mean, 0)
      m:save(path, {data = false})
      raises("option", "the model was saved without its data", function() return gb.load(path):predict(new) end)
      near(m:predict(new).mean, gb.load(path, {x = m.x, y = m.y}):predict(new).mean, 0)
    end
    support.sweep()
  end)

  it("is copied with them", function()
    local m <const> = pair(exact, nil, x, y).own
    assert.is_true(m:copy():predict(new).y_var:equal(m:predict(new).y_var))
    local c <const> = m:copy()
    c:fit(inputs(12, 31), outputs(inputs(12, 31), 32), {steps = 1})
    assert.equal(12, #c.y)
    assert.is_true(m.y:equal(y))
  end)

  it("notes constant columns, which it only centres", function()
    local flat <const> = gb.stack({x:select(2, 1), gb.full({N}, 7.0)}, 2):eval()
    local m <const> = exact{standardize = true}
    local info <const> = m:fit(flat, y, {steps = 2})
    assert.same({"column 2 of x has the same value in all rows and tells none apart"}, info.notes)
    assert.is_true(m:predict(flat).mean:isfinite():all())
    local level <const> = exact{standardize = true}
    assert.matches("y does not vary", tostring(level:fit(x, gb.full({N}, 3.0), {steps = 2})))
    near(gb.full({9}, 3.0), level:predict(new).mean, 1e-9)
    local one <const> = exact{standardize = true}:condition(x:slice(1, 1, 1), y:slice(1, 1, 1))
    near(y:select(1, 1), one:predict(x:slice(1, 1, 1)).mean, 1e-9)
  end)
end)

describe("standardize", function()
  it("refuses what is no such option, and says what is", function()
    local _ <const>, sx <const> = gb.data.standardize(x)
    raises("option", "option 'standardize' must be true, or {x = true, y = true} where a scaler, the second result of "
      .. "gb.data.standardize, may stand for true, got number 1", exact, {standardize = 1})
    raises("option", "got a scaler: say of what, {x = scaler} or {y = scaler}", exact, {standardize = sx})
    raises("option", "got the key z", exact, {standardize = {z = true}})
    raises("option", "got x = number", exact, {standardize = {x = 3}})
    raises("option", "unknown option 'standardise', did you mean 'standardize'?", exact, {standardise = true})
  end)

  it("refuses scalers that do not go with the data", function()
    local m <const> = exact{standardize = {x = (select(2, gb.data.standardize(y)))}}
    raises("shape", "fit: standardize: the scaler of x is of 1 column, x has 2", m.fit, m, x, y)
    assert.is_nil(m.x)
    local bad <const> = exact{standardize = {x = require "gibbous.data.prepare".scaler(gb.tensor{0, 1}, gb.tensor{1, 0})}}
    raises("option", "fit: standardize: the scaler of x has mean 1 and sd 0 in column 2: finite, and sd above 0 expected", bad.fit,
      bad, x, y)
    local gone <const> = gb.stack({y, y * 0 / 0}, 2):eval()
    raises("nan", "fit: standardize: column 2 of y has no value that is not NaN", function()
      several{standardize = true}:fit(x, gone, {missing = "mask"})
    end)
    raises("option", "it is chosen when a model is made: gb.gp.exact{standardize = ...}", function()
      exact().standardize = true
    end)
    raises("option", "predict: standardize takes the scale of x from data, and the model holds none", function()
      return exact{standardize = true}:predict(new)
    end)
  end)
end)
