--- Terms of sums: which of them a script names, and the kernel of some of them alone.
--
-- A selection says which: true for a kernel with all that it is made of, else {[i] = selection} of some parts of a sum, or of the
-- one factor of a product that is a sum: (a + b) * c is a * c + b * c. It holds for every copy of the kernel.
local algebra <const> = require "gibbous.kernels.algebra"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local kernel <const> = require "gibbous.kernels.kernel"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local function refuse(what, text, ...) core.raise("option", ("%s: %s"):format(what, text:format(...))) end

-- Names ---------------------------------------------------------------------------------------------------------------

--- Calls visit(k, trail) for a kernel and all that it is made of; trail: the list of positions that leads to it.
local function each(k, visit, trail)
  trail = trail or {}
  visit(k, trail)
  for i, part in ipairs(k.parts or {}) do
    local own <const> = table.move(trail, 1, #trail, 1, {})
    own[#own + 1] = i
    each(part, visit, own)
  end
end

--- Where in 'root' the kernel k itself stands; nil: it does not.
local function trail_of(root, k)
  local found
  each(root, function(one, trail) found = found or rawequal(one, k) and trail or nil end)
  return found
end

--- The trails of parts called 'name', and the names of all.
local function labelled(root, name)
  local trails <const>, names <const> = {}, {}
  each(root, function(one, trail)
    if one.label == name then trails[#trails + 1] = trail end
    if one.label and #trail > 0 then names[one.label] = true end
  end)
  return trails, names
end

local function listed(names)
  local list <const> = {}
  for name in pairs(names) do list[#list + 1] = ('"%s"'):format(name) end
  table.sort(list)
  return #list > 0 and "named parts: " .. table.concat(list, ", ") or 'k:named "trend" names a part, "kernel[1]" is the first'
end

--- The trail of a path below the kernel, ".trend[2]"; nil where it leads nowhere.
local function trail_of_path(root, path)
  local at, trail <const> = root, {}
  while path ~= "" do
    local name <const>, number <const> = path:match "^%.([%a_][%w_]*)", path:match "^%[(%d+)%]"
    if not (name or number) then return nil end
    local place
    for i, part in ipairs(at.parts or {}) do
      if number and i == math.tointeger(number) or name and part.label == name then place = i end
    end
    if not place then return nil end
    trail[#trail + 1], at = place, at.parts[place]
    path = path:sub(2 + #(name or number) + (number and 1 or 0))
  end
  return trail
end

--- The trail of what a script calls a part: its name, its path, or the part itself.
local function find(root, wanted, what)
  if kernel.is(wanted) then
    return trail_of(root, wanted) or refuse(what, "the kernel that is given is no part of this model's, which are copies: "
      .. "m.kernel[1] is the first, m.kernel.trend the one of that name")
  end
  if type(wanted) ~= "string" then
    refuse(what, "a part of the kernel is a name, a path or a kernel, got %s", options.shown(wanted))
  end
  local path <const> = wanted:match "^kernel([.%[].*)$" or wanted == "kernel" and ""
  local trails, names = {}, nil
  if path then trails[1] = trail_of_path(root, path) else trails, names = labelled(root, wanted) end
  if #trails == 1 then return trails[1] end
  if #trails > 1 then refuse(what, "%s of it are called '%s': a path tells them apart", counted(#trails, "part"), wanted) end
  names = names or select(2, labelled(root))
  local near <const> = options.nearest(wanted, names)
  refuse(what, "the kernel has no part '%s' (%s)", wanted, near and ("did you mean '%s'?"):format(near) or listed(names))
end

-- Selections ----------------------------------------------------------------------------------------------------------

local function text_of(k) return k.label and ("'%s'"):format(k.label) or tostring(k) end

--- Raises where the trail leads to what is no term of a sum.
local function check_term(root, trail, what)
  local at = root
  for i, place in ipairs(trail) do
    local part <const> = at.parts[place]
    if at.kind == "product" and i == #trail then
      refuse(what, "%s is a factor of a product: it scales the other factors and adds nothing by itself; the product is "
        .. "the part", text_of(part))
    elseif at.kind ~= "sum" and at.kind ~= "product" then
      refuse(what, "%s stands within a kernel of kind '%s', which is no sum of its parts", text_of(part), at.kind)
    end
    at = part
  end
end

--- Adds the term at the end of a trail to a selection; nil: the selection has it already.
local function add(selection, k, trail, what)
  local at, of = selection, k
  for i, place in ipairs(trail) do
    if of.kind == "product" and next(at) and at[place] == nil then
      refuse(what, "terms of two factors of one product overlap: a list is of terms of one sum")
    end
    if at[place] == true or i == #trail and at[place] ~= nil then return nil end
    at[place] = i == #trail or at[place] or {}
    at, of = at[place], of.parts[place]
  end
  return selection
end

--- The selection of a part of 'root' or of a list of parts, each a name (that of k:named), a path ("kernel[2]", "kernel.trend") or
-- the part itself. what: begins messages. Errors: option.
function M.select(root, wanted, what)
  local list <const> = type(wanted) == "table" and not kernel.is(wanted) and wanted or {wanted}
  if #list == 0 then refuse(what, "the list of parts of the kernel is empty") end
  local out = {}
  for _, one in ipairs(list) do
    local trail <const> = find(root, one, what)
    check_term(root, trail, what)
    if #trail == 0 then
      if #list > 1 then refuse(what, "the whole kernel is given beside parts of it") end
      return true
    end
    out = add(out, root, trail, what) or refuse(what, "%s is given twice", kernel.is(one) and text_of(one) or "'" .. one .. "'")
  end
  return out
end

--- The kernel of the selected terms alone, of the same boxes; it looks at the same columns as within k.
function M.only(k, selection)
  if selection == true then return k end
  local chosen <const> = {}
  local out <const> = kernel.clone(k)
  local of <const> = kernel.fields(out)
  of.parts = table.move(k.parts, 1, #k.parts, 1, {})
  for i in ipairs(k.parts) do
    if selection[i] then
      chosen[#chosen + 1] = i
      of.parts[i] = M.only(k.parts[i], selection[i])
    end
  end
  if k.kind == "sum" then algebra.choose(out, chosen) end
  return out
end

return M
