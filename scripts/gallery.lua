--- A page of figures by which the looks of gb.plot are judged: sizes, ranges, gaps, logs, styles, panels, models.
-- Run: build/gibbous scripts/gallery.lua [folder]: writes a PNG and an SVG a case, and index.html; --text COLUMNS [ascii] prints
-- them all.
local gb <const> = require "gibbous"

local NAN <const> = 0 / 0
local x <const> = gb.linspace(0, 10, 200)
local function fig(o) return gb.plot.figure(o) end

local function model()
  local xs <const> = gb.rand(40, 1, {seed = 3})
  local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.05}
  m:fit(xs, (6 * xs):sin():squeeze(2) + 0.15 * gb.randn(40, {seed = 9}))
  return m
end

local function model_of_two()
  local xs <const> = gb.rand(80, 2, {seed = 1})
  local m <const>, steps <const> = gb.gp.exact{kernel = gb.kernels.matern52{ard = true}, noise = 0.1}, {}
  m:fit(xs, (6 * xs):sin():sum(2) + 0.1 * gb.randn(80, {seed = 2}), {on_step = function(s) steps[#steps + 1] = s end})
  return m, steps
end

local function tested(n)
  local xs <const> = gb.rand(n, 2, {seed = 5})
  return xs, (6 * xs):sin():sum(2) + 0.1 * gb.randn(n, {seed = 6})
end

local function hill(n)
  local a <const> = gb.linspace(-2, 2, n)
  return (-(a:unsqueeze(1) ^ 2) - 0.5 * (a:unsqueeze(2) - 0.5) ^ 2):exp()
end

local function curves(f, n)
  for i = 1, n do f:line(x, (x + 0.3 * i):sin() + 0.2 * i, {label = "curve " .. i}) end
  return f
end

local SMALL <const> = {width = 240, height = 170}

--- name, function that makes the figure, options of its file
local cases <const> = {
  {"line", function() return fig{title = "a line", xlabel = "time (s)", ylabel = "height (m)"}:line(x, x:sin()) end},
  {"small", function() return fig{title = "small", xlabel = "time", ylabel = "level"}:line(x, x:sin(), {label = "sin"}) end, SMALL},
  {"tiny", function() return fig{xlabel = "time", ylabel = "level"}:line(x, x:sin()) end, {width = 120, height = 90}},
  {"wide", function() return fig{title = "wide"}:line(x, x:sin()) end, {width = 1000, height = 200}},
  {"empty", function() return fig{title = "nothing in it"} end},
  {"all_nan", function() return fig{title = "only NaN"}:line({1, 2}, {NAN, NAN}) end},
  {"gap", function() return fig{title = "a gap"}:line({1, 2, 3, 4, 5}, {1, 2, NAN, 3, 1}, {marker = "circle"}) end},
  {"one_point", function() return fig{title = "one point"}:scatter({3}, {7}) end},
  {"constant", function() return fig{title = "constant"}:line({0, 1, 2}, {5, 5, 5}) end},
  {"zero", function() return fig{title = "zero"}:line({0, 0}, {0, 0}) end},
  {"offset", function() return fig{title = "1e6 + 1e-6 x"}:line(x, 1e6 + 1e-6 * x) end},
  {"offset_x", function() return fig{title = "an offset below"}:line(1e9 + 1e-3 * x, x) end},
  {"huge", function() return fig{title = "huge"}:line({0, 1, 2}, {-1e307, 0, 1e308}) end},
  {"small_values", function() return fig{title = "small values"}:line(x, 1e-9 * x) end},
  {"millions", function() return fig{title = "millions"}:line(1e6 * x, 3e7 * x) end},
  {"negative", function() return fig{title = "negative"}:line(-x, -100 * x - 2000) end},
  {"years", function() return fig{title = "years", xlabel = "year"}:line(gb.linspace(1958, 2026, 200), x) end},
  {"log_y", function()
    return fig{title = "a log axis", yscale = "log", xlabel = "step", ylabel = "residual"}:line(x, (-2 * x):exp(), {label = "cg"})
      :hline(1e-6, {label = "tolerance"})
  end},
  {"log_log", function() return fig{xscale = "log", yscale = "log", title = "two log axes"}:line(10 ^ x, 10 ^ (3 * x)) end},
  {"log_narrow", function() return fig{yscale = "log", title = "a third of a decade"}:line(x, 30 + 3 * x) end},
  {"log_two", function() return fig{yscale = "log", title = "two decades"}:line(x, 10 ^ (0.2 * x)) end},
  {"log_negative", function() return fig{yscale = "log", title = "not all above 0"}:line(x, x:sin()) end},
  {"limits", function() return fig{title = "limits", xlim = {2, 4}, ylim = {-0.5, 0.5}}:line(x, x:sin()) end},
  {"errors", function()
    local a <const> = gb.linspace(0, 10, 15)
    return fig{title = "error bars"}:errorbar(a, a:sin(), 0.1 + 0.02 * a, {label = "measured"}):line(x, x:sin(), {label = "true"})
  end},
  {"histogram", function()
    return fig{title = "histogram"}:hist(gb.randn(2000, {seed = 1}), {bins = 30, label = "draws", alpha = 0.6})
  end},
  {"columns", function()
    return fig{title = "columns", xticks = {{1, "exact"}, {2, "sparse"}, {3, "cg"}}}:columns({1, 2, 3}, {4, 2.5, 3.1})
      :note(2, 2.8, "best")
  end},
  {"bars", function()
    return fig{title = "bars", yticks = {{1, "lengthscale"}, {2, "variance"}, {3, "noise"}}}
      :bars({1, 2, 3}, {4, -2.5, 3.1}, {width = 0.8})
  end},
  {"heatmap", function()
    return fig{title = "heat map", aspect = "equal"}:heatmap(hill(40), {x = {-2, 2}, y = {-2, 2}, label = "density"})
  end},
  {"contour", function()
    return fig{title = "contours"}:contour(hill(60), {x = {-2, 2}, y = {-2, 2}})
  end},
  {"curves", function() return curves(fig{title = "ten curves"}, 10) end},
  {"bands", function()
    return fig{title = "a band in a band"}:band(x, x:sin() - 1, x:sin() + 1, {label = "95 %"})
      :band(x, x:sin() - 0.5, x:sin() + 0.5, {label = "68 %"}):line(x, x:sin(), {label = "mean"})
  end},
  {"markers", function()
    local f <const> = fig{title = "markers and dashes", legend = "outside"}
    for i, m in ipairs{"circle", "square", "triangle", "diamond", "plus", "cross"} do
      local dash <const> = ({"solid", "dashed", "dotted", "dashdot"})[(i - 1) % 4 + 1]
      f:line({1, 2, 3}, {i, i + 0.5, i}, {marker = m, label = m, dash = dash})
    end
    return f
  end},
  {"panels", function()
    local f <const> = fig{rows = 2, cols = 2, title = "panels that share axes", share_x = true, share_y = true}
    for r = 1, 2 do
      for c = 1, 2 do
        f:panel(r, c):axes{title = ("panel %d, %d"):format(r, c), xlabel = r == 2 and "x" or nil, ylabel = c == 1 and "y" or nil}
          :line(x, r * (c * x):sin(), {colour = 2 * r + c - 2})
      end
    end
    return f
  end},
  {"many", function()
    return fig{title = "100,000 points"}:scatter(gb.randn(100000, {seed = 1}), gb.randn(100000, {seed = 2}), {alpha = 0.2})
  end},
  {"posterior", function() return gb.plot.posterior(model(), {title = "posterior of one input", samples = 3, seed = 1}) end},
  {"posterior_2", function() return gb.plot.posterior((model_of_two()), {title = "posterior of two inputs"}) end},
  {"training", function() return gb.plot.training((select(2, model_of_two()))) end},
  {"calibration", function() return gb.plot.calibration(model_of_two(), tested(300)) end},
  {"residuals", function() return gb.plot.residuals(model_of_two(), tested(300)) end},
  {"kernel", function() return gb.plot.kernel(gb.kernels.rbf{} * gb.kernels.periodic{}) end},
  {"convergence", function()
    return gb.plot.convergence({cg = {1, 0.2, 0.06, 3e-3, 1e-5}, minres = {1, 0.5, 0.1, 0.07, 0.02}}, {tol = 1e-3})
  end},
  {"memory", function()
    local a <const> = gb.rand(300, 2, {seed = 1})
    return gb.plot.memory(gb.plan(a:matmul(a:t()):exp():sum()))
  end},
  {"memory_run", function()
    local a <const> = gb.rand(300, 2, {seed = 1})
    return gb.plot.memory(gb.plan(a:matmul(a:t()):exp():sum()), {run = true})
  end},
  {"posterior_tasks", function()
    local xs <const> = gb.rand(40, 1, {seed = 3})
    local y <const>, m <const> = (6 * xs):sin():squeeze(2), gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}
    m:fit(xs, gb.stack({y + 0.1 * gb.randn(40, {seed = 9}), 1 - 2 * y}, 2), {steps = 10})
    return gb.plot.posterior(m)
  end},
  {"slices", function()
    local xs <const>, m <const> = gb.rand(80, 4, {seed = 1}), gb.gp.exact{kernel = gb.kernels.rbf{ard = true}, noise = 0.1}
    m:fit(xs, (6 * xs:select(2, 1)):sin() + xs:select(2, 2) ^ 2 + 0.1 * gb.randn(80, {seed = 2}), {steps = 20})
    return gb.plot.posterior(m, {names = {"depth", "width", "age", "load"}})
  end},
  -- hard ones
  {"scales_apart", function() return fig{title = "1e300 and 1e-300", yscale = "log"}:line({1, 2, 3}, {1e300, 1e-300, 1}) end},
  {"all_negative_log", function() return fig{title = "nothing above 0", yscale = "log"}:line({1, 2, 3}, {-1, -2, 0}) end},
  {"one_second", function() return fig{title = "one second of this century", xlabel = "unix time"}:line(1.7e9 + 0.1 * x, x) end},
  {"four_centuries", function() return fig{title = "four centuries", xlabel = "s"}:line(1.26e9 * x, x) end},
  {"no_width", function() return fig{title = "no width"}:line({2, 2, 2}, {1, 2, 3}):band({2, 2}, {0, 1}, {1, 2}) end},
  {"long_labels", function()
    return fig{title = ("a long title "):rep(20), xlabel = ("a long label "):rep(20), ylabel = ("a long label "):rep(20)}
      :line(x, x, {label = ("a long entry "):rep(10)})
  end},
  {"unicode", function()
    return fig{title = "e\u{301} a\u{308} \u{65e5}\u{672c}\u{8a9e}", xlabel = "\u{6e29}\u{5ea6}", ylabel = "\u{3c3}\u{b2}"}
      :line(x, x, {label = "cafe\u{301} \u{6f22}\u{5b57}"}):line(x, 2 * x, {label = "plain"})
  end},
  {"twenty_panels", function()
    local f <const> = fig{rows = 4, cols = 5, title = "twenty panels"}
    for r = 1, 4 do
      for c = 1, 5 do f:panel(r, c):axes{title = ("%d, %d"):format(r, c)}:line(x, (0.2 * r * c * x):sin()) end
    end
    return f
  end},
  {"shared_apart", function()
    local f <const> = fig{rows = 2, cols = 1, share_x = true, title = "one axis, scales apart"}
    f:panel(1):line(0.1 * x, x)
    f:panel(2):line(1000 * x, 1e6 * x)
    return f
  end},
  {"long_legend", function() return curves(fig{title = "thirty entries"}, 30) end},
  {"constant_map", function() return fig{title = "a constant map"}:heatmap(gb.ones(5, 5)) end},
  {"holes_in_map", function()
    return fig{title = "a map with holes"}:heatmap(gb.tensor{{1, NAN, 3}, {math.huge, 2, -math.huge}})
  end},
  {"errors_with_nan", function()
    return fig{title = "error bars with NaN"}:errorbar({1, 2, 3, 4}, {1, NAN, 3, 4}, {0.1, 0.2, NAN, math.huge})
  end},
  {"one_value", function() return fig{title = "a histogram of one value"}:hist({42}) end},
  {"plane", function() return fig{title = "contours of a plane"}:contour(x:unsqueeze(1) + x:unsqueeze(2)) end},
  {"constant_contour", function() return fig{title = "contours of a constant"}:contour(gb.ones(10, 10)) end},
  {"last_bit", function() return fig{title = "a range of one bit"}:line({1, 2}, {1, 1 + 2 ^ -52}) end},
  {"denormal", function() return fig{title = "denormal numbers"}:line({1, 2}, {5e-324, 1e-320}) end},
  {"row_map", function() return fig{title = "a map of one row", aspect = "equal"}:heatmap(gb.rand(1, 50, {seed = 1})) end},
  {"opacity", function()
    return fig{title = "faint dots add up"}:scatter(gb.randn(300, {seed = 1}), gb.randn(300, {seed = 2}), {alpha = 0.2, size = 20})
  end},
  {"many_names", function()
    local names <const> = {}
    for i = 1, 40 do names[i] = {i, "name number " .. i} end
    return fig{title = "forty names", xticks = names}:columns(gb.range(1, 40), gb.rand(40, {seed = 1}))
  end},
  {"clusters", function()
    local a <const> = gb.rand(400, 2, {seed = 1})
    return gb.plot.clusters(a, gb.kmeans{k = 5, seed = 1}:fit(a))
  end},
}

local function print_all(columns, ascii)
  for _, case in ipairs(cases) do print(("-- %s\n%s"):format(case[1], case[2]():text(columns, 18, {ascii = ascii}))) end
end

local function write_all(folder)
  local page <const> = {"<!DOCTYPE html><meta charset=\"utf-8\"><title>Gibbous: figures</title>"}
  for _, case in ipairs(cases) do
    local made <const>, path <const> = case[2](), folder .. "/" .. case[1]
    made:save(path .. ".png", case[3]):save(path .. ".svg", case[3])
    page[#page + 1] = ("<figure style=\"display:inline-block\"><img src=\"%s.svg\" width=\"480\">"):format(case[1])
      .. ("<figcaption>%s</figcaption></figure>"):format(case[1])
  end
  local file <const> = assert(io.open(folder .. "/index.html", "w"))
  file:write(table.concat(page, "\n"), "\n")
  file:close()
  print(("%d figures in %s"):format(#cases, folder))
end

if arg[1] == "--text" then print_all(math.tointeger(arg[2]) or 80, arg[3] == "ascii") else write_all(arg[1] or ".") end
