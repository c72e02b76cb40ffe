--- The last results of the prompt as _, _1, _2, ..: _ and _1 are the last one. A tensor, an object of the library, and a table that
-- has one in it are held weakly, so that a result without a name of its own takes no memory for longer than its neighbours do.
local core <const> = require "gibbous.core"

local M <const> = {}

local MOST <const> = 9                     -- results that are remembered
local DEPTH <const> = 4                    -- tables within tables that are searched for tensors

local weak <const> = {__mode = "v"}
local kept <const> = {}                    -- the last one first: {1: value} with what it was

--- May the value hold memory of the library's?
local function is_large(v, depth)
  if core.as_tensor(v) ~= nil then return true end
  if type(v) == "userdata" or type(v) == "function" or type(v) == "thread" then return true end
  if type(v) ~= "table" then return false end
  if debug.getmetatable(v) ~= nil or depth > DEPTH then return true end
  for _, inner in next, v do
    if is_large(inner, depth + 1) then return true end
  end
  return false
end

--- Words for what a value was, read when it is gone.
local function described(v)
  if core.as_tensor(v) ~= nil and core.type(v) == "tensor" then return ("a tensor %s of %s"):format(v.shape, v.dtype) end
  local name <const> = core.type(v):gsub("^gibbous%.", "")
  return (name:find "^[aeiou]" and "an " or "a ") .. name
end

local function read(name)
  local digits <const> = type(name) == "string" and name:match "^_(%d*)$"
  local row <const> = digits and kept[digits == "" and 1 or tonumber(digits)]
  if not row then return nil end
  if row[1] == nil and not row.was_nil then
    core.raise("option", ("%s was %s that nothing else held: its memory was given back; name a result to keep it"):format(name,
      row.what))
  end
  return row[1]
end

local before                               -- what the global table did with unknown names

local function index(t, name)
  local v <const> = read(name)
  if v ~= nil then return v end
  if type(before) == "function" then return before(t, name) end
  return before and before[name]
end

--- Globals that do not exist lead here; an assignment to _ wins over it. A script's own rule for unknown names stays below.
local function install()
  local meta = debug.getmetatable(_G)
  if meta == nil then
    meta = {}
    debug.setmetatable(_G, meta)
  end
  if rawget(meta, "__index") == index then return end
  before = rawget(meta, "__index")
  rawset(meta, "__index", index)
end

-- Kept results ----------------------------------------------------------------------------------------------------------------

local pinned <const> = setmetatable({}, weak)              -- names of kept results to their values, which the globals hold

--- Has the name been given to a result, and to nothing else since?
function M.is_pinned(name) return pinned[name] ~= nil and rawequal(rawget(_G, name), pinned[name]) end

local function free_name()
  local i = 1
  while rawget(_G, "pin" .. i) ~= nil do i = i + 1 end
  return "pin" .. i
end

local function check_name(name, complain)
  if not name:find "^[%a_][%w_]*$" or name == "_ENV" or not load(name .. " = 1", "=name", "t") then
    complain("'%s' cannot name a variable", name)
  end
  if name:find "^_%d*$" then complain("%s moves on with the next result: choose another name", name) end
  if rawget(_G, name) ~= nil and not M.is_pinned(name) then complain("%s is a variable already: choose another name", name) end
end

--- Keeps the last result as the global 'name', or one that is free; which it gives. complain(format, ...) raises.
function M.pin(name, complain)
  if name then check_name(name, complain) end
  local value = rawget(_G, "_")
  if value == nil then value = read "_" end
  if value == nil then complain "there is no result to keep: an expression gives one" end
  name = name or free_name()
  pinned[name] = value
  rawset(_G, name, value)
  return name
end

--- Lets go of one kept result, or of all: their sorted names.
function M.unpin(name, complain)
  local names <const> = {}
  for known in next, pinned do
    if M.is_pinned(known) and (name == nil or known == name) then names[#names + 1] = known end
  end
  if #names == 0 then complain("%s", name and ("no result is kept as %s"):format(name) or "no result is kept") end
  table.sort(names)
  for _, known in ipairs(names) do
    rawset(_G, known, nil)
    pinned[known] = nil
  end
  return names
end

--- Remembers a result.
function M.keep(v)
  table.insert(kept, 1, setmetatable({v, what = described(v), was_nil = v == nil}, is_large(v, 1) and weak or nil))
  kept[MOST + 1] = nil
  install()
end

return M
