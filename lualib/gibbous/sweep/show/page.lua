--- One trial as text: what it was, what came of it, what it was made of.
local core <const> = require "gibbous.core"
local results <const> = require "gibbous.sweep.store.results"

local LAST <const> = 20                    -- lines of a log

--- A table of plain values as lines "  name  value", sorted by name.
local function listed(t)
  local names <const>, lines <const>, width = {}, {}, 0
  for name in pairs(t) do
    names[#names + 1] = tostring(name)
    width = math.max(width, #tostring(name))
  end
  table.sort(names)
  for i, name in ipairs(names) do
    local v <const> = t[name]
    lines[i] = ("  %s%s  %s"):format(name, (" "):rep(width - #name), type(v) == "table" and core.json_encode(v) or tostring(v))
  end
  return table.concat(lines, "\n")
end

local function mib(bytes) return bytes and ("%.1f MiB"):format(bytes / 2 ^ 20) or "unknown" end

local function date(seconds) return seconds and os.date("%Y-%m-%d %H:%M:%S", math.floor(seconds)) or "never" end

local function log_of(store, t)
  local f <const> = io.open(store:folder_of(t.id) .. "/log.txt", "rb")
  if not f then return "" end
  local size <const> = f:seek "end"
  f:seek("set", math.max(0, size - 16384))
  local lines <const> = {}
  for line in f:read("a"):gmatch "[^\n]+" do lines[#lines + 1] = "  " .. line end
  f:close()
  return table.concat(lines, "\n", math.max(1, #lines - LAST + 1))
end

---@param store gibbous.sweep.store
---@param t table  a row of its trials
return function(store, t)
  local parts <const> = {("trial %d  %s%s\n%s"):format(t.number, results.state(t, store:lost()),
    t.wanted == 1 and "" or ", of an older study", listed(core.json_decode(t.params)))}
  local function section(title, body)
    if body and body ~= "" then parts[#parts + 1] = title .. "\n" .. body end
  end
  section("result", t.result and listed(core.json_decode(t.result)))
  section("message", t.message and "  " .. t.message:gsub("\n", "\n  "))
  section("run", listed{id = t.id, seed = t.seed, attempts = t.attempts, started = date(t.started), ended = date(t.ended),
    seconds = t.seconds or "unknown", peak = mib(t.peak), ["resident peak"] = mib(t.resident), room = mib(t.room),
    host = t.host or "none", device = t.device or "cpu"})
  local attempts <const> = {}
  for _, a in ipairs(store.db:rows("SELECT * FROM attempt WHERE trial = ? ORDER BY number", t.id)) do
    attempts[#attempts + 1] = ("  %d  %s with %s: %s"):format(a.number, a.class, mib(a.room), a.message or "")
  end
  section("earlier attempts", table.concat(attempts, "\n"))
  section("data (SHA-256)", t.data and listed(core.json_decode(t.data)))
  local reports <const> = store:reports(t.id)
  if #reports > 0 then
    local last <const> = reports[#reports]
    section("reports", ("  %d, the last at step %g: %s"):format(#reports, last.step, last.value and ("%.8g"):format(last.value)
      or "no number"))
  end
  section("environment", t.environment and listed(core.json_decode(store:text(t.environment) or "{}")))
  section("log, its end", log_of(store, t))
  return table.concat(parts, "\n\n")
end
