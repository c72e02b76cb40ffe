--- A loop that says how far it is:  for i in gb.progress(n, label) do ... end
--
-- Loops within loops share one line, outermost first. It is drawn on stderr, at most ten times a second where stderr is a
-- terminal, and written once a minute where it is a log. When a loop ends, by itself, by break, by an error or by Ctrl-C, its part
-- of the line goes; at a terminal the outermost one leaves what it reached.
local core <const> = require "gibbous.core"
local line <const> = require "gibbous.text.progress_line"
local options <const> = require "gibbous.base.options"
local text <const> = require "gibbous.text.progress"

local active <const> = {}                  -- loops that are running, outermost first
local said <const> = {last = -math.huge}   -- when the line was drawn or written

local function say(now)
  local terminal <const>, parts <const> = core.isatty(2), {}
  local kind <const> = not terminal and "none" or line.is_utf8() and "blocks" or "ascii"
  for i, loop in ipairs(active) do parts[i] = text.text(loop, now, kind) end
  said.last = now
  line.say(table.concat(parts, "  "))
end

local function finish(loop)
  local at
  for i, one in ipairs(active) do
    if one == loop then at = i end
  end
  for i = #active, at or math.maxinteger, -1 do active[i] = nil end       -- and loops of coroutines that never ended
  if not core.isatty(2) then return end
  if #active > 0 then return say(core.clock()) end
  line.leave(text.closing(loop, core.clock()))
end

local function counted(v)
  local n <const> = options.whole(v)
  if n and n >= 0 then return n, nil end
  local meta <const> = type(v) == "table" and getmetatable(v)
  if type(v) == "table" and not meta then return #v, v end
  core.raise("option", ("gb.progress: a whole number, 0 or more, or a list expected, got %s"):format(
    type(v) == "number" and tostring(options.plain(v)) or core.type(v)))
end

--- for i in gb.progress(n, label): i = 1 .. n. for i, v in gb.progress(list, label): its positions and values.
---@param over integer|any[]
---@param label string?
return function(over, label)
  local n <const>, list <const> = counted(over)
  if label ~= nil and type(label) ~= "string" then
    core.raise("option", ("gb.progress: the label must be a string, got %s"):format(core.type(label)))
  end
  local visible <const> = n > 0
  local loop <const> = {label = label or "", total = n, start = core.clock()}
  local guard <const> = setmetatable({}, {__close = visible and function() finish(loop) end or function() end})
  local function step(_, i)
    loop.done = i
    if i == n then return nil end
    if visible then
      local now <const> = core.clock()
      if i == 0 then active[#active + 1] = loop end
      if i == 0 and #active == 1 then said.last = core.isatty(2) and -math.huge or now end
      if line.is_due(said, now) then say(now) end
    end
    return i + 1, list and list[i + 1]
  end
  return step, nil, 0, guard
end
