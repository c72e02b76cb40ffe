--- The kernel value: evaluation, paths of its parameters, copies, text. Its algebra is kernels/algebra.lua.
--
-- A kernel holds, in M.fields, its row (what all kernels of its kind share) and its own settings:
--   kind, row          name; {form, diag, ...}, see kernels/build.lua
--   hyper              hyper-parameters by name; 'variance' multiplies the form
--   parts              kernels that the form is made of, nil for base kernels
--   active_dims        positions of the columns it looks at, nil for all that it sees
--   warp_by, warps     the function that inputs pass first, and the objects it was composed of, the innermost last
--   label              its name in paths and reports
--   pending            names of parameters that become one per column when data arrives
--   chosen             positions of the parts that count, of a sum of which some are asked for (kernels/terms.lua)
--
-- A column of task numbers belongs to the index kernels of an expression: the other parts do not see it, unless their
-- active_dims name it. 'hidden' are such columns, ascending.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.base.object"
local param <const> = require "gibbous.param"

---@class gibbous.kernel
local Kernel <const> = {__name = "gibbous.kernel"}
local methods <const> = object.methods(Kernel, "a kernel", "k")

local M <const> = {Kernel = Kernel, methods = methods}

-- Settings that not every kernel has, beside the choices of its row.
local settings <const> = {parts = true, active_dims = true, warp_by = true, warps = true, label = true, pending = true,
  column = true, chosen = true}

function M.is(v) return type(v) == "table" and getmetatable(v) == Kernel end

--- The kernel that scripts see: of one that presents its only part (kernels/gradients.lua) that part, else k itself.
function M.presented(k) return k.row.presents and k.parts[1] or k end

--- Does the library use this name itself, so that no hyper-parameter can have it?
function M.is_taken(name)
  return settings[name] or methods[name] ~= nil or name == "kind" or name == "row" or name == "hyper"
end

--- The state of a kernel; only the library writes to it.
function M.fields(self) return rawget(self, "_fields") end

local fields <const> = M.fields

function M.new(kind, row) return setmetatable({_fields = {kind = kind, row = row, hyper = {}}}, Kernel) end

--- A kernel of the same settings and boxes.
function M.clone(self)
  local copied <const> = {}
  for k, v in pairs(fields(self)) do copied[k] = v end
  copied.hyper = {}
  for k, v in pairs(self.hyper) do copied.hyper[k] = v end
  return setmetatable({_fields = copied}, Kernel)
end

-- Evaluation ----------------------------------------------------------------------------------------------------------

--- The columns of inputs with d columns that belong to index kernels among the parts of 'self', or to 'self'.
local function claims(self, d)
  local taken <const> = {}
  local function visit(k)
    if k.row.claims then taken[columns.position(k, k.active_dims[1], d)] = true end
    for _, part in ipairs(k.parts or {}) do
      if not part.warp_by then visit(part) end        -- what is warped has columns of its own
    end
  end
  visit(self)
  local list <const> = {}
  for at in pairs(taken) do list[#list + 1] = at end
  table.sort(list)
  return list
end

--- Positions of the columns that a base kernel looks at; nil = all.
local function looks_at(self, d, hidden)
  if self.active_dims then
    local at <const> = {}
    for i, k in ipairs(self.active_dims) do at[i] = columns.position(self, k, d) end
    return at
  end
  if #hidden == 0 or self.row.blind then return nil end
  local at <const>, taken <const> = {}, {}
  for _, k in ipairs(hidden) do taken[k] = true end
  for k = 1, d do
    if not taken[k] then at[#at + 1] = k end
  end
  if #at == 0 then
    core.raise("shape", ("%s: beside the task numbers the inputs have no column"):format(self.kind))
  end
  return at
end

--- The columns of inputs outside 'self' that are hidden from it.
local function outer_claims(self, d) return self.warp_by and {} or claims(self, d) end
M.outer_claims = outer_claims

--- The inputs as the form of 'self' takes them. A composite leaves the choice to its parts, unless it is warped.
local function seen(self, x, hidden)
  local at <const> = (not self.parts or self.warp_by) and looks_at(self, x.shape[2], hidden)
  if at then x = columns.take(x, at) end
  return self.warp_by and columns.points(self.warp_by(x), "the warped inputs") or x
end

M.seen = seen

--- The columns of x that the parts of 'self' do not see.
local function within(self, x, hidden)
  return self.parts and self.warp_by and claims(self, x.shape[2]) or hidden
end
M.within = within

local function with_variance(self, x, v)
  return self.hyper.variance and columns.adopt(self.hyper.variance, x) * v or v
end

--- The matrix of k between x and z, the same handle for k(x).
function M.value(self, x, z, hidden)
  local same <const> = rawequal(x, z)
  local a <const> = seen(self, x, hidden)
  local b <const> = same and a or seen(self, z, hidden)
  return with_variance(self, x, self.row.form(self, a, b, within(self, a, hidden)))
end

function M.diag(self, x, hidden)
  local a <const> = seen(self, x, hidden)
  local v <const> = self.row.diag and self.row.diag(self, a, within(self, a, hidden)) or columns.one(x):expand(#x)
  return with_variance(self, x, v)
end

--- k(x) (n, n) or k(x, z) (n, m), lazy. Cost when contracted: one pass over the n m pairs, O(n + m) memory.
function Kernel.__call(self, x, z)
  local same <const> = z == nil or rawequal(x, z)
  local first <const>, second <const> = x, z
  x = columns.points(x, "argument 1 of a kernel")
  z = same and x or columns.points(z, "argument 2 of a kernel")
  if x.shape[2] ~= z.shape[2] then
    core.raise("shape", ("kernel: inputs differ in columns: %s and %s"):format(core.told(first), core.told(second)))
  end
  if x.device ~= z.device then
    core.raise("device", ("kernel: argument 1 lies on %s, argument 2 on %s: move one of them, :to '%s'"):format(x.device, z.device,
      x.device))
  end
  return M.value(self, x, z, outer_claims(self, x.shape[2]))
end

--- The diagonal of k(x), (n), lazy.
function methods.diag(self, x)
  x = columns.points(x, "argument 1 of diag")
  return M.diag(self, x, outer_claims(self, x.shape[2]))
end

-- Widths known when data arrives --------------------------------------------------------------------------------------

--- A parameter like 'before' with one number, or row, for each of 'width' columns.
local function widened(before, width)
  local v <const> = before.value
  local shape <const> = table.move(v.shape, 1, v.ndim, 1, {})
  shape[#shape + 1] = width
  return param.set_open(param.like(before, v:unsqueeze(-1):expand(shape):eval()), param.is_open(before))
end

--- made: the parameters that took the place of others, by these and their width, so that what is tied (k * k) stays tied.
local function widen(self, width, made)
  for _, name in ipairs(self.pending) do
    local before <const> = self.hyper[name]
    made[before] = made[before] or {}
    made[before][width] = made[before][width] or widened(before, width)
    self.hyper[name] = made[before][width]
  end
  fields(self).pending = nil
end

local function resolve(self, d, hidden, made)
  local at <const> = (not self.parts or self.warp_by) and looks_at(self, d, hidden)
  local width = at and #at or d
  if self.warp_by and (self.pending or self.parts) then
    width = columns.points(self.warp_by(core.zeros(1, width)), "the warped inputs").shape[2]
    hidden = self.parts and claims(self, width) or hidden
  end
  if self.pending then widen(self, width, made) end
  for _, part in ipairs(self.parts or {}) do resolve(part, width, hidden, made) end
end

--- Gives kernels built with ard = true one parameter per column of 'd'-column inputs. Models call it on their copy when
-- data arrives.
function M.resolve_ard(self, d) resolve(self, d, outer_claims(self, d), {}) end

-- Paths ---------------------------------------------------------------------------------------------------------------

--- "rbf" or, where it has a name of its own, "trend": for messages.
local function name_of(self) return ("the kernel %s"):format(self.label or self.kind) end

--- The names that a user may read from a kernel: its hyper-parameters, its parts, and methods.
local function names_of(self)
  local names <const> = {}
  for _, part in ipairs(self.parts or {}) do
    if part.label then names[part.label] = true end
  end
  return self.hyper, names, methods, self.row.methods or {}
end

--- Is 'key' a setting, or a hyper-parameter of kernels of this kind, though this one may have none?
local function is_setting(self, key)
  local row <const> = fields(self).row
  if settings[key] or row.hyper and row.hyper[key] ~= nil then return true end
  for _, choice in ipairs(row.choices or {}) do
    if choice[1] == key then return true end
  end
  return false
end

function Kernel.__index(self, key)
  local f <const> = fields(self)
  if type(key) == "number" and f.row.presents then return f.parts[1][key] end
  if type(key) == "number" then
    if f.parts == nil then return key == 1 and self or nil end
    return f.parts[key]
  end
  if f[key] ~= nil then return f[key] end
  local method <const> = methods[key] or f.row.methods and f.row.methods[key]
  if method then return method end
  if f.hyper[key] ~= nil then return f.hyper[key] end
  for _, part in ipairs(f.parts or {}) do
    if fields(part).label == key then return part end
  end
  if is_setting(self, key) then return nil end
  if f.row.presents then return f.parts[1][key] end
  object.no_field(name_of(self), key, names_of(self))
end

--- k.lengthscale = 0.3 gives the hyper-parameter that value, within its bounds; nothing else of a kernel changes.
function Kernel.__newindex(self, key, v)
  local f <const> = fields(M.presented(self))
  local p <const> = f.hyper[key]
  if p then
    param.set(p, v)
  elseif f[key] ~= nil or is_setting(self, key) then
    core.raise("option", ("%s: '%s' is chosen when a kernel is made"):format(name_of(self), tostring(key)))
  elseif type(key) == "number" or M.is(v) then
    core.raise("option", ("%s: parts are chosen when a kernel is made"):format(name_of(self)))
  else
    object.no_field(name_of(self), key, f.hyper)
  end
end

function Kernel.__len(self) return self.parts and #self.parts or 1 end

--- Ordered {key, child} pairs for gb.params: hyper-parameters sorted by name, then parts, then a warp.
function Kernel.__children(self)
  if self.row.presents then return Kernel.__children(self.parts[1]) end
  local out <const>, names <const> = {}, {}
  for name in pairs(self.hyper) do
    if name ~= "variance" then names[#names + 1] = name end
  end
  table.sort(names)
  if self.hyper.variance then names[#names + 1] = "variance" end
  for _, name in ipairs(names) do out[#out + 1] = {name, self.hyper[name]} end
  for i, part in ipairs(self.parts or {}) do out[#out + 1] = {part.label or i, part} end
  local warps <const> = self.warps or {}
  if #warps > 0 then out[#out + 1] = {"warp", #warps == 1 and warps[1] or warps} end
  return out
end

--- An independent copy: implicit hyper-parameters are copied, explicit gb.params and networks are shared. copies: param.copies().
function methods.copy(self, copies)
  copies = copies or param.copies()
  local out <const> = M.clone(self)
  for name, p in pairs(self.hyper) do out.hyper[name] = copies(p) end
  if self.parts then
    local parts <const> = {}
    for i, part in ipairs(self.parts) do parts[i] = part:copy(copies) end
    fields(out).parts = parts
  end
  return out
end

-- Text ----------------------------------------------------------------------------------------------------------------

local function numbers_text(v)
  if type(v) ~= "table" then return ("%.4g"):format(v) end
  local cells <const> = {}
  for i, c in ipairs(v) do
    if i > 6 then
      cells[7] = "..."
      break
    end
    cells[i] = numbers_text(c)
  end
  return "{" .. table.concat(cells, ", ") .. "}"
end

local function value_text(p)
  local v <const> = p.value
  return numbers_text(v.ndim == 0 and v:item() or v:totable())
end

--- Settings and hyper-parameters, "name=value".
local function cells_of(self)
  local cells <const> = {}
  for _, choice in ipairs(self.row.choices or {}) do cells[#cells + 1] = ("%s=%d"):format(choice[1], self[choice[1]]) end
  for _, pair in ipairs(Kernel.__children(self)) do
    if param.is(pair[2]) then cells[#cells + 1] = ("%s=%s"):format(pair[1], value_text(pair[2])) end
  end
  if self.active_dims then cells[#cells + 1] = "active_dims={" .. table.concat(self.active_dims, ", ") .. "}" end
  return cells
end

--- A part's text inside a composite: a sum within a product keeps its brackets.
local function part_text(part, outer)
  local text <const> = tostring(part)
  local bare_sum <const> = part.kind == "sum" and outer == "product" and not part.label and not part.hyper.variance
  return bare_sum and "(" .. text .. ")" or text
end

local joints <const> = {sum = " + ", product = " * "}

local function body_text(self, cells)
  local parts <const> = {}
  for i, part in ipairs(self.parts) do parts[i] = part_text(part, self.kind) end
  if not joints[self.kind] then
    return ("%s{%s}(%s)"):format(self.kind, table.concat(cells, ", "), table.concat(parts, ", "))
  end
  local body = table.concat(parts, joints[self.kind])
  if self.label then body = ("%s(%s)"):format(self.label, body) end
  return #cells > 0 and ("{%s} (%s)"):format(table.concat(cells, ", "), body) or body
end

function Kernel.__tostring(self)
  if self.row.presents then return tostring(self.row.presents(self)) end
  local cells <const> = cells_of(self)
  local name <const> = self.label and self.label .. ":" .. self.kind or self.kind
  local text <const> = self.parts and body_text(self, cells) or ("%s{%s}"):format(name, table.concat(cells, ", "))
  if not self.warp_by then return text end
  return (self.parts and "(%s):warp(...)" or "%s:warp(...)"):format(text)
end

return M
