--- Random programs whose statistics are used by the rows that they are taken of: batch norms, layer norms, softmaxes, attention,
-- centred sums, whitening, and gradients of all these. Their plans have several loops over the rows.
--
--   GIBBOUS_FUZZ=10000 GIBBOUS_FUZZ_SEED=7 build/gibbous spec/fuzz/passes.lua
--
-- A program is Lua over matrices; the same text runs on tensors and on matrices of plain lists (tape.lua). Without a budget its
-- results have the values of the lists; under random budgets, with the memory preferred or on another number of threads they have
-- the bits of the run without, the bytes that were measured are those that were planned, and one byte less than the smallest
-- budget is refused.
local gb <const> = require "gibbous"
local shrink <const> = require "spec.fuzz.shrink"
local tape <const> = require "spec.fuzz.tape"

local M <const> = {}

local prelude <const> = [[
local keep <const> = {keepdim = true}
local function norm(z, axis)
  local centred <const> = z - z:mean(axis, keep)
  return centred / ((centred ^ 2):mean(axis, keep) + 0.01):sqrt()
end
local function attend(q, k, v) return (q:matmul(k:t()) / 2):softmax(2):matmul(v) end
]]

-- Statements: %1 and %2 are values of n rows, of equal widths; w(rows, columns) is a new leaf, in it n the rows and d the width.
local rows <const> = {
  "%1:sin()", "%1:tanh()", "(%1 ^ 2 * -0.5):exp()", "%1:relu() + 0.1 * %1",
  "%1:matmul(w(d, d))", "%1:matmul(w(d, d)) + w(1, d)", "(%1:matmul(w(d, d))):tanh() + %1",
  "%1 + %2", "%1 * %2:sin()", "%1 / ((%2 ^ 2) + 1)", "%1 * w(n, d)", "%1 + w(n, 1)",
  "norm(%1, 1)", "norm(%1, 1) * w(1, d) + w(1, d)", "norm(%1:matmul(w(d, d)), 1) * w(1, d)", "norm(%1, 2)", "norm(%1, 2) * w(1, d)",
  "%1 - %1:mean(1, keep)", "%1 - %1:mean(2, keep)", "%1 / ((%1 ^ 2):sum(1, keep) + 1):sqrt()",
  "%1 / ((%1 ^ 2):sum(2, keep) + 1):sqrt()", "%1 * (%2:sin():sum(1, keep) / n)", "%1 * %2:sin():mean(2, keep)",
  "%1 - %1:max(1, keep)", "(%1 - %1:max(2, keep)):exp()", "%1 - %1:logsumexp(1, keep)", "%1 - %1:logsumexp(2, keep)",
  "%1:softmax(1) * n", "%1:softmax(2)", "(%1:softmax(1) * %2):sum(1, keep) + %2",
  -- reductions that are used twice
  "%1 * %1:mean(1, keep) + (%1 - %1:mean(1, keep)) ^ 2", "%1:sum(1, keep) / n * %1:sin():sum(2, keep)",
  "%1:sum(2, keep) * %2 / ((%1 ^ 2):sum(1, keep) + 1)",
  "(%1:sin() + 2):sum(2, keep) / (%1:sin() + 2):sum(1, keep) * %2",
  "%1 - (%1 * %2):sum() / n", "%1 * ((%1 ^ 2):mean() + 1):sqrt()",
  -- products over the rows
  "%1:matmul(%1:t():matmul(%1) / n)", "%1:matmul((%2:t():matmul(%1) / n):softmax(2))",
  "norm(%1, 1):matmul(%2:t():matmul(w(n, d)) / n)",
  "%1:cumsum(1) / n", "%1:cumsum(2)",
}
-- Statements over all pairs of rows.
local pairs_of_rows <const> = {
  "attend(%1:matmul(w(d, d)), %2, %1)", "attend(%1, %1:matmul(w(d, d)), %2)",
  "past(%1:matmul(%2:t()) / 2, -1e9):softmax(2):matmul(%1)", "(%1:matmul(%2:t()) / (2 * n)):sin():matmul(%2)",
  "%1 * (%1:matmul(%2:t()) / 2):logsumexp(2, keep)", "(%1:matmul(%2:t()):sin():sum(1, keep):t()) / n * %1",
}
local losses <const> = {
  "(%1 ^ 2):mean()", "(%1 * w(n, d)):sum() / n", "((%1 - w(n, d)) ^ 2):sum(2, keep):mean()",
  "(%1:sin():sum(1, keep) ^ 2):mean()",
  "(%1:logsumexp(2, keep) - (%1 * w(n, d)):sum(2, keep)):mean()", "%1:t():matmul(%2):sin():sum()",
  "((%1 ^ 2):mean(1, keep) + 1):sqrt():sum()",
}
-- Results beside the loss, or without one.
local results <const> = {
  "%1", "%1:sum(1, keep)", "%1:sum(2, keep)", "%1:t():matmul(%1)", "norm(%1, 1)", "%1:max(1, keep)", "norm(%1, 1):t():matmul(%2)",
  "%1:mean()",
  "%1:logsumexp(1, keep)", "%1:softmax(1)",
}
local extents <const> = {300, 9, 100, 257, 513, 700, 1100, 40, 1, 2, 256}
local widths <const> = {3, 1, 8, 16, 5}

-- Programs ----------------------------------------------------------------------------------------------------------------------

--- The names that a statement depends on, as a set.
local function read_by(p, name)
  local read <const> = {[name] = true}
  for i = #p.list, 1, -1 do
    local made <const>, text <const> = p.list[i]:match "local (h%d+) <const> = (.*)"
    if read[made] then for word in text:gmatch "%f[%w]%a%d*%f[%W]" do read[word] = true end end
  end
  return read
end

--- The program of a seed, or of a list of draws (shrink.lua): {statement...} as texts, and how it is run.
function M.program(seed, replay)
  local p <const> = {seed = seed, draws = {}, spans = {}, list = {}, leaves = {}}
  local at = 0
  math.randomseed(seed)
  local function draw(n)
    at = at + 1
    p.draws[at] = replay and (replay[at] or 0) % n or math.random(0, n - 1)
    return p.draws[at]
  end
  local function choose(list) return list[draw(#list) + 1] end
  p.n, p.d = choose(extents), choose(widths)
  p.dtype, p.batch, p.way = draw(5) == 4 and "f32" or "f64", draw(3) == 2, draw(1 << 20)
  local values <const> = {"x"}
  local function leaf(of_rows, columns)
    local name <const> = "w" .. #p.leaves
    local extent <const> = {n = p.n, d = p.d}
    p.leaves[#p.leaves + 1] = {name = name, rows = extent[of_rows] or 1, columns = extent[columns] or 1}
    return name
  end
  local function write(text)
    local a <const>, b <const> = values[#values - draw(math.min(#values, 3))], choose(values)
    text = text:gsub("w%((%w), (%w)%)", leaf)
    return (text:gsub("%%1", a):gsub("%%2", b))
  end
  local function statement(text)
    local name <const> = "h" .. #p.list + 1
    p.list[#p.list + 1] = ("local %s <const> = %s"):format(name, write(text))
    return name
  end
  p.leaves[1] = {name = "x", rows = p.n, columns = p.d}
  repeat
    p.spans[#p.spans + 1] = at + 1
    local more <const> = draw(6) > 0
    if more then values[#values + 1] = statement(choose(p.n <= 300 and draw(6) == 5 and pairs_of_rows or rows)) end
  until not more or #p.list > 8
  p.spans[#p.spans + 1] = at + 1
  local loss <const> = draw(4) > 0
  if loss then p.loss = statement(choose(losses)) end
  p.outs = {}
  for i = 1, draw(2) + (loss and 0 or 1) do p.outs[i] = statement(choose(results)) end
  p.by = {}
  local read <const> = p.loss and read_by(p, p.loss) or {}
  for _, w in ipairs(p.leaves) do if read[w.name] and (#p.by == 0 or draw(3) > 0) then p.by[#p.by + 1] = w.name end end
  p.spans[#p.spans + 1] = at
  return p
end

local function text_of(p)
  local names <const> = {}
  for i, w in ipairs(p.leaves) do names[i] = w.name end
  return ("%slocal n <const>, past <const> = ...\nlocal %s <const> = select(3, ...)\n%s\nreturn {%s}, {%s}, %s"):format(prelude,
    table.concat(names, ", "):gsub(", ", " <const>, "), table.concat(p.list, "\n"), table.concat(p.outs, ", "),
    table.concat(p.by, ", "),
    p.loss or "nil")
end

--- Numbers of about the normal distribution, that f32 holds, each times 1 + wobble * a number from -1 to 1.
local function data_of(p, wobble)
  local state, lists = p.seed * 2 + 1, {}
  local function uniform()
    state = (state * 6364136223846793005 + 1442695040888963407)
    return (state >> 40) / (1 << 24)
  end
  for i, w in ipairs(p.leaves) do
    local v <const> = {}
    for k = 1, w.rows * w.columns do
      local e <const> = string.unpack("f", string.pack("f", (uniform() + uniform() + uniform() - 1.5) * 2))
      v[k] = wobble and e * (1 + wobble * math.sin(k * 1.7 + i)) or e
    end
    lists[i] = v
  end
  return lists
end

-- Evaluation --------------------------------------------------------------------------------------------------------------------

--- By lists: the list of each result.
local function by_lists(p, wobble)
  tape.forget()
  local leaves <const> = {}
  for i, v in ipairs(data_of(p, wobble)) do leaves[i] = tape.matrix(p.leaves[i].rows, p.leaves[i].columns, v) end
  local outs <const>, by <const>, loss <const> = p.run(p.n, tape.past, table.unpack(leaves))
  local got <const> = {}
  for i, x in ipairs(outs) do got[i] = x.v end
  if loss then
    got[#got + 1] = loss.v
    table.move(tape.grad(loss, by), 1, #by, #got + 1, got)
  end
  return got
end

local function past(x, other)
  local i <const> = gb.range(1, x.shape[1])
  return gb.where(i:reshape(i.numel, 1):ge(i:reshape(1, i.numel)), x, other)
end

--- Tensors of new leaves, not yet computed: of the same leaves a run would find the values of the one before.
local function tensors(p, data)
  local leaves <const> = {}
  for i, v in ipairs(data) do
    local w <const> = p.leaves[i]
    leaves[i] = gb.tensor(v, {dtype = p.dtype}):reshape(w.rows, w.columns):eval():detach()
    if p.batch and w.rows == p.n and p.n > 1 then leaves[i] = gb.lazy(leaves[i], {batch = 1}) end
  end
  local list <const>, by <const>, loss <const> = p.run(p.n, past, table.unpack(leaves))
  if loss then
    list[#list + 1] = loss
    local grads <const> = gb.grad(loss, by)
    table.move(grads, 1, #grads, #list + 1, list)
  end
  return list
end

local function numbers(list)
  local out <const> = {}
  for i, t in ipairs(list) do
    out[i] = t:reshape(t.numel):totable()
    t:close()
  end
  return out
end

--- The first number that differs from the lists by more than rounding, or nil. The error that is allowed grows with what a small
--- change of the data does.
local function compare(p, got, want)
  local single <const> = p.dtype == "f32"
  local near
  for i, list in ipairs(want) do
    local scale = 0.0
    for _, e in ipairs(list) do
      if e - e ~= 0 then return nil, "not finite" end
      scale = math.max(scale, math.abs(e))
    end
    local bound <const> = (single and 2e-3 or 1e-11) * (scale + 10)
    for k, e in ipairs(list) do
      if not (math.abs(got[i][k] - e) <= bound) then
        near = near or by_lists(p, single and 1e-5 or 1e-12)
        local moved = 0.0
        for q, a in ipairs(near[i]) do moved = math.max(moved, math.abs(a - list[q])) end
        if not (math.abs(got[i][k] - e) <= bound + 100 * moved) then
          return ("result %d, number %d: %.17g, expected %.17g"):format(i, k, got[i][k], e)
        end
      end
    end
    if #got[i] ~= #list then return ("result %d has %d numbers, expected %d"):format(i, #got[i], #list) end
  end
end

local function same_bits(a, b)
  for i, list in ipairs(a) do
    for k, e in ipairs(list) do
      local other <const> = b[i][k]
      if not (e == other or (e ~= e and other ~= other)) then
        return ("result %d, number %d: %.17g, and %.17g without a budget"):format(i, k, other, e)
      end
    end
  end
end

--- Runs the program under a plan. Gives the numbers, what is wrong with its bytes, and the plan's options in words.
local function planned(p, data, o, counts)
  local list <const> = tensors(p, data)
  local plan <close> = gb.plan(list, o)
  local loops <const> = tonumber(plan:explain():match "chosen +(%d+) loops") or 1
  counts.loops[loops] = (counts.loops[loops] or 0) + 1
  plan:run()
  local wrong
  if plan:stats().measured ~= plan.peak then wrong = ("%d bytes planned, %d measured"):format(plan.peak, plan:stats().measured) end
  if o and o.budget and plan.peak > o.budget then wrong = ("%d bytes of %d planned"):format(plan.peak, o.budget) end
  local minimum <const>, peak <const> = plan.minimum, plan.peak
  return numbers(list), wrong, minimum, peak
end

local function words(o)
  local parts <const> = {}
  for k, v in pairs(o) do parts[#parts + 1] = k .. " = " .. tostring(v) end
  table.sort(parts)
  return table.concat(parts, ", ")
end

local function refuses(p, data, budget)
  if budget < 1 then return true end
  local ok <const>, err <const> = pcall(gb.plan, tensors(p, data), {budget = budget})
  return not ok and type(err) == "table" and err.code == "refused"
end

--- What is wrong with a program, {kind, what}, or nil.
local function check_program(p, counts)
  p.run = assert(load(text_of(p), "=program"))
  local data <const> = data_of(p)
  local want <const>, bytes <const>, minimum <const>, peak <const> = planned(p, data, nil, counts)
  if bytes then return {kind = "bytes", what = bytes} end
  local wrong <const>, open <const> = compare(p, want, by_lists(p))
  if open then counts.open = counts.open + 1 end
  if wrong then return {kind = "value", what = wrong} end
  local budgets <const> = {{budget = math.max(minimum, 1)}, {prefer = "memory"}, {budget = minimum, threads = 1 + p.way % 3}}
  for i = 1, 3 do
    local share <const> = ((p.way >> (5 * i)) % 32) / 31
    budgets[#budgets + 1] = {budget = math.max(1, math.ceil(minimum * (math.max(peak, 1) / math.max(minimum, 1)) ^ share))}
  end
  for _, o in ipairs(budgets) do
    local threads <const> = o.threads
    local before <const> = gb.config().threads
    local options <const> = {budget = o.budget, prefer = o.prefer}
    if threads then
      gb.config{threads = threads}
      local plan <close> = gb.plan(tensors(p, data))
      options.budget = math.max(plan.minimum, 1)
    end
    local ok <const>, got <const>, spent <const> = pcall(planned, p, data, options, counts)
    if threads then gb.config{threads = before} end
    if not ok then return {kind = "error", what = ("%s: %s"):format(words(o), type(got) == "table" and got.message or got)} end
    local differs <const> = spent or same_bits(want, got)
    if differs then return {kind = spent and "bytes" or "bits", what = ("%s: %s"):format(words(o), differs)} end
  end
  if not refuses(p, data, minimum - 1) then return {kind = "refusal", what = ("%d bytes are not refused"):format(minimum - 1)} end
end

local function check(p, counts)
  local ok <const>, wrong <const> = pcall(check_program, p, counts)
  if ok then return wrong end
  return {kind = "error", what = type(wrong) == "table" and wrong.message or tostring(wrong)}
end

local function script(p, wrong)
  return ("-- seed %d\n%s\n-- n = %d, d = %d, %s%s\n-- %s"):format(p.seed, text_of(p), p.n, p.d, p.dtype,
    p.batch and ", with a named batch" or "", wrong.what)
end

--- Runs 'count' programs from seed 'first' on. Gives counts, and the first failure as a script, or nil.
function M.run(count, first, say)
  local counts <const> = {programs = 0, gradients = 0, open = 0, loops = {}}
  for seed = first, first + count - 1 do
    local p <const> = M.program(seed)
    counts.programs, counts.gradients = counts.programs + 1, counts.gradients + (p.loss and 1 or 0)
    local wrong <const> = check(p, counts)
    if wrong then
      return counts, script(shrink.shrink(p, wrong, function(draws)
        local small <const> = M.program(seed, draws)
        local still <const> = check(small, {open = 0, loops = {}})
        return still and small, still
      end, 30))
    end
    if seed % 20 == 0 then collectgarbage() end
    if say and (seed - first + 1) % 500 == 0 then say(M.summary(counts)) end
  end
  return counts
end

--- The number of programs and the first seed that the environment asks for.
function M.asked(default)
  return math.tointeger(tonumber(os.getenv "GIBBOUS_FUZZ" or default)) or default,
    math.tointeger(tonumber(os.getenv "GIBBOUS_FUZZ_SEED" or 1)) or 1
end

function M.summary(counts)
  local loops <const> = {}
  for k in pairs(counts.loops) do loops[#loops + 1] = k end
  table.sort(loops)
  for i, k in ipairs(loops) do loops[i] = ("%d of %d"):format(counts.loops[k], k) end
  return ("%d programs, %d with gradients, %d not finite; plans by loops: %s"):format(counts.programs, counts.gradients,
    counts.open, table.concat(loops, ", "))
end

if arg and arg[0] and arg[0]:find "spec/fuzz/passes%.lua$" then
  local count <const>, first <const> = M.asked(500)
  local counts <const>, failure <const> = M.run(count, first, print)
  print(failure or M.summary(counts))
  os.exit(not failure)
end

return M
