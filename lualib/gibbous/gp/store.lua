--- Loading models from the files that m:save wrote (gp/save.lua). Loading runs no code of the file.
local core <const> = require "gibbous.core"
local frames <const> = require "gibbous.gp.frames"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.base.options"
local raised <const> = require "gibbous.base.raised"
local scaling <const> = require "gibbous.gp.scaling"
local save <const> = require "gibbous.gp.save"
local solvers <const> = require "gibbous.solvers"
local store <const> = require "gibbous.store.classes"
local subject <const> = require "gibbous.tensor.subject"

local M <const> = {}

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

local SPEC <const> = {x = "tensor|frame", y = "tensor", kernels = by_name(callable), means = by_name(callable),
  priors = by_name(callable), likelihoods = by_name(callable),
  functions = by_name(function(v) return callable(v) or type(v) == "table" end),
  warp = function(v) return callable(v), "a function" end}

--- The description of the model in a file, checked as a whole, and its tensors.
local function open(path)
  local lead <const> = core.file_lead(path)
  if not lead:match "^....\0\0\0\0{" then
    core.raise("format", path .. ": not a model file, which m:save(path) writes; gb.data.read reads tables and arrays")
  end
  local tensors <const>, texts <const>, canonical <const> = core.safetensors_read(path)
  local function fail(text) core.raise("format", ("%s: %s"):format(path, text)) end
  if texts.format ~= save.FORMAT then fail "not a saved model; gb.data.read reads tensors" end
  local version <const> = math.tointeger(tonumber(texts.version))
  if version and version > save.VERSION then
    fail(("saved by gibbous %s in format %d; this version, %s, reads up to format %d"):format(tostring(texts.library), version,
      core.version, save.VERSION))
  end
  if version == nil or version < 1 then
    fail(("format 1 to %d expected, got '%s'"):format(save.VERSION, tostring(texts.version)))
  end
  if texts.checksum ~= save.checksum(texts, tensors) then
    fail "its checksum does not fit: the file was changed after it was saved"
  end
  if not canonical then fail "its heading is not spelled as m:save does: the file was changed after it was saved" end
  local ok <const>, described <const> = pcall(core.json_decode, texts.model or "")
  if not ok then fail(described.message) end
  if type(described) ~= "table" or type(described.objects) ~= "table" then fail "it describes no model" end
  return described, tensors
end

--- The algorithm that a file names: a solver, or one of these words.
local function algorithm(r, v, words)
  local out <const> = r:value(v)
  if words[out] or solvers.named(out) ~= out or core.type(out) == "solver" then return out end
  r:fail(("its solver is unknown to this version: %s"):format(type(out) == "string" and ("'%s'"):format(out) or type(out)))
end

--- The class of the model that a file describes.
local function class_of(r, d)
  local name <const> = d.class or d.tasks ~= nil and "gibbous.gp.multitask" or "gibbous.gp.exact"
  return model.class_named(name) or r:fail(("its class is unknown to this version: '%s'"):format(tostring(name)))
end

--- The names of columns that a file says; nil where it says none.
local function names_of(r, saved)
  if saved == nil then return nil end
  for _, part in ipairs{"x", "y", "left"} do
    for _, name in ipairs(r:list(saved)[part] and r:list(saved[part]) or {}) do
      if type(name) ~= "string" then r:fail "its names of columns are damaged" end
    end
  end
  return {x = saved.x, y = saved.y, left = saved.left}
end

--- A model without data.
local function bare(r, d)
  local class <const> = class_of(r, d)
  local words <const> = {auto = true, direct = true}
  for _, word in ipairs(class.words or {}) do words[word] = true end
  local solver <const> = algorithm(r, d.solver, words)
  words.auto = nil
  local active <const> = d.active ~= nil and algorithm(r, d.active, words) or nil
  local parts <const> = {kernel = r:of(d.kernel, "gibbous.kernel"), mean = r:of(d.mean, "gibbous.mean"),
    likelihood = r:of(d.likelihood, "gibbous.likelihood"), active = active, info = r:value(d.info),
    choice = r:value(d.choice), solver = solver, standardize = scaling.read(r, d.standardize, true)}
  local m <const> = class.read and class.read(r, parts, d) or class.new(parts)
  local f <const> = model.fields(m)
  f.scaling, f.names = scaling.read(r, d.scaling), names_of(r, d.names)
  return m
end

--- Do the scalers and names of a file go with data x, y, and are there all scalers that its model asks for?
local function columns_fit(f, x, y)
  for part, t in pairs{x = x, y = y} do
    local scaler <const> = f.scaling and f.scaling[part]
    if f.standardize and f.standardize[part] and not scaler and #t > 0 then return false end
    local width <const> = t.ndim == 1 and 1 or t.shape[2]
    local mean <const> = scaler and scaler.mean
    if mean and (mean.numel ~= width or mean.ndim ~= t.ndim - 1 or mean.dtype ~= t.dtype) then return false end
    local names <const> = f.names and f.names[part]
    if names and #names ~= width then return false end
  end
  return true
end

--- Gives a model its data, x (n, d) and y (n), or (n, T) of several outputs. The algorithm it has was decided for them.
local function fill(m, x, y)
  local f <const> = model.fields(m)
  if not columns_fit(f, x, y) then core.raise("format", "its scalers or names of columns do not go with the data") end
  x, y = scaling.restore(m, f.scaling or {}, x, y)
  local g <const> = model.fields(model.core(m))
  local active <const>, choice <const> = g.active, g.choice
  model.class(m).observations.fill(m, x, y, "load")
  frames.label(m)
  g.active, g.choice = active, choice
end

--- The data of the file as tensors that go together; nil where there are none.
local function data_of(r, d, m)
  local x <const>, y <const> = r:value(d.x), r:value(d.y)
  if x == nil and y == nil then return nil end
  local form <const> = model.class(m).observations
  local axes <const> = form.axes
  local fits <const> = core.type(x) == "tensor" and core.type(y) == "tensor" and x.ndim == 2 and #x == #y
    and y.ndim == axes and (axes == 1 or form.fits(m, x, y))
  if not fits then r:fail(("its data are no x (n, d) and y (n%s)"):format(axes == 2 and ", " .. form.width or "")) end
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
  local given_x <const>, given_y <const> = frames.observed(m, o.x, o.y, nil, "load")
  local x <const>, y <const> = model.class(m).observations.check(m, given_x, given_y, "load", "mask")
  local got <const> = save.data_facts{x = x:eval(), y = y:eval()}
  if got.digest ~= absent.digest then
    core.raise("option", ("load: these are not the data of the model: expected %d points, %d columns, %s, digest %s; got "
      .. "%d points, %d columns, %s, digest %s"):format(absent.n, absent.d, absent.dtype, absent.digest, got.n, got.d,
      got.dtype, got.digest))
  end
  f.absent = nil
  return x, y
end

-- What is no model of gb.gp: by class, the module that calls M.reads, and its reader.
local others <const> = {["gibbous.kmeans"] = "gibbous.kmeans", ["gibbous.gp.batch"] = "gibbous.gp.batch"}
local readers <const> = {}

--- Objects of a class are read by read(reader, description).
function M.reads(class, read) readers[class] = read end

local function rebuilt(described, tensors, o)
  local r <const> = store.reader(tensors, described.objects, {kernels = o.kernels or {}, means = o.means or {},
    priors = o.priors or {}, likelihoods = o.likelihoods or {}, functions = o.functions or {}, warp = o.warp or nil})
  local other <const> = others[described.class or ""]
  if other then
    require(other)
    return readers[described.class](r, described)
  end
  local m <const> = bare(r, described)
  local f <const> = model.fields(m)
  local x <const>, y <const> = data_of(r, described, m)
  if x then
    fill(m, x, y)
    local inner <const> = model.core(m)
    model.posterior(inner).read_state(r, inner, described)
  elseif described.data ~= nil then
    f.absent = absent_facts(r, described.data)
  end
  return m
end

--- The model of a file that m:save wrote; it predicts with the same bits. (At its own x, the very handle, a model predicts by a
-- symmetric fold, which rounds in another order than for a copy of x: m:predict(m.x) is l:predict(l.x).)
-- o: kernels = {name = constructor}, means, priors, likelihoods: what gb.kernels.define, gb.means.define and so on gave; warp = f:
-- the function or network of k:warp(f), if it does not come from gb.nn; functions = {name = f}: any other function by the name that
-- the error asks for (of a gb.func, its own). A network given this way gets the values that were saved.
-- Kernels made of the script's functions are checked: their values at a few fixed points are those that were saved.
-- x, y: the data of a model that was saved without them, or x = frame; they are checked. Without them it can only be fitted.
-- Errors: io; format (not a model, damaged, or of a newer version); option (something must be given).
---@param path string
---@param opts table?
---@return gibbous.gp.exact|gibbous.gp.multitask
function M.load(path, opts)
  local o <const> = options.parse(opts, SPEC, "gb.load")
  subject.path(path, "gb.load(path)")
  if (o.x == nil) ~= (o.y == nil) and not frames.is(o.x) then core.raise("option", "load: x and y are given together") end
  local described <const>, tensors <const> = open(path)
  local ok <const>, m <const> = pcall(rebuilt, described, tensors, o)
  if not ok then
    if type(m) == "string" then core.raise("format", ("%s: %s"):format(path, m)) end
    if raised.code(m) == nil or raised.is_of_place(m) then error(m) end
    core.raise(m.missing and "option" or "format", ("%s: %s"):format(path, m.message))
  end
  if o.x then fill(m, given_back(m, o)) end
  return m
end

return M
