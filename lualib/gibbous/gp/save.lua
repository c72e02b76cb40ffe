--- m:save: a model in one safetensors file. Its metadata describe the structure as JSON, its tensors hold the unconstrained
-- parameters and the data, so that a loaded model predicts with the same bits (gp/store.lua).
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"
local store <const> = require "gibbous.store.classes"
local subject <const> = require "gibbous.tensor.subject"

-- A model is written in the oldest format that has all it holds: 2 has what a model scales, which a reader must not leave out.
local M <const> = {FORMAT = "gibbous.model", VERSION = 2}

--- A digest of metadata and tensors in one order: a file is accepted only if it is what was written.
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

--- Writes a description and the tensors that it names.
function M.write(path, described, tensors)
  local texts <const> = {format = M.FORMAT, version = described.standardize and "2" or "1", library = core.version,
    model = core.json_encode(described)}
  texts.checksum = M.checksum(texts, tensors)
  core.safetensors_write(path, tensors, texts)
end

local SPEC <const> = {data = "boolean", caches = "boolean"}

--- Cells of y that are not known count with one value for all: a NaN has many bits.
local function digest(x, y) return core.digest{x, core.where(y:eq(y), y, math.huge)} end

--- {n, d, dtype, digest} of the data of fields f; nil where there never were any.
function M.data_facts(f)
  if f.x == nil then return f.absent end
  local x <const>, y <const> = f.given and f.given.x or f.x, f.given and f.given.y or f.y
  return {n = #x, d = x.shape[2], dtype = x.dtype, digest = digest(x, y)}
end

local methods <const> = {}
M.methods = methods

--- Writes the model to one file: structure, parameters with their bits, bounds, priors and names, data, solver, report of the
-- last fit. The file is there whole or not at all.
-- o: data = false keeps only the data's digest. caches = true keeps what the last prediction prepared, alpha and the factor (n^2
-- values) or the decompositions of Kronecker structure, so that the first prediction after loading need not compute it; false
-- keeps none; by default it is kept where m:condition made it, since computing it again would round otherwise. Cost: the bytes.
-- Errors: io; option. Functions of the script (own kernels and means, warps, gb.func) are kept by name and are given back to
-- gb.load; networks of gb.nn are kept whole.
---@param path string
---@param opts {data: boolean, caches: boolean}?
function methods.save(self, path, opts)
  local o <const> = options.parse(opts, SPEC, "save")
  subject.path(path, "m:save(path)")
  local f <const> = model.fields(self)
  local inner <const>, class <const> = model.core(self), model.class(self)
  local g <const> = model.fields(inner)
  local w <const> = store.writer()
  w.columns = g.x and g.x.shape[2] or f.absent and f.absent.d
  local described <const> = {
    kernel = w:value(g.kernel, "kernel"), mean = w:value(g.mean, "mean"), likelihood = w:value(g.likelihood, "likelihood"),
    solver = w:value(f.solver, "solver"), active = w:value(g.active, "active"), info = w:record(g.info, "info"),
    choice = w:record(g.choice, "choice"), class = not class.implied and class.name or nil, tasks = f.tasks, data = M.data_facts(f),
    classes = w:value(rawget(f, "classes"), "classes"), asked = w:value(rawget(f, "asked"), "asked"),
    objects = w.objects, names = f.names, standardize = scaling.write(w, f.standardize, "standardize"),
    scaling = scaling.write(w, f.scaling, "scaling"),
  }
  for _, list in ipairs{class.parts or {}, class.settings or {}} do
    for _, name in ipairs(list) do described[name] = w:value(f[name], name) end
  end
  if f.x and o.data ~= false then
    described.x, described.y = w:value(scaling.held(self, "x"), "x"), w:value(scaling.held(self, "y"), "y")
    if o.caches ~= false then model.posterior(inner).write_state(w, inner, o.caches, described) end
  end
  M.write(path, described, w.tensors)
end

return M
