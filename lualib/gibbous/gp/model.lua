--- The class skeleton of models: what every model value has, whatever computes its posterior.
--
-- A class is a description that model.define checks once: its fields by a declared list, its methods as tables of functions that
-- are merged by name, its posterior (gp/posterior.lua) and the form of its observations (gp/observations.lua). A model that
-- computes holds kernel, mean and likelihood itself. A model that only presents another one, as several outputs present their
-- long form, holds that one as 'inner'; model.core gives the model that computes.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local kernels <const> = require "gibbous.kernels"
local means <const> = require "gibbous.means"
local object <const> = require "gibbous.base.object"
local param <const> = require "gibbous.param"
local parameters <const> = require "gibbous.gp.parameters"
local posterior <const> = require "gibbous.gp.posterior"
local shallow_copy <const> = require "gibbous.base.shallow_copy"

local M <const> = {}

-- Fields ------------------------------------------------------------------------------------------------------------------

local PARTS <const> = {"kernel", "mean", "likelihood"}

-- Fields of every class:
--   kernel mean likelihood   the model's own copies, which have the parameters
--   x y        data: (n, d) and (n), or as the class says; absent: {n, d, dtype, digest} of data that a file was saved without,
--              which counts only while there are none
--   solver     as given; active: the algorithm in use, decided once per fit and again for other data; choice: why it was taken
--   posterior  what computes this model's posterior, where that is not its class's
--   state      what predictions need, valid for one stamp of the parameters (gp/posterior_cache.lua)
--   info       the report of the last fit; update: what it took to be ready for predictions (gp/update_record.lua)
--   solve_info the solver's record behind the objective that was built last
--   fitter     identity by which parameters know the model that fitted them last (gibbous.param)
--   inner      the model that computes, where this one presents it; tasks: its number of outputs
--   standardize scaling given   what the model scales itself (gp/scaling.lua): x and y are then scaled, given has them as they came
--   names      of the columns of the data: {x, y, left} (gp/frames.lua); nil where they have none
--   planned    true: of a copy that is only planned, where nothing is computed
--   of_tasks points   of an inner model: its number of outputs, and the points (n, d) that its rows are of
local FIELDS <const> = {"kernel", "mean", "likelihood", "x", "y", "absent", "solver", "active", "choice", "posterior", "state",
  "info", "update", "solve_info", "fitter", "inner", "tasks", "of_tasks", "points", "standardize", "scaling",
  "given", "names", "planned"}

-- What new data make invalid, beside the caches of the class.
local OF_DATA <const> = {"state", "active", "choice"}
-- What a copy does not take over, beside the caches of the class.
local OF_VALUE <const> = {"state", "update", "fitter"}

--- The fields of a model, by name. Reading or writing one that its class does not declare is an internal error.
function M.fields(self) return rawget(self, "_fields") end

--- The class of a model, as model.define gave it.
function M.class(self) return getmetatable(self).class end

--- The model that computes: the model itself, or the one that it presents.
function M.core(self) return M.fields(self).inner or self end

--- The posterior of a model that computes (gp/posterior.lua).
function M.posterior(self)
  local f <const>, class <const> = M.fields(self), M.class(self)
  return f.posterior or class.other and class.other(f) or class.posterior
end

local function set_of(...)
  local out <const> = {}
  for _, names in ipairs{...} do
    for _, name in ipairs(names) do out[name] = true end
  end
  return out
end

--- The metatable of the fields of a class.
local function guard_of(name, declared)
  local function check(key)
    if not declared[key] then core.raise("internal", ("%s does not declare a field '%s'"):format(name, tostring(key))) end
  end
  return {
    __index = function(_, key)
      check(key)
      return nil
    end,
    __newindex = function(f, key, v)
      check(key)
      rawset(f, key, v)
    end,
  }
end

-- Classes -----------------------------------------------------------------------------------------------------------------

local classes <const> = {}                 -- by name, as saved files call them

--- The class of this name, or nil where no module has defined it.
function M.class_named(name) return classes[name] end

local without_data <const> = {bound = true, copy = true, fit = true, get = true, save = true, set = true}

--- A model that was saved without its data cannot stand for its prior. f: its fields; key: the method that is asked for.
local function check_present(f, key)
  local absent <const> = f.absent
  if not absent or f.x or without_data[key] then return end
  core.raise("option", ("%s: the model was saved without its data (%d points, %d columns, %s); give them back with "
    .. "gb.load(path, {x = x, y = y}), or fit it to others"):format(key, absent.n, absent.d, absent.dtype))
end

-- Those that read no data, or may get other ones, which they check themselves.
local without_session <const> = {bound = true, copy = true, fit = true, get = true, plan = true, save = true, set = true}

--- The method f, which a model refuses whose data lie on another device than the session's.
local function at_home(name, f)
  if without_session[name] then return f end
  return function(self, ...)
    local x <const> = M.fields(self).x
    if x then data.check_session(name, x.device) end
    return f(self, ...)
  end
end

local function index_of(class, methods, public, inherited)
  return function(self, key)
    local f <const> = M.fields(self)
    if methods[key] then
      check_present(f, key)
      return methods[key]
    end
    if public[key] then return f.given and f.given[key] or f[key] end
    if inherited[key] then return M.fields(f.inner)[key] end
    object.no_field(class.what, key, methods, public, inherited)
  end
end

--- Gives 'methods' those of each table in the list. A name that two tables have is an error.
local function merge(methods, tables)
  for _, part in ipairs(tables) do
    for name, f in pairs(part) do
      if rawget(methods, name) then core.raise("internal", ("two parts of a class define the method '%s'"):format(name)) end
      methods[name] = at_home(name, f)
    end
  end
end

local DESCRIPTION <const> = set_of{"name", "maker", "what", "public", "inherited", "fields", "caches", "posterior", "observations",
  "text", "methods", "implied", "words", "read", "parts", "settings", "settle", "units", "other"}

--- Defines a class of models. 'class' describes it, becomes it, and is given back with 'new':
--   name          of the class, in saved files and as the type's name; one class a name
--   maker         what makes such models, in messages: "gb.gp.exact"
--   what          in messages that a field does not exist: "a model"
--   public        fields of the model that scripts read; inherited: fields of the inner model that they read as its own
--   fields        further fields of the class; caches: those of them that new data make invalid
--   posterior     a table of gp/posterior.lua; nil where an inner model computes
--   other(f)      the posterior of a model of fields f where that is not the class's, else nil
--   observations  the form of x and y (gp/observations.lua)
--   text(self)    what print(model) shows
--   implied       true: saved files do not name the class. words: algorithms, beside "auto" and "direct", that a file may name;
--   read(r, parts, described)   a model without data from the parts in a file (gp/store.lua): by default new(parts)
--   methods       a list of tables of functions(self, ...), merged
--   parts         fields, beside kernel, mean and likelihood, whose values have parameters and, in their metatables, a
--                 __copy(self, copies); nil in a model that has not got them
--   settings      fields of plain values that copies and files keep
--   settle(self)  settles further parts when the model has been given data; units(self): units of their parameters, by parameter
-- class.new(fields): a model with these fields, which it then owns.
function M.define(class)
  for key in pairs(class) do
    if not DESCRIPTION[key] then core.raise("internal", ("a class of models has no '%s'"):format(tostring(key))) end
  end
  if class.posterior then posterior.check(class.posterior) end
  local declared <const> = set_of(FIELDS, class.fields or {}, class.caches or {}, class.parts or {},
    class.settings or {})
  local guard <const>, meta <const> = guard_of(class.name, declared), {__name = class.name, class = class}
  local methods <const> = object.methods(meta, "a model", "m")
  merge(methods, class.methods)
  meta.__index = index_of(class, methods, set_of(class.public), set_of(class.inherited or {}))
  function meta.__newindex(self, key) parameters.refuse_assignment(self, class.maker, key) end
  function meta.__children(self)
    local f <const>, out <const> = M.fields(M.core(self)), {}
    for _, part in M.each_part(M.core(self)) do out[#out + 1] = {part, f[part]} end
    return out
  end
  meta.__tostring = class.text
  function class.new(fields)
    for key in pairs(fields) do
      if not declared[key] then core.raise("internal", ("%s does not declare a field '%s'"):format(class.name, tostring(key))) end
    end
    return setmetatable({_fields = setmetatable(fields, guard)}, meta)
  end
  classes[class.name] = class
  return class
end

--- For every field of a model that computes whose value has parameters: its number and name.
function M.each_part(self)
  local list <const> = table.move(PARTS, 1, #PARTS, 1, {})
  for _, name in ipairs(M.class(self).parts or {}) do list[#list + 1] = M.fields(self)[name] and name end
  return ipairs(list)
end

-- Copies ------------------------------------------------------------------------------------------------------------------

--- An independent copy of a part. copies: param.copies().
local function copied(part, copies)
  local copy <const> = getmetatable(part).__copy
  if copy then return copy(part, copies) end
  return part:copy(copies)
end

--- The fields of an independent model that computes, without data: parameters are copied, explicit gb.params and networks shared.
function M.copy_parts(f)
  return {kernel = f.kernel:copy(), mean = f.mean:copy(), likelihood = f.likelihood:copy(), solver = f.solver,
    of_tasks = f.of_tasks, points = f.points, standardize = f.standardize, classes = rawget(f, "classes"),
    asked = rawget(f, "asked")}
end

--- An independent model of the same class without data.
function M.bare(self)
  local f <const> = M.fields(self)
  if not f.inner then
    local parts <const> = M.copy_parts(f)
    for _, name in ipairs(M.class(self).parts or {}) do parts[name] = f[name] and copied(f[name]) end
    for _, name in ipairs(M.class(self).settings or {}) do parts[name] = f[name] end
    return M.class(self).new(parts)
  end
  local inner <const> = M.bare(f.inner)
  M.fields(inner).solver = f.solver
  return M.class(self).new{inner = inner, tasks = f.tasks, solver = f.solver, standardize = f.standardize}
end

--- An independent model of the same data, and its last report: all gb.params are copied, also those that other models share; what
-- is tied within the model stays tied. Networks and functions stay shared.
function M.copy(self)
  local out <const> = shallow_copy(M.fields(self))
  if out.inner then
    out.inner = M.copy(out.inner)
    return M.class(self).new(out)
  end
  local copies <const> = param.copies(true)
  for _, part in M.each_part(self) do out[part] = copied(out[part], copies) end
  for _, list in ipairs{OF_VALUE, M.class(self).caches or {}} do
    for _, name in ipairs(list) do out[name] = nil end
  end
  return M.class(self).new(out)
end

--- The model with the data it has now, whatever it is fitted to later; its parameters are the same boxes.
function M.with_data_of(self) return M.class(self).new(shallow_copy(M.fields(self))) end

--- Calls f(). If it raises, the fields of the model and of the one it presents become what they were, and the error is raised.
function M.attempt(self, f)
  local before <const> = {}
  for _, one in ipairs{self, M.fields(self).inner} do before[one] = shallow_copy(M.fields(one)) end
  local got <const> = table.pack(pcall(f))
  if got[1] then return table.unpack(got, 2, got.n) end
  for one, old in pairs(before) do
    local now <const> = M.fields(one)
    for key in pairs(now) do now[key] = old[key] end
    for key, v in pairs(old) do now[key] = v end
  end
  error(got[2], 0)
end

-- Data --------------------------------------------------------------------------------------------------------------------

--- What rows of the data are called in messages; nil: by their numbers.
function M.row_names(f) return f.points and kernel_checks.rows_of_points(f.x, f.points, f.kernel.row.presents) or nil end

--- Settles what depends on the inputs: a lengthscale and a slope for each column, places of latent noise.
local function resolve(f, x)
  kernels.resolve_ard(f.kernel, x.shape[2])
  means.resolve(f.mean, x.shape[2])
  f.likelihood:resolve(x)
end

--- Gives a model that computes checked data x (n, d), y (n); what was derived from the old data is dropped. Raises where a kernel
-- of the script is not symmetric.
function M.set_data(self, x, y)
  local f <const> = M.fields(self)
  f.x, f.y = x:eval(), y:eval()
  for _, list in ipairs{OF_DATA, M.class(self).caches or {}} do
    for _, name in ipairs(list) do f[name] = nil end
  end
  resolve(f, x)
  local settle <const> = M.class(self).settle
  if settle then settle(self) end
  kernel_checks.symmetric(f.kernel, f.x, M.row_names(f))
end

--- A text that changes when any parameter below the model is set.
function M.stamp(self)
  local cells <const> = {}
  for i, p in ipairs(param.collect(self)) do cells[i] = p.version end
  return table.concat(cells, ".")
end

return M
