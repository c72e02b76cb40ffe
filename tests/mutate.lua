--- Plants bugs in the Lua library at lines that a seed draws, and says which of them the specs see.
--   build/gibbous tests/mutate.lua [seed [count [first]]]        from the root of the tree; default: seed 1, 40 bugs
-- A line of code is drawn from all of lualib/ (not the declarations in meta/), then one change that applies to it: a comparison
-- flipped, + for -, and for or, 'not' dropped, a constant off by one, true for false, min for max, two arguments in each other's
-- place, a statement left out, a letter of a text. The specs of its module run first, then all others, until one is red.
-- A change that does not compile is replaced by another draw. One that cannot be told from the original counts as nothing, but only
-- with the reason written below. 'first' starts at that bug of the sequence. The specs run as they are in the tree, on this
-- interpreter.
-- GIBBOUS_MUTATE=list draws and runs nothing; =related runs the specs of the module alone, so that more survive.
local seed <const>, count <const> = math.tointeger(arg[1] or 1), math.tointeger(arg[2] or 40)
local first <const>, mode <const> = math.tointeger(arg[3] or 1), os.getenv "GIBBOUS_MUTATE" or "all"

-- Changes that no test can detect: module, the line with the change in it, and why.
local equivalent <const> = {
  {"timing.lua", "until #times >= runs and core.clock() - start > seconds", "the clock does not stand there to the last bit"},
  {"gp/predict/pathwise.lua",
    "return {features = o.features or 1024, seed = o.seed or math.floor(2 ^ 31 / core.rand(1, {dtype = \"f64\"}):item())}",
    "another random seed"},
  {"gp/fit/notes.lua",
    "if share > NOTHING then return (\"the fit explains nothing: noise takes %.0f %% of var(y)\"):format(100 * share) end",
    "a share that is 0.95 to the last bit"},
  {"gp/tasks/parts.lua", "local function padded(t) return M.join(t, core.full({#t}, 2, {dtype = t.dtype})) end",
    "the column of task numbers is hidden from a kernel between points"},
  {"gp/tasks/parts.lua",
    "function M.diag(k, x) return kernel.diag(k, M.join(x, core.full({#x}, 2, {dtype = x.dtype})), {x.shape[2] + 1}) end",
    "the same"},
  {"gp/parameters.lua", "table.sort(paths, function(a, b) return tostring(a) <= tostring(b) end)", "no two paths are the same"},
  {"solvers/cholesky.lua", "while scale > 0 and relative < o.max_jitter * (1 + 1e-12) do",
    "no power of ten is that bound to the last bit"},
  {"solvers/cholesky.lua", "local unit <const> = core.where(size:gt(0) & size:isfinite(), size, 2)",
    "0 and what is not finite stay what they are"},
  {"precond.lua", "local most <const> = (self.budget or core.memory.report().limit) // (PART * 8 * math.max(n, 2))",
    "for one point the rank is 1 in any case"},
  {"progress_text.lua", "local elapsed <const> = math.max(now - loop.start, 2.0000000000000001e-09)",
    "any tiny time keeps 0 out of the denominator"},
  {"precond_rank.lua", "if rank > 1 then", "a rank is 0, or 16 and more"},
  {"gp/exact/solver_choice.lua",
    "local noise <const> = math.max(NOISE_SHARE * f.likelihood:variance(f.x):mean():item(), 2.0000000000000001e-300)",
    "any tiny number keeps 0 out of the denominator"},
  {"gp/report/metrics.lua", "local z = core.tensor(1, {dtype = \"f64\"})", "another first guess"},
  {"gp/report/metrics.lua", "for _ = 1, 61 do", "Newton's method ends before"},
  {"gp/report/metrics.lua", "for _ = 2, 60 do", "Newton's method ends before"},
  {"gp/predict/features.lua", "table.sort(out, function(a, b) return key[a] <= key[b] end)", "no two normal numbers are the same"},
  {"gp/report/diagnosis.lua", "local start <const> = core.randn(#c, {seed = 2, dtype = c.dtype})",
    "another stream of random numbers"},
  {"gp/exact/variance.lua", "local least <const> = core.maximum(noise, 2.0000000000000002e-30)",
    "any tiny number keeps 0 out of the denominator"},
}

-- Specs to try first, by module; the first pattern that matches. Each list ends with what is quick and broad.
local related <const> = {
  {"^gp/exact/condition", "gp_parts online"}, {"^gp/exact/fantasies", "fantasies posterior_gradient"},
  {"^gp/exact/forecast", "forecast predict"},
  {"^gp/exact/low_rank", "gp_variance predict_variance posterior_gradient"},
  {"^gp/exact/objective", "gp_parts task_parts gp_metrics gp_fit gp"},
  {"^gp/exact/posterior", "gp_parts reports predict gp gp_metrics"}, {"^gp/exact/precision", "gp_parts predict gp_fit"},
  {"^gp/exact/solver_choice", "choice gp_notes reports gp_fit"}, {"^gp/exact/stored", "store_parts store"},
  {"^gp/exact/variance", "gp_variance predict_variance"},
  {"^gp/fit/notes", "gp_notes gp_starts"}, {"^gp/fit/plan", "gp_parts gp_fit plan"},
  {"^gp/fit/report", "reports gp_fit gp_starts"},
  {"^gp/fit/starts", "gp_scales gp_starts"}, {"^gp/fit/", "fit_starts gp_data gp_parameters gp_fit optim gp_noise"},
  {"^gp/predict/features", "features sample multitask"}, {"^gp/predict/pathwise", "gp_parts task_parts sample"},
  {"^gp/predict/record", "prediction_record reports predict gp"}, {"^gp/predict/samples", "prediction_record sample"},
  {"^gp/predict/", "gp_parts third_posterior reports predict gp online"},
  {"^gp/report/diagnosis", "gp_diagnosis"}, {"^gp/report/leave_one_out", "gp_metrics multitask"},
  {"^gp/report/metrics", "gp_metrics"},
  {"^gp/report/likelihood", "gp_metrics gp reports"}, {"^gp/report/score", "score reports gp_metrics multitask"},
  {"^gp/report/summary", "gp multitask"},
  {"^gp/tasks/init", "multitask"}, {"^gp/tasks/kronecker", "multitask task_grid posterior_gradient"},
  {"^gp/tasks/", "task_parts task_grid reports multitask"},
  {"^gp/data", "gp_data gp"}, {"^gp/kernel_checks", "object"}, {"^gp/model", "third_posterior object gp"},
  {"^gp/parameters", "object gp_parameters gp"},
  {"^gp/posterior", "third_posterior gp_parts predict"}, {"^gp/sto", "store_parts store store_files"},
  {"^gp/save", "store_parts store store_files"},
  {"^gp/update_record", "gp_parts reports online"}, {"^gp/", "gp_parts gp gp_fit predict gp_noise"},
  {"^kernels/spect", "kernel_forms kernels"}, {"^kernels/", "kernel_algebra kernel_forms kernels"},
  {"^solvers", "solver_settings solver_likelihood precond reports solvers solvers_more"}, {"^precond_rank", "precond_rank"},
  {"^precond", "precond solver_settings solvers"}, {"^data", "data data_set"},
  {"^param", "param hyper_parameters gp_parameters"},
  {"^store", "store_values store store_files"}, {"^priors", "priors"}, {"^means", "means"},
  {"^likelihoods", "likelihood gp_noise gp"},
  {"^lbfgs", "lbfgs optim"}, {"^optim", "optim"},
  {"^nn", "nn"}, {"^plot", "plot"}, {"^progress", "progress"}, {"^timing", "timing"}, {"^doctor", "doctor host"},
  {"^help", "repl meta"},
  {"^inspect", "repl"}, {"^table_text", "gp repl"}, {"^func", "func func_memory"}, {"^options", "options errors"},
  {"^names", "names"},
  {"^object", "names errors gp"}, {"^gradients", "param ops"}, {"^init", "names host"}, {"^raised", "errors"},
  {"^memory", "errors memory"},
}

local busted <const> = (io.popen "command -v busted":read "l")
local binary <const> = (io.popen "readlink -f /proc/$PPID/exe":read "l")
local work <const> = os.tmpname()
os.remove(work)

-- The specs by name, in order, and the path of each.
local specs <const>, path_of <const> = {}, {}
do
  local pipe <close> = io.popen "find spec -name '*_spec.lua' | sort"
  for path in pipe:lines() do
    local name <const> = path:match "([%w_]+)_spec%.lua$"
    specs[#specs + 1], path_of[name] = name, path
  end
end

-- Lines and changes --------------------------------------------------------------------------------------------------------------

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return (f:read "a")
end

--- Tokens {kind, text, from, to} of a chunk: word, number, string, op; comments and blanks are left out.
local function tokens(text)
  local out <const>, at = {}, 1
  local function take(kind, to)
    if kind then out[#out + 1] = {kind = kind, text = text:sub(at, to), from = at, to = to} end
    at = to + 1
  end
  while at <= #text do
    local _, blank <const> = text:find("^%s+", at)
    local level <const> = text:match("^%-%-%[(=*)%[", at)
    local long <const> = text:match("^%[(=*)%[", at)
    if blank then take(nil, blank)
    elseif level then take(nil, select(2, text:find("]" .. level .. "]", at, true)))
    elseif text:find("^%-%-", at) then take(nil, (text:find("\n", at, true) or #text + 1) - 1)
    elseif long then take("string", select(2, text:find("]" .. long .. "]", at, true)))
    elseif text:find("^[\"']", at) then
      local quote <const>, to = text:sub(at, at), at + 1
      while text:sub(to, to) ~= quote do to = to + (text:sub(to, to) == "\\" and 2 or 1) end
      take("string", to)
    elseif text:find("^[%a_]", at) then take("word", select(2, text:find("^[%w_]+", at)))
    elseif text:find("^%.?%d", at) then take("number", select(2, text:find("^[%w.]+[+-]?%d*", at)))
    else
      local to = at
      for _, op in ipairs{"...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>"} do
        if text:sub(at, at + #op - 1) == op then to = at + #op - 1 break end
      end
      take("op", to)
    end
  end
  return out
end

local swaps <const> = {
  ["<"] = "<=", ["<="] = "<", [">"] = ">=", [">="] = ">", ["=="] = "~=", ["~="] = "==", ["+"] = "-", ["-"] = "+", ["*"] = "/",
  ["/"] = "*", ["//"] = "*", ["^"] = "*", ["and"] = "or", ["or"] = "and", ["true"] = "false", ["false"] = "true", ["min"] = "max",
  ["max"] = "min",
}

local function changed_number(text)
  local n <const> = tonumber(text)
  if math.type(n) == "integer" then return tostring(n + 1) end
  return n and ("%.17g"):format(n == 0 and 1 or 2 * n) or nil
end

--- A text with one of its letters replaced.
local function changed_text(text)
  local at <const> = text:sub(2, -2):find "%a%a%a"
  if at == nil then return nil end
  local letter <const> = text:sub(at + 2, at + 2)
  return text:sub(1, at + 1) .. (letter == "q" and "z" or "q") .. text:sub(at + 3)
end

local attribs <const> = {const = true, close = true}

-- Functions whose arguments have no order.
local symmetric <const> = {rawequal = true, eval = true, max = true, min = true, maximum = true, minimum = true, dot = true,
  cubic_minimum = true, swap = true}

--- Every change that the line from..to of the chunk takes: {from, to, text, what}.
local function changes_of(list, from, to, line)
  local out <const> = {}
  local function add(a, b, text, what) out[#out + 1] = {from = a, to = b, text = text, what = what} end
  for i, t in ipairs(list) do
    if t.from >= from and t.to <= to then
      local before <const>, after <const> = list[i - 1], list[i + 1]
      local attribute <const> = t.text == "<" and after and attribs[after.text] or t.text == ">" and before and attribs[before.text]
      local unary <const> = t.text == "-" and (before == nil or before.kind == "op" and not before.text:find "^[)%]}]$"
        or before.text == "return" or before.text == "and" or before.text == "or")
      if swaps[t.text] and t.kind ~= "string" and not attribute then
        if unary then
          add(t.from, t.to, "", "minus dropped")
        else
          add(t.from, t.to, swaps[t.text], t.text .. " becomes " .. swaps[t.text])
        end
      elseif t.text == "not" then add(t.from, t.to + 1, "", "not dropped")
      elseif t.kind == "number" and changed_number(t.text) then add(t.from, t.to, changed_number(t.text), "another constant")
      elseif t.kind == "string" and changed_text(t.text) then add(t.from, t.to, changed_text(t.text), "another text")
      end
      local a <const>, comma <const>, b <const>, close <const> = list[i + 1], list[i + 2], list[i + 3], list[i + 4]
      if t.text == "(" and close and a.kind == "word" and comma.text == "," and b.kind == "word" and close.text == ")"
        and before.kind == "word" and before.text ~= "function" and not symmetric[before.text] and a.text ~= b.text
        and not (list[i - 2] and (list[i - 2].text == "function" or list[i - 4] and list[i - 4].text == "function")) then
        add(a.from, b.to, b.text .. comma.text .. " " .. a.text, "arguments swapped")
      end
    end
  end
  local bare <const> = line:match "^%s*(.-)%s*$"
  local statement <const> = bare:find "^[%a_][%w_.:%[%]%s,]*%s*=[^=]" or bare:find "^[%a_][%w_.:]*[%({\"].*%)$"
    or bare:find "^if .* end$" or bare:find "^for .* end$"
  if statement and not bare:find "^local " and not bare:find "^function " and not bare:find "[,{]$" then
    add(from, to, "", "statement left out")
  end
  return out
end

--- All lines of the library that take a change: {module, from, to, number, list}.
local function all_lines()
  local out <const> = {}
  local pipe <close> = io.popen "cd lualib/gibbous && find . -name '*.lua' ! -path './meta/*' | LC_ALL=C sort"
  for path in pipe:lines() do
    local module <const> = path:sub(3)
    local text <const> = read("lualib/gibbous/" .. module)
    local list <const>, at, number = tokens(text), 1, 0
    for line in text:gmatch "([^\n]*)\n" do
      number = number + 1
      local changes <const> = changes_of(list, at, at + #line - 1, line)
      if #changes > 0 then
        out[#out + 1] = {module = module, number = number, changes = changes, text = text, line = line, at = at}
      end
      at = at + #line + 1
    end
  end
  return out
end

-- One bug ------------------------------------------------------------------------------------------------------------------------

-- The names of the cases that fail, as keys, the first as 'first'; nil where all pass.
local function failures_of(name, to_the_end)
  local command <const> = (
    "GIBBOUS_RATES=fixed GIBBOUS_THREADS=${GIBBOUS_THREADS:-2} GIBBOUS_LUA_DIR=%s/lualib; export GIBBOUS_RATES GIBBOUS_THREADS "
    .. "GIBBOUS_LUA_DIR; ulimit -v 16000000; ulimit -t 90; timeout -k 5 300 %s %s %s --output=TAP %s >%s/log 2>&1"):format(
    work, binary, busted, to_the_end and "" or "--no-keep-going", path_of[name], work)
  if os.execute(command) then return nil end
  local out <const> = {}
  for case in read(work .. "/log"):gmatch "not ok %d+ %- ([^\n]*)" do
    out[case], out.first = true, out.first or case
  end
  if out.first == nil then out["it did not end"], out.first = true, "it did not end" end
  return out
end

local function specs_for(module)
  local out <const>, seen <const> = {}, {}
  local function add(name)
    if not seen[name] then out[#out + 1], seen[name] = name, true end
  end
  for _, row in ipairs(related) do
    if module:find(row[1]) then
      for name in row[2]:gmatch "%S+" do add(name) end
      add "texts"
      add "refusals"
      break
    end
  end
  if mode == "related" and #out > 0 then return out end
  for _, name in ipairs(specs) do
    if name ~= "gate0" and name ~= "many_fits" and name ~= "hostile_calls" then add(name) end   -- long, and of the C core
  end
  return out
end

-- A spec that fails without a bug is not counted.
local usual <const> = {}
local function usual_failures(name, module)
  if usual[name] == nil then
    local path <const> = ("%s/lualib/gibbous/%s"):format(work, module)
    os.execute(("cp %s %s/bug && cp lualib/gibbous/%s %s"):format(path, work, module, path))
    usual[name] = failures_of(name, true) or {}
    os.execute(("cp %s/bug %s"):format(work, path))
    if usual[name].first then print(("red without a bug: %s, %s"):format(name, usual[name].first)) end
  end
  return usual[name]
end

--- The spec that sees the bug in a module, and its case.
local function catcher(module)
  for _, name in ipairs(specs_for(module)) do
    local red <const> = usual[name] and usual[name].first
    local failed = failures_of(name, red)
    if failed then
      local known <const> = usual_failures(name, module)
      if known.first and not red then failed = failures_of(name, true) or {} end
      for case in pairs(failed) do
        if case ~= "first" and not known[case] then return name, case end
      end
    end
  end
end

local function trimmed(s) return (s:match "^%s*(.-)%s*$") end

local function reason_of(module, line)
  for _, row in ipairs(equivalent) do
    if row[1] == module and row[2] == line then return row[3] end
  end
end

os.execute(("mkdir -p %s && cp -r lualib %s/"):format(work, work))
math.randomseed(seed)
local lines <const> = all_lines()
local caught, survived, nothing = 0, 0, 0
local drawn = 0
while drawn < count do
  local l <const> = lines[math.random(#lines)]
  local c <const> = l.changes[math.random(#l.changes)]
  local text <const> = l.text:sub(1, c.from - 1) .. c.text .. l.text:sub(c.to + 1)
  if load(text, "=" .. l.module, "t") then
    drawn = drawn + 1
    local now <const> = trimmed(l.line:sub(1, c.from - l.at) .. c.text .. l.line:sub(c.to - l.at + 2))
    if drawn >= first then
      local path <const> = ("%s/lualib/gibbous/%s"):format(work, l.module)
      do
        local f <close> = assert(io.open(path, "wb"))
        f:write(text)
      end
      local why <const> = reason_of(l.module, now)
      local spec, case
      if mode == "list" then case = ""
      elseif why then nothing = nothing + 1
      else
        spec, case = catcher(l.module)
        if spec then caught = caught + 1 else survived = survived + 1 end
      end
      print(("%2d  %-9s %s:%d  %s\n      %s\n      %s%s"):format(drawn,
        mode == "list" and "drawn" or why and "nothing" or spec and "caught" or "SURVIVES", l.module,
        l.number, c.what, trimmed(l.line), now == "" and "(nothing)" or now,
        why and "\n      " .. why or spec and ("\n      by %s: %s"):format(spec, case) or ""))
      io.stdout:flush()
      os.execute(("cp lualib/gibbous/%s %s"):format(l.module, path))
    end
  end
end
os.execute("rm -r " .. work)
if mode ~= "list" then
  print(("seed %d: %d bugs drawn, %d caught, %d survive, %d change nothing: %.1f %% caught"):format(seed,
    caught + survived + nothing,
    caught, survived, nothing, 100 * caught / (caught + survived)))
end
