--- Parameters inside kernels and models, and in files of earlier versions.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

describe("hyper-parameters", function()
  local param <const> = require "gibbous.param"

  it("are positive boxes that models copy, or explicit ones that they share", function()
    local p <const>, named <const> = gb.param(1), gb.param(1, {name = "own"})
    assert.is_true(rawequal(p, param.hyper(p, "scale")) and param.shared(p))
    assert.equal("scale", p.name)
    assert.equal("own", param.hyper(named, "scale").name)
    local h <const> = param.hyper(2, "scale")
    assert.same({"scale", 0, false}, {h.name, h.min, param.shared(h)})
    assert.same({"scale"}, {param.hyper(-2, "scale", {name = "other"}).name, param.hyper(-2, "scale", {}).min})
    for rank, text in pairs{"vector, got shape 2x2", "matrix, got shape 2x2x2"} do
      local v <const> = rank == 1 and gb.ones(2, 2) or gb.ones(2, 2, 2)
      assert.equal("parameter 'w' must be one number or a " .. text, raises("shape", "", param.hyper, v, "w", nil, rank).message)
    end
    assert.equal(2, param.hyper(gb.ones(2, 2), "w", nil, 2).ndim)
    assert.equal("kernel", gb.type(p * gb.kernels.rbf{}))
    assert.equal("kernel", gb.type(gb.kernels.rbf{} * p))
  end)

  it("are copied once where they are not shared", function()
    local p <const>, h <const> = gb.param(2), param.hyper(3, "h")
    local once <const>, all <const> = param.copies(), param.copies(true)
    assert.is_true(rawequal(p, once(p)) and not rawequal(h, once(h)) and rawequal(once(h), once(h)))
    assert.is_true(not rawequal(p, all(p)) and not rawequal(h, all(h)) and rawequal(all(p), all(p)))
    near({2, 3, 3}, {all(p), all(h), once(h)}, 1e-14)
    local function by(q, of) return gb.grad(of * 1, q, {unused = "zero"}):item() end
    assert.same({1, 0, 0}, {by(h, once(h)), by(h, all(h)), by(p, all(p))})       -- a plain copy has gradients by the original
    param.part{once(h), p}
    assert.same({0, 1}, {by(h, once(h)), by(once(h), once(h))})
    near(3, once(h), 1e-14)
  end)

  it("take nothing from a copy that was made of their values, nor from who fits them", function()
    local p <const>, made <const>, fits <const> = gb.param(2), {state = 1}, {}
    param.keep({p}, made)
    param.claim(p, fits)
    local q <const> = param.copy(p)
    q.value = 3
    assert.equal(1, made.state)
    assert.is_false(param.claim(q, {}))
    local r <const>, other <const> = param.copy(p), {state = 1}
    param.keep({r}, other)
    param.apart{p, r}
    assert.same({1, nil, 2}, {made.state, other.state, r.version})
    p.raw = 1
    assert.is_nil(made.state)
    made.state = 2                               -- made of other values
    p.raw = 2
    assert.equal(2, made.state)
  end)

  it("stay open while nobody chooses their value", function()
    local function open() return param.set_open(param.hyper(0.3, "h"), true) end
    local p <const>, q <const>, r <const> = open(), open(), open()
    p.prior = gb.priors.uniform{}
    param.raise_bound(q, 0.5)
    assert.same({true, true, true}, {param.is_open(p), param.is_open(q), param.is_open(param.restore(param.describe(p)))})
    assert.is_false(param.is_open(param.restore(param.describe(gb.param(1)))))
    assert.equal(0.5, q.min)
    near({0.55, math.log(0.05)}, {q, q.raw}, 1e-13)
    p.value, r.raw = 0.5, 0
    assert.same({false, false}, {param.is_open(p), param.is_open(r)})
    assert.is_true(param.is_open(param.set_open(open(), false)))
  end)

  it("move no further than a prior's interval when their bound rises", function()
    local function raised(max)
      return pcall(param.raise_bound, gb.param(0.5, {min = 0, prior = gb.priors.uniform{max = max}}), 1)
    end
    assert.same({false, true, "option"}, {(raised(1.1)), (raised(1.11)), select(2, raised(1)).code})
    assert.equal("option", select(2, pcall(param.raise_bound, gb.param(1, {max = 2}), 0)).code)
    local p <const> = param.hyper(5, "p")
    p.raw = -800
    param.raise_bound(p, 0)
    near(1, p.value / 1e-300, 1e-9)
  end)

  it("have a log prior, the sum over those that are free", function()
    local normal <const> = gb.priors.normal{}
    local a <const>, b <const> = gb.param(1, {prior = normal}), gb.param({2, 3}, {prior = normal})
    local one <const> = normal:log_density(gb.tensor(1)):item()
    assert.is_nil(param.log_prior{gb.param(1), gb.param(1, {fixed = true, prior = normal})})
    near(one, param.log_prior{a, gb.param(1)}, 1e-14)
    near(one + normal:log_density(gb.tensor{2, 3}):item(), param.log_prior{a, b}, 1e-14)
  end)

  it("are found by paths", function()
    local p <const>, q <const>, r <const> = gb.param(1), gb.param(2), gb.param(3, {name = "r"})
    local function paths(root, at) return table.concat(select(2, param.collect(root, at)), " ") end
    assert.equal("r", paths(r))
    assert.equal("[1] [2] a b[1].c", paths{p, q, a = r, b = {{c = gb.param(1)}}, [true] = gb.param(1)})
    assert.equal("x[1] x.a", paths({p, a = q}, "x"))
    assert.equal("", paths{3, "x", print})
    local loop <const> = {p}
    loop.again = loop
    assert.equal("[1]", paths(loop))
  end)
end)

describe("a file of a version whose priors were no bounds", function()
  local param <const> = require "gibbous.param"

  it("gives the value, confined from then on, or says why not", function()
    local function old(v)
      local d <const> = param.describe(gb.param(v, {min = 0, name = "p"}))
      d.prior, d.version = gb.priors.uniform{max = 2}, 7
      return param.restore(d)
    end
    local p <const> = old(0.5)
    near(0.5, p, 1e-14)
    near(math.log(0.25 / 0.75), p.raw, 1e-13)
    assert.same({7, 0, 2, "uniform(max=2, min=0)"}, {p.version, p.min, p.max, tostring(p.prior)})
    assert.same({nil, "parameter 'p' = 3.0 is not inside its bounds (0, 2), outside which its prior has no density"}, {old(3)})
    local d <const> = param.describe(gb.param(0.3, {min = 0.1, prior = gb.priors.uniform{max = 0.7}}))
    assert.equal("support", d.transform)
    d.raw = gb.tensor(0.123456789)
    local q <const> = param.restore(d)
    assert.equal(0.123456789, q.raw:item())
    q.prior = nil
    assert.equal("bounds", param.describe(q).transform)
    near(math.log(q.value:item() - 0.1), q.raw, 1e-12)
  end)
end)
