--- Models of frames: columns by name.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local N <const> = 30
local temp <const> = (gb.rand(N, {seed = 1}) * 10 + 280):eval()
local dose <const> = (gb.rand(N, {seed = 2}) * 0.1):eval()
local yield <const> = ((temp - 285):sin() + 5 * dose + 0.05 * gb.randn(N, {seed = 3})):eval()
local cost <const> = (yield * 2 + dose):eval()
local plant <const> = {}
for i = 1, N do plant[i] = i % 2 == 0 and "Ulm" or "Kiel" end

local function frame(more)
  local columns <const>, names <const> = {temp = temp, dose = dose, yield = yield}, {"temp", "dose", "yield"}
  for name, v in pairs(more or {}) do
    columns[name] = v
    names[#names + 1] = name
  end
  return gb.data.frame(columns, {names = names})
end

local data <const> = frame()
local function model(o)
  local all <const> = {kernel = K.rbf{ard = true}, noise = 0.1}
  for key, v in pairs(o or {}) do all[key] = v end
  return gb.gp.exact(all)
end

local function fitted(o)
  local m <const> = model(o)
  m:fit(data, "yield", {steps = 4})
  return m
end

describe("a model of a frame", function()
  it("is the model of its columns, all that are not the target", function()
    local m <const>, hand <const> = fitted(), model()
    hand:fit(gb.stack({temp, dose}, 2), yield, {steps = 4})
    local p <const>, q <const> = m:predict(data), hand:predict(gb.stack({temp, dose}, 2):eval())
    assert.is_true(p.mean:equal(q.mean) and p.y_var:equal(q.y_var))
    assert.equal(hand:score(gb.stack({temp, dose}, 2), yield).nlpd, m:score(data).nlpd)
    local own <close> = model():plan(data, "yield")
    local by_hand <close> = model():plan(gb.stack({temp, dose}, 2):eval(), yield)
    assert.equal(by_hand.peak, own.peak)
  end)

  it("finds columns by name, in any order, beside the target and what was left out", function()
    local all <const> = frame{cost = cost}
    local m <const> = model()
    m:fit(all, "yield", {inputs = {"dose", "temp"}, steps = 4})
    assert.equal(0.1, math.ceil(m.x:max(1):select(1, 1):item() * 10) / 10)
    local want <const> = m:predict(gb.stack({dose, temp}, 2):eval()).mean
    for _, f in ipairs{all, all:select{"temp", "dose"}, all:select{"dose", "cost", "temp"}} do
      assert.is_true(m:predict(f).mean:equal(want))
    end
    assert.is_true(m:draw(2, {seed = 1})(all):equal(m:draw(2, {seed = 1})(gb.stack({dose, temp}, 2))))
    local head <const> = all:head(5)
    local c <const> = m:condition(head)
    assert.equal(N + 5, #c.x)
    assert.is_true(c:predict(all):interval(0.5):isfinite():all())
    near(m:condition(gb.stack({dose, temp}, 2):slice(1, 1, 5), yield:slice(1, 1, 5)):predict(all).mean, c:predict(all).mean, 0)
    assert.equal(2, c:condition(gb.stack({dose, temp}, 2):slice(1, 1, 2), gb.rand(3, 2, {seed = 9})):predict(all).mean.ndim)
    raises("option", "condition: the frame has no column 'temp', which the model was fitted to", c.condition, c,
      all:select{"dose", "yield"})
  end)

  it("has several outputs where it has several targets", function()
    local all <const>, m <const> = frame{cost = cost}, gb.gp.multitask{kernel = K.rbf{}, tasks = 2}
    m:fit(all, {"yield", "cost"}, {steps = 3})
    assert.same({N, 2}, m:predict(all).mean.shape)
    local s <const> = m:score(all)
    assert.equal("cost", s.tasks[2].name)
    assert.matches("yield: rmse", tostring(s), 1, true)
    assert.matches("inputs: temp, dose; targets: yield, cost", tostring(m), 1, true)
    assert.matches("likelihood.noise[cost]", tostring(m), 1, true)
    assert.equal(N + 4, #m:condition(all:head(4)).x)
    local path <const> = support.path ".svg"
    gb.plot.posterior(m, {task = 2, columns = {1, 2}}):save(path)
    assert.matches(">cost<", support.read(path))
    assert.matches(">dose<", support.read(path))
    support.sweep()
  end)

  it("is told with their names", function()
    local text <const> = tostring(fitted())
    assert.matches("inputs: temp, dose; target: yield", text, 1, true)
    assert.matches("kernel.lengthscale[temp]", text, 1, true)
    assert.matches("kernel.lengthscale[dose]", text, 1, true)
    local part <const> = model{kernel = K.rbf{ard = true, active_dims = {2}} + K.rbf{ard = true}}
    part:fit(data, "yield", {steps = 1})
    assert.matches("kernel[1].lengthscale ", tostring(part), 1, true)
    assert.matches("kernel[2].lengthscale[dose]", tostring(part), 1, true)
    assert.is_nil(tostring(model():condition(gb.rand(4, 2), gb.rand(4))):find("[", 1, true))
    local picture <const> = support.path ".svg"
    gb.plot.kernel(fitted{standardize = true}):save(picture)
    assert.matches(">r of temp, standardized<", support.read(picture))
    gb.plot.posterior(fitted()):save(picture)
    assert.matches(">dose<", support.read(picture))
    local flat <const> = model{noise = 0}
    local err <const> = raises("not_pd", "column 'dose' of x is constant", flat.fit, flat, gb.data.frame({temp = {280, 280.5, 280},
      dose = {0, 0, 0}, yield = {1, 2, 3}}, {names = {"temp", "dose", "yield"}}), "yield", {steps = 1})
    assert.truthy(err.diagnosis)
    local r <const> = gb.report{title = "a model"}:table(fitted(), {caption = "parameters"}):table(data:head(3))
    local path <const> = support.path ".html"
    r:save(path)
    assert.matches("kernel.lengthscale[dose]", support.read(path), 1, true)
    assert.matches(">yield<", support.read(path))
    support.sweep()
  end)

  it("keeps them in files, with what it was fitted beside", function()
    local path <const>, m <const> = support.path ".gb", model{standardize = true}
    local all <const> = frame{cost = cost}
    m:fit(all, "yield", {inputs = {"temp", "dose"}, steps = 2})
    m:save(path)
    local l <const> = gb.load(path)
    assert.is_true(l:predict(all).mean:equal(m:predict(all).mean))
    assert.equal(tostring(m), tostring(l))
    assert.same({"temp", "dose"}, require "gibbous.frame.named".of(l.x))
    m:save(path, {data = false})
    assert.is_true(gb.load(path, {x = all}):predict(all).mean:equal(m:predict(all).mean))
    raises("option", "load: the frame has no column 'dose', which the model was fitted to", gb.load, path,
      {x = all:select{"temp", "yield"}})
    raises("option", "load: these are not the data of the model", gb.load, path, {x = all:head(4)})
    raises("option", "load: a frame has the targets too", gb.load, path, {x = all, y = yield})
    raises("option", "the model does not know the column 'other'", l.predict, l, all:with{other = temp})
    support.sweep()
  end)

  it("takes what is a number: integers, truth values, and missing targets where that is said", function()
    local f <const> = gb.data.frame{n = {1, 2, 3, 4}, on = {true, false, true, true}, y = {1.5, 0 / 0, 2.5, 3}}
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}
    raises("nan", "fit: y: the value in row 2, column 'y' is not finite; missing = \"mask\" leaves such rows out", m.fit, m, f, "y")
    m:fit(f, "y", {missing = "mask", steps = 1})
    near({{1, 1}, {3, 1}, {4, 1}}, m.x, 0)
    assert.equal(1, m:score(f, {missing = "mask"}).masked)
    gb.config{dtype = "f32"}
    local _ <close> = setmetatable({}, {__close = function() gb.config{dtype = "f64"} end})
    local narrow <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}
    narrow:fit(f, "y", {missing = "mask", steps = 1})
    assert.equal("f32", narrow:predict(f).mean.dtype)
  end)

  it("of one row is a model", function()
    local m <const> = model{standardize = true}
    m:fit(data:head(1), "yield", {steps = 1})
    assert.is_true(m:predict(data).mean:isfinite():all())
  end)
end)

describe("a frame that does not go with a model", function()
  local text <const> = frame{plant = plant}

  it("has a column that is no number: named, with the remedy", function()
    raises("format", "fit: column 'plant' cannot be an input: it holds text: f:encode \"plant\" gives its categories as numbers "
      .. "and f:one_hot \"plant\" as columns of 0 and 1, which f:with{...} puts in; inputs = {...} can leave it out", model().fit,
      model(), text, "yield")
    raises("format", "fit: column 'plant' cannot be a target: it holds text", model().fit, model(), text, "plant",
      {inputs = {"temp"}})
    local m <const> = model()
    m:fit(text, "yield", {inputs = {"temp", "dose"}, steps = 1})
    assert.equal(2, m.x.shape[2])
    local coded <const> = model()
    coded:fit(text:with{plant = (text:encode "plant"):to{dtype = "f64"}}, "yield", {steps = 1})
    assert.equal(3, coded.x.shape[2])
    local days <const> = gb.data.read(support.write(support.path ".csv", "day,y\n2020-01-01,1\n2020-01-02,2\n"))
    raises("format", "fit: column 'day' cannot be an input: it holds dates: f:with{days = f:col \"day\" / 86400} has days",
      model().fit, model(), days, "y")
    local mixed <const> = {"a,y"}
    for i = 2, 400 do mixed[i] = i .. ",1" end
    mixed[390] = "oops,1"
    local file <const> = support.write(support.path ".csv", table.concat(mixed, "\n") .. "\n")
    raises("format", ":390 has 'oops'", function()
      gb.gp.exact{kernel = K.rbf{}}:fit(gb.data.read(file), "y", {steps = 1})
    end)
    local large <const> = gb.data.frame{id = {(1 << 60) + 1, 2}, y = {1, 2}}
    raises("dtype", "fit: column 'id' holds integers that f64 would round, the largest of 1152921504606846977: leave it out",
      model().fit, model(), large, "y")
    support.sweep()
  end)

  it("lacks the names that are asked for", function()
    raises("option", "fit: the target: there is no column 'yeild', did you mean 'yield'?; columns: temp, dose, yield", model().fit,
      model(), data, "yeild")
    raises("option", "fit: inputs: there is no column 'tmep', did you mean 'temp'?", model().fit, model(), data, "yield",
      {inputs = {"tmep"}})
    raises("option", "fit: inputs: column 'temp' is named twice", model().fit, model(), data, "yield", {inputs = {"temp", "temp"}})
    raises("option", "fit: column 'yield' is both an input and a target", model().fit, model(), data, "yield",
      {inputs = {"yield"}})
    raises("option", "fit: inputs must be a list of names of columns, got an empty list", model().fit, model(), data, "yield",
      {inputs = {}})
    raises("option", "fit: inputs chooses columns of a frame", model().fit, model(), gb.rand(3, 1), gb.rand(3), {inputs = {"a"}})
    raises("option", "fit: the frame's column of targets is named behind it: m:fit(frame, \"yield\"), got nothing", model().fit,
      model(), data)
    raises("option", "m:fit(frame, \"yield\"), got options", model().fit, model(), data, {steps = 1})
    raises("option", "fit: 2 targets are named, and this model has one output: gb.gp.multitask{tasks = 2, ...} models all",
      model().fit, model(), data, {"yield", "dose"})
    raises("shape", "fit: the model has 3 tasks, got the names of 2 targets", function()
      gb.gp.multitask{kernel = K.rbf{}, tasks = 3}:fit(data, {"yield", "dose"})
    end)
    raises("option", "fit: the frame has no column beside the target", model().fit, model(), data:select{"yield"}, "yield")
    local failed <const> = fitted()
    raises("format", "", failed.fit, failed, text, "yield")
    assert.equal(N, #failed.x)
    assert.is_true(failed:predict(data).mean:isfinite():all())
  end)

  it("has others than the model's: both are named", function()
    local m <const> = fitted()
    raises("option", "predict: the frame has no column 'temp', which the model was fitted to: is it 'temp_K'? "
      .. "f:rename{[\"temp_K\"] = \"temp\"}; columns: temp_K, dose, yield", m.predict, m, data:rename{temp = "temp_K"})
    raises("option", "predict: the model does not know the column 'doses', did you mean 'dose'?; f:select{...} leaves it out; the "
      .. "model's inputs: temp, dose", m.predict, m, data:with{doses = dose})
    raises("option", "score: the frame has no column 'yield', which the model was fitted to", m.score, m,
      data:select{"temp", "dose"})
    raises("option", "score: a frame has the targets too: m:score(frame), m:score(frame, {...})", m.score, m, data, yield)
    raises("format", "predict: column 'temp' cannot be an input: it holds text", m.predict, m, data:with{temp = plant})
  end)

  it("comes to a model whose data have no names", function()
    local m <const> = model():condition(gb.rand(4, 2), gb.rand(4))
    raises("option", "predict: the inputs of this model's data have no names, so a frame does not go with it", m.predict, m, data)
  end)

  it("is a tensor whose columns stand in another order", function()
    local m <const> = fitted()
    raises("option", "predict: column 1 of x is 'dose', which is column 2 of the model's data (temp, dose): m:predict(frame) finds "
      .. "columns by name", m.predict, m, data:col{"dose", "temp"})
    assert.is_true(m:predict(data:col{"temp", "dose"}).mean:equal(m:predict(data).mean))
  end)
end)
