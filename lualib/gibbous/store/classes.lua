--- How each class of object is kept: its kind and settings, and the constructor that makes it again.
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"
local kernels <const> = require "gibbous.kernels"
local likelihoods <const> = require "gibbous.likelihoods"
local means <const> = require "gibbous.means"
local nn <const> = require "gibbous.nn"
local not_gaussian <const> = require "gibbous.likelihoods.class"
local param <const> = require "gibbous.param"
local precond <const> = require "gibbous.precond"
local priors <const> = require "gibbous.priors"
local raised <const> = require "gibbous.base.raised"
local solvers <const> = require "gibbous.solvers"
local store <const> = require "gibbous.store"

--- Fields of an object but for those named: plain settings, tensors and objects. Functions belong to the constructor.
local function settings(w, v, path, except)
  local out <const> = {}
  for key, one in store.sorted(v) do
    if not except[key] and type(one) ~= "function" then out[key] = w:value(one, path .. "." .. key) end
  end
  return out
end

local function set(names)
  local out <const> = {}
  for name in names:gmatch "%S+" do out[name] = true end
  return out
end

local function hyper_parameters(w, hyper, path)
  local out <const> = {}
  for name, p in store.sorted(hyper) do out[name] = w:value(p, path .. "." .. name) end
  return out
end

local function read_hyper(r, v)
  local out <const> = {}
  for name, one in pairs(r:list(v)) do out[name] = r:of(one, "gibbous.param") end
  return out
end

-- Parameters and priors -------------------------------------------------------------------------------------------------------

store.class("gibbous.param", {
  write = function(w, p, path)
    local d <const> = param.describe(p)
    d.raw = w:tensor(d.raw, path .. ".raw")
    d.min, d.max = w:value(d.min), w:value(d.max)
    d.prior = w:value(d.prior, path .. ".prior")
    if type(d.transform) == "table" then d.transform = w:foreign(d.transform, path .. ".transform", path) end
    return d
  end,
  read = function(r, d)
    local known <const> = {raw = r:tensor_of(d.raw)}
    for key, v in pairs(d) do
      if key ~= "raw" and key ~= "class" then known[key] = r:value(v) end
    end
    local p <const>, why <const> = param.restore(known)
    return p or r:fail(why)
  end,
})

store.class("gibbous.prior", {
  write = function(w, p, path) return {name = p.name, own = p.own, o = w:value(p.o, path)} end,
  read = function(r, d) return r:constructor(priors, d.name, d.own, "prior")(r:value(d.o)) end,
})

-- Kernels -------------------------------------------------------------------------------------------------------------------

local composites <const> = {sum = function(a, b) return a + b end, product = function(a, b) return a * b end}
local kernel_own <const> = set "kind row hyper parts active_dims warp_by warps label pending"

-- Least options of constructors that need some.
local least <const> = {index = {tasks = 1}, spectral_mixture = {components = 1}}

--- Is it made by gb.kernels.define? Its name may be that of a built-in one; what computes it is not.
local function is_own(k)
  if k.parts then return false end
  local make <const> = rawget(kernels, k.kind)
  local ok <const>, built_in <const> = pcall(make or error, least[k.kind])
  if not ok and raised.is_of_place(built_in) then error(built_in, 0) end
  if not ok or not kernels.is(built_in) then return true end
  return built_in.row ~= k.row
end

local ROWS <const>, TOLERANCE <const> = 3, 1e-6            -- of fingerprints; tolerance relative to the largest value

--- The fingerprint of a kernel that a function of the script computes: its values at fixed points of so many columns. Nil where it
-- takes no such points.
local function fingerprint(k, columns)
  local rows <const> = {}
  for i = 1, ROWS do
    rows[i] = {}
    for j = 1, columns do rows[i][j] = (0.37 * i + 0.61 * j) % 1 end
  end
  local ok <const>, v <const> = pcall(function()
    return k(core.tensor(rows, {dtype = "f64"})):to{dtype = "f64"}:reshape(-1):totable()
  end)
  if ok then return v end
  if raised.is_of_place(v) then error(v, 0) end
  return nil
end

local function same_values(a, b)
  if #a ~= #b then return false end
  local size = 0
  for _, v in ipairs(a) do size = v == v and math.max(size, math.abs(v)) or size end
  for i, v in ipairs(a) do
    local w <const> = b[i]
    if (v == v) ~= (w == w) or v == v and v ~= w and not (math.abs(v - w) <= TOLERANCE * size) then return false end
  end
  return true
end

--- Raises where kernel k, made by functions of the script, has other values than the one that was saved. Old files do not say.
local function check_fingerprint(r, d, k)
  local saved <const> = d.fingerprint and r:value(r:list(d.fingerprint))
  if not saved then return end
  if math.type(saved.columns) ~= "integer" or type(saved.values) ~= "table" then
    r:fail(d.kind .. ": its fingerprint is damaged")
  end
  if same_values(saved.values, fingerprint(k, saved.columns) or {}) then return end
  error(core.error("option", ("kernel '%s' is not the one that was saved: the given functions have other values at fixed points; "
    .. "load it with the functions it was fitted with"):format(tostring(d.kind)), {missing = d.kind}), 0)
end

--- Names of parameters that become one per column when data arrive.
local function set_pending(r, k, names)
  for _, name in ipairs(r:list(names)) do
    if k.hyper[name] == nil then r:fail(("%s: parameter '%s' is missing"):format(k.kind, tostring(name))) end
  end
  kernel.fields(k).pending = names
end

store.class("gibbous.kernel", {
  write = function(w, presenting, path)
    local presents <const> = presenting.row.presents                 -- the class that is read does so again
    local k <const>, parts = presents and presents(presenting) or presenting, nil
    for i, part in ipairs(k.parts or {}) do
      parts = parts or {}
      parts[i] = w:value(part, part.label and path .. "." .. part.label or ("%s[%d]"):format(path, i))
    end
    local warps
    for i, f in ipairs(k.warps or {}) do
      warps = warps or {}
      warps[i] = w:value(f, i == 1 and path .. ".warp" or ("%s.warp%d"):format(path, i))
    end
    local own <const>, columns <const> = is_own(k), w.columns or 1
    local values <const> = (own or warps) and fingerprint(k, columns)
    return {kind = k.kind, own = own, fingerprint = values and {columns = columns, values = w:value(values)} or nil,
      label = k.label, hyper = hyper_parameters(w, k.hyper, path), parts = parts,
      active_dims = w:value(k.active_dims, path), warps = warps, settings = settings(w, kernel.fields(k), path, kernel_own),
      pending = k.pending}
  end,
  read = function(r, d)
    local hyper <const>, parts = read_hyper(r, d.hyper), nil
    for i, one in ipairs(d.parts and r:list(d.parts) or {}) do
      parts = parts or {}
      parts[i] = r:of(one, "gibbous.kernel")
    end
    local k
    if composites[d.kind] then
      k = composites[d.kind](kernels.constant{}, kernels.constant{})
      if parts == nil or #parts < 2 then r:fail(("a %s of kernels has %d parts"):format(d.kind, parts and #parts or 0)) end
      for name in pairs(hyper) do
        if name ~= "variance" then r:fail(("a %s of kernels has no parameter '%s'"):format(d.kind, tostring(name))) end
      end
    else
      local o <const> = r:value(d.settings or {})
      for name, p in pairs(hyper) do o[name] = p end
      o.active_dims = r:value(d.active_dims)
      local make <const> = r:constructor(kernels, d.kind, d.own, "kernel")
      if parts then k = make(parts, o) else k = make(o) end
      if not kernels.is(k) then r:fail(("'%s' makes no kernel"):format(tostring(d.kind))) end
    end
    for name in pairs(k.hyper) do
      if hyper[name] == nil and name ~= "variance" then r:fail(("%s: parameter '%s' is missing"):format(d.kind, name)) end
    end
    local f <const> = kernel.fields(k)
    f.hyper, f.parts = hyper, parts
    if d.pending then set_pending(r, k, d.pending) end
    for _, f in ipairs(d.warps and r:list(d.warps) or {}) do k = k:warp(r:value(f)) end
    check_fingerprint(r, d, k)
    return d.label and k:named(d.label) or k
  end,
})

-- Means and noise ---------------------------------------------------------------------------------------------------------------

local mean_makers <const> = {
  zero = function() return means.zero() end,
  constant = function(hyper) return means.constant(hyper.value) end,
  linear = function(hyper) return means.linear(hyper) end,
  sum = function(hyper, parts) return means.composite("sum", parts, hyper) end,
  multiple = function(hyper, parts) return means.composite("multiple", parts, hyper) end,
}
local mean_own <const> = set "kind form hyper parts root task_column"

--- The means that a mean is made of; nil: none. Of a sum there are two or more, of a multiple one, with its factor.
local function mean_parts(r, d, hyper)
  if d.kind ~= "sum" and d.kind ~= "multiple" or d.own then return nil end
  local out <const> = {}
  for i, one in ipairs(r:list(d.parts or {})) do out[i] = r:of(one, "gibbous.mean") end
  local fits = #out == 1 and hyper.factor ~= nil
  if d.kind == "sum" then fits = #out > 1 end
  if not fits then r:fail(("a %s of means has %d parts"):format(d.kind, #out)) end
  return out
end

store.class("gibbous.mean", {
  write = function(w, m, path)
    local parts
    for i, part in ipairs(m.parts or {}) do
      parts = parts or {}
      parts[i] = w:value(part, ("%s[%d]"):format(path, i))
    end
    return {kind = m.kind, own = mean_makers[m.kind] == nil and m.root == nil, hyper = hyper_parameters(w, m.hyper, path),
      parts = parts, root = w:value(m.root, path), settings = settings(w, means.fields(m), path, mean_own)}
  end,
  read = function(r, d)
    local hyper <const> = read_hyper(r, d.hyper)
    local m
    if d.own then m = r:constructor(means, d.kind, true, "mean")(hyper)
    elseif d.root ~= nil then m = means.of(r:value(d.root))
    elseif mean_makers[d.kind] then m = mean_makers[d.kind](hyper, mean_parts(r, d, hyper))
    else r:fail(("mean '%s' is unknown to this version"):format(tostring(d.kind))) end
    if not means.is(m) then r:fail(("'%s' makes no mean"):format(tostring(d.kind))) end
    for name in pairs(m.hyper) do
      if hyper[name] == nil then r:fail(("the mean's parameter '%s' is missing"):format(name)) end
    end
    local f <const> = means.fields(m)
    f.hyper = hyper
    for key, v in pairs(r:value(d.settings or {})) do f[key] = v end
    return m
  end,
})

local likelihood_makers <const> = {
  gaussian = function(o) return likelihoods.gaussian(o.noise) end,
  fixed = function(o) return likelihoods.fixed(o.noise) end,
  heteroscedastic = function(o)
    return likelihoods.heteroscedastic{kernel = o.kernel, places = o.places, log_variance = o.log_variance, noise = o.noise}
  end,
  gradients = function(o) return likelihoods.of_gradients(o.noise, o.gradient_noise, "load") end,
  tasks = function(o) return likelihoods.tasks(o.noise) end,
}
-- What the constructor chooses.
local likelihood_own <const> = set "kind form variance new_variance resolve set_floor derivatives kinds"

store.class("gibbous.likelihood", {
  write = function(w, l, path)
    if l.kernel and not l.places then
      w:fail(path, "cannot be saved before its places are chosen: fit the model, or give places as inputs (m, d)")
    end
    local out <const>, f <const> = {}, likelihoods.fields(l)
    for key, v in store.sorted(f) do
      if not likelihood_own[key] then out[key] = w:value(v, path .. "." .. key) end
    end
    return {kind = l.kind, own = f.form and f.form.own or nil, settings = out}
  end,
  read = function(r, d)
    local make <const> = likelihood_makers[d.kind]
    if make == nil then
      local given <const> = d.own and r:constructor(likelihoods, d.kind, true, "likelihood") or nil
      local other <const> = not_gaussian.restored(d.kind, given, r:value(r:list(d.settings)))
      if other then return other end
    end
    if make == nil then r:fail(("likelihood '%s' is unknown to this version"):format(tostring(d.kind))) end
    local o <const> = r:value(r:list(d.settings))
    local l <const> = make(o)
    for key, v in pairs(o) do likelihoods.fields(l)[key] = v end
    return l
  end,
})

-- Networks ------------------------------------------------------------------------------------------------------------------

store.class("gibbous.block", {
  write = function(w, b, path)
    local made <const> = rawget(b, "made")
    local out <const> = {kind = made.kind, made = made.arguments, layers = nil, params = {}}
    for i, layer in ipairs(rawget(b, "layers") or {}) do
      out.layers = out.layers or {}
      out.layers[i] = w:value(layer, ("%s[%d]"):format(path, i))
    end
    for _, pair in ipairs(rawget(b, "parts")) do
      if param.is(pair[2]) then out.params[pair[1]] = w:value(pair[2], path .. "." .. pair[1]) end
    end
    return out
  end,
  read = function(r, d)
    if d.kind == "sequential" then return nn.sequential(r:value(d.layers or {})) end
    local make <const> = r:constructor(nn, d.kind, false, "block")
    local b <const> = make(table.unpack(r:list(d.made)))
    if type(rawget(b, "parts")) ~= "table" then r:fail(("'%s' makes no network"):format(tostring(d.kind))) end
    local params <const> = read_hyper(r, d.params)
    for _, pair in ipairs(rawget(b, "parts")) do
      local p <const> = params[pair[1]]
      if p == nil or p.shape ~= pair[2].shape then
        r:fail(("%s: parameter '%s' is missing or of another shape"):format(rawget(b, "label"), pair[1]))
      end
      pair[2] = p
    end
    return b
  end,
})

store.class("gibbous.func", {
  write = function(w, f, path)
    local out <const> = w:foreign(f, f.name, path)
    return {given = out}
  end,
  read = function(r, d) return r:value(d.given) end,
})

-- Solvers -----------------------------------------------------------------------------------------------------------------------

--- Do two solvers differ in settings only?
local function same_kind(a, b)
  if type(b) ~= "table" or getmetatable(a) ~= getmetatable(b) then return false end
  for key, f in next, a do
    if type(f) == "function" and rawget(b, key) ~= f then return false end
  end
  return true
end

--- The name of the constructor that makes such solvers.
local function solver_kind(v)
  for name, make in store.sorted(solvers) do
    local ok <const>, made <const> = pcall(make, {})
    if not ok and raised.is_of_place(made) then error(made, 0) end
    if ok and same_kind(v, made) then return name end
  end
  return nil
end

store.class("gibbous.solver", {
  write = function(w, s, path)
    local kind <const> = solver_kind(s)
    if kind == nil then w:fail(path, "is a solver that a script has defined, which cannot be saved") end
    return {kind = kind, o = w:value(s.o, path)}
  end,
  read = function(r, d) return r:constructor(solvers, d.kind, false, "solver")(r:value(d.o)) end,
})

--- Settings as they were given, and what was chosen for each number of points.
store.class("gibbous.precond", {
  write = function(w, p, path)
    local choices
    for n, record in store.sorted(rawget(p, "choices") or {}) do
      choices = choices or {}
      choices[#choices + 1] = {n = n, record = w:record(record, path)}
    end
    return {kind = p.kind, settings = w:value(p.o, path), choices = choices}
  end,
  read = function(r, d)
    local p <const> = r:constructor(precond, d.kind, false, "preconditioner")(r:value(d.settings))
    for _, one in ipairs(d.choices and r:list(d.choices) or {}) do
      if math.type(r:list(one).n) ~= "integer" then r:fail "a preconditioner's choices are by number of points" end
      p.choices[one.n] = r:value(one.record)
    end
    return p
  end,
})

return store
