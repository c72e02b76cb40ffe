--- Memory of steps and predictions of models with inducing points: the ledger of a process of its own, in which nothing before took
-- more, against plans, to the byte.
local process <const> = require "spec.process"

--- What 'text', a program after this heading, prints.
local function printed(text)
  local heading <const> = [[
    local gb <const> = require "gibbous"
    local n <const>, m <const> = 3000, 60
    local function data(dtype)
      local x <const> = gb.rand(n, 3, {seed = 1}):to{dtype = dtype}:eval()
      return x, (6 * x):sin():sum(2):eval()
    end
    local function new(make, o)
      local all <const> = {kernel = gb.kernels.matern52{lengthscale = 0.5, variance = 1}, noise = 0.1,
        inducing = gb.rand(m, 3, {seed = 3}):eval()}
      for key, v in pairs(o or {}) do all[key] = v end
      return make(all)
    end
    --- Bytes now, without garbage and values that only garbage could name, which an evaluation drops; and the most so far.
    local function used()
      collectgarbage()
      collectgarbage();
      (gb.zeros(1) + 1):eval()
      return gb.memory.report().used
    end
    local function peak() return gb.memory.report().peak end
  ]]
  local path <const> = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write(heading, text)
  file:flush()
  local out <const>, errors <const> = process.run({path}, {env = "GIBBOUS_RATES=fixed"})
  os.remove(path)
  assert.equal("", errors)
  return out
end

local function equal(text)
  local want <const>, got <const> = printed(text):match "^(%d+)%s+(%d+)%s*$"
  assert.equal(want, got)
end

describe("memory", function()
  it("of a step of gb.gp.svgp is that of m:plan, to the byte", function()
    for _, case in ipairs{{"f64", 3000}, {"f32", 3000}, {"f64", 1000}, {"f32", 1000}, {"f64", 1000, 'q = "diagonal"'},
      {"f64", 1000, 'q = "diagonal", whiten = false'}, {"f64", 1000, 'q = "low_rank"'}} do
      -- Of a batch the order of the rows is there already, and the plan counts it.
      equal(([[
        local x <const>, y <const> = data %q
        local b <const> = %d
        local a <const> = new(gb.gp.svgp, {batch = b, %s})
        local before, got
        a:fit(x, y, {steps = 3, polish = false, on_step = function(s)
          if s.step == 3 then got = peak() - before + (b < n and 8 * n or 0) end
          before = used()
        end})
        print(a:plan().peak, got)]]):format(case[1], case[2], case[3] or ""))
    end
  end)

  it("of an evaluation of the bound of gb.gp.sgpr is that of m:plan, to the byte", function()
    for _, bound in ipairs{"vfe", "fitc"} do
      equal(([[
        local posterior <const> = require "gibbous.gp.sgpr.posterior"
        local training_step <const> = require "gibbous.gp.training_step"
        local a <const> = new(gb.gp.sgpr, {bound = %q}):condition(data "f64")
        local plan <const> = a:plan()
        local want <const> = plan.peak
        plan:close()
        local before <const> = used()
        gb.eval(training_step.of(a, posterior.objective(a)))
        print(want, peak() - before)]]):format(bound))
    end
  end)

  it("of an evaluation of gb.gp.svgp on all rows is that of m:plan, to the byte", function()
    for _, options in ipairs{"", "whiten = false", "q = 'diagonal'", "likelihood = gb.likelihoods.poisson{}, noise = false",
      "likelihood = gb.likelihoods.poisson{}, noise = false, whiten = false"} do
      equal(([[
        local all_rows <const> = require "gibbous.gp.svgp.all_rows"
        local observations <const> = require "gibbous.gp.observations"
        local posterior <const> = require "gibbous.gp.svgp.posterior"
        local training_step <const> = require "gibbous.gp.training_step"
        local x <const>, y <const> = data "f64"
        local a <const> = new(gb.gp.svgp, {%s})
        observations.take(a, x, (y:abs() + 0.5):floor():eval(), "fit")
        local plan <const> = a:plan{method = "lbfgs"}
        local want <const> = plan.peak
        plan:close()
        local before <const> = used()
        local value <const> = posterior.objective(a, all_rows.name)
        used()                                                -- without what the search has left to the collector
        gb.eval(training_step.of(a, value))
        print(want, peak() - before)]]):format(options))
    end
  end)

  it("of predictions is that of gb.plan, to the byte", function()
    for _, kind in ipairs{"svgp", "sgpr"} do
      for _, dtype in ipairs{"f64", "f32"} do
        equal(([[
          local x <const>, y <const> = data %q
          local a <const> = new(gb.gp.%s)
          a:fit(x:slice(1, 1, 300), y:slice(1, 1, 300), {steps = 0})
          gb.eval(a:predict(x:slice(1, 1, 1)).mean)
          local p <const> = a:predict(gb.cat({x, x}, 1):eval())
          local mean <const>, var <const> = p.mean, p.y_var
          local plan <const> = gb.plan{mean, var}
          local want <const> = plan.peak
          plan:close()
          local before <const> = used()
          gb.eval(mean, var)
          print(want, peak() - before)]]):format(dtype, kind))
      end
    end
  end)
end)
