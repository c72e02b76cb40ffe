--- gibbous sweep plot: figures of a study. Each takes {store, trials, metric, goal} and options, and gives a gibbous.figure.
local core <const> = require "gibbous.core"
local importance <const> = require "gibbous.sweep.importance"
local results <const> = require "gibbous.sweep.results"
local statistics <const> = require "gibbous.sweep.statistics"
local style <const> = require "gibbous.plot.style"

local figure <const> = require "gibbous.plot".figure

local kinds <const> = {}

local MOST_LINES <const> = 400             -- of one figure
local MOST_TICKS <const> = 12              -- names along an axis
local MOST_CELLS <const> = 150             -- of a map that says its numbers

-- What they share -------------------------------------------------------------------------------------------------------------

local function shown(v) return type(v) == "number" and ("%.4g"):format(v) or type(v) == "string" and v or core.json_encode(v) end

--- Cells with a value: {params, mean, se, n, number (of the first trial)}.
local function means(s)
  local out <const> = {}
  for _, c in ipairs(results.cells(s.trials, s.metric)) do
    local m <const> = statistics.summary(c.values)
    if m.n > 0 and math.abs(m.mean) < math.huge then
      out[#out + 1] = {params = c.params, mean = m.mean, se = m.se or 0, n = m.n, trials = c.trials}
    end
  end
  if #out == 0 then core.raise("option", ("no trial that ended well has a finite '%s' yet"):format(s.metric)) end
  return out
end

local function ends(list, of)
  local lo, hi = math.huge, -math.huge
  for _, one in ipairs(list) do lo, hi = math.min(lo, of(one)), math.max(hi, of(one)) end
  return lo, hi
end

--- The best of a list by the goal.
local function best_of(list, goal, of)
  local best = list[1]
  for _, one in ipairs(list) do
    if (goal == "max") == (of(one) > of(best)) and of(one) ~= of(best) then best = one end
  end
  return best
end

--- Is an axis of numbers better shown by ratios?
local function is_log(axis)
  local v <const> = axis.values
  if not axis.numeric or #v < 3 or v[1] <= 0 or v[#v] / v[1] < 100 then return false end
  return v[math.ceil(#v / 2)] < (v[1] + v[#v]) / 4
end

--- Where a value is on its axis: numbers as they are, others by their place.
local function place(axis, v) return axis.numeric and v or axis.place[results.key(v)] end

--- Ticks of an axis that has words, or few numbers.
local function ticks(axis)
  if axis.numeric and #axis.values > MOST_TICKS then return nil end
  local out <const> = {}
  for i, v in ipairs(axis.values) do out[i] = {place(axis, v), shown(v)} end
  return out
end

local function varied(s)
  local axes <const> = results.varied(results.axes(s.trials))
  if #axes == 0 then core.raise("option", "no parameter of the study has two values, so there is nothing to draw it against") end
  return axes
end

-- Parameters ------------------------------------------------------------------------------------------------------------------

--- Where a value is between 0 and 1 along its axis.
local function share(axis, v)
  local list <const> = axis.values
  if not axis.numeric then return (axis.place[results.key(v)] - 1) / math.max(1, #list - 1) end
  local f <const> = is_log(axis) and math.log or function(x) return x end
  return list[#list] == list[1] and 0.5 or (f(v) - f(list[1])) / (f(list[#list]) - f(list[1]))
end

--- The values that are named along an axis of parallel coordinates.
local function named_values(axis)
  if #axis.values <= MOST_TICKS then return axis.values end
  local out <const>, n <const> = {}, #axis.values
  for i = 0, 4 do out[#out + 1] = axis.values[1 + (n - 1) * i // 4] end
  return out
end

--- A line for each combination of parameters, over an axis for each and one for the metric, by whose value it is coloured; the best
-- last, above the others.
function kinds.parallel(s)
  local axes <const>, cells <const> = varied(s), means(s)
  local lo <const>, hi <const> = ends(cells, function(c) return c.mean end)
  local function of_metric(c) return hi > lo and (c.mean - lo) / (hi - lo) or 0.5 end
  local names <const>, n <const> = {}, #axes + 1
  for i, axis in ipairs(axes) do names[i] = {i, axis.name} end
  names[n] = {n, s.metric}
  local best <const> = best_of(cells, s.goal, function(c) return c.mean end)
  local fig <const> = figure{title = ("%s: %d combinations, the best %s %.4g"):format(s.name, #cells, s.metric, best.mean),
    xticks = names, yticks = {{-1, ""}}, xlim = {0.75, n + 0.45}, ylim = {-0.08, 1.08}, legend = "off", grid = false}
  for i = 1, n do fig:line({i, i}, {0, 1}, {colour = "grey", width = 1.2}) end
  table.sort(cells, function(a, b)
    if a.mean ~= b.mean then return (s.goal == "max") == (a.mean < b.mean) end
    return a.trials[1].number < b.trials[1].number
  end)
  for k = math.max(1, #cells - MOST_LINES + 1), #cells do
    local c <const>, x <const>, y <const> = cells[k], {}, {}
    for i, axis in ipairs(axes) do x[i], y[i] = i, share(axis, c.params[axis.name]) end
    x[n], y[n] = n, of_metric(c)
    fig:line(x, y, {colour = style.map(0.9 * y[n]), width = c == best and 3 or 1.4, alpha = c == best and 1 or 0.75})
  end
  for i, axis in ipairs(axes) do
    for _, v in ipairs(named_values(axis)) do fig:note(i + 0.04, share(axis, v) + 0.025, shown(v), {size = 10}) end
  end
  for i = 0, 4 do fig:note(n + 0.2, i / 4, ("%.4g"):format(lo + (hi - lo) * i / 4), {size = 10}) end
  return fig
end

--- The metric against each axis: a dot for each trial, and a line through the means.
function kinds.slice(s)
  local axes <const> = varied(s)
  means(s)
  local columns <const> = math.min(#axes, 3)
  local rows <const> = math.min(math.ceil(#axes / columns), 8)
  local fig <const> = figure{rows = rows, cols = columns, share_y = true, title = #axes > 1 and s.name or nil}
  for i = 1, math.min(#axes, rows * columns) do
    local axis <const>, x <const>, y <const>, sums <const> = axes[i], {}, {}, {}
    for _, t in ipairs(s.trials) do
      local v <const> = results.metric(t, s.metric)
      if v and math.abs(v) < math.huge then
        local at <const> = place(axis, t.params[axis.name])
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
    panel:axes{xlabel = axis.name, ylabel = (i - 1) % columns == 0 and s.metric or nil, xticks = ticks(axis),
      xscale = is_log(axis) and "log" or nil, legend = "off"}
    if not axis.numeric then panel:axes{xlim = {0.5, #axis.values + 0.5}} end
    panel:scatter(x, y, {alpha = 0.55, size = 5})
    if #at <= 40 then panel:line(at, mean, {colour = "orange", width = 2}) end
  end
  return fig
end

--- The two axes of a map: those that are named, else the first two.
local function two_axes(s, o)
  local axes <const> = results.axes(s.trials)
  local free <const> = {}
  for _, axis in ipairs(varied(s)) do free[#free + 1] = axis.name ~= o.x and axis.name ~= o.y and axis or nil end
  local x <const> = o.x and results.axis(axes, o.x) or table.remove(free, 1)
  local y <const> = o.y and results.axis(axes, o.y) or table.remove(free, 1)
  if not x or not y then core.raise("option", "a heat map needs two parameters with two values each; --kind slice draws one") end
  for _, axis in ipairs{x, y} do
    if #axis.values > 40 then
      core.raise("option", ("'%s' has %d values, too many for a heat map, which shows a cell for each: --kind slice draws it"):format(
        axis.name, #axis.values))
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
    if v and math.abs(v) < math.huge then
      local i <const>, j <const> = y.place[results.key(t.params[y.name])], x.place[results.key(t.params[x.name])]
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
  means(s)
  local function names(axis)
    local out <const> = {}
    for i, v in ipairs(axis.values) do out[i] = {i, shown(v)} end
    return out
  end
  local fig <const> = figure{title = ("%s: mean %s"):format(s.name, s.metric), xlabel = x.name, ylabel = y.name, xticks = names(x),
    yticks = names(y), grid = false}
  fig:heatmap(core.tensor(values), {x = {1, #x.values}, y = {1, #y.values}, label = s.metric})
  local lo <const>, hi <const> = ends(cells, function(c) return c.mean end)
  local best <const> = best_of(cells, s.goal, function(c) return c.mean end)
  for _, c in ipairs(#x.values * #y.values <= MOST_CELLS and cells or {best}) do
    local light <const> = hi > lo and (c.mean - lo) / (hi - lo) > 0.6
    fig:note(c.j, c.i, (c == best and "[%.4g]" or "%.4g"):format(c.mean), {size = 10, colour = light and "black" or "white"})
  end
  return fig
end

--- The share of the variance of the metric that each axis explains alone.
function kinds.importance(s)
  means(s)
  local found <const> = importance.of(s.trials, s.metric)
  if not found then core.raise("option", ("'%s' has the same value everywhere, or fewer than three trials have one"):format(s.metric)) end
  local names <const>, at <const>, shares <const> = {}, {}, {}
  local function bar(name, v)
    at[#at + 1], shares[#shares + 1] = #at + 1, 100 * v
    names[#names + 1] = {#at, name}
  end
  if found.repeats > 1e-12 then bar("repeats", found.repeats) end
  bar("several together", found.together)
  for i = #found.axes, 1, -1 do bar(found.axes[i].name, found.axes[i].share) end
  local fig <const> = figure{title = ("%s: what the variance of %s comes from%s"):format(s.name, s.metric,
    found.balanced and "" or "; the grid has holes, so shares may overlap"), xlabel = "% of the variance of " .. found.n .. " trials",
    yticks = names, legend = "off", xlim = {0, 108}}
  fig:bars(at, shares, {width = 0.6})
  for i, v in ipairs(shares) do fig:note(v + 4, i, ("%.1f %%"):format(v), {size = 10}) end
  return fig
end

-- Runs ------------------------------------------------------------------------------------------------------------------------

local STATES <const> = {ok = "blue", pruned = "grey", running = "green"}

--- What trials told on the way; coloured by the metric, pruned ones grey, the best above the others.
function kinds.curve(s)
  local list <const> = {}
  for _, t in ipairs(s.trials) do
    local at <const>, values <const> = {}, {}
    for _, r in ipairs(s.store:reports(t.row.id)) do at[#at + 1], values[#values + 1] = r.step, r.value or 0 / 0 end
    if #at > 0 then list[#list + 1] = {t = t, at = at, values = values, metric = results.metric(t, s.metric)} end
  end
  if #list == 0 then core.raise("option", "no trial has told a value on the way: trial:report(step, value) in run does") end
  local scored <const> = {}
  for _, c in ipairs(list) do scored[#scored + 1] = c.metric and math.abs(c.metric) < math.huge and c or nil end
  local lo <const>, hi <const> = ends(scored, function(c) return c.metric end)
  local best <const> = best_of(scored, s.goal, function(c) return c.metric end)
  local fig <const> = figure{title = ("%s: reports of %d trials"):format(s.name, #list), xlabel = "step", ylabel = "reported value"}
  local function draw(c)
    local marker <const> = #c.at < 3 and "circle" or nil
    if c == best then
      fig:line(c.at, c.values, {colour = "orange", width = 2.5, marker = marker, label = ("best, trial %d"):format(c.t.number)})
      return
    end
    local colour <const> = c.metric and hi > lo and style.map(0.9 * (c.metric - lo) / (hi - lo)) or STATES[c.t.state] or "red"
    fig:line(c.at, c.values, {colour = colour, width = 1.2, alpha = 0.7, marker = marker})
  end
  for i, c in ipairs(list) do
    if i <= MOST_LINES and c ~= best then draw(c) end
  end
  if best then draw(best) end
  return fig
end

--- When trials ran: each in the first lane of its host that was free.
function kinds.timeline(s)
  local list <const> = {}
  for _, t in ipairs(s.trials) do
    local r <const> = t.row
    if r.started then
      local finish <const> = r.ended or r.started + (t.state == "running" and os.time() - r.started or r.seconds or 0)
      list[#list + 1] = {t = t, host = r.host or "", from = math.min(r.started, finish - (r.seconds or 0)), to = finish}
    end
  end
  if #list == 0 then core.raise("option", "no trial has run yet") end
  table.sort(list, function(a, b)
    if a.from ~= b.from then return a.from < b.from end
    return a.t.number < b.t.number
  end)
  local zero <const>, lanes <const>, names <const>, labelled <const> = (ends(list, function(b) return b.from end)), {}, {}, {}
  local _ <const>, last <const> = ends(list, function(b) return b.to end)
  local unit <const> = last - zero > 3 * 3600 and 3600 or last - zero > 180 and 60 or 1
  local fig <const> = figure{title = ("%s: %d trials"):format(s.name, #list), ylabel = "process",
    xlabel = unit == 3600 and "hours" or unit == 60 and "minutes" or "seconds"}
  for _, b in ipairs(list) do
    local lane
    for i, one in ipairs(lanes) do
      if one.host == b.host and one.free <= b.from then lane = lane or i end
    end
    if not lane then
      lane = #lanes + 1
      lanes[lane] = {host = b.host}
      names[lane] = {lane, ("%s %d"):format(b.host, lane)}
    end
    lanes[lane].free = b.to
    local state <const> = (b.t.state == "ok" or b.t.state == "pruned" or b.t.state == "running") and b.t.state or "failed"
    local from <const>, to <const> = (b.from - zero) / unit, (b.to - zero) / unit
    fig:line({from, math.max(to, from + 0.002 * (last - zero) / unit)}, {lane, lane}, {width = 8, colour = STATES[state] or "red",
      label = not labelled[state] and state or nil})
    labelled[state] = true
  end
  return fig:axes{yticks = names, ylim = {0.4, #lanes + 0.6}, legend = "outside"}
end

--- What no other combination beats in both.
local function frontier(points, goal)
  local sorted <const>, out <const>, best = {table.unpack(points)}, {}, nil
  table.sort(sorted, function(a, b)
    if a.cost ~= b.cost then return a.cost < b.cost end
    if a.mean ~= b.mean then return (goal == "max") == (a.mean > b.mean) end
    return a.trials[1].number < b.trials[1].number
  end)
  for _, p in ipairs(sorted) do
    if not best or (goal == "max") == (p.mean > best) and p.mean ~= best then out[#out + 1], best = p, p.mean end
  end
  return out
end

--- The metric against seconds (or the field o.x), with standard errors; a line through what nothing beats in both.
function kinds.pareto(s, o)
  local field <const>, points <const> = o.x or "seconds", {}
  for _, c in ipairs(means(s)) do
    local costs <const> = {}
    for _, t in ipairs(c.trials) do
      local v <const> = results.metric(t, s.metric) and (results.number(t.result[field]) or not o.x and t.row.seconds)
      if v and math.abs(v) < math.huge then costs[#costs + 1] = v end
    end
    local m <const> = statistics.summary(costs)
    if m.n > 0 then
      c.cost, c.cost_se = m.mean, m.se or 0
      points[#points + 1] = c
    end
  end
  if #points == 0 then core.raise("option", ("no trial that ended well has the number '%s'"):format(field)) end
  local lo <const>, hi <const> = ends(points, function(p) return p.cost end)
  local log <const> = lo > 0 and hi / lo > 20
  local fig <const> = figure{title = ("%s: %d combinations, mean and standard error"):format(s.name, #points), xlabel = field,
    ylabel = s.metric, xscale = log and "log" or nil}
  local x <const>, y <const>, err <const> = {}, {}, {}
  for i, p in ipairs(points) do
    x[i], y[i], err[i] = p.cost, p.mean, p.se
    if p.cost_se > 0 then
      fig:line({math.max(p.cost - p.cost_se, log and lo / 10 or -math.huge), p.cost + p.cost_se}, {p.mean, p.mean},
        {colour = "grey", width = 1, alpha = 0.6})
    end
  end
  local front <const>, fx <const>, fy <const> = frontier(points, s.goal), {}, {}
  for i, p in ipairs(front) do fx[i], fy[i] = p.cost, p.mean end
  fig:errorbar(x, y, err, {colour = "blue", alpha = 0.8, size = 6})
  fig:line(fx, fy, {colour = "orange", width = 2, marker = "circle", label = "nothing beats these in both"})
  local names <const> = results.names(varied(s))
  local _ <const>, top <const> = ends(points, function(p) return p.mean end)
  local bottom <const> = (ends(points, function(p) return p.mean end))
  for _, p in ipairs(#front <= MOST_TICKS and front or {}) do
    fig:note(p.cost, p.mean + 0.035 * math.max(top - bottom, 1e-300), results.label(p.params, names), {size = 9})
  end
  return fig
end

-- Choosing --------------------------------------------------------------------------------------------------------------------

local M <const> = {kinds = {"parallel", "slice", "heat", "curve", "importance", "timeline", "pareto"}}

--- A figure of a store. o: kind, metric, goal, x, y.
---@return gibbous.figure
function M.of(store, o)
  local draw <const> = kinds[o.kind]
  if not draw then
    local near <const> = require "gibbous.options".nearest(o.kind, kinds)
    core.raise("option", ("there is no figure '%s'%s; there are %s"):format(o.kind, near and (", did you mean '%s'?"):format(near) or "",
      table.concat(M.kinds, ", ")))
  end
  local trials <const> = results.of(store)
  local s <const> = {store = store, trials = trials, name = store:value "name" or "sweep"}
  if o.kind ~= "timeline" and not (o.kind == "curve" and #results.fields(trials) == 0) then
    s.metric, s.goal = results.chosen(store, trials, o.metric, o.goal)
  end
  return draw(s, o)
end

return M
