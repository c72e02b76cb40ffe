--- Figures that one call draws: what is in them, as text and as files.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local raises <const> = support.raises

local function has(text, ...)
  for _, word in ipairs{...} do assert.is_true(text:find(word, 1, true) ~= nil, word .. "\n" .. text) end
end

local function two_inputs()
  local x <const> = gb.rand(40, 2, {seed = 1})
  local m <const>, steps <const> = gb.gp.exact{kernel = gb.kernels.rbf{ard = true}, noise = 0.1, solver = "direct"}, {}
  m:fit(x, (6 * x):sin():sum(2), {steps = 8, restarts = 1, seed = 1, on_step = function(s) steps[#steps + 1] = s end})
  return m, steps
end

describe("gb.plot", function()
  after_each(support.sweep)

  it("draws a posterior of two inputs as two maps", function()
    local text <const> = gb.plot.posterior((two_inputs()), {title = "here"}):text(100, 24)
    has(text, "here", "mean", "standard deviation of f", "x1", "x2", "░▒▓█")
    raises("option", "option 'x' is for one input column, the model has 2", gb.plot.posterior, (two_inputs()), {x = {1}})
    raises("option", "option 'level' must be between 0 and 1, got 1", gb.plot.posterior,
      gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}, {level = 1})
    raises("option", "a model of gb.gp.exact or gb.gp.multitask is needed, got tensor", gb.plot.posterior, gb.ones(3))
  end)

  it("draws samples of a posterior", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = "direct"}:condition(gb.tensor{{0}, {1}},
      gb.tensor{0, 1})
    has(gb.plot.posterior(m, {samples = 2, seed = 1}):text(80, 20), "draws of f", "mean", "data")
    local lines <const> = {}
    local function add(_, _, kind, _, y) lines[#lines + 1] = {kind, y:totable()} end
    support.with(require "gibbous.core", {figure_add = add}, function()
      gb.plot.posterior(m, {samples = 2, seed = 1, x = {0, 0.5}})
    end)
    local p <const> = m:predict(gb.tensor{0, 0.5}):sample(2, {seed = 1})
    for i = 1, 2 do
      assert.equal("line", lines[2 + i][1])
      support.near(p[i], gb.tensor(lines[2 + i][2]), 1e-9)
    end
  end)

  it("draws the steps of a fit, a line for each start", function()
    local _ <const>, steps <const> = two_inputs()
    has(gb.plot.training(steps):text(90, 30), "value - best", "gradient norm", "start 1", "start 2", "step")
    raises("option", "the report of a fit with steps is needed", gb.plot.training, {})
    raises("option", "element 1 is not a step", gb.plot.training, {3})
  end)

  it("draws the steps of the report of a fit alone", function()
    local x <const> = gb.rand(40, 2, {seed = 3})
    local y <const>, steps <const> = (6 * x):sin():sum(2), {}
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    local info <const> = m:fit(x, y, {steps = 6, on_step = function(s) steps[#steps + 1] = s end})
    assert.equal(#steps, #info.history)
    for i, s in ipairs(steps) do
      assert.same({s.step, s.value, s.gradient_norm}, {info.history[i].step, info.history[i].value, info.history[i].gradient_norm})
    end
    assert.equal(gb.plot.training(steps):text(90, 30), gb.plot.training(info):text(90, 30))
    raises("option", "the fit was direct", gb.plot.convergence, info)
    local by_cg <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = gb.solvers.cg{}}:fit(x, y, {steps = 4})
    has(gb.plot.convergence(by_cg):text(80, 20), "relative residual")
    local long <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:fit(x:slice(1, 1, 4), y:slice(1, 1, 4),
      {method = "sgd", lr = 1e-6, tol = 1e-300, ftol = 1e-300, steps = 4200}).history
    assert.same({0, 2, 4200, 2101}, {long[1].step, long[2].step, long[#long].step, #long})
    local fixed <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    for _, p in pairs(gb.params(fixed)) do p.fixed = true end
    raises("option", "got one without steps", gb.plot.training, fixed:fit(x, y))
  end)

  it("draws a panel for each task, slices of many inputs, and values in their units", function()
    local x <const> = gb.rand(30, 1, {seed = 1})
    local y <const> = (6 * x):sin():squeeze(2)
    local two <const> = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}
    two:fit(x, gb.stack({y, 2 * y + 1}, 2), {steps = 2})
    has(gb.plot.posterior(two, {samples = 1, seed = 1}):text(80, 40), "y, task 1", "y, task 2", "draws of f")
    has(gb.plot.posterior(two, {task = 2, ylabel = "level"}):text(80, 20), "level, task 2")
    raises("option", "there is no task 3; the model has 2", gb.plot.posterior, two, {task = 3})
    local xs <const>, sx <const> = gb.data.standardize(100 * x)
    local ys <const>, sy <const> = gb.data.standardize(1000 * y + 5000)
    local scaled <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    scaled:fit(xs, ys, {steps = 3})
    has(gb.plot.posterior(scaled, {x_scaler = sx, y_scaler = sy, names = {"depth"}}):text(80, 20), "depth", "5000", "90")
    raises("option", "option 'y_scaler' must be a scaler", gb.plot.posterior, scaled, {y_scaler = 3})
    local four <const> = gb.rand(40, 4, {seed = 1})
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{ard = true}, noise = 0.1}
    m:fit(four, four:sum(2), {steps = 2})
    has(gb.plot.posterior(m, {names = {"a", "b", "c", "d"}}):text(100, 40), "slices through the medians", "a", "d", "mean")
    has(gb.plot.posterior(m, {columns = {3}, at = {0, 0, 0, 0}}):text(80, 20), "slices through a point, 1 of 4 columns", "x3")
    raises("option", "option 'names' must be a list of 4 strings", gb.plot.posterior, m, {names = {"a"}})
    raises("option", "option 'at' must be a list of 4 numbers", gb.plot.posterior, m, {at = {1}})
    raises("option", "there is no column 7; the inputs have 4", gb.plot.posterior, m, {columns = {7}})
    raises("option", "option 'columns' lists 1 to 9 columns, got 0", gb.plot.posterior, m, {columns = {}})
    raises("option", "option 'x' is for one input column, the model has 4", gb.plot.posterior, m, {x = x})
  end)

  it("slices by the predictions at the point", function()
    local core <const> = require "gibbous.core"
    local x <const>, lines <const> = gb.rand(25, 3, {seed = 8}), {}
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    m:fit(x, x:sum(2), {steps = 2})
    support.with(core, {figure_add = function(_, panel, kind, at, y)
      if kind == "line" then lines[#lines + 1] = {panel, at:totable(), y:totable()} end
    end}, function() gb.plot.posterior(m, {columns = {2}, at = {0.2, 0.9, 0.7}}) end)
    local at <const> = gb.tensor(lines[1][2])
    local points <const> = gb.stack({at * 0 + 0.2, at, at * 0 + 0.7}, 2)
    support.near(m:predict(points).mean, gb.tensor(lines[1][3]), 1e-9)
  end)

  it("draws calibration and residuals", function()
    local m <const>, x <const> = two_inputs(), gb.rand(50, 2, {seed = 4})
    local y <const> = (6 * x):sin():sum(2)
    has(gb.plot.calibration(m, x, y):text(100, 24), "calibration on 50 points", "expected coverage", "observed coverage", "chance",
      "intervals")
    has(gb.plot.residuals(m, x, y, {title = "mine"}):text(100, 24), "mine", "residual / sd", "predicted mean", "normal quantile")
    for _, f in ipairs{gb.plot.calibration, gb.plot.residuals} do
      raises("option", "a model of gb.gp.exact is needed", f, 3, x, y)
      raises("shape", "x has 50 rows, y 49", f, m, x, y:slice(1, 1, 49))
    end
  end)

  it("has the normal quantiles against sorted residuals", function()
    local core <const> = require "gibbous.core"
    local seen <const> = {}
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 1.0, solver = "direct"}
    support.with(core, {figure_add = function(_, panel, kind, x, y) seen[#seen + 1] = {panel, kind, x:totable(), y:totable()} end},
      function() gb.plot.residuals(m, gb.tensor{{0}, {1}, {2}}, gb.tensor{3, -1, 0}) end)
    local sd <const> = math.sqrt(2)                                         -- variance 1, and noise 1
    local normal <const> = seen[2]
    assert.same({2, "scatter"}, {normal[1], normal[2]})
    support.near(gb.tensor{-0.967421566, 0, 0.967421566}, gb.tensor(normal[3]), 1e-7)
    support.near(gb.tensor{-1 / sd, 0, 3 / sd}, gb.tensor(normal[4]), 1e-6)
  end)

  it("draws a kernel, or a model's", function()
    local k <const> = gb.kernels.rbf{lengthscale = 0.5}
    has(gb.plot.kernel(k, {range = {0, 2}}):text(100, 24), "k(0, r)", "rbf", "░▒▓█")
    has(gb.plot.kernel((two_inputs()), {columns = 2}):text(100, 24), "k(0, r)")
    local ard <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = {1, 2}}, noise = 0.1}
    raises("shape", "2 lengthscales for inputs with 1 column", gb.plot.kernel, ard)
    ard:fit(gb.rand(9, 2, {seed = 1}), gb.rand(9, {seed = 2}), {steps = 1})
    has(gb.plot.kernel(ard):text(100, 24), "k(0, r)")
    raises("option", "a kernel, or a model of gb.gp.exact, is needed, got number", gb.plot.kernel, 3)
    raises("option", "option 'range' must be {lo, hi}, two numbers that ascend", gb.plot.kernel, k, {range = {2, 1}})
  end)

  it("draws residuals of solves on a log axis", function()
    local text <const> = gb.plot.convergence({cg = {1, 0.1, 1e-4}, minres = {{residual = 1}, {solve = {residual = 0.5}}}},
      {tol = 1e-3}):text(90, 24)
    has(text, "cg", "minres", "tolerance 0.001", "relative residual", "10⁻⁴")
    has(gb.plot.convergence{1, 0.1, 0.01}:text(60, 20), "step")
    raises("option", "a list of residuals, of records with one, the record of a solve", gb.plot.convergence, {})
    raises("option", "element 2 of 'a' is neither a residual nor a record with one", gb.plot.convergence, {a = {1, "x"}})
    raises("option", "'a' is not a list", gb.plot.convergence, {a = 3})
  end)

  it("draws the curve of a solve by its iterations, with the tolerance", function()
    local K <const> = gb.kernels.rbf{lengthscale = 0.2}(gb.rand(300, 2, {seed = 1})) + 1e-2 * gb.eye(300)
    local b <const> = gb.randn(300, {seed = 2})
    local _, r <const> = gb.solvers.cg{tol = 1e-6, max_iter = 500}:solve(K, b)
    assert.is_true(r.curve.every > 1)
    local one <const> = gb.plot.convergence(r):text(80, 20)
    has(one, "iteration")
    has(one, "tolerance 1e-06")
    has(gb.plot.convergence{r}:text(80, 20), "iteration")
    has(gb.plot.convergence{cg = r, other = {1, 0.1}}:text(80, 20), "cg")
    has(gb.plot.convergence{r, r}:text(80, 20), "step")
    local _, direct <const> = gb.solvers.cholesky{}:solve(K, b)
    raises("option", "this solve has no curve of residuals", gb.plot.convergence, direct)
  end)

  it("draws the memory of a plan", function()
    local a <const> = gb.rand(300, 2, {seed = 1})
    local plan <const> = gb.plan(a:matmul(a:t()):exp():sum())
    local text <const> = gb.plot.memory(plan):text(80, 20)
    has(text, "held, ", "step", "peak", "predicted")
    assert.is_nil(text:find("measured", 1, true))
    local both <const> = gb.plot.memory(plan, {run = true}):text(90, 20)
    has(both, "predicted", ("measured, at most %.4g MiB"):format(plan.peak / 1024 ^ 2))
    assert.equal(plan.peak, plan:stats().measured)
    local y <const> = (3 * a):exp():sum()
    local done <const> = gb.plan(y)
    y:eval()
    raises("option", "nothing ran, for the plan's results have their values", gb.plot.memory, done, {run = true})
    local core <const>, account = require "gibbous.core", nil
    support.with(core, {figure_add = function(_, _, kind, _, y) if kind == "line" then account = y:totable() end end},
      function() gb.plot.memory(gb.plan((a:matmul(a:t()) + 1):exp():sum()), {run = true}) end)
    assert.equal(6, #account)                                               -- two ends of each of three steps
    for _, held in ipairs(account) do assert.equal(plan.peak, held * 1024 ^ 2) end
    local x <const> = gb.empty(400)
    local again <const> = gb.plan((x * 2):exp():cumsum(1))
    local function taken()
      local most = 0
      support.with(core, {figure_add = function(_, _, kind, _, y) if kind == "line" then most = y:max():item() end end},
        function() gb.plot.memory(again, {run = {[x] = gb.rand(400)}}) end)
      return most
    end
    assert.equal(taken(), taken())                                          -- also where the arena is there already
    local leaf <const> = gb.empty(50)
    has(gb.plot.memory(gb.plan((leaf * 2):exp()), {run = {[leaf] = gb.rand(50)}}):text(80, 20), "measured")
    raises("option", "a plan is needed, gb.plan(...) or m:plan(x, y), got number", gb.plot.memory, 3)
  end)

  it("draws points by cluster, and centres", function()
    local x <const> = gb.rand(60, 3, {seed = 1})
    local km <const> = gb.kmeans{k = 3, seed = 1}:fit(x)
    has(gb.plot.clusters(x, km):text(80, 20), "60 points in 3 clusters", "cluster 1", "cluster 3", "centres", "column 2")
    has(gb.plot.clusters(x, km.labels, {columns = {3, 1}, title = "T"}):text(80, 20), "column 3", "T")
    raises("shape", "two columns of x are drawn, columns = {1, 2}; x has 3", gb.plot.clusters, x, km, {columns = {1, 4}})
    raises("shape", "x must be a matrix of points (n, d)", gb.plot.clusters, gb.ones(3), km)
    raises("shape", "x has 60 rows, the labels 2", gb.plot.clusters, x, gb.ones(2))
  end)
end)

describe("a figure with bad input", function()
  after_each(support.sweep)

  it("says what is not to be seen", function()
    has(gb.plot.figure{}:text(60, 20), "nothing was drawn")
    has(gb.plot.figure{}:line({1, 2}, {0 / 0, math.huge}):text(60, 20), "no value can be drawn")
    has(gb.plot.figure{yscale = "log"}:line({1, 2, 3}, {-1, 0, 5}):text(60, 20), "2 values ≤ 0 not on the log axis")
    has(gb.plot.figure{yscale = "log"}:line({1, 2}, {-1, -2}):text(60, 20), "no value can be drawn", "2 values")
    local path <const> = support.path ".svg"
    gb.plot.figure{xscale = "log"}:line({-1, 2, 3}, {1, 2, 3}):save(path)
    has(support.read(path), "1 value ≤ 0 not on the log axis")
  end)

  it("refuses limits that are reversed, not finite, or not above 0 on a log axis", function()
    for given, text in pairs{[{3, 1}] = "the first limit must be below the second, got {3, 1}",
      [{1, 1}] = "the first limit must be below",
      [{1, math.huge}] = "must be {lo, hi}, two finite numbers", [{}] = "must be {lo, hi}", [{"a", 2}] = "must be {lo, hi}"} do
      raises("option", "gb.plot.figure: option 'ylim'", gb.plot.figure, {ylim = given})
      raises("option", text, gb.plot.figure, {ylim = given})
    end
    raises("option", "option 'xlim': limits of a log axis must be above 0, got -1", gb.plot.figure,
      {xlim = {-1, 2}, xscale = "log"})
    local fig <const> = gb.plot.figure{xscale = "log"}
    raises("option", "limits of a log axis must be above 0, got 0", fig.axes, fig, {xlim = {0, 2}})
    raises("option", 'aspect = "equal" needs linear axes', gb.plot.figure, {aspect = "equal", yscale = "log"})
  end)

  it("writes text that is not UTF-8 with replacement characters", function()
    local mark <const> = "\u{FFFD}"
    local fig <const> = gb.plot.figure{title = "a\xffb", xlabel = "\xed\xa0\x80", xticks = {{1, "\xc0\xaf"}, {2, "é\xe2\x82"}}}
    fig:line({1, 2}, {1, 2}, {label = "\u{FFFE}|\u{1F600}"}):note(1.5, 1.5, "n\xf8<")
    local path <const> = support.path ".svg"
    fig:save(path)
    local svg <const> = support.read(path)
    assert.is_truthy(utf8.len(svg))
    has(svg, ">a" .. mark .. "b</text>", ">" .. mark:rep(3) .. "</text>", ">" .. mark:rep(2) .. "</text>",
      ">é" .. mark:rep(2) .. "</text>", ">" .. mark:rep(3) .. "|\u{1F600}</text>", ">n" .. mark .. "&lt;</text>")
  end)

  it("refuses sizes and widths that are not finite", function()
    local fig <const> = gb.plot.figure{}
    raises("option", "figure:note: option 'size' must be a number of points above 0, 1000 at most, got number inf", fig.note, fig,
      1, 1, "a", {size = math.huge})
    raises("option", "option 'width' must be a number of points above 0, 1000 at most, got number inf", fig.line, fig, {1}, {1},
      {width = math.huge})
    raises("option", "option 'width' must be a number of points", fig.line, fig, {1}, {1}, {width = 0 / 0})
    raises("option", "option 'size' must be a number of points", fig.scatter, fig, {1}, {1}, {size = 1e300})
    raises("option", "option 'width' must be a positive number", fig.columns, fig, {1}, {1}, {width = math.huge})
    fig:columns({1e6}, {1}, {width = 1e5})
  end)

  it("takes no string of digits for a number", function()
    local fig <const> = gb.plot.figure{}
    raises("option", "figure:text: 20 to 1000 columns and 8 to 1000 rows are drawn, got string 80 x 20", fig.text, fig, "80", 20)
    raises("option", "option 'colour' must be a number of the palette", fig.line, fig, {1}, {1}, {colour = "1"})
    raises("option", "option 'ard' must be true, or the number of columns, 1 or more, got string 2", gb.kernels.rbf, {ard = "2"})
    raises("option", "option 'degree' must be a whole number, 1 or more, got string 2", gb.kernels.polynomial, {degree = "2"})
  end)

  it("draws clusters by labels in a list or a tensor", function()
    local x <const>, labels <const> = gb.rand(4, 2, {seed = 1}), {1, 1, 2, 2}
    assert.equal(gb.plot.clusters(x, gb.tensor(labels)):text(60, 12), gb.plot.clusters(x, labels):text(60, 12))
  end)

  it("has the defaults that its documentation says", function()
    local function drawn(draw)
      local path <const> = support.path ".svg"
      draw(gb.plot.figure{}:line({0, 1}, {0, 1})):save(path)
      return (support.read(path):gsub("<metadata>.-</metadata>", ""):gsub("surface%d+", ""))
    end
    local options <const> = require "gibbous.reference".options
    for _, name in ipairs{"hline", "vline"} do
      for _, o in ipairs(options("figure:" .. name)) do
        local said <const> = o.key == "dash" and o.text:match 'default: "(.-)"'
        if said then
          assert.equal(drawn(function(f) return f[name](f, 0.5, {dash = said}) end), drawn(function(f) return f[name](f, 0.5) end))
        end
      end
    end
  end)

  it("takes named ticks in place of those set before", function()
    local fig <const> = gb.plot.figure{xticks = {{1, "one"}, {2, "two"}}}:line({1, 2}, {1, 2})
    has(fig:text(60, 10), "one", "two")
    local text <const> = fig:axes{xticks = {{2, "deux"}}}:text(60, 10)
    has(text, "deux")
    assert.is_nil(text:find("one", 1, true) or text:find("two", 1, true))
    has(fig:axes{xticks = {}}:text(60, 10), "1.0", "2.0")
  end)

  it("keeps an aspect as far as the panel has room, whatever the ranges", function()
    for _, xy in ipairs{{{-1e308, 1e308}, {0, 1}}, {{0, 1}, {-1e308, 1e308}}, {{-1e308, 1e308}, {-1e308, 1e308}},
      {{0, 1e300}, {0, 1}}} do
      for _, ending in ipairs{".svg", ".png"} do
        local path <const> = support.path(ending)
        gb.plot.figure{aspect = "equal"}:line(xy[1], xy[2]):heatmap(gb.ones(2, 2), {x = xy[1], y = xy[2]}):save(path)
        if ending == ".svg" then assert.is_nil(support.read(path):find "[%s\"(]%-?nan") end
      end
    end
  end)

  it("checks a scale that is set later against what was set before, and can take it back", function()
    local fig <const> = gb.plot.figure{xlim = {0, 1}}
    raises("option", "figure:axes: option 'xlim': limits of a log axis must be above 0, got 0", fig.axes, fig, {xscale = "log"})
    has(fig:line({0, 1}, {1, 2}):text(40, 10), "0.0", "0.5", "1.0")     -- as it was before the refusal
    local equal <const> = gb.plot.figure{aspect = "equal"}
    raises("option", 'aspect = "equal" needs linear axes', equal.axes, equal, {yscale = "log"})
    local function drawn(f) return f:line({1, 1000}, {1, 2}):text(60, 10) end
    assert.equal(drawn(gb.plot.figure{}), drawn(gb.plot.figure{xscale = "log"}:axes{xscale = "linear"}))
    local panels <const> = gb.plot.figure{rows = 2, title = "above all"}
    local _, titles <const> = panels:panel(1):axes{xlabel = "x"}:text(60, 40):gsub("above all", "")
    assert.equal(1, titles)
  end)

  it("refuses panels, styles and shapes that there are not, and lists what there is", function()
    local fig <const> = gb.plot.figure{rows = 2}
    raises("io", "cannot write '/nowhere/x.svg': there is no folder '/nowhere'", fig.save, fig, "/nowhere/x.svg")
    raises("io", "cannot write '/proc/x.svg': No such file or directory", fig.save, fig, "/proc/x.svg")
    raises("option", "there is no panel (3, 1); the figure has 2 rows and 1 column", fig.panel, fig, 3)
    raises("option", "option 'rows' must be 1 to 8, got 9", gb.plot.figure, {rows = 9})
    raises("option", "did you mean red?", fig.line, fig, {1}, {1}, {colour = "redd"})
    raises("option", "one of black, blue, brown", fig.line, fig, {1}, {1}, {colour = "#12"})
    raises("option", "option 'dash' must be one of --, -., dashdot, dashed, dotted, solid", fig.line, fig, {1}, {1}, {dash = "x"})
    raises("option", "option 'alpha' must be a number above 0, 1 at most, got number 2", fig.line, fig, {1}, {1}, {alpha = 2})
    raises("option", "unknown option 'xlimit', did you mean 'xlim'?", gb.plot.figure, {xlimit = {1, 2}})
    raises("option", "known: alpha, colour, dash, label, marker, size, width", fig.line, fig, {1}, {1}, {zzz = 1})
    raises("shape", "errorbar: y has 2 values, the errors 1", fig.errorbar, fig, {1, 2}, {1, 2}, {1})
    raises("option", "figure:hist: option 'bins' must be 1 to 1000000, got 0", fig.hist, fig, {1, 2}, {bins = 0})
    raises("option", "figure:hist: option 'bins' must be 1 to 1000000", fig.hist, fig, {1, 2}, {bins = 1e9})
    raises("option", "figure:hist: option 'range' must be {lo, hi}", fig.hist, fig, {1, 2}, {range = {3, 1}})
    raises("option", "option 'limits' must be {lo, hi}", fig.heatmap, fig, gb.ones(2, 2), {limits = {2, 1}})
    raises("option", "option 'x' must be {first, last}", fig.heatmap, fig, gb.ones(2, 2), {x = {2, 1}})
    raises("option", "figure:note: text must be a string, got number", fig.note, fig, 1, 2, 3)
    raises("option", "figure:hline: y must be a number, got string", fig.hline, fig, "x")
    raises("option", "width and height are 10 to 14400 points, got 1e+06 x 600", fig.save, fig, "x.png", {width = 1e6})
    raises("option", "20 to 1000 columns and 8 to 1000 rows are drawn, got 19 x 8", fig.text, fig, 19, 8)
    raises("option", "20 to 1000 columns and 8 to 1000 rows are drawn, got string x x 8", fig.text, fig, "x", 8)
  end)

  it("draws empty series, one point, constants and huge values", function()
    local none <const> = gb.zeros(0)
    for _, fig in ipairs{gb.plot.figure{}:line(none, none):scatter(none, none):band(none, none, none):hist({}),
      gb.plot.figure{}:hist{0 / 0}:contour(gb.ones(1, 1) * (0 / 0)):contour(gb.ones(3, 3)), gb.plot.figure{}:scatter({3}, {7}),
      gb.plot.figure{}:line({1, 1}, {5, 5}), gb.plot.figure{}:line({0, 1}, {-1.7e308, 1.7e308}),
      gb.plot.figure{}:line({0, 1}, {5e-324, 1e-323}), gb.plot.figure{}:heatmap(gb.ones(1, 1)),
      gb.plot.figure{xscale = "log", yscale = "log"}:line({1e-308, 1e308}, {1e-300, 1e300})} do
      for _, ending in ipairs{".svg", ".png", ".pdf"} do
        local path <const> = support.path(ending)
        fig:save(path)
        assert.is_nil(support.read(path):find "[^%w]nan[^%w]" and ending == ".svg" or nil)
      end
      for columns = 20, 200, 45 do assert.is_string(fig:text(columns, 12)) end
    end
  end)
end)

describe("a figure's file", function()
  after_each(support.sweep)

  local function saved(ending)
    local path <const> = support.path(ending)
    gb.plot.figure{title = "a < b & c", xlabel = "time"}:line({1, 2}, {3, 4}, {label = "curve"}):save(path)
    return support.read(path)
  end

  it("has text that can be selected in SVG", function()
    local text <const> = saved ".svg"
    has(text, ">a &lt; b &amp; c</text>", ">time</text>", ">curve</text>")
    assert.is_nil(text:find("<symbol", 1, true))
    assert.matches("</svg>%s*$", text)
    for at in text:gmatch " x=\"([^\"]*)\"" do assert.is_true(tonumber(at) ~= nil) end
  end)

  --- The texts of an SVG: {x, y, anchor, text}.
  local function texts(fig, o)
    local path <const>, out <const> = support.path ".svg", {}
    fig:save(path, o)
    for head, text in support.read(path):gmatch "<text ([^>]*)>([^<]*)</text>" do
      out[#out + 1] = {x = tonumber(head:match '^x="([^"]*)"'), y = tonumber(head:match ' y="([^"]*)"'),
        anchor = head:match 'text%-anchor="(%a+)"', text = text}
    end
    return out
  end

  --- Do labels lie where their values are: at a constant distance for each unit of at(value)?
  local function check_spacing(list, coordinate, at)
    assert.is_true(#list >= 2)
    local first <const>, last <const> = list[1], list[#list]
    local unit <const> = (last[coordinate] - first[coordinate]) / (at(tonumber(last.text)) - at(tonumber(first.text)))
    for _, t in ipairs(list) do
      local want <const> = first[coordinate] + unit * (at(tonumber(t.text)) - at(tonumber(first.text)))
      assert.is_true(math.abs(t[coordinate] - want) < 0.02, t.text)
    end
    return unit
  end

  it("has labels where their values are, at every size", function()
    for _, log in ipairs{false, true} do
      for width = 120, 1000, 110 do
        local fig <const> = gb.plot.figure{xscale = log and "log" or "linear"}:line({1, 870}, {-3, 41})
        local below <const>, beside <const> = {}, {}
        for _, t in ipairs(texts(fig, {width = width, height = width // 2 + 40})) do
          local list <const> = t.anchor == "middle" and below or beside
          list[#list + 1] = t
        end
        local across <const> = check_spacing(below, "x", log and math.log or function(v) return v end)
        local up <const> = check_spacing(beside, "y", function(v) return v end)
        assert.is_true(across > 0 and up < 0)
        for i = 2, #below do assert.is_true(below[i].x - below[i - 1].x > 5 * #below[i].text) end
      end
    end
  end)

  it("has its legend where there is no data, or beside the panel", function()
    local function place(fig)
      for _, t in ipairs(texts(fig)) do
        if t.text == "name" then return t.x, t.y end
      end
    end
    local t <const> = gb.linspace(0, 1, 200)
    local rising <const> = function(o) return gb.plot.figure(o):line(t, t, {label = "name"}) end
    local falling <const> = function() return gb.plot.figure{}:line(t, -t, {label = "name"}) end
    local x, y = place(rising())
    assert.is_true(x < 360 and y < 220)                                   -- top left
    x, y = place(falling())
    assert.is_true(x > 360 and y < 220)                                   -- top right
    x, y = place(rising{legend = "bottom right"})
    assert.is_true(x > 360 and y > 220)
    assert.is_nil((place(rising{legend = "off"})))
    local full <const> = gb.plot.figure{}:scatter(gb.rand(5000, {seed = 1}), gb.rand(5000, {seed = 2}), {label = "name"})
    local _, right = 0, 0
    for _, one in ipairs(texts(full)) do
      if one.anchor == "middle" then right = math.max(right, one.x) end
    end
    x, _ = place(full)
    assert.is_true(x > right + 10)
  end)

  it("shortens what is wider than its place", function()
    local path <const>, long <const> = support.path ".svg", ("long "):rep(60)
    gb.plot.figure{title = long, xlabel = long, ylabel = long}:line({1, 2}, {3, 4}, {label = ("ü"):rep(90)})
      :save(path, {width = 300, height = 200})
    local shortened = 0
    for text in support.read(path):gmatch ">([^<]*)</text>" do
      assert.is_true(utf8.len(text) ~= nil and utf8.len(text) < 60, text)
      shortened = shortened + (text:find("…", 1, true) and 1 or 0)
    end
    assert.equal(4, shortened)
  end)

  it("says how it was made", function()
    local want <const> = ("gibbous %s; made at [^;]*plot_calls_spec.lua:%%d+; seed %%-?%%d+"):format(gb.version:gsub("%.", "%%."))
    assert.matches("<metadata>" .. want .. "</metadata>", saved ".svg")
    local png <const> = saved ".png"
    local at <const> = png:find("iTXtDescription", 1, true)
    local length <const> = (">I4"):unpack(png, at - 4)
    assert.matches("^" .. want .. "$", png:sub(at + 20, at + 3 + length))
    assert.equal(25 + 8, at - 5)                                          -- right behind the first chunk
    assert.equal("IDAT", png:sub(at + 4 + length + 8, at + 4 + length + 11):match "IDAT" or png:match "IDAT")
    has(saved ".pdf", "/Subject")
  end)
end)

describe("a figure in a terminal", function()
  local core <const> = require "gibbous.core"

  local function figure() return gb.plot.figure{title = "T"}:line({1, 2, 3}, {1, 3, 2})._figure end

  it("is a PNG in kitty's protocol, in pieces", function()
    local bytes <const>, parts = core.figure_inline(figure(), "kitty", 300, 200), {}
    for head, data in bytes:gmatch "\27_G([^;]*);([^\27]*)\27\\" do
      parts[#parts + 1] = data
      assert.is_true(#data <= 4096)
      assert.matches(#parts == 1 and "^f=100,a=T,q=2,m=" or "^m=[01]$", head)
    end
    assert.equal("iVBORw0KGgo", table.concat(parts):sub(1, 11))            -- the signature of a PNG
    assert.is_true(#parts > 1)
  end)

  it("is sixels whose rows are as wide as the picture", function()
    local bytes <const> = core.figure_inline(figure(), "sixel", 120, 100)
    assert.equal("\27Pq\"1;1;120;100", bytes:sub(1, 15))
    assert.equal("\27\\\n", bytes:sub(-3))
    local bands = 0
    for band in bytes:sub(16):gsub("#%d+;2;%d+;%d+;%d+", ""):gmatch "([^-]*)%-" do
      bands = bands + 1
      for row in band:gmatch "#%d+([^$]*)%$" do
        local width = 0
        for count in row:gmatch "!(%d+)[?-~]" do width = width + tonumber(count) end
        width = width + #row:gsub("!%d+[?-~]", "")
        assert.is_true(width <= 120)
      end
    end
    assert.equal(17, bands)                                               -- of six rows
  end)

  it("asks no terminal where there is none, and obeys GIBBOUS_GRAPHICS and the locale", function()
    local screen <const> = require "gibbous.plot.screen"
    local function kind(env, tty)
      return support.with(os, {getenv = function(name) return env[name] end}, function() return screen.kind(tty) end)
    end
    assert.equal("braille", kind{LANG = "en_GB.UTF-8"})
    assert.equal("braille", kind{LC_ALL = "C.utf8", LANG = "C"})
    assert.equal("ascii", kind{LC_ALL = "C", LANG = "en_GB.UTF-8"})
    assert.equal("ascii", kind{})
    assert.equal("braille", kind{GIBBOUS_GRAPHICS = "braille"})
    assert.equal("sixel", kind{GIBBOUS_GRAPHICS = "sixel"})
    raises("option", "GIBBOUS_GRAPHICS must be kitty, sixel, braille or off, got png", kind, {GIBBOUS_GRAPHICS = "png"})
    assert.equal("braille", kind({TERM = "dumb", LANG = "C.UTF-8"}, true))
  end)
end)

describe("a figure as text", function()
  local function lines_of(text)
    local out <const> = {}
    for line in text:gmatch "([^\n]*)\n" do out[#out + 1] = line end
    return out
  end

  it("has the rows that are asked for, also of several panels", function()
    for rows = 8, 60 do
      assert.equal(rows, #lines_of(gb.plot.figure{title = "one"}:text(40, rows)))
      if rows >= 16 then assert.equal(rows, #lines_of(gb.plot.figure{rows = 3, title = "three"}:text(80, rows))) end
    end
  end)

  it("has the plots of a row at one height, whatever surrounds each", function()
    local fig <const> = gb.plot.figure{cols = 2, share_y = true}
    fig:axes{title = "left", ylabel = "y"}:line({0, 1}, {0, 1}, {label = "key"})
    fig:panel(1, 2):axes{xlabel = "x"}:line({0, 1}, {0, 1})
    local axes = 0
    for _, line in ipairs(lines_of(fig:text(80, 20))) do
      local _ <const>, corners <const> = line:gsub("└", "")
      assert.is_true(corners == 0 or corners == 2, line)
      axes = axes + corners
    end
    assert.equal(2, axes)
  end)

  it("counts columns of wide characters, and none of those that combine", function()
    local plain <const> = gb.plot.figure{title = "aabbcc"}:line({0, 1}, {0, 1}):text(40, 10)
    local wide <const> = gb.plot.figure{title = "\u{65e5}\u{672c}\u{8a9e}"}:line({0, 1}, {0, 1}):text(40, 10)
    assert.equal((plain:gsub("aabbcc", "\u{65e5}\u{672c}\u{8a9e}")), wide)
    local marked <const> = gb.plot.figure{title = "a\u{301}abbcc"}:line({0, 1}, {0, 1}):text(40, 10)
    assert.equal((plain:gsub("aabbcc", "a\u{301}abbcc")), marked)
    local long <const> = lines_of(gb.plot.figure{title = ("\u{65e5}"):rep(30)}:text(40, 10))[1]
    assert.equal(("\u{65e5}"):rep(19) .. "…", long)
    has(gb.plot.figure{title = "\u{65e5}e\u{301}"}:text(40, 10, {ascii = true}), "??e\n")
  end)

  it("says how many entries of the legend are left out", function()
    local fig <const> = gb.plot.figure{}
    for i = 1, 30 do fig:line({0, 1}, {0, i}, {label = "series " .. i}) end
    local text <const> = fig:text(60, 14)
    local more <const> = math.tointeger(text:match "and (%d+) more")
    local _ <const>, shown <const> = text:gsub("series ", "")
    assert.equal(30, shown + more)
  end)

  it("is coloured in a pipe where that is asked for", function()
    local process <const> = require "spec.process"
    local script <const> = "require'gibbous'.plot.figure{}:line({1,2},{1,2}):show()"
    assert.matches("\27%[34m", (process.run{"--color=always", "-e", script}))
    assert.is_nil((process.run{"-e", script}):find("\27", 1, true))
  end)
end)
