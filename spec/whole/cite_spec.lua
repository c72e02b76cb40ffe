-- gb.cite: every part of the library has its sources, or says that it has none.
local gb <const> = require "gibbous"
local publications <const> = require "gibbous.cite.publications"
local sources <const> = require "gibbous.cite.sources"
local raises <const> = require "spec.support".raises

--- The names of constructors in a table of the library: those whose values are of a type.
local function made(part, kind, arguments)
  local out <const> = {}
  for name, f in pairs(gb[part]) do
    local ok <const>, v <const> = pcall(f, arguments and arguments[name] or {})
    if ok and gb.type(v) == kind then out[name] = v end
  end
  return out
end

local arguments <const> = {
  kernels = {index = {tasks = 2}, change_point = {gb.kernels.rbf{}, gb.kernels.rbf{}, location = 0},
    spectral_mixture = {components = 2},
    spectral = {components = 2}},
  precond = {nystrom = {rank = 3}, pivoted_cholesky = {rank = 3}},
}

describe("gb.cite", function()
  it("knows every kernel, solver, preconditioner, likelihood, model and optimiser", function()
    for _, case in ipairs{{"kernels", "kernel", 15}, {"precond", "precond", 3}} do
      local count = 0
      for name, v in pairs(made(case[1], case[2], arguments[case[1]])) do
        count = count + 1
        assert.is_table(sources[case[2]][v.kind], name)
      end
      assert.is_true(count >= case[3], case[1] .. " " .. count)
    end
    for _, name in ipairs{"alternating_projections", "cg", "cholesky", "lanczos", "minres", "sdd"} do
      assert.is_table(sources.solver[name], name)
    end
    for _, name in ipairs(gb.solvers.names) do assert.is_table(sources.solver[name], name) end
    for name in pairs(gb.gp) do
      if name ~= "load" and name ~= "inducing_points" and name ~= "auto" then
        assert.is_table(sources.model["gp." .. name], name)
      end
    end
    for _, name in ipairs(gb.optim.spec.method) do assert.is_table(sources.optimiser[name], name) end
  end)

  it("names only publications that it has, each of which has its fields", function()
    local used <const> = {}
    for _, group in pairs(sources) do
      for name, keys in pairs(group) do
        for _, key in ipairs(keys) do
          assert.is_table(publications[key], name)
          used[key] = true
        end
      end
    end
    for key, p in pairs(publications) do
      assert.is_true(used[key], key)
      for _, field in ipairs{"type", "author", "title", "year"} do assert.is_string(p[field], key) end
      assert.equal(key:match "%d+$", p.year)
      local family <const> = p.author:match "^[^,]+":gsub("[{}\\'\"]", ""):lower()
      assert.equal(key:match "^%a+", family)
      assert.is_string(p.type == "article" and p.journal or p.type:find "^in" and p.booktitle or p.publisher, key)
    end
  end)

  it("gives the entries of a model: Gibbous, method, kernel, solver, optimiser", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.matern52{} + gb.kernels.periodic{}, noise = 0.1,
      solver = gb.solvers.cg{precond = gb.precond.nystrom{rank = 5}}}
    local x <const> = gb.linspace(0, 1, 20)
    m:fit(x, x:sin(), {steps = 1, method = "adam"})
    local keys <const> = {}
    for key in gb.cite(m):gmatch "@%w+{([^,]+)," do keys[#keys + 1] = key end
    assert.same({"gibbous", "rasmussen2006", "matern1960", "mackay1998", "hestenes1952", "oleary1980", "grigori2016",
      "gardner2018", "ubaru2017", "frangella2023", "kingma2015"}, keys)
    local batch <const> = gb.gp.batch{kernel = gb.kernels.matern52{}}
    batch:fit(x, {x:sin(), x:cos()}, {steps = 1})
    assert.matches("rasmussen2006.*matern1960.*liu1989", gb.cite(batch))
    local slopes <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, gradients = true}
    assert.matches("rasmussen2006.*solak2003", gb.cite(slopes))
    local classes <const> = gb.gp.classifier{kernel = gb.kernels.rbf{}, inference = "svgp", inducing = 2}
    classes:fit(x, gb.where(x:gt(0.5), 1, 0), {steps = 1})
    assert.matches("rasmussen2006.*hensman2015.*salimbeni2018", gb.cite(classes))
    local direct <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = "direct"}
    assert.matches("@book{rasmussen2006,\n  author = {Rasmussen, Carl Edward and Williams, Christopher K. I.},", gb.cite(direct),
    1, true)
    assert.matches("^@misc{gibbous,\n  title = {{Gibbous}: .*\n  version = {" .. gb.version:gsub("%p", "%%%0") .. "},\n}$",
    gb.cite())
  end)

  it("takes several values, k-means, and says what it does not take", function()
    local text <const> = gb.cite(gb.kmeans{k = 2}, gb.kmeans{k = 2, init = "k-means||", algorithm = "elkan"},
    gb.kernels.arc_cosine{})
    for _, key in ipairs{"lloyd1982", "arthur2007", "elkan2003", "bahmani2012", "cho2009"} do assert.matches("{" .. key .. ",",
    text) end
    raises("option", "gb.cite: expected models, kernels", gb.cite, 3)
    raises("option", "got tensor", gb.cite, gb.zeros(2))
  end)

  it("balances its braces", function()
    for key, p in pairs(publications) do
      for _, v in pairs(p) do
        local depth = 0
        for c in v:gmatch "[{}]" do depth = depth + (c == "{" and 1 or -1) end
        assert.equal(0, depth, key)
      end
    end
  end)
end)
