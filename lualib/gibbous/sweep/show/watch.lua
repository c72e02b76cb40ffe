--- gibbous sweep watch: how a study stands, again each second at a terminal, from its store alone.
local core <const> = require "gibbous.core"
local line <const> = require "gibbous.text.progress_line"
local progress <const> = require "gibbous.text.progress"
local text <const> = require "gibbous.sweep.show.text"

local SHOWN <const> = 8                    -- running trials, last failures
local BAR <const> = 40
local RECENT <const> = 600                 -- seconds that the rate is of

--- The whole line of a bar: done, failed, running, pending.
local function bar(t)
  local parts <const>, from = {}, 0
  local seen = 0
  for _, one in ipairs{{t.done, "#"}, {t.failed, "x"}, {t.running, ">"}, {t.pending, "."}} do
    seen = seen + one[1]
    local to <const> = t.total > 0 and math.floor(BAR * seen / t.total + 0.5) or 0
    parts[#parts + 1] = one[2]:rep(to - from)
    from = to
  end
  return "[" .. table.concat(parts) .. "]"
end

--- Seconds that are left by the rate of the last minutes; nil where nothing ended.
local function left(store, t, now)
  local r <const> = store.db:rows([[SELECT COUNT(*) AS n, MIN(ended) AS first FROM trial WHERE wanted = 1 AND ended >= ?]],
    now - RECENT)[1]
  if r.n < 2 or not r.first or t.pending + t.running == 0 then return nil end
  return (now - r.first) / (r.n - 1) * (t.pending + t.running)
end

local function row_of(r, now)
  local value <const> = r.value and ("%.6g"):format(r.value) or "no number"
  return {tostring(r.number), text.params(r.params), text.duration(math.max(0, now - (r.started or now))),
    r.room and ("%.0f MiB"):format(r.room / 2 ^ 20) or "", r.step and ("step %g: %s"):format(r.step, value) or "", r.host or ""}
end

--- Rows of the trials that run, SHOWN of them, and how many there are.
local function running(store, now)
  local out <const>, lost <const>, n = {}, store:lost(), 0
  for _, r in ipairs(store.db:rows([[SELECT t.*, (SELECT MAX(step) FROM report WHERE trial = t.id) AS step,
    (SELECT value FROM report WHERE trial = t.id ORDER BY step DESC LIMIT 1) AS value
    FROM trial t WHERE state = 'running' AND wanted = 1 ORDER BY started, number]])) do
    if not lost[r.id] then
      n = n + 1
      out[#out + 1] = n <= SHOWN and row_of(r, now) or nil
    end
  end
  return out, n
end

local function table_of(headings, rows)
  table.insert(rows, 1, headings)
  return require "gibbous.text.table"(rows)
end

local function failures(store)
  local rows <const>, out <const> = store.db:rows([[SELECT * FROM trial WHERE state = 'failed' AND wanted = 1
    ORDER BY ended DESC, number LIMIT ?]], SHOWN), {}
  for i, r in ipairs(rows) do
    out[i] = ("  trial %d (%s): %s: %s"):format(r.number, text.params(r.params), r.class, (r.message or ""):match "^[^\n]*")
  end
  return out
end

--- The view as a text.
local function view(store, study, now)
  local t <const> = text.tally(store)
  local parts <const> = {("%s  %d of %d"):format(study.name, t.done + t.failed, t.total), bar(t)}
  local counts <const> = {("%d done"):format(t.done)}
  for _, name in ipairs{"failed", "running", "pending"} do
    if t[name] > 0 then counts[#counts + 1] = ("%d %s"):format(t[name], name) end
  end
  local seconds <const> = left(store, t, now)
  if seconds then counts[#counts + 1] = "about " .. text.duration(seconds) .. " left" end
  parts[#parts + 1] = table.concat(counts, ", ")
  local best <const> = text.best(study, store)
  if best then
    parts[#parts + 1] = ("best %s %.6g, trial %d (%s)"):format(study.metric, best.metric, best.number, text.params(best.params))
  end
  local rows <const>, n <const> = running(store, now)
  if n > 0 then
    parts[#parts + 1] = "\n" .. table_of({"trial", "parameters", "for", "room", "on the way", "host"}, rows)
    if n > SHOWN then parts[#parts + 1] = ("and %d more"):format(n - SHOWN) end
  end
  local failed <const> = failures(store)
  if #failed > 0 then parts[#parts + 1] = ("\nlast failures\n%s"):format(table.concat(failed, "\n")) end
  return table.concat(parts, "\n"), t.total > 0 and t.pending + t.running == 0 and not store:has_more()
end

--- Draws over what was there, cut to the window.
local function draw(body, columns, rows)
  local lines <const> = {}
  for one in (body .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = progress.clip(one, columns) .. "\27[K" end
  io.write("\27[H", table.concat(lines, "\n", 1, math.min(#lines, math.max(1, rows - 1))), "\27[J")
  io.flush()
end

--- Draws each second until nothing is left to run, 'q' or Ctrl-C; one block where this is no terminal.
return function(store)
  local function now_view()
    local study <const> = {name = store:value "name" or store.folder, metric = store:value "metric", goal = store:value "goal"}
    return view(store, study, core.now())
  end
  if not core.isatty(1) then
    print((now_view()))
    return true
  end
  io.write "\27[2J"
  while true do
    local columns <const>, rows <const> = core.terminal()
    local body <const>, done <const> = now_view()
    draw(body .. (done and "" or "\n\nq ends the view, not the sweep"), columns, rows)
    local ok <const>, key <const> = pcall(core.key, done and 0 or 1)
    if done or not ok or key == "q" then break end
  end
  io.write "\n"
  line.clear()
  return true
end
