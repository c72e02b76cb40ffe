--- One program against the evaluator: Gibbous runs its text, the evaluator its meaning, and what they say is compared; then
-- Gibbous runs it another way (values observed in between, the least memory, one thread, ...), which may not change a bit.
local core <const> = require "gibbous.core"
local dense <const> = require "spec.fuzz.dense"
local gb <const> = require "gibbous"
local generate <const> = require "spec.fuzz.generate"
local scalar <const> = require "spec.fuzz.scalar"

local M <const> = {}

-- Gibbous ---------------------------------------------------------------------------------------------------------------------

local handles = {}                            -- tables of tensors: of statements, of gradients

--- The values of all statements, as tensors. each and read are those of generate.text.
local function build(p, each, read)
  local names <const> = {}
  for i = 1, #p.list do names[i] = "v" .. i end
  local text <const> = "local gb, core = ...\n" .. generate.text(p, each, read) .. "\nreturn {" .. table.concat(names, ", ") .. "}"
  local values <const> = assert(load(text, "=program"))(gb, core)
  handles[#handles + 1] = values
  return values
end

--- Lets go of everything a program made, so that the next way to run it finds nothing evaluated.
local function close_all()
  for _, list in ipairs(handles) do for _, t in pairs(list) do t:close() end end
  handles = {}
  core.drop_caches()
end

--- (g * direction):sum() over the leaves.
local function along(gradients, p, which)
  local total
  for _, s in ipairs(p.list) do
    if s.by then
      local u <const> = gb.tensor(s[which], {dtype = s.dtype}):reshape(s.shape)
      local t <const> = (gradients[s.id] * u):sum():to{dtype = "f64"}
      total = total and total + t or t
    end
  end
  return total
end

--- The roots of a program: its outputs, or the loss with its gradients by each leaf, of first and second order.
local function results(p, values)
  local out <const> = {}
  for i, s in ipairs(p.outputs) do out[i] = values[s.id] end
  if p.mode == 0 then return out end
  local leaves <const> = {}
  for _, s in ipairs(p.list) do if s.by then leaves[s.id] = values[s.id] end end
  local first <const> = gb.grad(out[1], leaves, {unused = "zero"})
  handles[#handles + 1] = first
  local second
  if p.mode == 2 then second = gb.grad(along(first, p, "along"), leaves, {unused = "zero"}) end
  handles[#handles + 1] = second
  for _, order in ipairs{first, second} do
    for _, s in ipairs(p.list) do if s.by then out[#out + 1] = order[s.id] end end
  end
  return out
end

local function flatten(v, out)
  if type(v) ~= "table" then
    out[#out + 1] = v
  else
    for _, e in ipairs(v) do flatten(e, out) end
  end
  return out
end

local function numbers(t)
  if t.ndim == 0 then return {t:item()} end
  return flatten(t:totable(), {})
end

local function all_numbers(list)
  local out <const> = {}
  for i, t in ipairs(list) do out[i] = numbers(t) end
  return out
end

--- The roots of a program, not evaluated.
function M.tensors(p) return results(p, build(p)) end

-- The evaluator -------------------------------------------------------------------------------------------------------------------

--- A leaf by which derivatives are taken, with its directions.
local function moved(s, S)
  local v <const> = {}
  for i, x in ipairs(s.numbers) do
    if S.level == 1 then v[i] = {x, s.along[i]} else v[i] = {{x, s.along[i]}, {s.across[i], 0.0}} end
  end
  return dense.new(s.shape, s.dtype, v)
end

--- Sample k: flat lists of numbers, one for each output; with derivatives {loss, first, second}. nil where a number on the way
--- is not finite, which derivatives are not asked at.
local function sample(p, k)
  scalar.sample(k)
  local S <const>, values <const> = scalar.algebras[p.mode], {}
  for i, s in ipairs(p.list) do
    if s.by then
      values[i] = moved(s, S)
    else
      local args <const> = {}
      for j, a in ipairs(s.args) do args[j] = values[a.id] end
      values[i] = generate.evaluate(s, S, args)
    end
    if p.mode > 0 and dense.is_float(s.dtype) then
      for _, x in ipairs(values[i].v) do
        if not scalar.finite(S, x) then return nil end
      end
    end
  end
  p.signed = scalar.state.signed
  local out <const> = {}
  for i, s in ipairs(p.outputs) do out[i] = values[s.id].v end
  if p.mode == 0 then return out end
  local x <const> = out[1][1]
  if p.mode == 1 then return {x[1], x[2]} end
  return {x[1][1], x[1][2], not scalar.state.undefined and x[2][2] or nil}
end

-- Comparison ----------------------------------------------------------------------------------------------------------------------

--- Is what the samples say of a number determined, and does 'got' agree? "yes", "no", or "open". slack: sizes that cancel.
local function judge(got, samples, dtype, slack, signed)
  local first <const> = samples[1]
  if not dense.is_float(dtype) then
    for _, v in ipairs(samples) do if v ~= first then return "open" end end
    return (got == first and math.type(got) == math.type(first)) and "yes" or "no"
  end
  if signed and (first - first ~= 0 or got - got ~= 0) then return "open" end
  local low, high = first, first
  for _, v in ipairs(samples) do
    if (v ~= v) ~= (first ~= first) or (v - v ~= 0) and v == v and v ~= first or (first - first ~= 0) and first == first
        and v ~= first then
      return "open"
    end
    low, high = math.min(low, v), math.max(high, v)
  end
  if first ~= first then return got ~= got and "yes" or "no" end
  if first - first ~= 0 then return got == first and "yes" or "no" end
  if high - low > math.abs(first) then return "open" end
  local tolerance <const> = 8 * (high - low) + scalar.amplitude(dtype) * (math.abs(first) + (slack or 0)) + scalar.smallest(dtype)
  if not (math.abs(got - first) <= tolerance) then return "no" end
  return "yes"
end

local function shape_of(t)
  local shape <const> = {}
  for i, n in ipairs(t.shape) do shape[i] = n end
  return shape
end

local function describe(v) return generate.number_text(v) end

--- The first disagreement of outputs with samples of them, or nil. counts: elements that are determined, and that are not.
local function compare_values(p, tensors, got, samples, counts)
  for i, s in ipairs(p.outputs) do
    local t <const> = tensors[i]
    if t.dtype ~= s.dtype or not dense.same_shape(shape_of(t), s.shape) then
      return ("v%d is %s %s, expected %s %s"):format(s.id, tostring(t.shape), t.dtype, table.concat(s.shape, "x"), s.dtype)
    end
    if #got[i] ~= #samples[1][i] then return ("v%d has %d elements, expected %d"):format(s.id, #got[i], #samples[1][i]) end
    local each <const> = {}
    for e, v in ipairs(got[i]) do
      for k, one in ipairs(samples) do each[k] = one[i][e] end
      local verdict <const> = judge(v, each, s.dtype, 0.0, p.signed)
      if verdict == "no" then
        return ("v%d, element %d: %s, expected %s"):format(s.id, e, describe(v), describe(each[1]))
      end
      counts[verdict] = counts[verdict] + 1
    end
  end
end

--- Gradients as directional derivatives, and the sum of the sizes of what is added up.
local function directional(p, got, from, which)
  local s_, size = 0.0, 0.0
  for _, s in ipairs(p.list) do
    if s.by then
      from = from + 1
      for i, g in ipairs(got[from]) do
        s_ = s_ + g * s[which][i]
        size = size + math.abs(g * s[which][i])
      end
    end
  end
  return s_, size, from
end

local function compare_gradients(p, got, samples, counts)
  local names <const> = {"the loss", "the first derivative along 'along'", "the second derivative along 'along' and 'across'"}
  local have <const>, size <const>, dtype = {got[1][1]}, {0.0, 0.0, 0.0}, p.loss.dtype
  local from
  have[2], size[2], from = directional(p, got, 1, "along")
  if p.mode == 2 then have[3], size[3] = directional(p, got, from, "across") end
  for _, s in ipairs(p.list) do if s.dtype == "f32" then dtype = "f32" end end
  for i = 1, #have do
    local each <const> = {}
    for k, one in ipairs(samples) do each[k] = one[i] end
    if #each == #samples then
      local verdict <const> = judge(have[i], each, dtype, size[i])
      if verdict == "no" then return ("%s is %s, expected %s"):format(names[i], describe(have[i]), describe(each[1])) end
      counts[verdict] = counts[verdict] + 1
    end
  end
end

local function compare(p, tensors, got, samples, counts)
  if p.mode == 0 then return compare_values(p, tensors, got, samples, counts) end
  return compare_gradients(p, got, samples, counts)
end

local function same_bits(a, b)
  for i, list in ipairs(a) do
    for e, x in ipairs(list) do
      local y <const> = b[i][e]
      if x ~= y and (x == x or y == y) then return i, e, x, y end
      if x == 0 and math.type(x) == "float" and 1 / x ~= 1 / y then return i, e, x, y end
    end
  end
end

-- Reductions ----------------------------------------------------------------------------------------------------------------------

local views <const> = {permute = true, t = true, flip = true, slice = true, select = true, expand = true, tile = true,
  diagonal = true}

--- By its text: a row may write views before what it is named after.
local function is_view(s) return views[s.text:match "^%%1:([%a_]+)%(" or ""] or false end

local function reduces(s) return #s.args > 0 and dense.numel(s.shape) < dense.numel(s.args[1].shape) and not is_view(s) end

--- Are there two reductions, of the program or of its gradients, which may run in one pass?
local function shares_passes(p)
  local count = 0
  for _, s in ipairs(p.list) do if reduces(s) then count = count + 1 end end
  return count > (p.mode > 0 and 0 or 1)
end

-- Ways to run a program -----------------------------------------------------------------------------------------------------------

-- Each gives tensors and their numbers. bits: these are the bits of the plain way.
local ways <const> = {
  {name = "with values observed in between", run = function(p)
    local outs <const> = {}
    for _, s in ipairs(p.outputs) do outs[s] = true end
    local list <const> = results(p, build(p, function(s)
      if outs[s] or s.leaf or (p.way >> (s.id % 17)) % 2 == 0 then return "" end
      return ("; v%d:eval()"):format(s.id)
    end))
    gb.eval(list)
    return list, all_numbers(list)
  end},
  {name = "with inner values observed first", bits = true, stores = true, run = function(p)
    local values <const> = build(p)
    local list <const> = results(p, values)
    local alone <const> = {}                         -- a reduction that shares its pass may have other axes in its lanes
    for _, s in ipairs(p.list) do alone[s.id] = not (reduces(s) and shares_passes(p)) end
    for _, s in ipairs(p.outputs) do alone[s.id] = false end
    for i, t in ipairs(values) do if alone[i] and (p.way >> (i % 17)) % 2 == 1 then t:eval() end end
    gb.eval(list)
    return list, all_numbers(list)
  end},
  {name = "one by one", run = function(p)
    local list <const> = results(p, build(p))
    local got <const> = {}
    for i = #list, 1, -1 do got[i] = numbers(list[i]) end
    return list, got
  end},
  {name = "in the least memory", bits = true, run = function(p)
    local list <const> = results(p, build(p))
    local plan <close> = gb.plan(list)
    local least <close> = gb.plan(list, {budget = math.max(plan.minimum, 1)})
    least:run()
    return list, all_numbers(list)
  end},
  {name = "planned for memory", bits = true, run = function(p)
    local list <const> = results(p, build(p))
    local plan <close> = gb.plan(list, {prefer = "memory"})
    plan:run()
    return list, all_numbers(list)
  end},
  {name = "step by step in program order", bits = true, run = function(p)
    local list <const> = results(p, build(p))
    local plan <close> = gb.plan(list, {allow = {}})
    plan:run()
    return list, all_numbers(list)
  end},
  {name = "with another number of threads", bits = true, run = function(p)
    local before <const> = gb.config().threads
    gb.config{threads = before == 1 and 2 or 1}
    local ok <const>, list <const> = pcall(function()
      local list <const> = results(p, build(p))
      gb.eval(list)
      return list
    end)
    gb.config{threads = before}
    if not ok then error(list, 0) end
    return list, all_numbers(list)
  end},
  {name = "with a batch named", run = function(p)
    local chosen
    for _, s in ipairs(p.list) do
      if s.leaf and #s.shape > 0 and dense.numel(s.shape) > 0 and (not chosen or (p.way >> s.id % 19) % 2 == 1) then chosen = s end
    end
    local list <const> = results(p, build(p, chosen and function(s)
      return s == chosen and ("; v%d = gb.lazy(v%d, {batch = %d})"):format(s.id, s.id, 1 + p.way % #s.shape) or ""
    end))
    gb.eval(list)
    return list, all_numbers(list)
  end},
  {name = "with values on two devices", run = function(p)
    gb.config{devices = 2}
    local devices <const> = gb.devices()
    local function where(s) -- what gb makes lies on the first
      return devices[s.text:find("%f[%w]gb%.") and 1 or 1 + (p.way >> s.id % 17) % 2].name
    end
    local list <const> = results(p, build(p, nil, function(a, s)
      return where(a) == where(s) and "v" .. a.id or ("v%d:to(%q)"):format(a.id, where(s))
    end))
    local plan <close> = gb.plan(list)
    plan:run()
    for _, d in ipairs(plan.devices) do
      assert(#plan.devices == 1 or plan:stats().devices[d.name] == d.peak, "bytes of " .. d.name)
    end
    return list, all_numbers(list)
  end},
  {name = "with sums in any order", run = function(p)
    local list <const> = results(p, build(p))
    local plan <close> = gb.plan(list, {exact = "math"})
    plan:run()
    return list, all_numbers(list)
  end},
}

-- A program -----------------------------------------------------------------------------------------------------------------------

-- Refusals in these words are not failures.
local known_refusals <const> = {"no derivative", "has no gradient", "no gradient", "missing", "expected finite entries"}

local function is_refusal(err)
  local text <const> = tostring(err)
  for _, words in ipairs(known_refusals) do if text:find(words, 1, true) then return true end end
  return false
end

local function text_of_error(err)
  return type(err) == "table" and err.message or tostring(err)
end

--- Runs p in one way. Gives a disagreement, or nil; and the numbers.
local function outcome(p, run, samples, counts)
  local ok <const>, list <const>, got <const> = pcall(run, p)
  if not ok then
    if is_refusal(list) then return nil, nil, "refused" end
    return {kind = "error", what = text_of_error(list)}
  end
  local wrong = compare(p, list, got, samples, counts)
  if wrong then
    -- Is it determined that much? More patterns of errors tell.
    for k = #samples, 100 do
      local one <const> = sample(p, k)
      if not one then return nil, got end
      samples[#samples + 1] = one
    end
    wrong = compare(p, list, got, samples, counts)
  end
  return wrong and {kind = "value", what = wrong} or nil, got
end

local function plain(p)
  local list <const> = results(p, build(p))
  gb.eval(list)
  return list, all_numbers(list)
end

--- Does storing a value in between change it, or what is computed from it?
local function loses_digits(p)
  for _, s in ipairs(p.list) do
    if s.dtype == "f16" or s.dtype == "bf16" or s.row == "matmul" or s.row == "gb.einsum" then return true end
  end
  return false
end

--- A sum over a view whose dimensions are no single run in memory adds in the order of the view; a value that was looked at lies
--- in memory as one run, and ends its history.
local function sums_views(p)
  local view = false
  for _, s in ipairs(p.list) do
    if view and reduces(s) then return true end
    view = view or is_view(s)
  end
  return false
end

--- A product with a factor that is computed from its indices: it streams, but the factor is a value once it was asked for, which
--- a later program with the same factor finds.
local function streams_factors(p)
  local generated, product
  for _, s in ipairs(p.list) do
    generated = generated or s.row == "gb.rand" or s.row == "gb.randn" or s.row == "gb.sobol"
    product = product or s.dtype == "f16" or s.dtype == "bf16" or s.row == "matmul" or s.row == "gb.einsum"
      or s.row == "gb.kernels" or s.row == "squared distances"
      or s.row:find("gb.linalg", 1, true)
  end
  return generated and product
end

--- Runs p both ways and compares. nil: they agree; else {kind, what, way}. counts.yes, .open, .refused, .singular are added to.
function M.check(p, counts)
  local samples <const> = {}
  for k = 0, 2 do
    samples[k + 1] = sample(p, k)
    if not samples[k + 1] then
      counts.singular = counts.singular + 1
      return nil
    end
  end
  local wrong <const>, bits <const>, refused <const> = outcome(p, plain, samples, counts)
  close_all()
  if wrong then return wrong end
  if refused or not bits then
    counts.refused = counts.refused + 1
    return nil
  end
  local way <const> = ways[p.way % #ways + 1]
  local other <const>, got <const> = outcome(p, way.run, samples, counts)
  close_all()
  if other then
    other.way = way.name
    return other
  end
  if way.bits and got and not (way.stores and (loses_digits(p) or sums_views(p))) and not streams_factors(p) then
    local i <const>, e <const>, x <const>, y <const> = same_bits(bits, got)
    if i then
      return {kind = "bits", way = way.name, what = ("result %d, element %d: %.17g, and %.17g when asked plainly"):format(
        i, e, y, x)}
    end
  end
end

--- The program as a script that shows the disagreement.
function M.script(p, wrong)
  local lines <const> = {"local gb <const>, core <const> = require \"gibbous\", require \"gibbous.core\"", generate.text(p)}
  if p.mode > 0 then
    local leaves <const>, u <const>, w <const> = {}, {}, {}
    for _, s in ipairs(p.list) do
      if s.by then
        leaves[#leaves + 1] = "v" .. s.id
        local function terms(name, which)
          return ("(%s[%d] * gb.tensor(%s, {dtype = %q})):sum():to{dtype = \"f64\"}"):format(name, #leaves,
            generate.list_text(s[which], s.shape), s.dtype)
        end
        u[#u + 1], w[#w + 1] = terms("first", "along"), terms("second", "across")
      end
    end
    lines[#lines + 1] = ("local leaves <const> = {%s}"):format(table.concat(leaves, ", "))
    lines[#lines + 1] = ("local first <const> = gb.grad(v%d, leaves, {unused = \"zero\"})"):format(p.loss.id)
    lines[#lines + 1] = "local along <const> = " .. table.concat(u, " + ")
    lines[#lines + 1] = ("print(v%d, along)"):format(p.loss.id)
    if p.mode == 2 then
      lines[#lines + 1] = "local second <const> = gb.grad(along, leaves, {unused = \"zero\"})"
      lines[#lines + 1] = "print(" .. table.concat(w, " + ") .. ")"
    end
  else
    local outs <const> = {}
    for i, s in ipairs(p.outputs) do outs[i] = "v" .. s.id end
    lines[#lines + 1] = "gb.eval(" .. table.concat(outs, ", ") .. ")"
    lines[#lines + 1] = "print(" .. table.concat(outs, ", ") .. ")"
  end
  lines[#lines + 1] = ("-- %s%s"):format(wrong.what, wrong.way and " (" .. wrong.way .. ")" or "")
  return table.concat(lines, "\n")
end

return M
