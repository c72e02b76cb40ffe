--- Random programs against an independent evaluator.
--
--   GIBBOUS_FUZZ=100000 GIBBOUS_FUZZ_SEED=7 build/gibbous spec/fuzz/run.lua
--
-- GIBBOUS_FUZZ is the number of programs (2,000), GIBBOUS_FUZZ_SEED where their seeds begin (1); the run ends at the first
-- failure, or with an argument after so many. A program is a short script
-- over gb.* and the methods of tensors (generate.lua, rows_*.lua): views, joins, reductions over sets of dimensions, products,
-- linear algebra, kernels, random numbers, in every dtype. A third of them ask for gradients, and half of these for second
-- derivatives. What each statement means is written beside its text, as plain loops over tables (dense.lua), once for numbers
-- and dual numbers (scalar.lua); no code is shared with what is tested. Each program then runs another way as well, which may
-- change no bit of it (check.lua). A program that fails is made small (shrink.lua) and printed as a script, with its seed.
-- An op or a public name that no row reaches is a failure too (coverage).
local check <const> = require "spec.fuzz.check"
local generate <const> = require "spec.fuzz.generate"
local shrink <const> = require "spec.fuzz.shrink"

local M <const> = {}

--- Runs 'count' programs from seed 'first' on. Gives counts, and a list of failures {seed, what, script}.
-- o: failures (stop after so many, 1), shrink (seconds for each, 10), say (function for progress).
function M.run(count, first, o)
  o = o or {}
  local counts <const> = {programs = 0, nothing = 0, yes = 0, open = 0, refused = 0, singular = 0,
    modes = {[0] = 0, 0, 0}, rows = {}}
  local failures <const> = {}

  local function attempt(draws, seed)
    local ok <const>, p <const> = pcall(generate.program, seed, draws)
    if not ok or not p then return nil end
    local fine <const>, wrong <const> = pcall(check.check, p, {yes = 0, open = 0, refused = 0, singular = 0})
    if fine and wrong then return p, wrong end
    return nil
  end

  for seed = first, first + count - 1 do
    local p <const> = generate.program(seed)
    counts.programs = counts.programs + 1
    if not p then
      counts.nothing = counts.nothing + 1
    else
      counts.modes[p.mode] = counts.modes[p.mode] + 1
      for _, s in ipairs(p.list) do counts.rows[s.row] = (counts.rows[s.row] or 0) + 1 end
      local wrong = check.check(p, counts)
      if wrong and not (o.ignore and o.ignore(wrong, p)) then
        local small
        small, wrong = shrink.shrink(p, wrong, function(draws) return attempt(draws, seed) end, o.shrink or 10)
        failures[#failures + 1] = {seed = seed, what = wrong.what, kind = wrong.kind, program = small,
          script = ("-- seed %d\n"):format(seed) .. check.script(small, wrong)}
        if o.say then o.say(failures[#failures].script) end
        if #failures >= (o.failures or 1) then break end
      end
    end
    if seed % 50 == 0 then collectgarbage() end
    if o.say and (seed - first + 1) % 5000 == 0 then o.say(("%d programs"):format(seed - first + 1)) end
  end
  return counts, failures
end

-- Coverage ------------------------------------------------------------------------------------------------------------------

-- Ops that no script makes.
local out_of_reach <const> = {kmin = "the form of topk() that has 64 lines or more; programs are smaller",
  ndtr_spread = "the third derivative of log_ndtr; programs are derived twice"}

-- Public names that make no value to compare: they observe, plan, hand back, set, or stand for something elsewhere.
local not_values <const> = {}
for name in ([[tensor.allclose tensor.close tensor.equal tensor.eval tensor.item tensor.requires_grad tensor.totable
  gb.bench gb.clock gb.config gb.core gb.data gb.devices gb.doctor gb.empty gb.eval gb.gp gb.grad gb.help gb.inspect gb.is
  gb.kernels gb.lazy gb.lbfgs gb.likelihoods gb.linalg gb.load gb.means gb.memory gb.nn gb.optim gb.param gb.params gb.plan gb.plot
  gb.precond gb.priors gb.profile gb.progress gb.save gb.seed gb.solvers gb.time gb.type gb.version
  gb.kernels.is gb.kernels.points gb.kernels.resolve_ard gb.kernels.define gb.kernels.change_point gb.kernels.index
  gb.kernels.spectral_mixture gb.kernels.arc_cosine]]):gmatch "%S+" do not_values[name] = true end

-- Compositions of ops that have rows, checked by plain loops in spec/tensor/{segments,arrange,layers}_spec.lua.
for name in ([[tensor.argsort tensor.chunk tensor.masked_fill tensor.median tensor.nonzero tensor.quantile tensor.split tensor.trace
  tensor.unfold tensor.unique gb.bincount gb.cdist gb.histogram gb.segment_mean tensor.elu tensor.gelu tensor.hard_sigmoid
  tensor.hard_swish tensor.hard_tanh tensor.leaky_relu tensor.mish tensor.relu6 tensor.selu tensor.silu tensor.softsign]]
  ):gmatch "%S+" do not_values[name] = true end

--- Every op of the table 'path' is in the plans of the programs of some seeds, and every public name has a row.
-- A list of what is missing.
function M.missing(path, count)
  local gb <const>, core <const> = require "gibbous", require "gibbous.core"
  local seen <const> = {}
  local function words(text) for word in text:gmatch "[%a_][%w_]*" do seen[word] = true end end
  for seed = 1, count do
    local p <const> = generate.program(seed)
    local ok <const>, plan <const> = pcall(function() return gb.plan(check.tensors(p)) end)
    if ok then
      words(plan:programs())
      for what in plan:json():gmatch '"what": "([^"]*)"' do words(what) end
      plan:close()
    end
    if seed % 50 == 0 then collectgarbage() end
  end
  local missing <const> = {}
  local function check_name(name, have, excused)
    if have and excused then missing[#missing + 1] = name .. " is reached: take it off the list of exceptions"
    elseif not have and not excused then missing[#missing + 1] = name end
  end
  local claimed <const>, public <const> = {}, {}
  for _, row in ipairs(generate.rows) do
    for _, op in ipairs(row.ops) do claimed[op] = true end
    for _, name in ipairs(row.public or {row.name}) do public[name] = true end
  end
  local ops = 0
  for line in io.lines(path) do
    local op <const> = line:match '^X%([%w_]+,%s*"([%w_]+)"'
    if op then
      ops = ops + 1
      check_name("op " .. op, seen[op], out_of_reach[op])
    end
  end
  if ops < 50 then missing[#missing + 1] = "the op table: " .. path end
  for op in pairs(claimed) do if not seen[op] then missing[#missing + 1] = "op " .. op .. " of a row" end end
  for _, group in ipairs{{"tensor.", core.methods}, {"gb.", gb}, {"gb.linalg.", gb.linalg}, {"gb.kernels.", gb.kernels}} do
    for name in pairs(group[2]) do
      if name:sub(1, 2) ~= "__" then check_name(group[1] .. name, public[group[1] .. name], not_values[group[1] .. name]) end
    end
  end
  table.sort(missing)
  return missing
end

-- From the command line ---------------------------------------------------------------------------------------------------------

--- The number of programs and the first seed that the environment asks for.
function M.asked(default)
  return math.tointeger(tonumber(os.getenv "GIBBOUS_FUZZ" or default)) or default,
    math.tointeger(tonumber(os.getenv "GIBBOUS_FUZZ_SEED" or 1)) or 1
end

function M.summary(counts, failures)
  return ("%d programs (%d of values, %d of gradients, %d of second derivatives): %d failed; %d numbers compared, %d not "
    .. "determined, "
    .. "%d programs refused, %d not finite"):format(counts.programs, counts.modes[0], counts.modes[1], counts.modes[2], #failures,
    counts.yes + counts.open, counts.open, counts.refused, counts.singular)
end

if arg and arg[0] and arg[0]:find "spec/fuzz/run%.lua$" then
  local count <const>, first <const> = M.asked(2000)
  local counts <const>, failures <const> = M.run(count, first, {failures = math.tointeger(tonumber(arg[1])) or 1, say = print})
  print(M.summary(counts, failures))
  os.exit(#failures == 0)
end

return M
