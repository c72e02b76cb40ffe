--- Figures of what ran: fits, solves, and the memory of plans.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local figure <const> = require "gibbous.plot.figure".figure
local options <const> = require "gibbous.base.options"

local M <const> = {}

local function is_plain(v) return type(v) == "table" and getmetatable(v) == nil end

--- The steps by start: a new one begins where the count of steps does not rise.
local function by_start(steps, what)
  local runs <const> = {}
  for i, s in ipairs(steps) do
    if not is_plain(s) or type(s.step) ~= "number" or type(s.value) ~= "number" then
      core.raise("option", ("%s: element %d is not a step: {step, value, gradient_norm}, as on_step gets it"):format(what, i))
    end
    local last <const> = runs[#runs]
    if last == nil or s.step <= last[#last].step then runs[#runs + 1] = {s} else last[#last + 1] = s end
  end
  return runs
end

local function field(run, name)
  local out <const> = {}
  for i, s in ipairs(run) do out[i] = s[name] or 0 / 0 end
  return out
end

--- The steps of a report of a fit, or what was given.
local function steps_of(v) return core.type(v) == "info" and v.history or v end

--- A fit step by step: its value less the best one seen, and the norm of its gradient, on log axes; a line for each start.
-- fit: its report, or the steps that on_step got. o: title.
---@return gibbous.figure
function M.training(fit, opts)
  local what <const> = "gb.plot.training"
  local o <const> = options.parse(opts, {title = "string"}, what)
  local steps <const> = steps_of(fit)
  if not is_plain(steps) or #steps == 0 then
    core.raise("option", ("%s: the report of a fit with steps is needed, local info = m:fit(x, y), or a list of the steps that "
      .. "on_step gets; got %s"):format(what, core.type(fit) == "info" and "one without steps" or core.type(fit)))
  end
  local runs <const>, best = by_start(steps, what), math.huge
  for _, s in ipairs(steps) do best = s.value < best and s.value or best end
  local fig <const> = figure{rows = 2, cols = 1, share_x = true, title = o.title or ("the fit's best value: %.6g"):format(best),
    yscale = "log"}
  fig:axes{ylabel = "value - best"}
  fig:panel(2):axes{xlabel = "step", ylabel = "gradient norm"}
  for i, run in ipairs(runs) do
    local at <const>, above <const> = field(run, "step"), {}
    for k, s in ipairs(run) do above[k] = s.value > best and s.value - best or 0 / 0 end
    fig:line(at, above, {label = #runs > 1 and ("start %d"):format(i) or nil, marker = #at < 40 and "circle" or nil})
    fig:panel(2):line(at, field(run, "gradient_norm"), {marker = #at < 40 and "circle" or nil})
  end
  return fig
end

--- Residuals from a list of numbers, or of records with a residual: solves, or steps of a fit with their solve.
local function residuals_of(list, name, what)
  local out <const> = {}
  for i, v in ipairs(list) do
    if type(v) == "table" and is_plain(v) and v.solve then v = v.solve end
    local r <const> = type(v) == "table" and v.residual or v
    if type(r) ~= "number" then
      core.raise("option", ("%s: element %d of %s is neither a residual nor a record with one"):format(what, i, name))
    end
    out[i] = r
  end
  if #out == 0 then core.raise("option", ("%s: %s has no residual"):format(what, name)) end
  return out
end

--- The curve of residuals that a record of a solve has; nil of anything else. Records of direct solves do not know the field.
local function recorded(v)
  if core.type(v) ~= "solve_info" then return nil end
  local ok <const>, curve <const> = pcall(function() return v.curve end)
  return ok and curve or nil
end

--- The curve of a record of one solve, also where it is alone in a list; anything else as it is.
local function curve_of(v, what)
  local curve <const> = recorded(is_plain(v) and #v == 1 and v[1] or v)
  if curve then return curve end
  if core.type(v) == "solve_info" then
    core.raise("option", what .. ": this solve has no curve of residuals; those of gb.solvers.cg and minres have one")
  end
  return v
end

--- The iterations of residuals: 1, 2, ...; of a curve every 'every' of them.
local function iterations_of(list, n) return core.range(1, n) * (list.every or 1) end

--- The curves by name, sorted: a list of {list, name of the list in messages, label}.
local function curves_by_name(curves, what)
  curves = curve_of(steps_of(curves), what)
  if not is_plain(curves) or next(curves) == nil then
    core.raise("option", what .. ": a list of residuals, of records with one, the record of a solve, or the report of a fit "
      .. "is needed; several by name")
  end
  if #curves > 0 then return {{curves, "the list"}} end
  local out <const> = {}
  for name, v in pairs(curves) do
    local list <const> = curve_of(v, what)
    if not is_plain(list) then core.raise("option", ("%s: '%s' is not a list"):format(what, tostring(name))) end
    out[#out + 1] = {list, ("'%s'"):format(tostring(name)), tostring(name)}
  end
  table.sort(out, function(x, y) return x[3] < y[3] end)
  return out
end

--- Relative residuals on a log axis, and the tolerance. curves: the record of a solve by gb.solvers.cg or minres; a list of
-- residuals, of records of solves or of steps of a fit (on_step) whose solve is iterative; the report of such a fit; or several of
-- these by name. o: tol: a line across, that of a single record unless it is given; xlabel, title.
---@return gibbous.figure
function M.convergence(curves, opts)
  local what <const> = "gb.plot.convergence"
  if core.type(curves) == "info" and curves.solve_log.solves == 0 then
    core.raise("option", what .. ": the fit was direct: it solved nothing step by step; gb.plot.training shows its values")
  end
  local o <const> = options.parse(opts, {tol = "positive", title = "string", xlabel = "string"}, what)
  local list <const> = curves_by_name(curves, what)
  local of_solve <const> = list[1][1].every ~= nil
  local fig <const> = figure{title = o.title, xlabel = o.xlabel or of_solve and "iteration" or "step", ylabel = "relative residual",
    yscale = "log"}
  for _, one in ipairs(list) do
    local r <const> = residuals_of(one[1], one[2], what)
    fig:line(iterations_of(one[1], #r), r, {label = one[3], marker = #r < 40 and "circle" or nil})
  end
  local tol <const> = o.tol or core.type(curves) == "solve_info" and curves.tol or nil
  if tol then fig:hline(tol, {label = ("tolerance %g"):format(tol)}) end
  return fig
end

local UNITS <const> = {"bytes", "KiB", "MiB", "GiB", "TiB"}

--- The account of a plan while it runs: bytes that its run has of the device at the end of each step, nil where the step was not
-- seen; and the most of them.
local function measured(plan, leaves, what)
  local trace <close> = core.trace(true)
  plan:run(leaves or {})
  local held <const>, most = {}, nil
  for _, e in ipairs(core.traced(trace).events) do
    if e.depth == 0 then
      held[e.step] = math.max(held[e.step] or 0, e.held)
      most = math.max(most or 0, e.held)
    end
  end
  if most then return held, most end
  core.raise("option", what .. ": nothing ran, for the plan's results have their values: make the plan anew, of new expressions")
end

--- The measured account as stairs of a step's width.
local function draw_measured(fig, held, most, count, size, unit)
  local x <const>, y <const> = {}, {}
  for i = 1, count do
    for _, side in ipairs{-0.5, 0.5} do x[#x + 1], y[#y + 1] = i + side, held[i] and held[i] / size or 0 / 0 end
  end
  fig:line(x, y, {label = ("measured, at most %.4g %s"):format(most / size, unit), colour = "orange", width = 2})
end

--- The bytes that a plan (gb.plan) predicts to hold at each of its steps; across: its peak, and its budget where that is near.
-- o: run = true: runs the plan and draws what it took of the device, step by step, over it; a table: with these values of
-- leaves, as plan:run takes; title.
---@return gibbous.figure
function M.memory(plan, opts)
  local what <const> = "gb.plot.memory"
  local o <const> = options.parse(opts, {title = "string", run = "boolean|table"}, what)
  if core.type(plan) ~= "plan" then
    core.raise("option", ("%s: a plan is needed, gb.plan(...) or m:plan(x, y), got %s"):format(what, core.type(plan)))
  end
  local facts <const> = core.json_decode(plan:json())
  local unit, size = 1, 1
  while unit < #UNITS and facts.peak >= 1024 * size do unit, size = unit + 1, size * 1024 end
  local at <const>, held <const> = {}, {}
  for i, step in ipairs(facts.steps) do at[i], held[i] = i, step.live / size end
  local names <const> = {}
  for i = 1, #at <= 12 and #at or 0 do names[i] = {i, tostring(i)} end
  local fig <const> = figure{title = o.title or ("memory of a plan of %s"):format(counted(#at, "step")), xlabel = "step",
    ylabel = "held, " .. UNITS[unit], xticks = #names > 0 and names or nil}
  fig:columns(at, held, {width = 1, label = "predicted", alpha = o.run and 0.6 or nil})
    :hline(facts.peak / size, {label = ("peak %.4g %s"):format(facts.peak / size, UNITS[unit])})
  if o.run then
    local taken <const>, most <const> = measured(plan, type(o.run) == "table" and o.run or nil, what)
    draw_measured(fig, taken, most, #at, size, UNITS[unit])
  end
  if facts.budget < 3 * facts.peak then fig:hline(facts.budget / size, {label = "budget", colour = "red"}) end
  return fig
end

return M
