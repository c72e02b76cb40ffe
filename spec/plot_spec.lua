local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local raises <const> = support.raises

local function figure()
  local x <const> = gb.linspace(0, 1, 20)
  return gb.plot.figure{title = "A title", xlabel = "time", ylabel = "level"}
    :band(x, x - 1, x + 1, {label = "band"})
    :line(x, x ^ 2, {label = "curve"})
    :scatter({0.1, 0.5}, {0.2, 0.4}, {label = "points"})
end

describe("gb.plot.figure", function()
  after_each(support.sweep)

  it("writes SVG, PNG and PDF by the ending", function()
    local fig <const> = figure()
    for ending, lead in pairs{[".svg"] = "<?xml", [".png"] = "\x89PNG\r\n", [".pdf"] = "%PDF-"} do
      local path <const> = support.path(ending)
      assert.is_true(rawequal(fig, fig:save(path)))
      local text <const> = support.read(path)
      assert.equal(lead, text:sub(1, #lead))
      assert.is_true(#text > 1000)
    end
  end)

  it("writes the same bytes twice, and other bytes for another size", function()
    local a <const>, b <const>, c <const> = support.path ".svg", support.path ".svg", support.path ".svg"
    figure():save(a)
    figure():save(b)
    figure():save(c, {width = 300})
    local function bytes(path) return (support.read(path):gsub("surface%d+", "surface")) end    -- numbered in a process
    assert.is_true(bytes(a) == bytes(b))
    assert.is_false(bytes(a) == bytes(c))
  end)

  it("draws itself as text with its labels", function()
    local text <const> = tostring(figure())
    for _, word in ipairs{"A title", "time", "curve", "points"} do
      assert.is_true(text:find(word, 1, true) ~= nil, word)
    end
    local small <const> = figure():text(40, 10)
    for line in small:gmatch "[^\n]+" do assert.is_true(utf8.len(line) <= 40) end
  end)

  it("leaves gaps where values are NaN", function()
    local path <const> = support.path ".svg"
    gb.plot.figure{}:line({1, 2, 3}, {1, 0 / 0, 3}):save(path)
    assert.is_nil(support.read(path):lower():find("nan", 1, true))
  end)

  it("draws a heatmap", function()
    local path <const> = support.path ".png"
    gb.plot.figure{}:heatmap(gb.rand(4, 6, {seed = 1})):save(path)
    assert.is_true(#support.read(path) > 1000)
    gb.plot.figure{}:heatmap(gb.rand(4, 6, {seed = 1}), {x = {0, 1}, y = {5, 8}}):save(path, {width = 300, height = 200})
    local text <const> = gb.plot.figure{}:heatmap(gb.rand(4, 6, {seed = 1}), {x = {0, 1}, y = {50, 80}}):text(60, 20)
    for _, tick in ipairs{"70", "0.6"} do assert.is_true(text:find(tick, 1, true) ~= nil, text) end
    raises("shape", "a matrix expected", figure().heatmap, figure(), gb.ones(3))
  end)

  it("refuses endings, shapes and methods it does not know", function()
    local fig <const> = figure()
    raises("option", "expected .svg, .png or .pdf", fig.save, fig, "figure.bmp")
    raises("shape", "x has 2 values, y 3", fig.line, fig, {1, 2}, {1, 2, 3})
    raises("shape", "argument 2 of line must be a vector, got shape 2x2", fig.line, fig, {1, 2}, gb.ones(2, 2))
    raises("option", "no field 'scater' (did you mean 'scatter'?)", function() return fig.scater end)
    raises("option", "unknown option 'lable', did you mean 'label'?", fig.line, fig, {1}, {1}, {lable = "x"})
    raises("io", "cannot write", fig.save, fig, "/no/such/folder/x.svg")
  end)
end)

describe("gb.plot.posterior", function()
  after_each(support.sweep)

  it("draws a model with one input column", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:condition(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0})
    local path <const> = support.path ".svg"
    gb.plot.posterior(m, {title = "posterior"}):save(path)
    assert.is_true(#support.read(path) > 5000)
    assert.is_true(tostring(gb.plot.posterior(m)):find("95 % of y", 1, true) ~= nil)
  end)

  it("refuses more columns", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:condition(gb.rand(3, 2), gb.rand(3))
    raises("shape", "draws one input column, the model has 2", gb.plot.posterior, m)
  end)
end)
