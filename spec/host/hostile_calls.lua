--- A hostile caller, run as a program of its own: hostile_calls.lua seed calls. It walks every function and metamethod that
-- can be reached from the library (fields, metatables, upvalues, user values, the registry) and calls them with arguments of
-- every type, results among them. Errors are expected; a signal, a hang or a report of a sanitizer is a fault.
-- 'trace' as a third argument names each call on stderr before it is made.
local seed <const>, calls <const>, trace <const> = math.tointeger(arg[1]) or 1, math.tointeger(arg[2]) or 1000, arg[3] == "trace"

-- Lua's own functions are not called.
local stock <const> = {}
local function note_stock(t)
  for _, v in pairs(t) do
    if type(v) == "function" then stock[v] = true end
    if type(v) == "table" and not stock[v] then
      stock[v] = true
      note_stock(v)
    end
  end
end
stock[_G] = true
note_stock(_G)
note_stock(getmetatable(""))
note_stock(debug.getmetatable(io.stdout))

-- As gb.cli does.
rawset(os, "exit", function(status) error("the script would end with " .. tostring(status)) end)
package.cpath = ""                     -- libraries of others answer for themselves
local gb <const>, core <const> = require "gibbous", require "gibbous.core"
local set_limit <const>, config <const>, fail_after <const> = core.memory.limit, core.config, core.fail_after
for _, name in ipairs(core.modules()) do pcall(require, name) end

-- Objects of every kind, whose classes are walked too ------------------------------------------------------------------------

local function csv(text)
  local f <const> = assert(io.open("hostile.csv", "w"))
  f:write(text)
  f:close()
  return gb.data.read "hostile.csv"
end

local made <const> = {}
do
  local K <const> = gb.kernels
  local x <const>, y <const> = gb.rand(6, 2, {seed = 1}), gb.rand(6, {seed = 2})
  local a <const> = x:matmul(x:t()) + gb.eye(6)
  local m <const> = gb.gp.exact{kernel = K.rbf{} + K.linear{}, noise = 0.1}
  m:fit(x, y, {steps = 2})
  local several <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2, noise = 0.1}:condition(x, gb.rand(6, 2, {seed = 3}))
  local function sum() return y:sum() end
  local makers <const> = {
    function() return x, y, a, x.shape, gb.zeros(0, 3), gb.empty(4), gb.zeros(3, {dtype = "f32"}) end,
    function() return gb.tensor({1, 2, 3}, {dtype = "i64"}), gb.tensor{true, false}, gb.param(1.0, {min = 0}), gb.params(m) end,
    function() return K.rbf{}, K.linear{} * K.periodic{}, gb.priors.normal{}, gb.means.constant(), gb.likelihoods.gaussian(0.1) end,
    function() return m, m:predict(x), m:draw(2), m:score(x, y), m:leave_one_out() end,
    function() return m:condition(gb.rand(2, 2) + 3, gb.rand(2)), m:condition(gb.rand(2, 2) + 3, gb.rand(3, 2)), m.update end,
    function() return several, several:predict(x), several:score(x, gb.rand(6, 2)) end,
    function() return gb.solvers.cg{}, gb.solvers.cholesky{}, gb.solvers.minres{}, gb.solvers.lanczos{} end,
    function() return gb.precond.jacobi(), gb.precond.nystrom{rank = 2} end,
    function() return select(2, gb.solvers.cg{}:solve(a, y)), select(2, gb.solvers.lanczos{}:logdet(a)) end,
    function() return gb.kmeans{k = 2}:fit(x), gb.kmeans{k = 2}:plan(x), gb.kmeans{k = 2}, core.kmeans_fit({x}, {k = 2}) end,
    function() return gb.silhouette(x, {1, 2, 2, 1, 2, 2}), gb.plot.figure{}:bars({1, 2}, {3, 4}) end,
    function() return gb.nn.sequential{gb.nn.linear(2, 2)}, gb.optim.adam(m), gb.optim.lbfgs(m) end,
    function() return gb.func{name = "twice", shape = function(s) return s end, forward = function(v) return v * 2 end} end,
    function() return core.factor(gb.linalg.cholesky(a)), gb.plan(a:sum()), gb.plot.figure{}:line(y, y) end,
    function() return gb.data.frame{k = {"a", "b"}}:group "k" end,
    function() return csv "a,b\n1,2\n3,4\n", gb.data.standardize(x), gb.memory.report(), gb.progress(2) end,
    function() return gb.bench(sum, {runs = 1, seconds = 1e-9}), gb.profile(sum)[1], select(2, pcall(gb.zeros, -7)) end,
    function() return core.nystrom(a, 1.0, 2, 0, 0), core.json_decode "{}", debug.getregistry() end,
  }
  for i, make in ipairs(makers) do
    local got <const> = table.pack(pcall(make))
    if not got[1] then error(("object %d: %s"):format(i, tostring(got[2])), 0) end
    for k = 2, got.n do made[#made + 1] = got[k] end
  end
end

-- The walk --------------------------------------------------------------------------------------------------------------------

local functions <const>, names <const>, seen <const> = {}, {}, {}

-- Functions that are not called, because they take as long as they are told.
local skip <const> = {[core.rates] = true, [core.fail_after] = true, [core.bind] = true,
  [core.defer] = true}                       -- they end the process, or keep signals from it

local walk
local function walk_function(f, path)
  if not skip[f] then functions[#functions + 1], names[f] = f, path end
  for i = 1, 255 do
    local name <const>, v <const> = debug.getupvalue(f, i)
    if name == nil then break end
    walk(v, path .. "^" .. name)
  end
end

function walk(v, path)
  local kind <const> = type(v)
  if kind ~= "table" and kind ~= "userdata" and kind ~= "function" or seen[v] or stock[v] or #path > 200 then return end
  seen[v] = true
  if kind == "function" then return walk_function(v, path) end
  if kind == "table" then
    local keys <const> = {}
    for key in next, v do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(keys) do
      walk(key, path .. "[key]")
      walk(rawget(v, key), path .. "." .. tostring(key))
    end
  else
    for i = 1, 4 do walk((debug.getuservalue(v, i)), path .. "#" .. i) end
  end
  walk(debug.getmetatable(v), path .. "<meta>")
end

walk(gb, "gb")
walk(core, "core")
for name, module in pairs(package.loaded) do
  if name:find("^gibbous") then walk(module, name) end
end
for i, v in pairs(made) do
  if v ~= debug.getregistry() then walk(v, "object" .. i) end
end
for key, v in pairs(debug.getregistry()) do
  if type(key) == "string" and key:find "^gibbous" or type(key) == "userdata" then walk(v, "registry." .. tostring(key)) end
end
table.sort(functions, function(a, b) return names[a] < names[b] end)

-- Arguments -------------------------------------------------------------------------------------------------------------------

math.randomseed(seed)
local random <const> = math.random
local function one_of(list) return list[random(#list)] end

local ring <const> = {}                -- results of earlier calls
local numbers <const> = {0, 1, -1, 2, 3, 7, 0.5, -0.5, 1e300, -1e-300, 0 / 0, 1 / 0, -1 / 0, math.maxinteger, math.mininteger,
  2^31, 2^53, 1 << 62, -3}
local strings <const> = {"", "abc", "f64", "f32", "i64", "x", "kernel", "hostile.csv", "hostile.npy", "hostile.safetensors",
  "cpu", "lbfgs", "noise", "a\0b", ("long "):rep(200), "%s%n", "return 1", "1 GiB", "="}
local callbacks <const> = {
  function(...) return ... end, function() error "raised" end, function() error() end, function() return gb.zeros(2) end,
  function() end, function(a) return a * 2 end, function() return setmetatable({}, {__index = error}) end, print, coroutine.yield,
}
local keys <const> = {"seed", "steps", "shape", "forward", "dtype", "noise", "kernel", "rank", "tol", "x", "y", "code", "message",
  "parts", "hyper", "o", "value", "_box", "_fields", "kind", "tasks", 1, 2, 3, -1}

local argument
local function random_table(depth)
  local t <const> = {}
  for _ = 1, random(0, 4) do t[one_of(keys)] = argument(depth + 1) end
  if random(6) == 1 then t[1] = t end
  if random(8) == 1 then setmetatable(t, debug.getmetatable(one_of(made)) or nil) end
  return t
end

function argument(depth)
  local r <const> = random(12)
  if r <= 2 then return one_of(numbers) end
  if r == 3 then return random(0, 6) end
  if r == 4 then return one_of(strings) end
  if r == 5 then return random(2) == 1 end
  if r == 6 then return nil end
  if r == 7 and depth < 3 then return random_table(depth) end
  if r == 8 then return one_of(callbacks) end
  if r == 9 then return coroutine.create(one_of(callbacks)) end
  if r == 10 then return one_of(functions) end
  if r == 11 and #ring > 0 then return one_of(ring) end
  return one_of(made)
end

local function keep(...)
  for i = 1, math.min(select("#", ...), 4) do
    local v <const> = (select(i, ...))
    local kind <const> = type(v)
    if kind == "table" or kind == "userdata" then
      if #ring < 200 then ring[#ring + 1] = v else ring[random(200)] = v end
    end
  end
end

-- Uses what came back, as a script would.
local function use(...)
  keep(...)
  local v <const> = ...
  if random(4) == 1 then tostring(v) end
end

local function text_of(v)
  local ok <const>, text <const> = pcall(function() return (tostring(v):gsub("%s+", " "):sub(1, 60)) end)
  return ok and text or type(v)
end

local main <const> = debug.getinfo(1, "f").func

--- Ends loops of Lua that a number of hostile size sets off. The chunk itself, which no call protects, goes on.
local function guard(thread)
  local start <const> = os.clock()
  local function check()
    if debug.getinfo(2, "f").func ~= main and (os.clock() - start > 2 or collectgarbage "count" > 4e5) then error("too much", 0) end
  end
  if thread then debug.sethook(thread, check, "", 1000) else debug.sethook(check, "", 1000) end
end

local function one_call()
  local f <const> = one_of(functions)
  local n <const> = random(0, 5)
  local list <const> = {}
  for i = 1, n do list[i] = argument(0) end
  if random(3) == 1 then list[1] = one_of(made) end
  if trace then
    local words <const> = {}
    for i = 1, n do words[i] = text_of(list[i]) end
    io.stderr:write(names[f], "(", table.concat(words, ", "), ")\n")
  end
  if random(12) == 1 then
    local co <const> = coroutine.create(f)
    guard(co)
    use(select(2, coroutine.resume(co, table.unpack(list, 1, n))))
    coroutine.close(co)
  else
    use(f(table.unpack(list, 1, n)))
  end
end

-- All in protected calls: Ctrl-C, which the caller uses against calls that take long, may come at any time.
local returned = 0
local function step(i)
  fail_after(-1)
  set_limit "256 MiB"
  if i % 20 == 1 then config{threads = 2, dtype = "f64"} end
  if i % 500 == 0 then made[#made // 2 + 1] = gb.rand(3, 2) end
  if i % 100 == 0 then collectgarbage("step", 100) end
  guard()
  one_call()
  debug.sethook()
  returned = returned + 1
end
for i = 1, calls do
  pcall(step, i)
  debug.sethook()                      -- the guard is of the call alone
end
os.execute "rm -rf hostile.csv hostile.npy hostile.safetensors"  -- files, or folders that a call has made of a name
io.stdout:write(("\nfunctions %d  calls %d  returned %d\n"):format(#functions, calls, returned))
