local gb <const> = require "gibbous"
local raises <const> = (require "spec.support").raises

describe("a part of the library", function()
  it("says which names are planned", function()
    for _, case in ipairs{{"likelihoods", "binomial"}} do
      raises("option", ("gb.%s.%s is not in this version"):format(case[1], case[2]), function()
        local v <const> = gb[case[1]][case[2]]
        return v
      end)
    end
  end)

  it("names the nearest of those it has", function()
    raises("index", "gb.kernels.matern23 does not exist, did you mean gb.kernels.matern12?",
      function() return gb.kernels.matern23 end)
    raises("index", "gb.optim.minimise does not exist, did you mean gb.optim.minimize?", function() return gb.optim.minimise end)
    raises("index", "gb.means.x does not exist", function() return gb.means.x end)
  end)
end)

describe("gb", function()
  local core <const> = require "gibbous.core"

  it("has what is written in C under the same names", function()
    for name in ("cat clock config devices einsum empty eval eye full lazy linspace maximum minimum ones plan rand randn randperm "
      .. "range seed sobol stack tensor type vmap where zeros linalg version"):gmatch "%a+" do
      assert.is_true(rawequal(core[name], rawget(gb, name)) and core[name] ~= nil, name)
    end
  end)

  it("has every part of the library when it is first named", function()
    local names <const> = "bench bincount bo cat cdist cite cli clock config data devices einsum empty eval eye full func gp "
      .. "grad histogram kernels kmeans lazy likelihoods linalg linspace load maximum means memory minimum mpi "
      .. "nn one_hot ones optim outer param params plan plot precond priors profile progress rand randn "
      .. "randperm range report seed segment_max segment_mean segment_min segment_sum silhouette sobol solvers "
      .. "stack sweep tensor time type version vmap where zeros"
    local function all() return table.concat(debug.getmetatable(gb).__names(), " ") end
    assert.equal(names, all())
    for name, of in pairs{bench = {"timing", "time"}, bincount = {"tensor.segments", "bincount"},
      cdist = {"tensor.segments", "cdist"},
      histogram = {"tensor.segments", "histogram"}, one_hot = {"tensor.segments", "one_hot"}, outer = {"tensor.segments", "outer"},
      segment_max = {"tensor.segments", "segment_max"}, segment_mean = {"tensor.segments", "segment_mean"},
      segment_min = {"tensor.segments", "segment_min"}, segment_sum = {"tensor.segments", "segment_sum"},
      silhouette = {"kmeans.silhouette", "silhouette"}, time = {"timing", "time"},
      grad = {"tensor.gradients", "grad"}, load = {"gp", "load"},
      param = {"param", "new"},
      params = {"param", "collect"}, profile = {"profile"}, data = {"data"}, func = {"func"}, gp = {"gp"},
      kernels = {"kernels"}, kmeans = {"kmeans"},
      likelihoods = {"likelihoods"}, means = {"means"}, memory = {"memory"}, mpi = {"mpi"}, nn = {"nn"},
      optim = {"optim"}, plot = {"plot"},
      precond = {"precond"}, priors = {"priors"}, progress = {"progress"}, solvers = {"solvers"}} do
      local module <const> = require("gibbous." .. of[1])
      local want = module
      if of[2] then want = rawget(module, of[2]) end
      assert.is_true(want ~= nil and rawequal(want, gb[name]) and rawequal(want, rawget(gb, name)), name)
    end
    assert.equal(names, all())
    local fresh <const> = require "spec.process".run{"-e", [[
      print(table.concat(getmetatable(require "gibbous").__names(), " "))]]}
    assert.equal(names .. "\n", fresh)
  end)

  it("says what it has not", function()
    for _, name in ipairs{"dispatch"} do
      local err <const> = raises("option", "", function() return gb[name] end)
      assert.equal(("gb.%s is not in this version"):format(name), err.message)
    end
    for key, text in pairs{tensr = "gb.tensr does not exist, did you mean gb.tensor?",
      qqqq = "gb.qqqq does not exist; at the prompt, gb. and Tab list what there is",
      [3] = "gb.3 does not exist; at the prompt, gb. and Tab list what there is"} do
      local err <const> = raises("index", "", function() return gb[key] end)
      assert.equal(text, err.message)
    end
    assert.equal("gibbous " .. gb.version, tostring(gb))
  end)
end)
