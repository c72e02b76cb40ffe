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
    for _, s in ipairs{"0x3", "3x0"} do
      local rows <const>, columns <const> = s:match "(%d)x(%d)"
      assert.equal("heatmap: there is no cell to draw, the matrix has shape " .. s,
        support.shapes_alone(raises("shape", "", figure().heatmap, figure(), gb.zeros(tonumber(rows), tonumber(columns))).message))
    end
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

  it("has no range to draw of several columns without data", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:condition(gb.zeros(0, 3), gb.zeros(0))
    raises("option", "the model has no data, and 3 input columns: there is no range to draw", gb.plot.posterior, m)
  end)
end)

describe("what a figure is drawn from", function()
  local core <const> = require "gibbous.core"

  local NAMES <const> = {figure = "F", figure_add = "add", figure_at = "at", figure_axes = "axes", figure_contour = "contour",
    figure_heatmap = "heatmap", figure_ticks = "ticks", figure_save = "save", figure_text = "text", figure_inline = "inline"}

  --- Calls of the core's functions of figures while f runs, tensors as lists; axes only where they say something; what f gives.
  local function calls(f, terminal)
    local out <const> = {}
    local function plain(v) return core.type(v) == "tensor" and v:totable() or v == nil and "nil" or v end
    local function noted(name)
      return function(...)
        local row <const> = {name}
        for i = 1, select("#", ...) do row[i + 1] = plain((select(i, ...))) end
        if name == "F" then row[1] = "figure" end
        if name == "axes" then
          for key, v in pairs(row[4]) do row[4][key] = v or nil end
        end
        if name ~= "axes" or next(row[4]) ~= nil then out[#out + 1] = row end
        if name == "contour" then return 1.5, 2 end
        return name == "F" and "F" or (name == "text" or name == "inline") and "drawn" or nil
      end
    end
    local mocks <const> = {terminal = function() return 90, 30, terminal, 0 end, terminal_graphics = function() return nil end,
      figure_origin = function() return "s.lua:3", 7 end}
    for name, short in pairs(NAMES) do mocks[name] = noted(short) end
    local got <const> = support.with(core, mocks, f)
    return out, got
  end

  local MADE <const> = ("gibbous %s; made at s.lua:3; seed 7"):format(gb.version)

  it("is its titles, its marks with labels and styles, and sizes", function()
    local got <const> = calls(function()
      gb.plot.figure()
      local fig <const> = gb.plot.figure{title = "t", xlabel = "a", ylabel = "b"}
      assert.is_true(rawequal(fig, fig:line({1, 2}, gb.tensor{3, 4}, {label = "l", colour = 2})))
      fig:scatter(gb.tensor{{1}, {2}}, gb.param{3, 4}):band({1, 2}, {3, 4}, {5, 6}, {label = "x"})
      gb.plot.figure{yticks = {{1, "one"}, {2.5, "two"}}}:bars({1, 2}, gb.tensor{3, 4}, {label = "b", colour = 3})
      fig:heatmap(gb.zeros(2, 3)):heatmap(gb.zeros(2, 3), {x = {4, 5}, y = {6, 7}, limits = {0, 2}, label = "z"})
      fig:save "p.svg":save("q.svg", {width = 10, height = 20})
      assert.same({"drawn", "drawn", "drawn"}, {fig:text(), fig:text(25, 16, {ascii = true}), tostring(fig)})
    end)
    local zeros <const> = {{0, 0, 0}, {0, 0, 0}}
    local function new() return {"figure", 1, 1, "", false, false} end
    assert.same({new(), new(), {"axes", "F", 1, {title = "t", xlabel = "a", ylabel = "b"}},
      {"add", "F", 1, "line", {1, 2}, {3, 4}, "nil", {label = "l", colour = 1}},
      {"add", "F", 1, "scatter", {1, 2}, {3, 4}, "nil", {}}, {"add", "F", 1, "band", {1, 2}, {3, 4}, {5, 6}, {label = "x"}},
      new(), {"ticks", "F", 1, "y", {1, 2.5}, {"one", "two"}},
      {"add", "F", 1, "bars", {3, 4}, {1, 2}, "nil", {label = "b", colour = 2}},
      {"heatmap", "F", 1, zeros, 1, 3, 1, 2, {}}, {"heatmap", "F", 1, zeros, 4, 5, 6, 7, {label = "z", low = 0, high = 2}},
      {"save", "F", "p.svg", 720, 440, MADE}, {"save", "F", "q.svg", 10, 20, MADE},
      {"text", "F", 90, 30, false, false}, {"text", "F", 25, 16, false, true}, {"text", "F", 90, 30, false, "nil"}}, got)
  end)

  it("has styles by name, number and #rrggbb", function()
    local got <const> = calls(function()
      gb.plot.figure{}:line({1}, {2}, {colour = "orange", width = 2, dash = "--", marker = "square", size = 5, alpha = 0.5})
        :scatter({1}, {2}, {colour = "#ff8000", marker = "x"}):line({1}, {2}, {colour = "black", dash = "dotted"})
    end)
    assert.same({colour = 1, width = 2, dash = 1, marker = 1, size = 5, alpha = 0.5}, got[2][8])
    assert.same({colour = 0x1ff8000, marker = 5}, got[3][8])
    assert.same({colour = 0x1000000, dash = 2}, got[4][8])
  end)

  it("has error bars, columns, histograms, contours, notes and lines across", function()
    local got <const> = calls(function()
      gb.plot.figure{}:errorbar({1, 2}, {3, 5}, {0.5, 1}, {label = "e", colour = 1, width = 2})
        :errorbar({1}, {3}, {gb.tensor{1}, gb.tensor{2}}):columns({1, 2}, {3, 4}, {width = 1})
        :hist({0, 1, 1, 2, 0 / 0, math.huge}, {bins = 2}):hist({0, 2}, {bins = 1, density = true})
        :contour(gb.tensor{{0, 1}, {1, 2}}, {levels = {1}, label = "c", colour = 2})
        :note(1, 2, "here", {size = 9}):hline(3, {label = "h"}):vline(gb.tensor(4), {dash = "solid"})
    end)
    assert.same({{"figure", 1, 1, "", false, false},
      {"add", "F", 1, "errors", {1, 2}, {2.5, 4}, {3.5, 6}, {colour = 0, width = 2}},
      {"add", "F", 1, "scatter", {1, 2}, {3, 5}, "nil", {label = "e", colour = 0, width = 2}},
      {"add", "F", 1, "errors", {1}, {2}, {5}, {}}, {"add", "F", 1, "scatter", {1}, {3}, "nil", {}},
      {"add", "F", 1, "columns", {1, 2}, {3, 4}, "nil", {extent = 1}},
      {"add", "F", 1, "columns", {0.5, 1.5}, {1, 3}, "nil", {extent = 1}},
      {"add", "F", 1, "columns", {1}, {0.5}, "nil", {extent = 2}},
      {"contour", "F", 1, {{0, 1}, {1, 2}}, 1, 2, 1, 2, 1, {label = "c", colour = 1, width = 1.2, dash = 0}},
      {"at", "F", 1, "text", 1.5, 2, {label = "1", colour = 1, size = 9}},
      {"at", "F", 1, "text", 1, 2, {label = "here", size = 9}}, {"at", "F", 1, "hline", 0, 3, {label = "h"}},
      {"at", "F", 1, "vline", 4, 0, {dash = 0}}}, got)
  end)

  it("has panels, limits and scales", function()
    local got <const> = calls(function()
      local fig <const> = gb.plot.figure{rows = 2, cols = 2, title = "all", share_x = true, yscale = "log", ylim = {1, false}}
      fig:panel(2, 1):line({1}, {2}):axes{title = "third", legend = "off", xlim = {0, 5}, aspect = "auto", grid = false}
    end)
    local each <const> = {ylog = true, ylo = 1}
    assert.same({{"figure", 2, 2, "all", true, false}, {"axes", "F", 1, each}, {"axes", "F", 2, each}, {"axes", "F", 3, each},
      {"axes", "F", 4, each}, {"add", "F", 3, "line", {1}, {2}, "nil", {}},
      {"axes", "F", 3, {title = "third", legend = 6, xlo = 0, xhi = 5, ylog = true, ylo = 1, no_grid = true}}}, got)
  end)

  it("is shown once, as the terminal can and as GIBBOUS_GRAPHICS says", function()
    local function shown(tty, env, answer)
      local written <const> = {}
      local got <const> = calls(function()
        support.with(os, {getenv = function(name) return env[name] end}, function()
          support.with(io, {write = function(text) written[#written + 1] = text end}, function()
            support.with(require "gibbous.plot.screen", {kind = function()
              return env.GIBBOUS_GRAPHICS or answer or "braille"
            end}, function() assert.equal(0, select("#", gb.plot.figure{}:show())) end)
          end)
        end)
      end, tty)
      return got[2], #written
    end
    local call, times = shown(true, {})
    assert.same({{"text", "F", 90, 30, true, false}, 1}, {call, times})
    assert.same({"text", "F", 90, 30, false, false}, (shown(true, {NO_COLOR = "1"})))
    assert.same({"text", "F", 90, 30, false, false}, (shown(false, {})))
    assert.same({"text", "F", 90, 30, true, true}, (shown(true, {}, "ascii")))
    call, times = shown(true, {}, "kitty")
    assert.same({{"inline", "F", "kitty", 900, 549}, 1}, {call, times})
    call, times = shown(true, {GIBBOUS_GRAPHICS = "off"})
    assert.same({"nil", 0}, {tostring(call), times})
  end)

  it("of a model is its bands, its mean and its data", function()
    local x <const>, y <const> = gb.tensor{{1}, {3}}, gb.tensor{0.5, -0.5}
    local prior <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = "direct"}
    local function drawn(m, o) return (calls(function() gb.plot.posterior(m, o) end)) end
    local given <const> = prior:condition(x, y)
    local function check(got, m, at, level, title)
      local p <const> = m:predict(at)
      local lo <const>, hi <const> = p:interval(level)
      local f_lo <const>, f_hi <const> = p:interval(level, {of = "f"})
      assert.same({"axes", "F", 1, {title = title, xlabel = "x", ylabel = "y"}}, got[2])
      for i, row in ipairs{{"band", at, lo, hi, ("%g %% of y"):format(100 * level)},
        {"band", at, f_lo, f_hi, ("%g %% of f"):format(100 * level)},
        {"line", at, p.mean, nil, "mean"}} do
        local call <const> = got[i + 2]
        assert.same({"add", "F", row[1], row[5]}, {call[1], call[2], call[4], call[8].label})
        for k = 1, 3 do
          if row[1 + k] then support.near(row[1 + k], call[4 + k], 1e-9) end
        end
      end
    end
    local got = drawn(given)
    check(got, given, gb.linspace(0.9, 3.1, 500), 0.95)
    assert.same({"add", "F", 1, "scatter", {1, 3}, {0.5, -0.5}, "nil", {label = "data", colour = 1}}, got[6])
    assert.equal(6, #got)
    got = drawn(prior)
    assert.equal(5, #got)
    check(got, prior, gb.linspace(-0.05, 1.05, 500), 0.95)
    got = drawn(given, {x = {2, 4}, level = 0.8, title = "T"})
    check(got, given, gb.tensor{2, 4}, 0.8, "T")
    assert.same({"axes", "F", 1, {xlabel = "here", ylabel = "there"}}, drawn(given, {xlabel = "here", ylabel = "there"})[2])
    local none <const> = prior:condition(x:slice(1, 1, 0), y:slice(1, 1, 0))
    got = drawn(none)
    assert.equal(5, #got)
    check(got, none, gb.linspace(-0.05, 1.05, 500), 0.95)
    local single <const> = prior:condition(x:to{dtype = "f32"}, y:to{dtype = "f32"})
    assert.equal(6, #drawn(single))
  end)

  it("is refused to the letter", function()
    local fig <const> = gb.plot.figure{}
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
    for _, row in ipairs{
      {"option", "argument 1 of line must be a tensor or list, got string", fig.line, fig, "x", {1}},
      {"option", "argument 3 of band must be a tensor or list, got nil", fig.band, fig, {1}, {1}},
      {"shape", "argument 2 of scatter must be a vector, got shape 1x2", fig.scatter, fig, {1, 2}, gb.ones(1, 2)},
      {"option", "figure:line: option 'label' must be a string, got number 3", fig.line, fig, {1}, {1}, {label = 3}},
      {"option", "figure:band: unknown option 'lable', did you mean 'label'? known: alpha, colour, label",
        fig.band, fig, {1}, {1}, {1}, {lable = 3}},
      {"shape", "heatmap: a matrix expected", fig.heatmap, fig, 3},
      {"option", "figure:heatmap: option 'x' must be a table, got number 1", fig.heatmap, fig, gb.ones(1, 1), {x = 1}},
      {"option", "figure:heatmap: option 'y' must be a table, got number 1", fig.heatmap, fig, gb.ones(1, 1), {y = 1}},
      {"option", "figure:save: option 'width' must be a positive number, got number 0", fig.save, fig, "x.svg", {width = 0}},
      {"option", "figure:save: option 'height' must be a positive number, got number 0", fig.save, fig, "x.svg", {height = 0}},
      {"option", "line is a method of a figure: write fig:line(...) with a colon, not fig.line(...)", fig.line, 3},
      {"option", "gb.plot.figure: option 'title' must be a string, got number 3", gb.plot.figure, {title = 3}},
      {"option", "gb.plot.figure: option 'xlabel' must be a string, got number 3", gb.plot.figure, {xlabel = 3}},
      {"option", "gb.plot.figure: option 'ylabel' must be a string, got number 3", gb.plot.figure, {ylabel = 3}},
      {"option", "gb.plot.figure: option 'yticks' must be a table, got number 3", gb.plot.figure, {yticks = 3}},
      {"option", "gb.plot.figure: option 'yticks' must be a list of {place, name}, element 2 is not such a list", gb.plot.figure,
        {yticks = {{1, "a"}, {"b", 2}}}},
      {"option", "argument 2 of bars must be a tensor or list, got nil", fig.bars, fig, {1}},
      {"option", "figure:bars: option 'label' must be a string, got number 3", fig.bars, fig, {1}, {1}, {label = 3}},
      {"shape", "bars: x has 1 value, y 2: x 1, y 2", fig.bars, fig, {1, 2}, {1}},
      {"option", "gb.plot.posterior: option 'title' must be a string, got number 3", gb.plot.posterior, m, {title = 3}},
      {"option", "gb.plot.posterior: option 'xlabel' must be a string, got number 3", gb.plot.posterior, m, {xlabel = 3}},
      {"option", "gb.plot.posterior: option 'ylabel' must be a string, got number 3", gb.plot.posterior, m, {ylabel = 3}},
      {"option", "gb.plot.posterior: option 'level' must be a number, got string 3", gb.plot.posterior, m, {level = "3"}},
      {"option", "gb.plot.posterior: option 'x' is for one input column, the model has 3", gb.plot.posterior,
        m:condition(gb.ones(2, 3), gb.ones(2)), {x = {1}}},
      {"shape", "x must be a vector, got shape 2x2", gb.plot.posterior, m, {x = gb.ones(2, 2)}},
    } do assert.equal(row[2], support.shapes_alone(raises(row[1], "", table.unpack(row, 3, 9)).message)) end
    raises("option", "save: expected a path, got 3; fig:save(path)", fig.save, fig, 3)
    assert.equal("a figure has no field 'zzz' (it has axes, band, bars, columns, contour, errorbar, heatmap, hist, hline, line, "
      .. "note, panel, save, scatter, show, text, vline)", raises("option", "", function() return fig.zzz end).message)
  end)
end)
