--- Small programs that give a value of every class of the library, by name.
local gb <const> = require "gibbous"

local function data()
  local x <const> = gb.linspace(0, 3, 20):reshape(20, 1):eval()
  return x, (x:sin():squeeze(2) + gb.randn(20, {seed = 1}) * 0.1):eval()
end

local function fitted(o)
  local x <const>, y <const> = data()
  local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = o and o.solver}
  return m, m:fit(x, y, o and o.fit or {steps = 3}), x, y
end

return {
  tensor = function() return gb.zeros(2) end,
  errors = function() return select(2, pcall(function() return gb.ones(2, 3):matmul(gb.ones(2, 3)) end)) end,
  parts = function()
    local all <const> = {}
    for _, name in ipairs(debug.getmetatable(gb).__names()) do all[#all + 1] = gb[name] end
    return gb, table.unpack(all)
  end,
  param = function() return gb.param(1, {min = 0, name = "p"}) end,
  kernels = function()
    local x <const> = data()
    return gb.kernels.rbf{} + gb.kernels.white{}, gb.kernels.index{tasks = 2}, gb.kernels.spectral_mixture{components = 1},
      gb.kernels.rbf{}:named "a" * 2, gb.kernels.rbf{}(x), gb.kernels.define("own", {alpha = 1}, function(a, b, p)
        return ((a - b) * p.alpha):sum(-1) end){},
      gb.kernels.arc_cosine{}, gb.kernels.periodic{}, gb.kernels.polynomial{}, gb.kernels.change_point(gb.kernels.rbf{},
        gb.kernels.rbf{}, {location = 1})
  end,
  means = function() return gb.means.zero(), gb.means.constant(1), gb.means.linear{}, 2 * gb.means.zero() end,
  likelihoods = function()
    local x <const> = data()
    return gb.likelihoods.gaussian(1), gb.likelihoods.fixed(gb.ones(20)), gb.likelihoods.tasks{1, 2},
      gb.likelihoods.heteroscedastic{kernel = gb.kernels.rbf{}, places = x}, gb.likelihoods.softmax{classes = 3},
      gb.likelihoods.ordinal{classes = 3}, gb.likelihoods.student_t{}, gb.likelihoods.gamma{}, gb.likelihoods.beta{},
      gb.likelihoods.negative_binomial{}
  end,
  priors = function() return gb.priors.normal{}, gb.priors.uniform{min = 0, max = 2} end,
  model = function()
    local m <const>, info <const>, x <const>, y <const> = fitted()
    local p <const> = m:predict(x)
    local keep <const> = p.mean:eval() and p.f_var:eval()
    return m, info, p, p.info, m:score(x, y), m:condition(x, y), m:draw(2, {seed = 1}), m:leave_one_out(),
      select(2, m:log_marginal_likelihood()), keep
  end,
  restarts = function() return select(2, fitted{fit = {steps = 2, restarts = 2}}) end,
  first_order = function() return select(2, fitted{fit = {steps = 2, method = "adam"}}) end,
  iterative = function()
    local m <const>, info <const>, x <const>, y <const> = fitted{solver = gb.solvers.cg{}}
    local p <const> = m:predict(x)
    return m, info, p, p.f_var:eval() and p.info, m:score(x, y)
  end,
  laplace = function()
    local x <const>, y <const> = data()
    local m <const> = gb.gp.laplace{kernel = gb.kernels.rbf{}, likelihood = gb.likelihoods.bernoulli()}
    local of_two <const> = y:gt(0):to{dtype = "f64"}
    local info <const> = m:fit(x, of_two, {steps = 2})
    return m, info, m:predict(x), m:score(x, of_two), m:draw(1)
  end,
  classifier = function()
    local x <const>, y <const> = data()
    local m <const> = gb.gp.classifier{kernel = gb.kernels.rbf{}}
    local info <const> = m:fit(x, y:gt(0):to{dtype = "f64"}, {steps = 2})
    return m, info, m:predict(x), m:score(x, y:gt(0):to{dtype = "f64"})
  end,
  batch = function()
    local x <const> = gb.rand(2, 8, 1, {seed = 1}):eval()
    local y <const> = (3 * x:select(3, 1)):sin():eval()
    local b <const> = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0.1}
    local info <const> = b:fit(x, y, {steps = 2})
    return b, info, b:predict(x), b:score(x, y)
  end,
  multitask = function()
    local x <const>, y <const> = data()
    local m <const> = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}
    local both <const> = gb.stack({y, y * 2}, 2)
    return m, m:fit(x, both, {steps = 2}), m:predict(x), m:score(x, both), m:draw(1), m:leave_one_out()
  end,
  gradients = function()
    local x <const>, y <const> = data()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, gradients = true}
    local both <const> = gb.stack({y, y * 2}, 2)
    return m, m:fit(x, both, {steps = 2}), m:predict(x), m:score(x, both), m:leave_one_out()
  end,
  sparse = function()
    local x <const>, y <const> = data()
    local m <const> = gb.gp.sgpr{kernel = gb.kernels.rbf{}, inducing = 4, noise = 0.1}
    local v <const>, r <const> = gb.gp.svgp{kernel = gb.kernels.rbf{}, inducing = 4, noise = 0.1},
      gb.gp.svgp{kernel = gb.kernels.rbf{}, inducing = 4, q = "low_rank", rank = 2}
    local a <const> = gb.gp.auto{kernel = gb.kernels.rbf{}}
    return a, select(2, a:fit(x, y, {seconds = 20})), m, m:fit(x, y, {steps = 2}), m.inducing, m:bounds(), v, v.q, r.q
  end,
  fantasies = function()
    local m <const>, _, x <const> = fitted()
    local f <const> = m:condition(x:slice(1, 1, 2), gb.randn(3, 2, {seed = 2}))
    return f, f:predict(x)
  end,
  plan = function()
    local plan <const> = gb.plan(gb.ones(8, 8):matmul(gb.ones(8, 8)):exp():sum())
    plan:run()
    return plan, plan:stats()
  end,
  memory = function() return gb.memory.report() end,
  devices = function() return gb.devices() end,
  timing = function()
    local function f() return (gb.ones(8, 8):exp() * 2):sum() end
    return gb.time(f, {runs = 1, seconds = 1e-6}), gb.profile(f)
  end,
  func = function()
    return gb.func{name = "twice", shape = "same", forward = function(x) return x * 2 end}
  end,
  solvers = function()
    local a <const>, b <const> = gb.eye(4) * 2 + 1, gb.ones(4)
    local out <const> = {}
    for _, name in ipairs{"cg", "cholesky", "minres", "sdd", "alternating_projections", "lanczos"} do
      out[#out + 1] = gb.solvers[name]{}
    end
    local _ <const>, info <const> = gb.solvers.cg{}:solve(a, b)
    local _ <const>, direct <const> = gb.solvers.cholesky{}:solve(a, b)
    out[#out + 1], out[#out + 2] = info, direct
    out[#out + 1] = select(2, gb.solvers.lanczos{}:logdet(a))
    return table.unpack(out)
  end,
  preconditioners = function()
    return gb.precond.jacobi{}, gb.precond.nystrom{rank = 3}, gb.precond.pivoted_cholesky{rank = 3}
  end,
  optim = function()
    local p <const> = gb.param(1)
    local function f() return (p.value - 3) ^ 2 end
    local root <const> = {p}
    return gb.optim.minimize(f, root, {steps = 2}), gb.optim.adam(root), gb.optim.sgd(root), gb.optim.lbfgs(root)
  end,
  nn = function()
    local nn <const> = gb.nn
    return nn.sequential{nn.linear(2, 3), nn.dropout(0.5), nn.linear(3, 1)}, nn.batch_norm(3), nn.embedding(3, 2)
  end,
  data_set = function()
    local path <const>, data <const> = os.tmpname() .. ".csv", gb.data
    data.write(path, gb.rand(5, 3))
    local set <const> = require "gibbous.data.set".load("own", {}, {read = function() return data.read(path) end,
      places = function() return {"."} end, exists = function(name) return name == "./own/data.csv" end})
    os.remove(path)
    return set
  end,
  data = function()
    local path <const> = os.tmpname() .. ".csv"
    gb.data.write(path, gb.ones(3, 2))
    local frame <const> = gb.data.read(path)
    os.remove(path)
    return frame, frame:group(1), gb.data.info "yacht", select(2, gb.data.standardize(gb.rand(5, 2))),
      select(2, gb.data.synth("yacht", {n = 9}))
  end,
  report = function() return gb.report{title = "t"}:text "x" end,
  figure = function()
    local fig <const> = gb.plot.figure{title = "t"}:line({1, 2}, {1, 2})
    return fig
  end,
  sweep = function()
    local study <const> = gb.sweep{name = "s", search = "sobol", trials = 2, space = {x = gb.sweep.uniform(0, 1)}, run = print}
    return study, gb.sweep.integers(1, 3), gb.sweep.when({kind = 1}, {1}), require "gibbous.sweep.run.trial".unattached({}, ".")
  end,
  kmeans = function()
    local x <const> = gb.randn(30, 2, {seed = 3})
    local km <const> = gb.kmeans{k = 2, seed = 1}:fit(x)
    return km, km:plan(x), km:silhouette(x)
  end,
}
