--- km:save and its way back through gb.load.
local options <const> = require "gibbous.base.options"
local subject <const> = require "gibbous.tensor.subject"

local KEPT <const> = {"centroids", "shift", "history", "counts", "labels"}        -- tensors
local FACTS <const> = {"inertia", "iterations", "converged", "empty", "bytes", "on", "planned", "rows"}

--- class: {methods, fields, checked, new, name}
return function(class)
  --- Writes options, centroids, labels and facts to one file, whole or not at all. Weights and 'ranks' are not kept. The
  -- file predicts with the same bits: gb.load(path). A start that a function gives is kept by name and given back:
  -- {functions = {init = f}}.
  function class.methods.save(self, path, opts)
    local save <const>, store <const> = require "gibbous.gp.save", require "gibbous.store.classes"
    options.parse(opts, {}, "save")
    subject.path(path, "km:save(path)")
    local f <const>, w <const> = class.fields(self), store.writer()
    local o <const>, facts <const> = {}, {}
    for key, v in store.sorted(f.o) do
      if key ~= "weights" and key ~= "ranks" then o[key] = w:value(v, key) end
    end
    for _, name in ipairs(FACTS) do facts[name] = w:value(f[name], name) end
    local described <const> = {class = class.name, options = o, facts = facts, objects = w.objects}
    for _, name in ipairs(KEPT) do described[name] = f[name] and w:value(f[name], name) or nil end
    save.write(path, described, w.tensors)
  end

  --- The object of a file; r: the reader (gibbous.store), d: its description.
  local function read(r, d)
    local o <const> = {}
    for key, v in pairs(r:list(d.options)) do o[key] = r:value(v) end
    local values <const> = {}
    for _, name in ipairs(FACTS) do values[name] = r:value(r:list(d.facts)[name]) end
    for _, name in ipairs(KEPT) do values[name] = d[name] ~= nil and r:tensor_of(d[name]) or nil end
    o.budget = o.budget or nil
    local km <const> = class.new(class.checked(o), values)
    local c <const> = values.centroids
    if c and (c.ndim ~= 2 or #c ~= class.fields(km).o.k or c.dtype ~= "f64") then r:fail "its centroids are no (k, d) of f64" end
    if c and not (values.shift and values.shift.ndim == 1 and #values.shift == c.shape[2]) then r:fail "its shift is no (d)" end
    return km
  end

  require("gibbous.gp.store").reads(class.name, read)
end
