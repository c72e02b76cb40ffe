--- Models in files: one safetensors file with everything. Its metadata describe the structure as JSON, its tensors hold the
-- unconstrained parameters and the data, so that a model loaded predicts with the same bits. Loading runs no code of the file.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.objective"
local options <const> = require "gibbous.options"
local store <const> = require "gibbous.store_classes"

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

local function data_facts(f)
  if f.x == nil then return f.absent end
  return {n = #f.x, d = f.x.shape[2], dtype = f.x.dtype, digest = core.digest{f.x, f.y}}
end

--- What a model keeps for predictions, where it belongs to the parameters as they are. Without being asked only what another
-- computation would give other bits of: what followed from the state of a smaller model.
local function state_facts(w, self, caches)
  local f <const> = model.fields(self)
  local state <const> = f.state
  local carried <const> = f.update and f.update.kind ~= "none" and (f.update.onto or 0) > 0
  if not state or state.stamp ~= model.stamp(self) or caches == false or not (caches or carried) then return nil end
  local factor, grown = state.factor, false
  if factor and core.type(factor) ~= "tensor" then factor, grown = factor:dense(), true end
  return {converged = state.converged, system = state.system ~= nil, grown = grown, alpha = w:value(state.alpha, "alpha"),
    half = w:value(state.half, "half"), factor = w:value(factor, "factor")}
end

--- Writes the model to one file: structure, parameters with their bits, bounds, priors and names, data, solver, report of the
-- last fit. The file is there whole or not at all.
-- o: data = false keeps only the data's digest; caches = true keeps alpha and the factor (n^2 values) of the last prediction, so
-- that the first one after loading need not compute them; false never does; else they are kept where m:condition made them,
-- since computing them anew would round otherwise. Cost: the bytes.
-- Functions of the script (own kernels and means, warps, gb.func) are kept by name and are given back to gb.load; networks of
-- gb.nn are kept whole.
---@param path string
---@param opts {data: boolean, caches: boolean}?
function model.methods.save(self, path, opts)
  local o <const> = options.parse(opts, save_spec, "save", 2)
  if type(path) ~= "string" then error(("bad argument #1 to 'save' (string expected, got %s)"):format(type(path)), 2) end
  local f <const> = model.fields(self)
  local w <const> = store.writer(2)
  local described <const> = {
    kernel = w:value(f.kernel, "kernel"), mean = w:value(f.mean, "mean"), likelihood = w:value(f.likelihood, "likelihood"),
    solver = w:value(f.solver, "solver"), active = w:value(f.active, "active"), info = w:record(f.info, "info"),
    choice = w:record(f.choice, "choice"), data = data_facts(f), objects = w.objects,
  }
  if f.x and o.data ~= false then
    described.x, described.y = w:value(f.x, "x"), w:value(f.y, "y")
    described.state = state_facts(w, self, o.caches)
  end
  local texts <const> = {format = FORMAT, version = tostring(VERSION), library = core.version,
    model = core.json_encode(described)}
  texts.checksum = M.checksum(texts, w.tensors)
  core.safetensors_write(path, w.tensors, texts)
end

-- Loading -----------------------------------------------------------------------------------------------------------------

local load_spec <const> = {x = "tensor", y = "tensor", kernels = "table", means = "table", functions = "table",
  warp = function(v)
    local meta <const> = getmetatable(v)
    return type(v) == "function" or type(meta) == "table" and meta.__call ~= nil
  end}

--- The description of the model in a file, checked as a whole, and its tensors.
local function open(path, level)
  local tensors <const>, texts <const> = core.safetensors_read(path)
  local function fail(text) core.raise("format", ("%s: %s"):format(path, text), level + 2) end
  if texts.format ~= FORMAT then fail "not a saved model; gb.data.read reads tensors" end
  local version <const> = math.tointeger(tonumber(texts.version))
  if version and version > VERSION then
    fail(("saved by gibbous %s in format %d; this version, %s, reads up to format %d"):format(tostring(texts.library), version,
      core.version, VERSION))
  end
  if version == nil or version < 1 then fail(("format 1 expected, got '%s'"):format(tostring(texts.version))) end
  if texts.checksum ~= M.checksum(texts, tensors) then fail "its checksum does not fit: the file was changed after it was saved" end
  local ok <const>, described <const> = pcall(core.json_decode, texts.model or "")
  if not ok then fail(described.message) end
  if type(described) ~= "table" or type(described.objects) ~= "table" then fail "it describes no model" end
  return described, tensors
end

local function checked_data(r, d, fields)
  local x <const>, y <const> = r:value(d.x), r:value(d.y)
  if x == nil and y == nil then return end
  if core.type(x) ~= "tensor" or core.type(y) ~= "tensor" or x.ndim ~= 2 or y.ndim ~= 1 or #x ~= #y then
    r:fail "its data are no x (n, d) and y (n)"
  end
  fields.x, fields.y = x, y
end

--- The data of a model that was saved without them.
local function data_given_back(fields, o, level)
  local absent <const> = fields.absent
  local x <const>, y <const> = data.check(o.x, o.y, "load", level + 1, "mask")
  local got <const> = data_facts{x = x:eval(), y = y:eval()}
  if got.digest ~= absent.digest then
    core.raise("option", ("load: these are not the data of the model: expected %d points, %d columns, %s, digest %s; got %d points, "
      .. "%d columns, %s, digest %s"):format(absent.n, absent.d, absent.dtype, absent.digest, got.n, got.d, got.dtype, got.digest),
      level + 1)
  end
  fields.x, fields.y, fields.absent = x:eval(), y:eval(), nil
end

--- What the model kept for predictions.
local function restored_state(r, m, saved)
  local f <const> = model.fields(m)
  local n <const> = #f.x
  local function tensor(name, ...)
    local t <const> = r:value(r:list(saved)[name])
    if t == nil then return nil end
    local fits = core.type(t) == "tensor" and t.ndim == select("#", ...) and t.dtype == f.x.dtype
    for i = 1, fits and t.ndim or 0 do fits = fits and t.shape[i] == n end
    if not fits then r:fail(("'%s' does not go with the data"):format(name)) end
    return t
  end
  local state <const> = {stamp = model.stamp(m), converged = saved.converged == true, alpha = tensor("alpha", 1),
    half = tensor("half", 1), factor = tensor("factor", 1, 2)}
  if saved.system and objective.is_iterative(f.active) then
    state.system = f.active:prepare(objective.covariance(m), f.kernel(f.x), objective.noise_level(f))
  end
  if state.alpha == nil or (state.factor == nil) == (state.system == nil) then r:fail "its caches are not complete" end
  if saved.grown then state.factor = core.factor(state.factor) end
  return state
end

local function rebuilt(described, tensors, o)
  local r <const> = store.reader(tensors, described.objects, {kernels = o.kernels or {}, means = o.means or {},
    functions = o.functions or {}, warp = o.warp or nil})
  local fields <const> = {kernel = r:of(described.kernel, "gibbous.kernel"), mean = r:of(described.mean, "gibbous.mean"),
    likelihood = r:of(described.likelihood, "gibbous.likelihood"), solver = r:value(described.solver),
    active = r:value(described.active), info = r:value(described.info), choice = r:value(described.choice)}
  checked_data(r, described, fields)
  local facts <const> = described.data
  if fields.x == nil and facts ~= nil then
    if math.type(r:list(facts).n) ~= "integer" or math.type(facts.d) ~= "integer" or type(facts.dtype) ~= "string"
      or type(facts.digest) ~= "string" then
      r:fail "it does not say what its data were"
    end
    fields.absent = {n = facts.n, d = facts.d, dtype = facts.dtype, digest = facts.digest}
  end
  local m <const> = model.new(fields)
  if described.state ~= nil and fields.x then fields.state = restored_state(r, m, described.state) end
  return m
end

--- The model of a file that m:save wrote; it predicts with the same bits. (At its own x, the very handle, a model predicts by a
-- symmetric fold, which rounds in another order than for a copy of x: m:predict(m.x) is l:predict(l.x).)
-- o: kernels = {name = constructor}, means = {name = constructor}: what gb.kernels.define and gb.means.define gave; warp = f: the
-- function or network of k:warp(f), where it is none of gb.nn; functions = {name = f}: any other function by the name that
-- the error asks for (of a gb.func, its own). A network given this way gets the values that were saved.
-- x, y: the data of a model that was saved without them; they are checked. Without them it can only be fitted.
-- Errors: io; format (not a model, damaged, or of a newer version); option (something must be given).
---@param path string
---@param opts table?
---@return gibbous.gp.exact
function M.load(path, opts)
  local o <const> = options.parse(opts, load_spec, "gb.load", 2)
  if type(path) ~= "string" then error(("bad argument #1 to 'load' (string expected, got %s)"):format(type(path)), 2) end
  if (o.x == nil) ~= (o.y == nil) then core.raise("option", "load: x and y are given together", 2) end
  local described <const>, tensors <const> = open(path, 2)
  local ok <const>, m <const> = pcall(rebuilt, described, tensors, o)
  if not ok then
    if type(m) == "string" then core.raise("format", ("%s: %s"):format(path, m), 2) end
    if m.code == "interrupted" or m.code == "oom" then error(m, 0) end
    core.raise(m.missing and "option" or "format", ("%s: %s"):format(path, m.message), 2)
  end
  local fields <const> = model.fields(m)
  if o.x then
    if not fields.absent then core.raise("option", "load: the model was saved with its data", 2) end
    data_given_back(fields, o, 2)
  end
  return m
end

return M
