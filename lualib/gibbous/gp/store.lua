--- Models in files: one safetensors file with everything. Its metadata describe the structure as JSON, its tensors hold the
-- unconstrained parameters and the data, so that a model loaded predicts with the same bits. Loading runs no code of the file.
local core <const> = require "gibbous.core"
local raised <const> = require "gibbous.raised"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.options"
local solvers <const> = require "gibbous.solvers"
local store <const> = require "gibbous.store_classes"
local store_state <const> = require "gibbous.gp.exact.stored_state"
local task_model <const> = require "gibbous.gp.tasks.model"
local task_parts <const> = require "gibbous.gp.tasks.parts"

local M <const> = {}

local FORMAT <const>, VERSION <const> = "gibbous.model", 1

--- Metadata and tensors in one order, to one number: what is accepted is what was written.
function M.checksum(texts, tensors)
  local list <const> = {}
  for _, t in ipairs{texts, tensors} do
    local names <const> = {}
    for name in pairs(t) do
      if name ~= "checksum" then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do
      list[#list + 1] = name
      list[#list + 1] = t[name]
    end
  end
  return core.digest(list)
end

-- Saving ------------------------------------------------------------------------------------------------------------------

local save_spec <const> = {data = "boolean", caches = "boolean"}

--- Of y where it is not known no bits count: a NaN has many.
local function digest(x, y) return core.digest{x, core.where(y:eq(y), y, math.huge)} end

local function data_facts(f)
  if f.x == nil then return f.absent end
  return {n = #f.x, d = f.x.shape[2], dtype = f.x.dtype, digest = digest(f.x, f.y)}
end

--- Writes the model to one file: structure, parameters with their bits, bounds, priors and names, data, solver, report of the
-- last fit. The file is there whole or not at all.
-- o: data = false keeps only the data's digest; caches = true keeps alpha and the factor (n^2 values), or the decompositions of
-- Kronecker structure, of the last prediction, so that the first one after loading need not compute them; false never does; else
-- they are kept where m:condition made them, since computing them anew would round otherwise. Cost: the bytes.
-- Functions of the script (own kernels and means, warps, gb.func) are kept by name and are given back to gb.load; networks of
-- gb.nn are kept whole.
---@param path string
---@param opts {data: boolean, caches: boolean}?
local function save(self, path, opts)
  local o <const> = options.parse(opts, save_spec, "save")
  if type(path) ~= "string" then error(("bad argument #1 to 'save' (string expected, got %s)"):format(type(path)), 2) end
  local f <const> = model.fields(self)
  local inner <const> = f.inner or self                  -- of several outputs: the exact model inside
  local g <const> = model.fields(inner)
  local w <const> = store.writer()
  w.columns = g.x and g.x.shape[2] or f.absent and f.absent.d
  local described <const> = {
    kernel = w:value(g.kernel, "kernel"), mean = w:value(g.mean, "mean"), likelihood = w:value(g.likelihood, "likelihood"),
    solver = w:value(f.solver, "solver"), active = w:value(g.active, "active"), info = w:record(g.info, "info"),
    choice = w:record(g.choice, "choice"), tasks = f.tasks, data = data_facts(f), objects = w.objects,
  }
  if f.x and o.data ~= false then
    described.x, described.y = w:value(f.x, "x"), w:value(f.y, "y")
    store_state.describe(w, inner, o.caches, described)
  end
  local texts <const> = {format = FORMAT, version = tostring(VERSION), library = core.version,
    model = core.json_encode(described)}
  texts.checksum = M.checksum(texts, w.tensors)
  core.safetensors_write(path, w.tensors, texts)
end

model.methods.save, task_model.methods.save = save, save

-- Loading -----------------------------------------------------------------------------------------------------------------

local function callable(v)
  local meta <const> = getmetatable(v)
  return type(v) == "function" or type(meta) == "table" and meta.__call ~= nil
end

--- The rule of an option {name = value}, of values for which is(v) holds.
local function by_name(is)
  local expected <const> = "a table of functions by name"
  return function(v)
    if type(v) ~= "table" then return false, expected end
    for name, f in store.sorted(v) do
      if type(name) ~= "string" then return false, expected, ("the key %s"):format(tostring(name)) end
      if not is(f) then return false, expected, ("%s = %s"):format(name, core.type(f)) end
    end
    return true
  end
end

local load_spec <const> = {x = "tensor", y = "tensor", kernels = by_name(callable), means = by_name(callable), priors = by_name(callable),
  functions = by_name(function(v) return callable(v) or type(v) == "table" end), warp = callable}

--- The description of the model in a file, checked as a whole, and its tensors.
local function open(path)
  local lead <const> = core.file_lead(path)
  if not lead:match "^....\0\0\0\0{" then
    core.raise("format", path .. ": not a model file, which m:save(path) writes; gb.data.read reads tables and arrays")
  end
  local tensors <const>, texts <const>, canonical <const> = core.safetensors_read(path)
  local function fail(text) core.raise("format", ("%s: %s"):format(path, text)) end
  if texts.format ~= FORMAT then fail "not a saved model; gb.data.read reads tensors" end
  local version <const> = math.tointeger(tonumber(texts.version))
  if version and version > VERSION then
    fail(("saved by gibbous %s in format %d; this version, %s, reads up to format %d"):format(tostring(texts.library), version,
      core.version, VERSION))
  end
  if version == nil or version < 1 then fail(("format 1 expected, got '%s'"):format(tostring(texts.version))) end
  if texts.checksum ~= M.checksum(texts, tensors) then fail "its checksum does not fit: the file was changed after it was saved" end
  if not canonical then fail "its heading is not spelled as m:save does: the file was changed after it was saved" end
  local ok <const>, described <const> = pcall(core.json_decode, texts.model or "")
  if not ok then fail(described.message) end
  if type(described) ~= "table" or type(described.objects) ~= "table" then fail "it describes no model" end
  return described, tensors
end

--- The parts of a model of T tasks, as gp/tasks/model.lua takes them.
local function of_tasks(r, parts, T)
  local k <const>, l <const> = parts.kernel, parts.likelihood
  local index <const> = k.kind == "product" and select(2, task_parts.split(k))
  if math.type(T) ~= "integer" or not index or index.tasks ~= T then r:fail "its kernel is not one of its tasks" end
  if l.kind ~= "gaussian" and not (l.kind == "tasks" and l.noise.numel == T) then r:fail "its noise is not one of its tasks" end
  parts.mean = task_parts.mean(parts.mean, T)
  return parts
end

--- The algorithm that a file names: a solver, or one of these words.
local function algorithm(r, v, words)
  local out <const> = r:value(v)
  if words[out] or solvers.named(out) ~= out or core.type(out) == "solver" then return out end
  r:fail(("its solver is unknown to this version: %s"):format(type(out) == "string" and ("'%s'"):format(out) or type(out)))
end

--- A model without data.
local function bare(r, d)
  local solver <const> = algorithm(r, d.solver, {auto = true, direct = true, kronecker = d.tasks ~= nil})
  local active <const> = d.active ~= nil and algorithm(r, d.active, {direct = true, kronecker = d.tasks ~= nil}) or nil
  local parts <const> = {kernel = r:of(d.kernel, "gibbous.kernel"), mean = r:of(d.mean, "gibbous.mean"),
    likelihood = r:of(d.likelihood, "gibbous.likelihood"), active = active, info = r:value(d.info),
    choice = r:value(d.choice)}
  if d.tasks ~= nil then return task_model.new(of_tasks(r, parts, d.tasks), d.tasks, solver) end
  parts.solver = solver
  return model.new(parts)
end

--- Gives a model its data, x (n, d) and y (n), or (n, T) of several outputs. The algorithm it has was decided for them.
local function fill(m, x, y)
  local f <const> = model.fields(m)
  local g <const> = model.fields(f.inner or m)
  local active <const>, choice <const> = g.active, g.choice
  if f.tasks then
    task_model.take(m, x, y, "load")
    task_model.fill(m, "load")
  else
    model.set_data(m, x, y)
  end
  g.active, g.choice = active, choice
end

--- The data of the file as tensors that go together; nil where there are none.
local function data_of(r, d)
  local x <const>, y <const> = r:value(d.x), r:value(d.y)
  if x == nil and y == nil then return nil end
  local fits <const> = core.type(x) == "tensor" and core.type(y) == "tensor" and x.ndim == 2 and #x == #y
    and y.ndim == (d.tasks and 2 or 1) and (not d.tasks or y.shape[2] == d.tasks)
  if not fits then r:fail(("its data are no x (n, d) and y (n%s)"):format(d.tasks and ", tasks" or "")) end
  return x, y
end

--- What the file says of data that it does not hold.
local function absent_facts(r, facts)
  if math.type(r:list(facts).n) ~= "integer" or math.type(facts.d) ~= "integer" or type(facts.dtype) ~= "string"
    or type(facts.digest) ~= "string" then
    r:fail "it does not say what its data were"
  end
  return {n = facts.n, d = facts.d, dtype = facts.dtype, digest = facts.digest}
end

--- The data of a model that was saved without them, as the script gave them.
local function given_back(m, o)
  local f <const> = model.fields(m)
  local absent <const> = f.absent
  if not absent then core.raise("option", "load: the model was saved with its data") end
  local x, y
  if f.tasks then
    x, y = task_model.check(m, o.x, o.y, "load", "mask")
  else
    x, y = data.check(o.x, o.y, "load", "mask")
  end
  local got <const> = data_facts{x = x:eval(), y = y:eval()}
  if got.digest ~= absent.digest then
    core.raise("option", ("load: these are not the data of the model: expected %d points, %d columns, %s, digest %s; got "
      .. "%d points, %d columns, %s, digest %s"):format(absent.n, absent.d, absent.dtype, absent.digest, got.n, got.d,
      got.dtype, got.digest))
  end
  f.absent = nil
  return x, y
end

local function rebuilt(described, tensors, o)
  local r <const> = store.reader(tensors, described.objects, {kernels = o.kernels or {}, means = o.means or {}, priors = o.priors or {},
    functions = o.functions or {}, warp = o.warp or nil})
  local m <const> = bare(r, described)
  local f <const> = model.fields(m)
  local x <const>, y <const> = data_of(r, described)
  if x then
    fill(m, x, y)
    store_state.restore(r, f.inner or m, described)
  elseif described.data ~= nil then
    f.absent = absent_facts(r, described.data)
  end
  return m
end

--- The model of a file that m:save wrote; it predicts with the same bits. (At its own x, the very handle, a model predicts by a
-- symmetric fold, which rounds in another order than for a copy of x: m:predict(m.x) is l:predict(l.x).)
-- o: kernels = {name = constructor}, means, priors: what gb.kernels.define, gb.means.define and gb.priors.define gave; warp = f: the
-- function or network of k:warp(f), where it is none of gb.nn; functions = {name = f}: any other function by the name that
-- the error asks for (of a gb.func, its own). A network given this way gets the values that were saved.
-- Kernels made of the script's functions are checked: their values at a few fixed points are those that were saved.
-- x, y: the data of a model that was saved without them; they are checked. Without them it can only be fitted.
-- Errors: io; format (not a model, damaged, or of a newer version); option (something must be given).
---@param path string
---@param opts table?
---@return gibbous.gp.exact|gibbous.gp.multitask
function M.load(path, opts)
  local o <const> = options.parse(opts, load_spec, "gb.load")
  if type(path) ~= "string" then error(("bad argument #1 to 'load' (string expected, got %s)"):format(type(path)), 2) end
  if (o.x == nil) ~= (o.y == nil) then core.raise("option", "load: x and y are given together") end
  local described <const>, tensors <const> = open(path)
  local ok <const>, m <const> = pcall(rebuilt, described, tensors, o)
  if not ok then
    if type(m) == "string" then core.raise("format", ("%s: %s"):format(path, m)) end
    if raised.code(m) == nil or raised.is(m, "interrupted", "oom") then error(m) end
    core.raise(m.missing and "option" or "format", ("%s: %s"):format(path, m.message))
  end
  if o.x then fill(m, given_back(m, o)) end
  return m
end

return M
