--- What is known of the last numerical failure: an error of the library, or a result that did not converge.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local remedies <const> = require "gibbous.prompt.remedies"

local M <const> = {}

local MOST <const> = 20                    -- results that are remembered: a lazy solve may run, and fail, later

local last                                 -- the last error: {what, facts, advice, options, entry}
local given <const> = {}                   -- the last results that are tables, the newest first: {value, entry}
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

-- Of the figure of a curve, in a window that is not narrower.
local COLUMNS <const>, ROWS <const> = 72, 14

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

local function record_of(v)
  if type(v) ~= "table" then return nil end
  local lazy <const> = rawget(v, "_of")                  -- a solve that has not run yet is not run for this
  if lazy ~= nil and core.as_tensor(lazy) and core.solver_report(lazy) == nil then return nil end
  if lazy ~= nil or rawget(v, "converged") ~= nil then return v.converged ~= nil and v or nil end
  local info <const> = rawget(v, "info")
  return type(info) == "table" and rawget(info, "converged") ~= nil and info or nil
end

local weak <const> = {__mode = "v"}

--- Chooses which results are held. The record of a solve that has run is a few numbers: it is held. That of a lazy solve has its
-- tensors: it is held for its own entry alone, whose display may run the solve. All other results are held weakly.
local function settle()
  for _, one in ipairs(given) do
    local record <const> = record_of(one[1])
    local is_solve <const> = record ~= nil and rawget(record, "solve_log") == nil
    setmetatable(one, not is_solve and weak or nil)
  end
end

--- A result of this entry, as 'given' has it.
local function noted(v)
  local is_record <const> = rawget(v, "_of") ~= nil or rawget(v, "converged") ~= nil and rawget(v, "solve_log") == nil
  return setmetatable({v, entry = entry}, not is_record and weak or nil)
end

--- The failure that is a solve which Ctrl-C ended.
local function interrupted(solve)
  return {what = ("interrupted in %s after %s, relative residual %.2g"):format(solve.solver, counted(solve.iterations, "step"),
    solve.residual), facts = facts(solve, {converged = 1, solver = 1, iterations = 1, residual = 1, jitter = 1, reason = 1}),
    options = {}, solve = solve, entry = entry}
end

--- Looks at an error that ended an entry.
function M.failed(err)
  entry = entry + 1
  settle()
  local code <const> = type(err) == "table" and rawget(err, "code")
  local solve <const> = code == "interrupted" and rawget(err, "solve")
  if solve then
    last = interrupted(solve)
    return
  end
  if not advice[code] then return end
  local options <const> = rawget(err, "options")
  local what <const>, coded <const> = tostring(err), (" (%s)"):format(code)
  last = {what = what:find(coded, 1, true) and what or what .. coded,
    facts = facts(err, {code = 1, message = 1, line = 1, traceback = 1}),
    parameters = rawget(err, "parameters"), advice = advice[code],
    options = type(options) == "table" and options or {}, entry = entry}
end

--- Looks at what an entry gave.
function M.gave(...)
  entry = entry + 1
  settle()
  for i = 1, select("#", ...) do
    local v <const> = select(i, ...)
    if type(v) == "table" then table.insert(given, 1, noted(v)) end
  end
  for i = #given, MOST + 1, -1 do given[i] = nil end
end

--- The record of the first variable, by name, that did not converge; else that of the last fit that was interrupted.
local function of_variables()
  local names <const> = {}
  for name, v in next, _G do
    if type(name) == "string" and type(v) == "table" then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local record <const> = record_of(rawget(_G, name))
    if record and rawget(record, "converged") == false then return record end
  end
  return (require "gibbous.gp.fit.resume".last())
end

local function of_record(record)
  local log <const> = rawget(record, "solve_log")
  local solve <const> = log and log.worst or not log and rawget(record, "iterations") and rawget(record, "reason") and record
  return {what = tostring(record), facts = facts(record, {converged = 1}), advice = unconverged, options = {},
    solve = solve or nil, report = log and record, parameters = rawget(record, "parameters")}
end

--- The last failure: an error, or a result that is known by now not to have converged.
local function failure()
  for _, one in ipairs(given) do
    local record <const> = record_of(one[1])
    if record and rawget(record, "converged") == false and not (last and last.entry > one.entry) then return of_record(record) end
  end
  local record <const> = last == nil and of_variables()
  return record and of_record(record) or last
end

--- Is it a text of several lines that the message has too, as it has a diagnosis?
local function is_said(text, message) return text:find("\n", 1, true) ~= nil and message:find(text, 1, true) ~= nil end

-- The report ------------------------------------------------------------------------------------------------------------------

--- The curve of a solve as a figure of the terminal, or nothing.
local function drawn(solve)
  local curve <const> = solve and solve.curve
  if not curve or #curve < 2 then return {} end
  local steps <const>, values <const> = {}, {}
  for i, v in ipairs(curve) do
    if v > 0 and v < math.huge then steps[#steps + 1], values[#values + 1] = i * curve.every, v end
  end
  if #steps < 2 then return {} end
  local fig <const> = require "gibbous.plot".figure{xlabel = "step", ylabel = "relative residual", yscale = "log"}
  fig:line(core.tensor(steps), core.tensor(values))
  if solve.tol and solve.tol > 0 then fig:hline(solve.tol, {label = ("tolerance %g"):format(solve.tol)}) end
  local columns <const> = require "gibbous.text.window".columns() or COLUMNS
  if columns < 20 then return {} end
  return {(fig:text(math.min(COLUMNS, columns), ROWS,
    {ascii = not require "gibbous.text.progress_line".is_utf8()}):gsub("\n+$", ""))}
end

--- What is known of the spectrum, from the steps of this solve. Conjugate gradients without a preconditioner know eigenvalues.
local function spectrum(solve)
  if not (solve and solve.condition and solve.condition > 0) then return {} end
  local text <const> = ("condition at least %.2g"):format(solve.condition)
  if solve.largest_eigenvalue then
    return {("%s, by the Lanczos matrix of these steps: eigenvalues from %.3g to %.3g"):format(text, solve.smallest_eigenvalue,
      solve.largest_eigenvalue)}
  end
  return {solve.preconditioner_rank and text .. ", of the preconditioned matrix" or text}
end

--- The parameters of the model, a line each.
local function values(parameters)
  local names <const>, out <const> = {}, {}
  for name in pairs(parameters or {}) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local v <const>, list <const> = parameters[name], {}
    for i, one in ipairs(type(v) == "table" and v or {v}) do list[i] = type(one) == "number" and ("%.4g"):format(one) or "..." end
    out[#out + 1] = ("  %-24s %s"):format(name, table.concat(list, "  "))
  end
  return out
end

local function fact_lines(one)
  local out <const>, width = {}, 16
  for _, row in ipairs(one.facts) do width = math.max(width, #row[1]) end
  for _, row in ipairs(one.facts) do
    local text <const> = not is_said(row[2], one.what) and row[2]:gsub("\n", "\n" .. (" "):rep(width + 3))
    if text then out[#out + 1] = ("  %s%s %s"):format(row[1], (" "):rep(width - #row[1]), text) end
  end
  for _, text in ipairs(one.options) do out[#out + 1] = "  - " .. tostring(text) end
  return out
end

--- What is worth a try: ranked, with numbers where a solve's record gives them.
local function ranked(one)
  local list <const> = one.report and remedies.of_fit(one.report)
    or one.solve and remedies.of_solve(one.solve, one.parameters and one.parameters["likelihood.noise"]) or {}
  if #list == 0 then return {"worth a try: " .. one.advice} end
  local out <const> = {"worth a try:"}
  for i, text in ipairs(list) do out[#out + 1] = ("  %d. %s"):format(i, text) end
  return out
end

--- The report.
function M.report()
  settle()
  local one <const> = failure()
  if one == nil then return "no error of the library and no result that did not converge in this session" end
  local lines <const> = {one.what}
  for _, part in ipairs{fact_lines(one), values(one.parameters), drawn(one.solve), spectrum(one.solve), ranked(one)} do
    table.move(part, 1, #part, #lines + 1, lines)
  end
  return table.concat(lines, "\n")
end

return M
