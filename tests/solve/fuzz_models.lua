--- Hostile model files. Bytes changed anywhere are never accepted. With the checksum made right again, what is accepted is used:
-- printed, asked, predicted with, saved and loaded; what is refused, is refused by name. GIBBOUS_FUZZ_FILES=n gives the number of
-- files, GIBBOUS_FUZZ_SEED the start.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local save <const> = require "gibbous.gp.save"

local cases <const> = tonumber(os.getenv "GIBBOUS_FUZZ_FILES") or 2000
local state = tonumber(os.getenv "GIBBOUS_FUZZ_SEED") or 20261122
local folder <const> = os.execute "test -w /dev/shm" and "/dev/shm" or "/tmp"
local name <const> = os.tmpname()
local path <const> = folder .. name:gsub(".*/", "/gibbous-fuzz-")
os.remove(name)
local again <const> = path .. ".again"

gb.memory.limit "256 MiB"

local function draw(n)
  state = state * 6364136223846793005 + 1442695040888963407
  return (state >> 33) % n + 1
end

local function pick(list) return list[draw(#list)] end

local function write(bytes)
  local f <close> = assert(io.open(path, "wb"))
  f:write(bytes)
end

local function read(from)
  local f <close> = assert(io.open(from, "rb"))
  return (f:read "a")
end

-- What is damaged: models of every kind, and their parts ---------------------------------------------------------------------

local x <const> = gb.rand(9, 2, {seed = 1}):eval()
local y <const> = (3 * x:select(2, 1) + x:select(2, 2)):sin():eval()
local new <const> = gb.rand(4, 2, {seed = 2}):eval()
local K <const> = gb.kernels

local function models()
  local exact <const> = gb.gp.exact{kernel = K.rbf{lengthscale = gb.param(0.5,
    {min = 0.01, max = 10})}:named "a" * K.polynomial{} + K.matern32{lengthscale = {1, 2}},
    mean = gb.means.constant(1), noise = 0.1}:condition(x, y)
  local warped <const> = gb.gp.exact{kernel = K.rbf{}:warp(gb.nn.sequential{gb.nn.linear(2, 2, {seed = 1}), "tanh"}), noise = 0.1,
    solver = gb.solvers.cg{precond = gb.precond.jacobi{}}}:condition(x, y)
  local several <const> = gb.gp.multitask{kernel = K.rbf{} + K.linear{}, tasks = 2, mean = gb.means.constant{1, 2}}
    :condition(x, gb.stack({y, -y}, 2))
  several:predict(new).mean:eval()
  local fitted <const> = gb.gp.exact{kernel = K.periodic{} + K.white{}, noise = 0.1}
  fitted:fit(x, y, {steps = 2})
  return {{exact, {caches = true}}, {warped}, {several, {caches = true}}, {fitted}, {exact, {data = false}}}
end

local seeds <const> = {}
for i, one in ipairs(models()) do
  one[1]:save(path, one[2])
  local tensors <const>, texts <const> = core.safetensors_read(path)
  seeds[i] = {bytes = read(path), tensors = tensors, texts = texts}
end

-- Bytes ----------------------------------------------------------------------------------------------------------------------

local words <const> = {"{", "}", "[", "]", ",", ":", '"', " ", "\n", "\t", "F64", "I64", "0", "1", "-1", "9007199254740993",
  "1e308", "null", "\0", "\xFF"}

local function place(s) return draw(2) == 1 and draw(math.min(#s, 600)) or draw(#s) end

local function changed(s, whole)
  local at <const>, some <const> = place(s), draw(draw(64))
  local kind <const> = draw(whole and 3 or 8)
  if kind == 1 then return s:sub(1, at - 1) .. string.char(s:byte(at) ~ 1 << draw(8) - 1) .. s:sub(at + 1) end
  if kind == 2 then return s:sub(1, at - 1) .. string.char(draw(256) - 1) .. s:sub(at + 1) end
  if kind == 3 then
    local word <const> = pick(words)
    return s:sub(1, at - 1) .. word .. s:sub(at + #word)
  end
  if kind == 4 then return s:sub(1, at) end
  if kind == 5 then return s:sub(1, at - 1) .. s:sub(at + some) end
  if kind == 6 then return s:sub(1, at + some) .. s:sub(at) end
  if kind == 7 then return s:sub(1, at) .. pick(words) .. s:sub(at + 1) end
  local other <const> = pick(seeds).bytes
  local from <const> = draw(#other)
  return s:sub(1, at) .. other:sub(from, from + some) .. s:sub(at + some + 1)
end

-- Descriptions ---------------------------------------------------------------------------------------------------------------

local junk <const> = {0, -1, 1.5, 1e300, 2^53, math.mininteger, "", "x", "kernel", "rbf", "cg", "nan", true, false, {}, {1, 2},
  {["%"] = "object", at = 1}, {["%"] = "object", at = 2}, {["%"] = "tensor", at = "x"}, {["%"] = "given", name = "z"},
  {["%"] = "number", is = "nan"}, {["%"] = "zzz"}, {a = {b = 1}}}

local function sorted(t)
  local keys <const> = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

--- Another value somewhere in a tree: junk, nothing, or what stands elsewhere in it.
local function mutate(t, root)
  local keys <const> = sorted(t)
  if #keys == 0 then return end
  local key <const> = pick(keys)
  if type(t[key]) == "table" and draw(6) > 1 then return mutate(t[key], root) end
  local kind <const> = draw(8)
  if kind == 1 then
    t[key] = nil
  elseif kind == 2 then
    local other <const> = pick(sorted(root))
    t[key] = root[other]
  else
    t[key] = pick(junk)
  end
end

local shapes <const> = {function(t) return t:reshape(t.numel) end, function(t) return t * 0 end, function(t) return t * (0 / 0) end,
  function(t) return t * 1e300 end, function() return gb.zeros(0) end, function() return gb.ones(3, 3) end,
  function() return gb.tensor(2) end, function(t) return t:to{dtype = "f32"} end, function(t) return -t end,
  function() return gb.range(1, 3) end, function(t) return t:gt(0) end}

--- A seed with parts exchanged, under a checksum that is right; false where it has no JSON.
local function forge(seed)
  local described = core.json_decode(seed.texts.model)
  local tensors <const>, texts <const> = {}, {}
  for name, t in pairs(seed.tensors) do tensors[name] = t end
  for key, text in pairs(seed.texts) do texts[key] = text end
  for _ = 1, draw(3) do
    local kind <const> = draw(8)
    local name <const> = pick(sorted(tensors))
    if kind == 1 and name then
      local ok <const>, t <const> = pcall(pick(shapes), tensors[name])
      if ok then tensors[name] = t end
    elseif kind == 2 and name then
      tensors[name] = nil
    elseif kind == 3 and name then
      tensors[name] = tensors[pick(sorted(tensors))]
    else
      mutate(described, described)
    end
  end
  local ok
  ok, texts.model = pcall(core.json_encode, described)
  if not ok then return false end
  texts.checksum = save.checksum(texts, tensors)
  return (pcall(core.safetensors_write, path, tensors, texts))
end

-- The run --------------------------------------------------------------------------------------------------------------------

local function die(i, ...)
  io.stderr:write("file ", i, ": ", table.concat({...}, " "), "\n", "it is kept in ", path, "\n")
  os.exit(1)
end

--- An error of the library says what it is about; one of Lua is a fault of ours.
local function check_error(i, what, err)
  if type(err) == "string" and (err:find "attempt to" or err:find "bad argument") then die(i, what, err) end
  if type(err) ~= "string" and (err.code == nil or err.code == "internal") then die(i, what, tostring(err)) end
end

local uses <const> = {
  function(m) return tostring(m) end,
  function(m) return m:predict(new).mean:sum():item() end,
  function(m) return m:predict(new).y_var:sum():item() end,
  function(m) return m:log_marginal_likelihood():item() end,
  function(m) return #m:get() end,
  function(m)
    m:save(again)
    return tostring(gb.load(again))
  end,
}

local function use(i, m)
  for k, f in ipairs(uses) do
    local ok <const>, err <const> = pcall(f, m)
    if not ok then check_error(i, "use " .. k, err) end
  end
end

local counts <const> = {accepted = 0, refused = 0, same = 0, forged = 0, forged_accepted = 0}
for i = 1, cases do
  local seed <const> = pick(seeds)
  if i % 2 == 0 then
    local bytes = seed.bytes
    local whole <const> = draw(2) == 1
    for _ = 1, draw(2) do bytes = changed(bytes, whole) end
    write(bytes)
    local ok <const>, err <const> = pcall(gb.load, path)
    if not ok then
      check_error(i, "load", err)
      if type(err) == "string" then die(i, "load", err) end
      counts.refused = counts.refused + 1
    elseif bytes == seed.bytes then
      counts.same = counts.same + 1
    else
      die(i, "a changed file was accepted")
    end
  elseif forge(seed) then
    counts.forged = counts.forged + 1
    local ok <const>, m <const> = pcall(gb.load, path)
    if ok then
      counts.forged_accepted = counts.forged_accepted + 1
      use(i, m)
    else
      check_error(i, "load", m)
      if type(m) == "string" then die(i, "load", m) end
    end
  end
  if i % 256 == 0 then collectgarbage() end
end
os.remove(path)
os.remove(again)
print(("models: %d files with changed bytes refused, 0 accepted (%d came out as they were); %d with a right checksum, %d of them "
  .. "accepted and used; "
  .. "ledger peak %.0f MiB"):format(counts.refused, counts.same, counts.forged, counts.forged_accepted,
  gb.memory.report().peak / 2^20))
if cases >= 1000 and not (counts.refused > cases / 4 and counts.forged_accepted > cases / 50) then os.exit(1) end
