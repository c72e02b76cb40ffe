--- gibbous sweep diff: two trials of a study side by side.
local core <const> = require "gibbous.core"
local number <const> = require "gibbous.sweep.show.number"
local results <const> = require "gibbous.sweep.store.results"
local unified <const> = require "gibbous.sweep.show.unified"

local COLUMNS <const>, ROWS <const> = 78, 18            -- of the figure of reports

local function shown(v)
  if v == nil then return "-" end
  if type(v) == "number" then return number.exact(v) end
  return type(v) == "string" and v or core.json_encode(v)
end

--- How far b is from a: "+0.1 (+5 %)".
local function distance(a, b)
  local x <const>, y <const> = results.number(a), results.number(b)
  if not x or not y or type(a) == "boolean" or type(b) == "boolean" or not (math.abs(y - x) < math.huge) then return "" end
  local share <const> = x ~= 0 and (" (%+.3g %%)"):format(100 * (y - x) / math.abs(x)) or ""
  return ("%+.4g%s"):format(y - x, share)
end

--- A table of what differs; or the words that nothing does. numbers: say how far.
local function compared(a, b, names, numbers)
  local keys <const>, seen <const>, rows <const> = {}, {}, {{"", names[1], names[2], numbers and "difference" or ""}}
  for _, t in ipairs{a, b} do
    for key in pairs(t) do
      if not seen[key] then seen[key], keys[#keys + 1] = true, key end
    end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    if results.key(a[key] == nil and {} or a[key]) ~= results.key(b[key] == nil and {} or b[key]) then
      rows[#rows + 1] = {key, shown(a[key]), shown(b[key]), numbers and distance(a[key], b[key]) or ""}
    end
  end
  if #keys == 0 then return "none" end
  if #rows == 1 then return ("the same, %d"):format(#keys) end
  local same <const> = #keys - #rows + 1
  return require "gibbous.text.table"(rows) .. (same > 0 and ("\nthe other %d are the same"):format(same) or "")
end

local function decoded(text) return text and core.json_decode(text) or {} end

--- The script as it was when the code of a trial ran.
local function script_of(store, t) return store:text(store:value("script of " .. t.row.code)) end

local function scripts(store, a, b, names)
  if a.row.code == b.row.code then return "the same code, " .. a.row.code end
  local x <const>, y <const> = script_of(store, a), script_of(store, b)
  if not x or not y then return ("codes %s and %s; the store has no text of the script of %s"):format(a.row.code, b.row.code,
    not x and not y and "both" or not x and "the first" or "the second") end
  return unified.diff(x, y, "script of " .. names[1], "script of " .. names[2])
    or "the same text; what the function reaches in other files differs: codes " .. a.row.code .. " and " .. b.row.code
end

--- What both told on the way, as a figure of characters; nil where neither did.
local function reports(store, a, b, names)
  local fig <const>, any = require "gibbous.plot".figure{title = "reports", xlabel = "step", legend = "top right"}, false
  for i, t in ipairs{a, b} do
    local at <const>, values <const> = {}, {}
    for _, r in ipairs(store:reports(t.row.id)) do at[#at + 1], values[#values + 1] = r.step, r.value or 0 / 0 end
    if #at > 0 then
      any = true
      fig:line(at, values, {label = names[i], dash = i == 2 and "dashed" or nil})
    end
  end
  return any and fig:text(COLUMNS, ROWS, {ascii = core.isatty(1) and not require "gibbous.text.progress_line".is_utf8()}) or nil
end

local function run_facts(t)
  local row <const> = t.row
  return {state = t.state, seed = tostring(row.seed), seconds = row.seconds, ["peak, bytes"] = row.peak, ["room, bytes"] = row.room,
    attempts = row.attempts, host = row.host, device = row.device or "cpu"}
end

---@param store gibbous.sweep.store
---@param a gibbous.sweep.result
---@param b gibbous.sweep.result
---@return string
return function(store, a, b)
  local names <const> = {("trial %d"):format(a.number), ("trial %d"):format(b.number)}
  local parts <const> = {}
  local function section(title, body) parts[#parts + 1] = body and title .. "\n" .. body:gsub("\n$", "") or nil end
  section("parameters", compared(a.params, b.params, names))
  section("result", compared(a.result, b.result, names, true))
  section("run", compared(run_facts(a), run_facts(b), names, true))
  section("environment", compared(decoded(store:text(a.row.environment)), decoded(store:text(b.row.environment)), names))
  section("data (SHA-256)", compared(decoded(a.row.data), decoded(b.row.data), names))
  section("script", scripts(store, a, b, names))
  section("on the way", reports(store, a, b, names))
  return table.concat(parts, "\n\n")
end
