--- gibbous sweep report: a study as one HTML file, from its store alone.
local comparison <const> = require "gibbous.sweep.show.comparison"
local core <const> = require "gibbous.core"
local figures <const> = require "gibbous.sweep.show.figures"
local new_report <const> = require "gibbous.report"
local number <const> = require "gibbous.sweep.show.number"
local results <const> = require "gibbous.sweep.store.results"
local text <const> = require "gibbous.sweep.show.text"

local MOST_COLUMNS <const> = 8             -- of the table of results

local function date(seconds) return os.date("!%Y-%m-%d %H:%M:%S UTC", math.floor(seconds)) end

-- Tables ----------------------------------------------------------------------------------------------------------------------

--- The axis of the columns of the table: the one with the most values that fits, the last of several; nil where there is one axis.
local function column_axis(axes)
  local best
  for _, axis in ipairs(axes) do
    local fits <const> = #axis.values <= MOST_COLUMNS
    if fits and (not best or #axis.values >= #best.values) then best = axis end
  end
  return #axes > 1 and best or nil
end

local function cell(c)
  if c.n == 0 then return c.state end
  local mean <const>, err <const> = number.rounded(c.mean, c.se)
  return {text = mean .. (err and " ± " .. err or ""), value = c.mean, strong = c.equal}
end

--- The table of means of a metric, and what to say below it.
local function of_means(trials, metric, goal)
  local axes <const> = results.varied(results.axes(trials))
  local across <const>, rows <const> = column_axis(axes), {}
  for _, axis in ipairs(axes) do rows[#rows + 1] = axis ~= across and axis.name or nil end
  local t <const> = comparison.of(trials, {rows = rows, columns = across and {across.name}, metric = metric, goal = goal,
    level = 0.05})
  local top <const>, out <const> = {table.unpack(rows)}, {}
  for _, head in ipairs(t.heads) do top[#top + 1] = across and results.label(head, t.columns) or metric end
  for i, line in ipairs(t.lines) do
    out[i] = {}
    for k, name in ipairs(rows) do out[i][k] = line.values[name] end
    for k, c in ipairs(line.cells) do out[i][#rows + k] = cell(c) end
  end
  local tested <const> = t.tested > 0 and ", and what is not significantly worse by a paired t or a signed rank test at 5 %" or ""
  return out, {columns = top, note = ("%s, %s is better: mean and standard error%s. Bold: the best of %s%s."):format(metric,
    goal == "min" and "lower" or "higher", #t.over > 0 and " over " .. table.concat(t.over, ", ") or "",
    across and "its row" or "all", tested)}
end

local function first_line(message) return message and message:match "^[^\n]*" or "" end

local function of_trials(trials, metric)
  local axes <const>, rows <const>, top <const> = results.axes(trials), {}, {"trial"}
  for _, axis in ipairs(axes) do top[#top + 1] = #axis.values > 1 and axis.name or nil end
  local n <const> = #top
  for _, name in ipairs{"state", metric or "metric", "seconds", "peak MiB", "seed", "message"} do top[#top + 1] = name end
  for i, t in ipairs(trials) do
    local row <const> = {t.number}
    for k = 2, n do row[k] = t.params[top[k]] end
    row[n + 1], row[n + 2] = t.state, metric and results.number(t.result[metric]) or nil
    row[n + 3] = t.row.seconds and {text = ("%.3g"):format(t.row.seconds), value = t.row.seconds}
    row[n + 4] = t.row.peak and {text = ("%.1f"):format(t.row.peak / 2 ^ 20), value = t.row.peak}
    row[n + 5], row[n + 6] = tostring(t.row.seed), first_line(t.row.message)
    rows[i] = row
  end
  return rows, {columns = top}
end

--- Failures of one cause: class, how many, the first, its words.
local function of_failures(trials)
  local by_cause <const>, rows <const> = {}, {}
  for _, t in ipairs(trials) do
    local cause <const> = t.row.state == "failed" and (t.row.fingerprint or t.state)
    if cause and not by_cause[cause] then
      by_cause[cause] = {t.state, 0, t.number, first_line(t.row.message)}
      rows[#rows + 1] = by_cause[cause]
    end
    if cause then by_cause[cause][2] = by_cause[cause][2] + 1 end
  end
  return rows, {columns = {"class", "trials", "the first", "message"}}
end

-- Provenance ------------------------------------------------------------------------------------------------------------------

--- What all of a column that is JSON have, by name; several values of a name are all there.
local function merged(trials, of)
  local values <const>, out <const> = {}, {}
  for _, t in ipairs(trials) do
    local json <const> = of(t.row)
    for name, v in pairs(json and core.json_decode(json) or {}) do
      values[name] = values[name] or {}
      if not values[name][v] then
        values[name][v] = true
        out[name] = out[name] and out[name] .. "\n" .. tostring(v) or tostring(v)
      end
    end
  end
  return out
end

local function about(store, trials)
  local first, last = math.huge, -math.huge
  local codes <const>, code_list <const> = {}, {}
  for _, t in ipairs(trials) do
    first, last = math.min(first, t.row.started or math.huge), math.max(last, t.row.ended or -math.huge)
    if not codes[t.row.code] then codes[t.row.code], code_list[#code_list + 1] = true, t.row.code end
  end
  local script <const> = store:text(store:value "script")
  local facts <const> = {["report by"] = ("gibbous %s, commit %s"):format(core.version, core.build.commit),
    ["made at"] = date(os.time()), ["store"] = store.folder,
    ["script"] = store:value "script_path", ["SHA-256 of the script"] = script and core.sha256(script),
    ["code of the trials"] = table.concat(code_list, "\n"), ["first trial started"] = first < math.huge and date(first) or nil,
    ["last trial ended"] = last > -math.huge and date(last) or nil}
  for path, digest in pairs(merged(trials, function(row) return row.data end)) do facts["SHA-256 of " .. path] = digest end
  local texts <const> = {}                 -- environments repeat: each is read once
  local machine <const> = merged(trials, function(row)
    local digest <const> = row.environment
    if not digest or texts[digest] then return nil end
    texts[digest] = true
    return store:text(digest)
  end)
  return {facts = facts, machine = machine, script = script}
end

-- The report ------------------------------------------------------------------------------------------------------------------

local CAPTIONS <const> = {
  {"slice", "The metric against each parameter: a dot for each trial, a line through the means."},
  {"parallel", "Each line is a combination of parameters, coloured by the metric; the best is thick."},
  {"importance", "Shares of the variance of the metric: what each parameter explains alone, several together, and the repeats."},
  {"heat", "The mean of the metric over two parameters; the best in brackets."},
  {"pareto", "The metric against seconds, mean and standard error of each combination."},
  {"curve", "What trials reported on the way, coloured by the metric."},
  {"timeline", "When trials ran."},
}

--- Figures that the study has something for.
local function add_figures(r, store, trials)
  for _, one in ipairs(CAPTIONS) do
    local ok <const>, fig <const> = pcall(figures.of, store, {kind = one[1], trials = trials})
    if ok then r:figure(fig, {caption = one[2]})
    elseif not require "gibbous.base.raised".is(fig, "option") then error(fig, 0) end
  end
end

--- A report of a store.
---@return gibbous.report
return function(store)
  local trials <const> = results.of(store)
  local study <const> = {name = store:value "name" or store.folder, metric = store:value "metric", goal = store:value "goal"}
  local r <const> = new_report{title = study.name, about = function() return about(store, trials) end}
  r:text((text.summary(study, store):gsub("^[^:]*: ", "", 1):gsub("\n", "\n\n")))
  local fields <const> = results.fields(trials)
  if #fields > 0 and study.metric then
    r:heading "Results"
    r:table(of_means(trials, results.chosen(store, trials)))
  end
  local failures <const>, columns <const> = of_failures(trials)
  if #failures > 0 then r:heading "Failures":table(failures, columns) end
  r:heading "Figures"
  add_figures(r, store, trials)
  r:heading(("%d trials"):format(#trials))
  local rows <const>, o <const> = of_trials(trials, study.metric)
  if #rows > 0 then r:table(rows, o) end
  return r
end
