--- What is known of the last numerical failure: an error of the library, or a result that did not converge.
local core <const> = require "gibbous.core"

local M <const> = {}

local MOST <const> = 20                    -- values that are remembered, weakly: a solve may run, and fail, later

local last                                 -- {what, facts, advice, options, entry} of an error
local given <const> = {}                   -- {value, entry}, the last one first
local entry = 0                            -- number of the entry

-- By the code of an error: what is worth a try.
local advice <const> = {
  not_pd = "add to the diagonal (the noise of a model, or A + 1e-6 * gb.eye(n)); look for equal rows; use f64",
  nan = "look for values that are not finite in the data (x:isfinite():all()), for log or sqrt of a negative number, and for "
    .. "a learning rate that is too high",
  refused = "see the options below; gb.memory.limit raises the limit, f32 halves what is held",
  oom = "give back what is held (:mem lists it), raise gb.memory.limit, or use f32",
  not_converged = "allow more steps, loosen the tolerance, or use a preconditioner (gb.precond)",
}

local unconverged <const> = "allow more steps (max_iter of a solver, steps of a fit), loosen the tolerance, or use a "
  .. "preconditioner; a larger noise makes a matrix easier to solve with"

local function fact(v)
  if type(v) == "number" then return math.type(v) == "float" and ("%.6g"):format(v) or tostring(v) end
  if type(v) == "boolean" or type(v) == "string" then return tostring(v) end
  if core.as_tensor(v) ~= nil and core.type(v) == "tensor" then return ("tensor %s %s"):format(v.shape, v.dtype) end
  local meta <const> = type(v) == "table" and debug.getmetatable(v)
  return meta and meta.__tostring and tostring(v) or nil
end

--- The fields of a table that can be said, sorted.
local function facts(t, without)
  local rows <const> = {}
  for key, value in next, t do
    local text <const> = type(key) == "string" and key:sub(1, 1) ~= "_" and not without[key] and fact(value)
    if text then rows[#rows + 1] = {key, text} end
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  return rows
end

--- Looks at an error that ended an entry.
function M.failed(err)
  entry = entry + 1
  local code <const> = type(err) == "table" and rawget(err, "code")
  if not advice[code] then return end
  local options <const> = rawget(err, "options")
  local what <const>, coded <const> = tostring(err), (" (%s)"):format(code)
  last = {what = what:find(coded, 1, true) and what or what .. coded,
    facts = facts(err, {code = 1, message = 1, line = 1, traceback = 1}),
    advice = advice[code], options = type(options) == "table" and options or {}, entry = entry}
end

local function record_of(v)
  if type(v) ~= "table" then return nil end
  if rawget(v, "converged") ~= nil then return v end     -- raw: a solve that has not run yet is not run for this
  local info <const> = rawget(v, "info")
  return type(info) == "table" and rawget(info, "converged") ~= nil and info or nil
end

--- Looks at what an entry gave.
function M.gave(...)
  entry = entry + 1
  for i = 1, select("#", ...) do
    local v <const> = select(i, ...)
    if type(v) == "table" then table.insert(given, 1, setmetatable({v, entry = entry}, {__mode = "v"})) end
  end
  for i = #given, MOST + 1, -1 do given[i] = nil end
end

--- The last failure: an error, or a result that is known by now not to have converged.
local function failure()
  for _, one in ipairs(given) do
    local record <const> = record_of(one[1])
    if record and rawget(record, "converged") == false and not (last and last.entry > one.entry) then
      return {what = tostring(record), facts = facts(record, {converged = 1}), advice = unconverged, options = {}}
    end
  end
  return last
end

--- Is it a text of several lines that the message has too, as it has a diagnosis?
local function is_said(text, message) return text:find("\n", 1, true) ~= nil and message:find(text, 1, true) ~= nil end

--- The report.
function M.report()
  local one <const> = failure()
  if one == nil then return "no error of the library and no result that did not converge in this session" end
  local lines <const> = {one.what}
  for _, row in ipairs(one.facts) do
    local text <const> = not is_said(row[2], one.what) and row[2]:gsub("\n", "\n" .. (" "):rep(19))
    if text then lines[#lines + 1] = ("  %-16s %s"):format(row[1], text) end
  end
  for _, text in ipairs(one.options) do lines[#lines + 1] = "  - " .. tostring(text) end
  lines[#lines + 1] = "worth a try: " .. one.advice
  return table.concat(lines, "\n")
end

return M
