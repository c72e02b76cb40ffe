--- The stack as it was when an entry failed: frames with their locals, to be looked at afterwards. Values that may hold memory are
-- held weakly, with their first line as text.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"

local M <const> = {}

local MOST <const> = 60                    -- frames, and locals of a frame, that are remembered
local DEEPEST <const> = 200                -- frames that are looked at, the library's included
local last, at                             -- the frames of the last error, innermost first; the one that is looked at

local function is_library(info) return info.source:sub(1, 9) == "=gibbous/" end

--- One line, which neither computes anything nor runs code of the script.
local function words(v)
  if core.as_tensor(v) ~= nil and core.type(v) == "tensor" then return ("tensor %s %s"):format(v.shape, v.dtype) end
  local kind <const> = type(v)
  if kind == "string" then return #v > 60 and ("%q..."):format(v:sub(1, 57)) or ("%q"):format(v) end
  if kind == "table" then
    local meta <const> = debug.getmetatable(v)
    local name <const> = type(meta) == "table" and rawget(meta, "__name")
    if type(name) == "string" then return (name:gsub("^gibbous%.", "")) end
    local count = 0
    for _ in next, v do count = count + 1 end
    return "table of " .. counted(count, "entry", "entries")
  end
  if v ~= v then return "nan" end                            -- whatever its sign
  if kind == "number" or kind == "boolean" or kind == "nil" then return tostring(v) end
  return kind
end

local weak <const> = {__mode = "v"}

local function add_local(list, name, v)
  if name:sub(1, 1) == "(" or #list >= MOST then return end
  local held <const> = {v}
  if type(v) == "table" or type(v) == "userdata" then setmetatable(held, weak) end
  list[#list + 1] = {name = name, words = words(v), held = held}
end

local function locals_of(level, f)
  local list <const> = {}
  for i = 1, MOST do
    local name <const>, value <const> = debug.getlocal(level + 1, i)
    if name == nil then break end
    add_local(list, name, value)
  end
  for i = 1, MOST do
    local name <const>, value <const> = debug.getupvalue(f, i)
    if name == nil then break end
    if name ~= "_ENV" then add_local(list, name, value) end
  end
  return list
end

local function title(info)
  if info.what == "main" then return "main chunk" end
  if info.name then return ("%s '%s'"):format(info.namewhat ~= "" and info.namewhat or "function", info.name) end
  return ("function <%s:%d>"):format(info.short_src, info.linedefined)
end

--- What the prompt was about to print: of the values of its function at 'level' those before are texts already.
local function displayed(level)
  for i = 1, MOST do
    local name <const>, value <const> = debug.getlocal(level + 1, i)
    if name == nil then return nil end
    if type(value) == "table" or type(value) == "userdata" then return value end
  end
  return nil
end

--- The frame of a value that an entry gave, and that failed while it was displayed.
local function display_frame(value)
  local locals <const> = {}
  add_local(locals, "_", value)
  local line <const> = core.as_tensor(value) ~= nil and core.made(value) or ""
  return {where = line ~= "" and line or "stdin:1", title = "the display of _", locals = locals}
end

--- Remembers the frames of the running stack that are the script's, from 'level' on, as the message handler of an entry sees it.
-- print_values: the prompt's function that displays values. The place that :debug shows first, nil where there is none.
function M.capture(level, print_values)
  local list <const> = {}
  local value
  for depth = level + 1, level + DEEPEST do
    local info <const> = debug.getinfo(depth, "nSlf")
    if info == nil or #list >= MOST then break end
    if info.func == print_values then value = displayed(depth) end
    if info.what ~= "C" and not is_library(info) then
      list[#list + 1] = {where = ("%s:%d"):format(info.short_src, info.currentline), title = title(info),
        locals = locals_of(depth, info.func)}
    end
  end
  if value ~= nil then list[#list + 1] = display_frame(value) end
  last, at = list, 1
  return list[1] and list[1].where
end

--- The frames as lines; the one that is looked at is marked, and its locals follow.
function M.show()
  if last == nil or #last == 0 then return "no error to look at: :debug shows the frames of the last entry that failed" end
  local lines <const> = {}
  for i, frame in ipairs(last) do
    lines[#lines + 1] = ("%s %d  %s: in %s"):format(i == at and ">" or " ", i, frame.where, frame.title)
  end
  local width = 0
  for _, l in ipairs(last[at].locals) do width = math.max(width, #l.name) end
  for _, l in ipairs(last[at].locals) do
    lines[#lines + 1] = ("      %s = %s"):format(l.name .. (" "):rep(width - #l.name), l.words)
  end
  if #last[at].locals == 0 then lines[#lines + 1] = "      no locals" end
  return table.concat(lines, "\n")
end

--- Looks 'by' frames further out. The text to show.
function M.move(by)
  if last == nil or #last == 0 then return M.show() end
  if not last[at + by] then return by > 0 and "this is the outermost frame" or "this is the innermost frame" end
  at = at + by
  return M.show()
end

--- The names of the frame that is looked at, over the globals: what an expression can use.
function M.environment()
  local env <const> = {}
  for _, l in ipairs(last and last[at] and last[at].locals or {}) do
    if env[l.name] == nil then env[l.name] = l.held[1] end
  end
  return setmetatable(env, {__index = _G})
end

return M
