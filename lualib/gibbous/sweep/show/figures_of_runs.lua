--- Figures of how trials ran: on the way, in time, against what they cost.
local core <const> = require "gibbous.core"
local parts <const> = require "gibbous.sweep.show.figure_parts"
local results <const> = require "gibbous.sweep.store.results"
local statistics <const> = require "gibbous.sweep.show.statistics"
local style <const> = require "gibbous.plot.style"

local figure <const> = require "gibbous.plot".figure

local kinds <const> = {}

local NAMED <const> = 8                    -- combinations that a legend names, at most
local STATES <const> = {ok = "blue", pruned = "grey", running = "green"}

local EARLY <const> = 0.2                   -- share of the steps whose values may be cut off

--- Limits of the values behind the first steps, where those are much larger; nil where all can be seen.
local function later_limits(list)
  local last, all <const>, later <const> = -math.huge, {}, {}
  for _, c in ipairs(list) do last = math.max(last, c.at[#c.at]) end
  for _, c in ipairs(list) do
    for k, v in ipairs(c.values) do
      if v == v then all[#all + 1] = v end
      if v == v and c.at[k] >= EARLY * last then later[#later + 1] = v end
    end
  end
  local function itself(v) return v end
  local lo <const>, hi <const> = parts.ends(all, itself)
  local low <const>, high <const> = parts.ends(later, itself)
  if not (low < high) or hi - lo <= 5 * (high - low) then return nil end
  return {low - 0.05 * (high - low), high + 0.05 * (high - low)}
end

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
  local lo <const>, hi <const> = parts.ends(scored, function(c) return c.metric end)
  local best <const> = parts.best_of(scored, s.goal, function(c) return c.metric end)
  local fig <const> = figure{title = ("%s: reports of %d trials"):format(s.name, #list), xlabel = "step",
    ylabel = later_limits(list) and "reported value, cut at first" or "reported value", ylim = later_limits(list)}
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
    if i <= parts.LINES and c ~= best then draw(c) end
  end
  if best then draw(best) end
  return fig
end

local SHORTEST <const>, GAP <const> = 0.002, 0.003       -- of all the time: how long a trial looks at least, how far from the next

--- {t, host, from, to} of each trial that has run, by their beginnings, in seconds.
local function runs_of(s)
  local list <const> = {}
  for _, t in ipairs(s.trials) do
    local r <const> = t.row
    if r.started then
      local finish <const> = r.ended or r.started + (t.state == "running" and core.now() - r.started or r.seconds or 0)
      list[#list + 1] = {t = t, host = r.host or "", from = r.started, to = math.max(finish, r.started)}
    end
  end
  table.sort(list, function(a, b)
    if a.from ~= b.from then return a.from < b.from end
    return a.t.number < b.t.number
  end)
  return list
end

--- Gives each run its lane, the first of its host that was free; gives the lanes' names as ticks.
local function lanes_of(list)
  local lanes <const>, names <const> = {}, {}
  for _, b in ipairs(list) do
    for i, one in ipairs(lanes) do
      if one.host == b.host and one.free <= b.from then b.lane = b.lane or i end
    end
    if not b.lane then
      b.lane = #lanes + 1
      lanes[b.lane] = {host = b.host}
      names[b.lane] = {b.lane, ("%s %d"):format(b.host, b.lane)}
    end
    lanes[b.lane].free = b.to
  end
  return names
end

--- When trials ran: an area for each, in the first lane of its host that was free.
function kinds.timeline(s)
  local list <const> = runs_of(s)
  if #list == 0 then core.raise("option", "no trial has run yet") end
  local names <const>, zero <const> = lanes_of(list), list[1].from
  local _ <const>, last <const> = parts.ends(list, function(b) return b.to end)
  local unit <const> = last - zero > 3 * 3600 and 3600 or last - zero > 180 and 60 or 1
  local span <const>, areas <const>, order <const> = (last - zero) / unit, {}, {}
  for _, b in ipairs(list) do
    local state <const> = STATES[b.t.state] and b.t.state or "failed"
    if not areas[state] then
      areas[state], order[#order + 1] = {{}, {}, {}}, state
    end
    local from <const>, took <const> = (b.from - zero) / unit, (b.to - b.from) / unit
    local to <const> = from + math.max(SHORTEST * span, took - math.min(GAP * span, took / 5))
    for _, x in ipairs{from, to, 0 / 0} do
      for k, v in ipairs{x, b.lane - 0.3, b.lane + 0.3} do table.insert(areas[state][k], v) end
    end
  end
  local fig <const> = figure{title = ("%s: %d trials"):format(s.name, #list), ylabel = "process",
    xlabel = unit == 3600 and "hours" or unit == 60 and "minutes" or "seconds"}
  for _, state in ipairs(order) do
    local x <const>, low <const>, high <const> = table.unpack(areas[state])
    fig:band(x, low, high, {colour = STATES[state] or "red", alpha = 0.9, label = state})
  end
  return fig:axes{yticks = names, ylim = {0.4, #names + 0.6}, legend = "outside"}
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
  for _, c in ipairs(parts.means(s)) do
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
  local lo <const>, hi <const> = parts.ends(points, function(p) return p.cost end)
  local log <const> = lo > 0 and hi / lo > 20
  local fig <const> = figure{title = ("%s: %d combinations, mean and standard error"):format(s.name, #points), xlabel = field,
    ylabel = s.metric, xscale = log and "log" or nil, legend = "outside"}
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
  fig:errorbar(x, y, err, {colour = "grey", size = 5})
  fig:line(fx, fy, {colour = "grey", width = 1.5, dash = "dashed", label = "nothing beats these in both"})
  local names <const> = results.names(parts.varied(s))
  for i, p in ipairs(#front <= NAMED and front or {}) do
    fig:scatter({p.cost}, {p.mean}, {label = results.label(p.params, names), colour = i, size = 9})
  end
  return fig
end

return kinds
