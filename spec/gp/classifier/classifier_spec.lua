-- gb.gp.classifier: labels of any kind, two classes and more.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local K <const> = gb.kernels
local n <const> = 60
local x <const> = (gb.rand(n, 2, {seed = 1}) * 4):eval()
local f <const> = ((1.5 * x:select(2, 1)):sin() + 0.3 * gb.randn(n, {seed = 2})):eval()
local t <const> = (gb.rand(6, 2, {seed = 4}) * 4):eval()
local words <const>, numbers <const> = {}, {}
for i, v in ipairs(f:totable()) do
  numbers[i] = v > 0.5 and 3 or v > -0.5 and 2 or 1
  words[i] = ({"low", "mid", "high"})[numbers[i]]
end

local function classifier(o)
  o = o or {}
  return gb.gp.classifier{kernel = K.rbf{lengthscale = 1, variance = 2}, classes = o.classes, link = o.link}
end

--- Labels 0 and 1.
local function of_two() return f:gt(0):to{dtype = "f64"}:eval() end

describe("a classifier", function()
  after_each(support.sweep)

  it("is gb.gp.laplace with the likelihood of its classes", function()
    local y <const> = of_two()
    for _, link in ipairs{"probit", "logit"} do
      local m <const> = classifier{link = link, classes = {0, 1}}
      local l <const> = gb.gp.laplace{kernel = K.rbf{lengthscale = 1, variance = 2},
        likelihood = gb.likelihoods.bernoulli{link = link}}
      near(l:condition(x, y):log_marginal_likelihood(), m:condition(x, y):log_marginal_likelihood(), 0)
      near(l:condition(x, y):predict(t).probabilities, m:condition(x, y):predict(t).probabilities, 0)
    end
  end)

  it("takes class numbers, whole numbers, strings and columns of frames", function()
    local by_numbers <const>, by_words <const> = classifier(), classifier()
    by_numbers:fit(x, gb.tensor(numbers), {steps = 2})
    by_words:fit(x, words, {steps = 2})
    assert.same({1, 2, 3}, by_numbers.classes)
    assert.same({"high", "low", "mid"}, by_words.classes)
    local p <const>, q <const> = by_numbers:predict(t), by_words:predict(t)
    near(p.probabilities:select(2, 1), q.probabilities:select(2, 2), 0.06)            -- of draws in another order
    assert.equal("i64", p.class.dtype)
    for i, v in ipairs(p.class:totable()) do assert.equal(({"low", "mid", "high"})[v], q.class[i]) end
    near(gb.ones(6), p.probabilities:sum(2), 1e-12)
    local table_of <const> = gb.data.frame{a = x:select(2, 1), b = x:select(2, 2), label = words}
    local by_frame <const> = classifier()
    by_frame:fit(table_of, "label", {steps = 2})
    near(q.probabilities, by_frame:predict(gb.data.frame{a = t:select(2, 1), b = t:select(2, 2)}).probabilities, 1e-9)
    near(by_words:score(x, words).nlpd, by_frame:score(table_of).nlpd, 1e-9)
  end)

  it("takes the classes of new data in a fit, more or fewer", function()
    local m <const> = classifier()
    m:fit(x, gb.tensor(numbers), {steps = 1})
    assert.equal(3, m.likelihood.classes)
    local quarters <const> = {}
    for i, v in ipairs(f:totable()) do quarters[i] = v > 0.7 and 4 or v > 0 and 3 or v > -0.7 and 2 or 1 end
    m:fit(x, gb.tensor(quarters), {steps = 1})
    assert.equal(4, m.likelihood.classes)
    assert.same({6, 4}, {m:predict(t).probabilities.shape[1], m:predict(t).probabilities.shape[2]})
    m:fit(x, of_two(), {steps = 1})
    assert.equal("bernoulli", m.likelihood.kind)
  end)

  it("scores accuracy, NLPD and the Brier score by hand's figures", function()
    local m <const> = classifier()
    m:fit(x, words, {steps = 2})
    local s <const>, p <const> = m:score(x, words), m:predict(x)
    local hits, nlpd, brier = 0, 0, 0
    for i, row in ipairs(p.probabilities:totable()) do
      local best = 1
      for c, v in ipairs(row) do
        if v > row[best] then best = c end
        local here <const> = m.classes[c] == words[i] and 1 or 0
        brier = brier + (v - here) ^ 2 / n
        nlpd = nlpd - here * math.log(v) / n
      end
      hits = hits + (m.classes[best] == words[i] and 1 or 0)
    end
    near({hits / n, nlpd, brier}, {s.accuracy, s.nlpd, s.brier}, 1e-10)
    near(-nlpd, p:log_density(words):mean(), 1e-10)
    assert.is_true(s.accuracy > 0.7)
  end)

  it("names the row of a label that is none", function()
    local m <const> = classifier()
    raises("option", "fit: row 2 of y is 2.5, expected a class: a whole number or a string", m.fit, m, t, {1, 2.5, 1, 1, 2, 2})
    raises("option", "fit: y has 1 class: a classifier needs two", m.fit, m, t, {1, 1, 1, 1, 1, 1})
    raises("option", "row 3 of y is 'a', and row 1 is 1: labels are all numbers or all strings", m.fit, m, t, {1, 2, "a", 1, 1, 1})
    raises("option", "60 distinct values in 60 rows, which are hardly classes", m.fit, m, x, gb.linspace(1, 60, 60))
    raises("option", "predict: the model does not know its classes yet", m.predict, m, t)
    m:fit(x, words, {steps = 1})
    raises("option", "score: row 2 of y is 'none', which is none of the classes 'high', 'low', 'mid'", m.score, m,
      x:slice(1, 1, 2), {"low", "none"})
    local fixed <const> = classifier{classes = 3}
    raises("option", "fit: row 1 of y is 0, which is none of the classes 1, 2, 3", fixed.fit, fixed, t, {0, 1, 2, 3, 1, 1})
    raises("option", "must be their number, 2 or more, or the list of their labels", classifier, {classes = 1})
    raises("option", "a prediction of classes has no field 'y_mean'", function() return m:predict(t).y_mean end)
  end)

  it("knows classes that its data lack", function()
    local m <const> = classifier{classes = {"low", "mid", "high", "none"}}
    m:fit(x, words, {steps = 1})
    assert.same({"high", "low", "mid", "none"}, m.classes)
    assert.same({6, 4}, {m:predict(t).probabilities.shape[1], m:predict(t).probabilities.shape[2]})
  end)

  it("is one with its file, its copy and more data", function()
    local m <const> = gb.gp.classifier{kernel = K.rbf{lengthscale = 1, variance = 2}, inference = "laplace"}
    m:fit(x, words, {steps = 2})
    local p <const> = m:predict(t)
    local path <const> = os.tmpname()
    m:save(path)
    local loaded <const> = gb.load(path)
    os.remove(path)
    assert.is_true(loaded:predict(t).probabilities:equal(p.probabilities))
    assert.same(p.class, loaded:predict(t).class)
    assert.same(p.class, m:copy():predict(t).class)
    assert.equal(2 * n, #m:condition(x, words).y)
    assert.matches("60 points, 2 columns, f64, 3 classes", tostring(m), 1, true)
    assert.is_true(m:plan().peak > 0)
  end)

  it("fits more than two classes with inducing points, and says how many and why", function()
    local big <const> = gb.rand(520, 2, {seed = 6}):eval()
    local labels <const> = {}
    for i, v in ipairs((6 * big):sin():sum(2):totable()) do labels[i] = v > 0.6 and "high" or v > -0.2 and "mid" or "low" end
    local m <const> = classifier()
    local info <const> = m:fit(big, labels, {seconds = 1})
    assert.equal("svgp", info.solver)
    assert.matches("inference by svgp: %d+ inducing points, in batches, are as many as time and memory allow %(predicted: svgp ab",
      tostring(info))
    assert.matches("520 points, 2 columns, f64, 3 classes; %d+ inducing points, kmeans", tostring(m))
    local p <const>, path <const> = m:predict(t), os.tmpname()
    m:save(path)
    local loaded <const> = gb.load(path)
    os.remove(path)
    assert.is_true(loaded:predict(t).probabilities:equal(p.probabilities))
    assert.same(p.class, loaded:predict(t).class)
    assert.is_true(m:copy():predict(t).probabilities:equal(p.probabilities))
    assert.is_true(m:plan().peak > 0)
    raises("option", "no closed form of one more row of labels; fit the model to all rows, or make it with inference", m.condition,
      m, t, {"low", "low", "mid", "mid", "high", "high"})
    raises("refused", "needs", m.fit, m, big, labels, {budget = "2 KiB"})
    assert.is_true(m:predict(t).probabilities:equal(p.probabilities))             -- a fit that fails leaves the model as it was
    m:fit(x, words, {steps = 2})                                                  -- few rows: all are inducing points
    assert.equal(n, m.inducing.count)
    assert.same({"high", "low", "mid"}, m.classes)
    m:fit(x, of_two(), {steps = 2})                                               -- two classes: Laplace's approximation again
    assert.equal("direct", m.info.solver)
    assert.is_nil(m.inducing)
    assert.is_true(m:condition(x, of_two()):predict(t).mean:isfinite():all())
  end)

  it("fits two classes with inducing points where Laplace's approximation is too dear, and says which and why", function()
    local big <const> = gb.rand(2000, 2, {seed = 6}):eval()
    local m <const> = classifier()
    local info <const> = m:fit(big, ((6 * big):sin():sum(2):gt(0)):to{dtype = "i64"}, {seconds = 1})
    assert.equal("svgp", info.solver)
    assert.matches("inference by svgp: %d+ inducing points, in batches, are as many as time and memory allow %(predicted: laplace",
      tostring(info))
  end)

  it("has probabilities of several classes that are as sure as the data are", function()
    local many <const>, far <const> = gb.rand(240, 4, {seed = 8}):eval(), gb.rand(400, 4, {seed = 9}):eval()
    local function of(v) return 1 + (v:select(2, 1):gt(0.5)):to{dtype = "i64"} + 2 * (v:select(2, 2):gt(0.5)):to{dtype = "i64"} end
    local function score(inference)
      local m <const> = gb.gp.classifier{kernel = K.rbf{ard = true}, inference = inference}
      m:fit(many, of(many))
      return m:score(far, of(far)).nlpd
    end
    local chosen <const>, by_mode <const> = score "auto", score "laplace"
    assert.is_true(chosen < by_mode - 0.05, ("%g, %g by Laplace's approximation"):format(chosen, by_mode))
  end)

  it("fits again, by inducing points, to the data that it holds", function()
    local t <const> = gb.rand(30, 2, {seed = 8}):eval()
    local m <const> = gb.gp.classifier{kernel = gb.kernels.rbf{}, inference = "svgp", inducing = 3}
    m:fit(t, t:select(2, 1):gt(0.5):to "f64", {steps = 3})
    local first <const> = m.info.log_likelihood
    m:fit{steps = 60}
    assert.is_true(m.info.log_likelihood > first)
  end)

  it("has no class where a point is not finite, and says which", function()
    local t <const> = gb.rand(12, 2, {seed = 9}):eval()
    local labels <const> = {}
    for i = 1, 12 do labels[i] = ({"a", "b", "c"})[1 + i % 3] end
    for _, inference in ipairs{"laplace", "svgp"} do
      local m <const> = gb.gp.classifier{kernel = gb.kernels.rbf{}, inference = inference,
        inducing = inference == "svgp" and 3 or nil}
      m:fit(t, labels, {steps = 1})
      local p <const> = m:predict(gb.tensor{{0.1, 0.2}, {0 / 0, 1}, {0.3, 0.9}})
      assert.same({false, true, false}, p.probabilities:isnan():all(2):totable())
      assert.is_true(p.probabilities:select(1, 3):isfinite():all())
      raises("nan", "class: point 2 is not finite, and has no class", function() return p.class end)
    end
  end)

  it("is gb.gp.svgp with the likelihood of its classes where that is asked for", function()
    local y <const> = of_two()
    local m <const> = gb.gp.classifier{kernel = K.rbf{lengthscale = 1, variance = 2}, inference = "svgp", inducing = 9}
    local v <const> = gb.gp.svgp{kernel = K.rbf{lengthscale = 1, variance = 2}, inducing = 9,
      likelihood = gb.likelihoods.bernoulli{}}
    m:fit(x, y, {steps = 5, lr = 0.05})
    v:fit(x, y, {steps = 5, lr = 0.05})
    near(v:predict(t).probabilities, m:predict(t).probabilities, 0)
    near((v:log_marginal_likelihood()), (m:log_marginal_likelihood()), 0)
    local descent <const> = {method = "lbfgs", steps = 3}                      -- which has no lr
    near(gb.gp.svgp{kernel = K.rbf{lengthscale = 1, variance = 2}, inducing = 60, likelihood = gb.likelihoods.bernoulli{}}
      :fit(x, y, descent).value, gb.gp.classifier{kernel = K.rbf{lengthscale = 1, variance = 2},
        inference = "svgp"}:fit(x, y, descent).value, 0)
    raises("option", "inducing, a number of points, is for inference", gb.gp.classifier, {kernel = K.rbf{}, inducing = 9})
    raises("option", "a solver is for inference", gb.gp.classifier, {kernel = K.rbf{}, inference = "svgp", solver = "cg"})
    raises("option", "is not streamed: it needs solver = \"direct\"; gb.gp.svgp streams its rows", function()
      local streamed <const> = gb.gp.classifier{kernel = K.rbf{}, solver = "cg"}
      streamed:fit(x, words)
    end)
  end)
end)
