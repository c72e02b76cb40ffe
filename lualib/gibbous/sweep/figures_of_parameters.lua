--- Figures of what a metric depends on.
local core <const> = require "gibbous.core"
local importance <const> = require "gibbous.sweep.importance"
local parts <const> = require "gibbous.sweep.figure_parts"
local results <const> = require "gibbous.sweep.results"
local statistics <const> = require "gibbous.sweep.statistics"
local style <const> = require "gibbous.plot.style"

local figure <const> = require "gibbous.plot".figure

local kinds <const> = {}

local MOST_CELLS <const> = 150             -- of a map that says its numbers

--- Where a value is between 0 and 1 along its axis.
local function share(axis, v)
  local list <const> = axis.values
  if not axis.numeric then return (axis.place[results.key(v)] - 1) / math.max(1, #list - 1) end
  local f <const> = parts.is_log(axis) and math.log or function(x) return x end
  return list[#list] == list[1] and 0.5 or (f(v) - f(list[1])) / (f(list[#list]) - f(list[1]))
end

--- The values that are named along an axis of parallel coordinates.
local function named_values(axis)
  if #axis.values <= parts.TICKS then return axis.values end
  local out <const>, n <const> = {}, #axis.values
  for i = 0, 4 do out[#out + 1] = axis.values[1 + (n - 1) * i // 4] end
  return out
end

--- A line for each combination of parameters, over an axis for each that it has and one for the metric, by whose value it is
-- coloured; the best last, above the others.
function kinds.parallel(s)
  local axes <const>, cells <const> = parts.varied(s), parts.means(s)
  local lo <const>, hi <const> = parts.ends(cells, function(c) return c.mean end)
  local function of_metric(c) return hi > lo and (c.mean - lo) / (hi - lo) or 0.5 end
  local names <const>, n <const> = {}, #axes + 1
  for i, axis in ipairs(axes) do names[i] = {i, axis.name} end
  names[n] = {n, s.metric}
  local best <const> = parts.best_of(cells, s.goal, function(c) return c.mean end)
  local fig <const> = figure{title = ("%s: %d combinations, the best %s %.4g"):format(s.name, #cells, s.metric, best.mean),
    xticks = names, yticks = {{-1, ""}}, xlim = {0.75, n + 0.45}, ylim = {-0.08, 1.08}, legend = "off", grid = false}
  for i = 1, n do fig:line({i, i}, {0, 1}, {colour = "grey", width = 1.2}) end
  table.sort(cells, function(a, b)
    if a.mean ~= b.mean then return (s.goal == "max") == (a.mean < b.mean) end
    return a.trials[1].number < b.trials[1].number
  end)
  for k = math.max(1, #cells - parts.LINES + 1), #cells do
    local c <const>, x <const>, y <const> = cells[k], {}, {}
    for i, axis in ipairs(axes) do
      local v <const> = c.params[axis.name]
      if v ~= nil then x[#x + 1], y[#y + 1] = i, share(axis, v) end
    end
    x[#x + 1], y[#y + 1] = n, of_metric(c)
    fig:line(x, y, {colour = style.map(0.9 * of_metric(c)), width = c == best and 3 or 1.4, alpha = c == best and 1 or 0.75})
  end
  for i, axis in ipairs(axes) do
    for _, v in ipairs(named_values(axis)) do fig:note(i + 0.04, share(axis, v) + 0.025, parts.shown(v), {size = 10}) end
  end
  for i = 0, 4 do fig:note(n + 0.2, i / 4, ("%.4g"):format(lo + (hi - lo) * i / 4), {size = 10}) end
  return fig
end

--- The metric against each axis: a dot for each trial, and a line through the means.
function kinds.slice(s)
  local axes <const> = parts.varied(s)
  parts.means(s)
  local columns <const> = math.min(#axes, 3)
  local rows <const> = math.min(math.ceil(#axes / columns), 8)
  local fig <const> = figure{rows = rows, cols = columns, share_y = true, title = #axes > 1 and s.name or nil}
  for i = 1, math.min(#axes, rows * columns) do
    local axis <const>, x <const>, y <const>, sums <const> = axes[i], {}, {}, {}
    for _, t in ipairs(s.trials) do
      local v <const> = results.metric(t, s.metric)
      if v and math.abs(v) < math.huge and t.params[axis.name] ~= nil then
        local at <const> = parts.place(axis, t.params[axis.name])
        x[#x + 1], y[#y + 1] = at, v
        sums[at] = sums[at] or {}
        table.insert(sums[at], v)
      end
    end
    local at <const>, mean <const> = {}, {}
    for one in pairs(sums) do at[#at + 1] = one end
    table.sort(at)
    for k, one in ipairs(at) do mean[k] = statistics.summary(sums[one]).mean end
    local panel <const> = fig:panel((i - 1) // columns + 1, (i - 1) % columns + 1)
    panel:axes{xlabel = axis.name, ylabel = (i - 1) % columns == 0 and s.metric or nil, xticks = parts.ticks(axis),
      xscale = parts.is_log(axis) and "log" or nil, legend = "off"}
    if not axis.numeric then panel:axes{xlim = {0.5, #axis.values + 0.5}} end
    panel:scatter(x, y, {alpha = 0.55, size = 5})
    if 2 * #at <= #x then panel:line(at, mean, {colour = "orange", width = 2}) end
  end
  return fig
end

--- The two axes of a map: those that are named, else the first two.
local function two_axes(s, o)
  local axes <const> = results.axes(s.trials)
  local free <const> = {}
  for _, axis in ipairs(parts.varied(s)) do free[#free + 1] = axis.name ~= o.x and axis.name ~= o.y and axis or nil end
  local x <const> = o.x and results.axis(axes, o.x) or table.remove(free, 1)
  local y <const> = o.y and results.axis(axes, o.y) or table.remove(free, 1)
  if not x or not y then core.raise("option", "a heat map needs two parameters with two values each; --kind slice draws one") end
  if x == y then core.raise("option", ("a heat map needs two parameters, got '%s' twice"):format(x.name)) end
  for _, axis in ipairs{x, y} do
    if #axis.values > 40 then
      core.raise("option", ("'%s' has %d values, too many for a heat map, which shows a cell for each: --kind slice draws "
        .. "it"):format(axis.name, #axis.values))
    end
  end
  return x, y
end

--- The mean of the metric over two axes, as colours; the best cell in brackets.
function kinds.heat(s, o)
  local x <const>, y <const> = two_axes(s, o)
  local lists <const> = {}
  for _, t in ipairs(s.trials) do
    local v <const> = results.metric(t, s.metric)
    local i <const>, j <const> = y.place[results.key(t.params[y.name])], x.place[results.key(t.params[x.name])]
    if v and math.abs(v) < math.huge and i and j then
      lists[i] = lists[i] or {}
      lists[i][j] = lists[i][j] or {}
      table.insert(lists[i][j], v)
    end
  end
  local values <const>, cells <const> = {}, {}
  for i = 1, #y.values do
    values[i] = {}
    for j = 1, #x.values do
      local mean <const> = lists[i] and lists[i][j] and statistics.summary(lists[i][j]).mean
      values[i][j] = mean or 0 / 0
      if mean then cells[#cells + 1] = {i = i, j = j, mean = mean} end
    end
  end
  parts.means(s)
  local function names(axis)
    local out <const> = {}
    for i, v in ipairs(axis.values) do out[i] = {i, parts.shown(v)} end
    return out
  end
  local fig <const> = figure{title = ("%s: mean %s"):format(s.name, s.metric), xlabel = x.name, ylabel = y.name, xticks = names(x),
    yticks = names(y), grid = false}
  fig:heatmap(core.tensor(values), {x = {1, #x.values}, y = {1, #y.values}, label = s.metric})
  local best <const> = parts.best_of(cells, s.goal, function(c) return c.mean end)
  for _, c in ipairs(#x.values * #y.values <= MOST_CELLS and cells or {best}) do
    fig:note(c.j, c.i, (c == best and "[%.4g]" or "%.4g"):format(c.mean), {size = 10})
  end
  return fig
end

--- The share of the variance of the metric that each axis explains alone.
function kinds.importance(s)
  parts.means(s)
  local found <const> = importance.of(s.trials, s.metric)
  if not found then
    core.raise("option", ("'%s' has the same value everywhere, or fewer than three trials have one"):format(s.metric))
  end
  local names <const>, at <const>, shares <const> = {}, {}, {}
  local function bar(name, v)
    at[#at + 1], shares[#shares + 1] = #at + 1, 100 * v
    names[#names + 1] = {#at, name}
  end
  if found.repeats > 1e-12 then bar("repeats", found.repeats) end
  bar("several together", found.together)
  for i = #found.axes, 1, -1 do bar(found.axes[i].name, found.axes[i].share) end
  local fig <const> = figure{title = ("%s: what the variance of %s comes from%s"):format(s.name, s.metric,
    found.balanced and "" or ", less what chance explains"),
    xlabel = ("%% of the variance of %d trials"):format(found.n), yticks = names, legend = "off", xlim = {0, 115}}
  fig:bars(at, shares, {width = 0.6})
  for i, v in ipairs(shares) do fig:note(v + 6, i, ("%.1f %%"):format(v), {size = 10}) end
  return fig
end

return kinds
