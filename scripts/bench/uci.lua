-- Exact Gaussian processes on the customary regression sets: RMSE and marginal NLPD on ten published 90/10 splits, seconds per
-- fit and per value with gradient, bytes. Beside them, with --peers, the same model fitted by others (scripts/bench/peers).
-- Run: GIBBOUS_DATA=folder build/gibbous scripts/bench/uci.lua [set ...] [--splits 10] [--out ours.csv] [--peers peers.csv]
--   [--ours earlier.csv] [--solver auto|direct|cg] [--method lbfgs|adam] [--dtype f64|f32] [--limit training rows]
--   [--steps 200] [--restarts N] [--lengthscale 1] [--noise 0.1]: where fits start; [--pretrain rows]: from a fit to so many rows,
--   whose seconds count; ms / eval is of the fit to all; [--progress 60]: a line on standard error every so many seconds;
--   [--models folder]: each fitted model is saved there as SET-SPLIT.gb before it is scored;
--   [--prior none|gamma|dimension]: on the lengthscales: gamma(3, 6), or log-normal about sqrt(d) e^sqrt(2) with sd sqrt(3) of the
--   logarithm (Hvarfner, Hellsten & Nardi (2024), Vanilla Bayesian optimization performs great in high dimensions)
-- --solver cg: the streamed path, as "auto" would take it; it also prints how the solves of each fit went. --score fitted
-- predicts by the algorithm of the fit, a solve a test point; direct, by a factor made once; none: rows without scores.
-- --ours fits nothing and prints the tables of rows written earlier. --restarts: extra starts, else as m:fit decides.
-- Model: Matern 3/2 with a lengthscale per column, a variance, Gaussian noise of at least 1e-4, zero mean; everything
-- standardised on the training rows. Fits start at variance 1, lengthscales 1 and noise 0.1. From there a descent ends, on energy,
-- where variation counts as noise, 25 nats short; m:fit then looks from little noise too, which is within the times told.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local gb <const> = require "gibbous"
local support <const> = require "support"

local o <const>, words <const> = support.options{splits = 10, out = "", peers = "", solver = "auto", dtype = "f64", limit = 0,
  steps = 200, restarts = "auto", method = "lbfgs", score = "fitted", ours = "", lengthscale = 1.0, noise = 0.1, pretrain = 0,
  progress = 60, models = "", prior = "none"}
for key, values in pairs{solver = "auto direct cg", method = "lbfgs adam", dtype = "f64 f32", score = "fitted direct none",
  prior = "none gamma dimension"} do
  assert((" " .. values .. " "):find(" " .. o[key] .. " ", 1, true), ("--%s wants one of %s"):format(key, values))
end
local names <const> = #words > 0 and words or {"yacht", "energy", "concrete", "airfoil", "wine"}

local fields <const> = {"library", "method", "set", "split", "n", "d", "rmse", "nlpd", "nlml", "noise", "seconds",
  "cpu_seconds", "evaluations", "seconds_evaluation", "converged", "bytes", "process_bytes", "reason"}

local function solver()
  return o.solver == "cg" and require "gibbous.solvers".for_models(o.dtype) or o.solver
end

local function prior(d)
  if o.prior == "gamma" then return gb.priors.gamma{shape = 3, rate = 6} end
  if o.prior == "dimension" then return gb.priors.log_normal{mean = math.sqrt(2) + math.log(d) / 2, sd = math.sqrt(3)} end
end

--- Scores of a fitted model; NaN where none are asked for.
local function score(m, train, test)
  if o.score == "none" then return {rmse = 0 / 0, nlpd = 0 / 0, converged = true} end
  if o.score == "direct" then
    m = gb.gp.exact{kernel = m.kernel, likelihood = m.likelihood, solver = "direct"}:condition(train.x, train.y)
  end
  return m:score(test.x, test.y)
end

--- Fits the model's parameters to its first rows, by a factor; seconds.
local function pretrain(m, train)
  local n <const> = math.tointeger(math.min(o.pretrain, #train.x))
  local info <const> = gb.gp.exact{kernel = m.kernel, likelihood = m.likelihood, solver = "direct"}:fit(
    train.x:slice(1, 1, n):eval(), train.y:slice(1, 1, n):eval())
  print(info)
  return info.seconds
end

--- Tells of a long fit on standard error, at most every o.progress seconds.
local function teller(set, i)
  local start <const> = gb.clock()
  local told = start
  return function(step)
    local now <const> = gb.clock()
    if now - told < o.progress then return end
    told = now
    io.stderr:write(("%s %d: %.0f s, step %d, value %.6f\n"):format(set.name, i, now - start, step.step, step.value))
  end
end

--- How the fit and its solves went, where there were any.
local function tell_solves(set, i, info)
  local log <const> = info.solve_log
  if log.solves == 0 then return end
  print(("%s %d: %s; %.0f s, %d evaluations, %d solves, %d steps, %d missed the tolerance, residual up to %.3g"):format(set.name, i,
    info.reason, info.seconds, info.evaluations, log.solves, log.iterations, log.unconverged, log.residual))
end

local function fit_and_score(set, i)
  local train, test = support.split(set, i, o.limit > 0 and o.limit or nil)
  if o.dtype == "f32" then
    for _, part in ipairs{train, test} do
      part.x, part.y = part.x:to{dtype = "f32"}:eval(), part.y:to{dtype = "f32"}:eval()
    end
  end
  local noise <const>, lengthscales <const> = gb.param(o.noise, {min = 1e-4, name = "noise"}), {}
  for k = 1, set.x.shape[2] do lengthscales[k] = o.lengthscale end
  local m <const> = gb.gp.exact{kernel = gb.kernels.matern32{lengthscale = lengthscales}, noise = noise, solver = solver()}
  m.kernel.lengthscale.prior = prior(#lengthscales)
  collectgarbage()
  local cpu <const> = os.clock()
  local before <const> = o.pretrain > 0 and pretrain(m, train) or 0.0
  local info <const> = m:fit(train.x, train.y, {steps = math.tointeger(o.steps), restarts = math.tointeger(tonumber(o.restarts)),
    method = o.method, lr = o.method == "adam" and 0.1 or nil, seed = i, on_step = teller(set, i)})
  local cpu_seconds <const> = os.clock() - cpu
  tell_solves(set, i, info)
  if o.models ~= "" then m:save(("%s/%s-%d.gb"):format(o.models, set.name, i)) end
  local s <const> = score(m, train, test)
  local starts <const> = (o.restarts ~= "auto" and (" x%d"):format(info.restarts + 1) or "")
    .. (o.prior ~= "none" and " " .. o.prior or "")
  return {library = "gibbous", method = info.method .. " " .. info.solver:match "^%w+" .. starts, set = set.name, split = i,
    n = #train.x, d = set.x.shape[2], rmse = s.rmse, nlpd = s.nlpd, nlml = info.value, noise = noise.value:item(),
    seconds = before + info.seconds, cpu_seconds = cpu_seconds,
    evaluations = info.evaluations, seconds_evaluation = info.seconds / info.evaluations,
    converged = info.converged and s.converged and 1 or 0, bytes = info.bytes,
    process_bytes = support.process_bytes "VmHWM", reason = info.reason}
end

local function csv_line(row)
  local cells <const> = {}
  for i, key in ipairs(fields) do
    local v <const> = row[key]
    cells[i] = math.type(v) == "float" and ("%.10g"):format(v) or tostring(v):gsub(",", ";")
  end
  return table.concat(cells, ",")
end

local function read_rows(path)
  local frame <const> = gb.data.read(path)
  local columns <const>, rows <const> = {}, {}
  for _, key in ipairs(frame.names) do
    local c <const> = frame:col(key)
    columns[key] = type(c) == "table" and c or c:totable()
  end
  for i = 1, #frame do
    rows[i] = {}
    for key, c in pairs(columns) do rows[i][key] = c[i] end
  end
  return rows
end

-- Tables ------------------------------------------------------------------------------------------------------------------

local function mean_of(rows, key)
  local sum, squares = 0.0, 0.0
  for _, row in ipairs(rows) do sum = sum + row[key] end
  local mean <const> = sum / #rows
  for _, row in ipairs(rows) do squares = squares + (row[key] - mean) ^ 2 end
  return mean, #rows > 1 and math.sqrt(squares / (#rows - 1) / #rows) or 0.0
end

local function mean_text(rows, key, form)
  local mean <const>, error_of_mean <const> = mean_of(rows, key)
  return (form .. " ± " .. form):format(mean, error_of_mean)
end

local columns <const> = {
  {"rmse", "%-17s", function(rows) return mean_text(rows, "rmse", "%.4f") end},
  {"nlpd", "%-18s", function(rows) return mean_text(rows, "nlpd", "%.4f") end},
  {"nlml", "%-18s", function(rows) return mean_text(rows, "nlml", "%.2f") end},
  {"s / fit", "%9s", function(rows) return ("%.3f"):format(mean_of(rows, "seconds")) end},
  {"cpu s", "%9s", function(rows) return ("%.3f"):format(mean_of(rows, "cpu_seconds")) end},
  {"evals", "%6s", function(rows) return ("%.1f"):format(mean_of(rows, "evaluations")) end},
  {"ms / eval", "%9s", function(rows) return ("%.2f"):format(1e3 * mean_of(rows, "seconds_evaluation")) end},
  {"plan MiB", "%9s", function(rows) return ("%.1f"):format(mean_of(rows, "bytes") / 2 ^ 20) end},
  {"proc MiB", "%9s", function(rows) return ("%.1f"):format(mean_of(rows, "process_bytes") / 2 ^ 20) end},
  {"converged", "  %s", function(rows) return ("%.0f/%d"):format(#rows * mean_of(rows, "converged"), #rows) end},
}

local function print_cells(cells)
  local text <const> = {}
  for i, column in ipairs(columns) do text[i] = column[2]:format(cells[i]) end
  print(cells.left .. table.concat(text, " "))
end

local function print_line(rows)
  local first <const> = rows[1]
  local left <const> = ("%-10s %6d x %-3d %-9s %-22s "):format(first.set, first.n, first.d, first.library, first.method)
  local cells <const> = {left = left}
  for i, column in ipairs(columns) do cells[i] = column[3](rows) end
  print_cells(cells)
end

local function print_head()
  local cells <const> = {left = ("%-10s %6s   %-3s %-9s %-22s "):format("set", "n", "d", "library", "method")}
  for i, column in ipairs(columns) do cells[i] = column[1] end
  print_cells(cells)
end

--- Rows of one set by method, in order of appearance, only of the splits that we ran.
local function by_method(rows, set, splits)
  local order <const>, groups <const> = {}, {}
  for _, row in ipairs(rows) do
    if row.set == set and row.split <= splits then
      local key <const> = row.library .. " " .. row.method
      if not groups[key] then
        groups[key] = {}
        order[#order + 1] = groups[key]
      end
      table.insert(groups[key], row)
    end
  end
  return order
end

--- The rows of both, paired by split.
local function pairs_of(ours, theirs)
  local by_split <const>, left <const>, right <const> = {}, {}, {}
  for _, row in ipairs(theirs) do by_split[row.split] = row end
  for _, row in ipairs(ours) do
    if by_split[row.split] then left[#left + 1], right[#right + 1] = row, by_split[row.split] end
  end
  return left, right
end

--- The peers' method of most splits, then of the best mean likelihood.
local function best_peer(groups)
  local best, value = nil, math.huge
  for _, rows in ipairs(groups) do
    local nlml <const> = mean_of(rows, "nlml")
    if best == nil or #rows > #best or (#rows == #best and nlml < value) then best, value = rows, nlml end
  end
  return best
end

local function verdict(ok) return ok and "PASS" or "MISS" end

--- No worse: the mean of the differences, split by split, is at most twice its own standard error above zero.
local function no_worse(ours, theirs, key)
  local differences <const> = {}
  for i, row in ipairs(ours) do differences[i] = {difference = row[key] - theirs[i][key]} end
  local mean <const>, error_of_mean <const> = mean_of(differences, "difference")
  return mean <= math.max(2 * error_of_mean, 1e-4), mean, error_of_mean
end

local function compare(all_ours, all_theirs)
  local ours <const>, theirs <const> = pairs_of(all_ours, all_theirs)
  if #ours == 0 then return end
  local target <const> = ours[1].n <= 2000 and 0.5 or 0.3
  for _, key in ipairs{"rmse", "nlpd"} do
    local ok <const>, mean <const>, error_of_mean <const> = no_worse(ours, theirs, key)
    print(("  %-4s minus that of %s %s: %+.5f ± %.5f over %d splits  %s"):format(key, theirs[1].library, theirs[1].method,
      mean, error_of_mean, #ours, verdict(ok)))
  end
  local per_fit <const> = mean_of(ours, "seconds") / mean_of(theirs, "seconds")
  local per_evaluation <const> = mean_of(ours, "seconds_evaluation") / mean_of(theirs, "seconds_evaluation")
  local cpu <const> = mean_of(ours, "cpu_seconds") / mean_of(theirs, "cpu_seconds")
  print(("  time per fit %.2fx (target <= %.1fx) %s; its processor time %.2fx; per value with gradient %.2fx; nlml %+.3f")
    :format(per_fit, target, verdict(per_fit <= target), cpu, per_evaluation, mean_of(ours, "nlml") - mean_of(theirs, "nlml")))
end

-- Run ---------------------------------------------------------------------------------------------------------------------

local earlier <const> = o.ours ~= "" and read_rows(o.ours) or nil
local peers <const> = o.peers ~= "" and read_rows(o.peers) or {}
local out <const> = o.out ~= "" and assert(io.open(o.out, "w")) or nil
if out then out:write(table.concat(fields, ","), "\n") end

print(("%s, %d threads, %s"):format(gb.version, gb.config().threads, o.dtype))
print_head()
--- Our rows of a set, fitted now or read; or nil and the reason.
local function ours_of(name)
  local rows <const> = {}
  if earlier then
    for _, row in ipairs(earlier) do
      if row.set == name and row.split <= o.splits then rows[#rows + 1] = row end
    end
    return #rows > 0 and rows or nil, "no rows in " .. o.ours
  end
  local set <const>, why <const> = support.set(name)
  if not set then return nil, why end
  for i = 1, math.min(math.tointeger(o.splits), set.test.shape[2]) do
    local row <const> = fit_and_score(set, i)
    rows[i] = row
    if out then out:write(csv_line(row), "\n") out:flush() end
    if row.converged == 0 then io.stderr:write(("%s split %d: %s\n"):format(name, i, row.reason)) end
  end
  return rows
end

for _, name in ipairs(names) do
  local ours <const>, why <const> = ours_of(name)
  if not ours then
    print(("%-10s left out: %s"):format(name, why))
  else
    print_line(ours)
    local groups <const> = by_method(peers, name, o.splits)
    for _, rows in ipairs(groups) do print_line(rows) end
    local best <const> = best_peer(groups)
    if best then compare(ours, best) end
  end
end
if out then out:close() end
