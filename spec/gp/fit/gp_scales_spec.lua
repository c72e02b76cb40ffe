--- The scales that fits begin at, by hand: distances of few points, parts of the variance of y, units of parameters.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local model <const> = require "gibbous.gp.model"
local starts <const> = require "gibbous.gp.fit.starts"
local support <const> = require "spec.support"
local near <const> = support.near
local K <const> = gb.kernels

local x <const>, y <const> = gb.tensor{{0, 1}, {2, 1}, {3, 5}}, gb.tensor{1, -2, 4}
local amount <const> = (1 + 4 + 16) / 3

--- The model of these data, with its scales by path.
local function of(o, xs, ys)
  local m <const> = gb.gp.exact{kernel = o.kernel or K.rbf{}, mean = o.mean, noise = o.noise, solver = "direct"}
  xs = xs or x
  model.set_data(m, xs.ndim == 1 and xs:unsqueeze(2) or xs, ys or y)
  local scales <const> = starts.scales(m)
  return function(path) return scales[m:get(path)] end, m, scales
end

local function root_mean(squares)
  local sum = 0
  for _, v in ipairs(squares) do sum = sum + v end
  return math.sqrt(sum / #squares)
end

local distance <const> = root_mean{4, 9 + 16, 1 + 16}            -- of all pairs of x
local first <const>, second <const> = root_mean{4, 9, 1}, root_mean{0, 16, 16}

describe("the scale of lengthscales", function()
  it("is the root mean square distance, of a column times the root of how many there are", function()
    near(distance, of{} "kernel.lengthscale", 1e-12)
    near({first * math.sqrt(2), second * math.sqrt(2)}, of{kernel = K.rbf{ard = true}} "kernel.lengthscale", 1e-12)
    near(first, of{kernel = K.rbf{active_dims = {1}}} "kernel.lengthscale", 1e-12)
    local product <const> = of{kernel = K.rbf{} * K.matern32{active_dims = {2}}}
    near(distance * math.sqrt(3 / 2), product "kernel[1].lengthscale", 1e-12)
    near(second * math.sqrt(3), product "kernel[2].lengthscale", 1e-12)
    local both <const> = of{kernel = K.rbf{ard = true} * (K.matern32{active_dims = {1}} + K.linear{})}
    near({first * math.sqrt(3), second * math.sqrt(3)}, both "kernel[1].lengthscale", 1e-12)
    near(first * math.sqrt(3), both "kernel[2][1].lengthscale", 1e-12)
    local sum <const> = of{kernel = K.rbf{} + K.matern32{active_dims = {2}}}
    near({distance, second}, {sum "kernel[1].lengthscale", sum "kernel[2].lengthscale"}, 1e-12)
    assert.is_nil(of{kernel = K.periodic{active_dims = {1}}} "kernel.lengthscale")
  end)

  it("leaves out the farthest twentieth, unless all others are 0", function()
    local function line(values) return of({}, gb.tensor(values), gb.ones(#values)) "kernel.lengthscale" end
    local far <const> = {}
    for i = 0, 5 do for j = 0, i - 1 do far[#far + 1] = (i - j) ^ 2 end end
    for i = 1, 5 do far[#far + 1] = (100 - i) ^ 2 end
    near(root_mean(far), line{0, 1, 2, 3, 4, 5, 100}, 1e-12)
    near(2.5, line{0, 0, 0, 0, 0, 0, 5}, 1e-12)                      -- five of six pairs of twenty
    local odd <const> = {}
    for i = 1, 41 do odd[i] = i == 9 and 5 or 0 end
    near(5 * math.sqrt(40 / 820), line(odd), 1e-12)
    assert.is_nil(line{2, 2, 2})
    assert.is_nil(line{7})
    near(3, line{0, 3}, 1e-12)
    local flat <const> = of({kernel = K.rbf{ard = true}}, gb.tensor{{0, 2}, {3, 2}}, gb.ones(2)) "kernel.lengthscale"
    near({3 * math.sqrt(2), 1}, flat, 1e-12)
    near(4, line{0, 4, 1e200}, 1e-12)                                -- 1e200 squared overflows
  end)

  it("is that of 64 rows, not the first ones, where there are more", function()
    local function of_rows(values)
      local squares <const> = {}
      for i = 2, #values do for j = 1, i - 1 do squares[#squares + 1] = (values[i] - values[j]) ^ 2 end end
      table.sort(squares)
      return root_mean(table.move(squares, 1, math.ceil(0.95 * #squares), 1, {}))
    end
    local function scale(t) return of({}, t, gb.ones(#t)) "kernel.lengthscale" end
    local some <const>, more <const> = gb.rand(64, {seed = 1}):eval(), gb.rand(65, {seed = 1}):eval()
    near(of_rows(some:totable()), scale(some), 1e-12)
    local kept <const> = more:index(1, core.randperm(65, {seed = 0}):slice(1, 1, 64))
    near(of_rows(kept:totable()), scale(more), 1e-12)
    assert.is_true(math.abs(of_rows(more:totable()) - scale(more)) > 1e-9)
  end)
end)

describe("the scale of variances", function()
  it("is the mean square of y, in parts of a sum, over the kernel's diagonal", function()
    near(amount, of{} "kernel.variance", 1e-12)
    near(amount, of{kernel = K.rbf{variance = 3}} "kernel.variance", 1e-12)
    local diagonal <const> = (1 + 5 + 34) / 3
    near(amount / diagonal, of{kernel = K.linear{variance = 3}} "kernel.variance", 1e-12)
    near(amount, of({kernel = K.linear{}}, gb.zeros(3, 2)) "kernel.variance", 1e-12)
    local sum <const> = of{kernel = K.rbf{} + K.linear{} + (K.rbf{} + K.constant{})}
    near({amount / 4, amount / 4 / diagonal, amount / 4},
      {sum "kernel[1].variance", sum "kernel[2].variance", sum "kernel[3].variance"}, 1e-12)
    local nested <const> = of{kernel = K.rbf{} + 2 * (K.rbf{} + K.constant{})}
    near(amount / 2, nested "kernel[1].variance", 1e-12)
    local factors <const> = of{kernel = (K.rbf{} + K.constant{}) * (K.rbf{} + K.constant{})}
    near({amount / 2, 1 / 2}, {factors "kernel[1][1].variance", factors "kernel[2][1].variance"}, 1e-12)
    local scaled <const> = of{kernel = 2 * (K.rbf{} * K.matern32{})}
    near(amount, scaled "kernel.variance", 1e-12)
  end)

  it("of noise is a tenth of the variance of y, or of its mean square where that is less", function()
    local spread <const> = ((1 - 1) ^ 2 + (-2 - 1) ^ 2 + (4 - 1) ^ 2) / 2
    assert.is_true(spread > amount)
    near(0.1 * amount, of{} "likelihood.noise", 1e-12)
    near(0.1 * spread, of({}, x, y + 10) "likelihood.noise", 1e-12)
    near(((11) ^ 2 + 8 ^ 2 + 14 ^ 2) / 3, of({}, x, y + 10) "kernel.variance", 1e-12)
    near(0.1 * 9, of({}, x:slice(1, 1, 1), gb.tensor{3}) "likelihood.noise", 1e-12)
    near(0.1 * 4, of({}, x, gb.full({3}, 2)) "likelihood.noise", 1e-12)
    local white <const> = of({kernel = K.rbf{} + K.white{}}, x, y + 10)
    near(0.1 * spread, white "kernel[2].variance", 1e-12)
    local none <const> = select(3, of({}, x, gb.zeros(3)))
    assert.is_nil(next(none))
    assert.is_nil(next((select(3, of({}, x, gb.tensor{1e200, 1, 1})))))
  end)

  it("of tasks multiplies what stands there, where nobody chose it", function()
    local at <const> = gb.tensor{{0, 1}, {1, 2}, {2, 1}}
    local function kernel() return require "gibbous.gp.tasks.parts".product(K.rbf{}, 2, 1) end
    local open <const>, m <const> = of({kernel = kernel()}, at)
    local weights <const>, diagonal <const> = m:get "kernel.tasks.weights", m:get "kernel.tasks.diagonal"
    near(weights.value * math.sqrt(amount), open "kernel.tasks.weights", 1e-12)
    near(diagonal.value * amount, open "kernel.tasks.diagonal", 1e-12)
    local scaled <const>, own <const> = of({kernel = K.rbf{active_dims = {1}} * K.index{tasks = 2}}, at)
    near(amount, scaled "kernel.variance", 1e-12)                        -- the product's: the tasks stay
    near(own:get "kernel[2].weights".value, scaled "kernel[2].weights", 1e-12)
    local _, other <const> = of({kernel = kernel()}, at)
    other:set("kernel.tasks.weights", 1)
    assert.is_nil(starts.scales(other)[other:get "kernel.tasks.weights"])
    assert.is_not_nil(starts.scales(other)[other:get "kernel.tasks.diagonal"])
  end)
end)

describe("the scale of a mean", function()
  it("is where it leaves y a mean of 0, of which variances then are", function()
    local constant <const> = of{mean = gb.means.constant(2)}
    near(1, constant "mean.value", 1e-12)
    near(18 / 3, constant "kernel.variance", 1e-12)
    near(0.1 * 6, constant "likelihood.noise", 1e-12)
    local linear <const> = of{mean = gb.means.linear{slope = {1, 0}, offset = 0.5}}
    local rest <const> = {1 - 0, -2 - 2, 4 - 3}
    local level <const> = (rest[1] + rest[2] + rest[3]) / 3
    near(level, linear "mean.offset", 1e-12)
    near(((rest[1] - level) ^ 2 + (rest[2] - level) ^ 2 + (rest[3] - level) ^ 2) / 3, linear "kernel.variance", 1e-12)
    local fixed <const> = of{mean = gb.means.constant(gb.param(2, {fixed = true}))}
    assert.is_nil(fixed "mean.value")
    near((1 + 16 + 4) / 3, fixed "kernel.variance", 1e-12)
    local level_alone <const> = select(3, of({mean = gb.means.constant(2)}, x, gb.full({3}, 7)))
    local count = 0
    for p, v in pairs(level_alone) do
      count = count + 1
      assert.equal("value", p.name)
      near(7, v, 1e-12)
    end
    assert.equal(1, count)
    near(1, of({mean = gb.means.constant(2)}, x:to{dtype = "f32"}, y:to{dtype = "f32"}) "mean.value", 1e-6)
  end)
end)

describe("the units of parameters", function()
  local function units(o, xs, ys)
    local m <const> = select(2, of(o, xs, ys))
    local u <const> = starts.units(m)
    return function(path) return u[m:get(path)] end, u
  end

  it("are standard deviations of y, where they have no bounds and are in units of y", function()
    local sd <const> = y:std():item()
    near(sd, units{mean = gb.means.constant(2)} "mean.value", 1e-12)
    local linear <const>, list <const> = units{mean = gb.means.linear{}}
    near(sd, linear "mean.offset", 1e-12)
    local count = 0
    for _ in pairs(list) do count = count + 1 end
    assert.equal(1, count)
    for _, o in ipairs{{min = -9}, {max = 9}} do assert.is_nil(units{mean = gb.means.constant(gb.param(2, o))} "mean.value") end
    local at <const> = gb.tensor{{0, 1}, {1, 2}, {2, 1}}
    local tasks <const> = units({kernel = K.rbf{active_dims = {1}} * K.index{tasks = 2} + K.rbf{}}, at)
    near(sd, tasks "kernel[1][2].weights", 1e-12)
    assert.is_nil(tasks "kernel[1][2].diagonal")
    assert.is_nil(next((select(2, units{}))))
    assert.is_nil(next((select(2, units({mean = gb.means.constant(2)}, x, gb.full({3}, 7))))))
    assert.is_nil(next((select(2, units({mean = gb.means.constant(2)}, x:slice(1, 1, 1), gb.tensor{3})))))
    near(sd, units({mean = gb.means.constant(2)}, x:to{dtype = "f32"}, y:to{dtype = "f32"}) "mean.value", 1e-6)
  end)
end)

describe("a parameter", function()
  it("is put at its scale inside its bounds, unless it is fixed", function()
    local function put(o, v, n)
      local p <const> = gb.param(n and {3, 3} or 3, o)
      starts.put(p, {[p] = v})
      return p.value
    end
    near(5, put({}, 5), 1e-12)
    near(3, put({fixed = true}, 5), 1e-12)
    near(3, put({}, nil), 1e-12)
    near(5, put({min = 2, max = 6}, 5), 1e-12)
    near(3, put({min = 2, max = 4}, 5), 1e-12)
    near(3, put({min = 2.5, max = 4}, 2), 1e-12)
    near(3, put({min = 2, max = 5}, 5), 1e-12)
    near(3, put({min = 2, max = 5}, 2), 1e-12)
    near({4, 5}, put({min = 2, max = 6}, {4, 5}, true), 1e-12)
    near({3, 3}, put({min = 2, max = 6}, {4, 7}, true), 1e-12)
    near({3, 3}, put({min = 2, max = 6}, {1, 5}, true), 1e-12)
    near({4, 5}, put({min = 2}, gb.tensor{4, 5}, true), 1e-12)
  end)

  it("begins there only where nobody chose its value; the scales of all are there when asked for", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 7}, solver = "direct"}
    model.set_data(m, x, y)
    local list <const> = gb.params(m)
    local scales <const> = starts.begin(m, list)
    near(7, m:get "kernel.lengthscale".value, 1e-14)
    near(amount, m:get "kernel.variance".value, 1e-12)
    near(0.1 * amount, m:get "likelihood.noise".value, 1e-12)
    near(distance, scales()[m:get "kernel.lengthscale"], 1e-12)
    assert.is_true(rawequal(scales(), scales()))
    local chosen <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 7, variance = 2}, noise = 0.3, solver = "direct"}
    model.set_data(chosen, x, y)
    near(amount, starts.begin(chosen, (gb.params(chosen)))()[chosen:get "kernel.variance"], 1e-12)
    near({7, 2, 0.3}, {chosen:get "kernel.lengthscale".value:item(), chosen:get "kernel.variance".value:item(),
      chosen:get "likelihood.noise".value:item()}, 1e-14)
  end)
end)
