--- gibbous attach: where a running gibbous process is. It is asked by a signal, writes that down, and goes on (host/shell/state.c).
local core <const> = require "gibbous.core"
local process <const> = require "gibbous.process"
local timing <const> = require "gibbous.timing"

local PATIENCE <const> = 2.0               -- seconds until an answer, or a whole one, is given up
local AGAIN <const> = 0.2                  -- seconds without an answer after which the process is asked again

local M <const> = {}

-- Reading what it wrote -------------------------------------------------------------------------------------------------------

--- A double from its bits.
local function double(hex) return string.unpack("d", string.pack("I8", tonumber(hex, 16))) end

local function fields_of(line)
  local out <const> = {}
  for field in (line .. "\t"):gmatch "([^\t]*)\t" do out[#out + 1] = field end
  return out
end

local readers <const> = {}

function readers.busy(s, f)
  s.busy = {what = f[2], line = f[3], done = tonumber(f[4]), steps = tonumber(f[5]), seconds = double(f[6])}
end

function readers.step(s, f)
  s.steps[#s.steps + 1] = {what = f[2], of = f[3], done = tonumber(f[4]), most = tonumber(f[5]), value = double(f[6])}
end

function readers.memory(s, f)
  s.memory[#s.memory + 1] = {device = f[2], used = tonumber(f[3]), peak = tonumber(f[4]), limit = tonumber(f[5])}
end

function readers.said(s, f) s.progress[#s.progress + 1] = f[2] end

function readers.stack(s) s.stack = {} end

function readers.frame(s, f) s.stack[#s.stack + 1] = {source = f[2], line = tonumber(f[3]), name = f[4] ~= "" and f[4] or nil} end

--- The state in a file's text: {busy, steps, memory, progress, stack}; nil where the text is not whole.
function M.read(text)
  if not text:find "^gibbous state 1\n" or text:sub(-3) ~= "end" then return nil end
  local s <const> = {steps = {}, memory = {}, progress = {}}
  for line in text:gmatch "[^\n]+" do
    local f <const> = fields_of(line)
    local read <const> = readers[f[1]]
    if read then read(s, f) end
  end
  return s
end

-- Words for it ----------------------------------------------------------------------------------------------------------------

local function is_of_script(frame) return not frame.source:find "^gibbous/" end

local function frame_text(frame)
  return ("  %s:%d%s"):format(frame.source, frame.line, frame.name and (" in %s"):format(frame.name) or "")
end

local function step_text(s)
  local most <const> = s.most > 0 and (" of at most %d"):format(s.most) or ""
  local value <const> = s.done > 0 and (", %s %.6g"):format(s.of, s.value) or ""
  return ("%s: step %d%s%s"):format(s.what, s.done, most, value)
end

local function busy_text(b)
  local of <const> = b.steps > 1 and (", step %d of %d of its plan"):format(b.done + 1, b.steps) or ""
  return ("busy in %s%s for %s%s"):format(b.what, b.line ~= "" and (" (%s)"):format(b.line) or "", timing.duration(b.seconds), of)
end

local function memory_text(m)
  return ("memory of %s: %s of %s, at most %s so far"):format(m.device, core.bytes_text(m.used), core.bytes_text(m.limit),
    core.bytes_text(m.peak))
end

--- Words for a state. pid, command: whose.
function M.text(s, pid, command)
  local lines <const> = {("%d  %s"):format(pid, command)}
  for _, frame in ipairs(s.stack or {}) do
    if is_of_script(frame) then
      lines[#lines + 1] = ("at %s:%d"):format(frame.source, frame.line)
      break
    end
  end
  for _, step in ipairs(s.steps) do lines[#lines + 1] = step_text(step) end
  if s.busy then lines[#lines + 1] = busy_text(s.busy) end
  for _, m in ipairs(s.memory) do lines[#lines + 1] = memory_text(m) end
  for _, text in ipairs(s.progress) do lines[#lines + 1] = "said: " .. text end
  if s.stack then
    lines[#lines + 1] = "stack, the innermost first"
    for _, frame in ipairs(s.stack) do lines[#lines + 1] = frame_text(frame) end
  else
    lines[#lines + 1] = ("no stack: the script did not come to its next instruction within %g s (it waits in a call outside Lua)")
      :format(PATIENCE)
  end
  return table.concat(lines, "\n")
end

--- The text with '?' for each byte that is not of UTF-8, as where the process cut it.
local function valid(text)
  local length, at = utf8.len(text)
  while not length do
    text = text:sub(1, at - 1) .. "?" .. text:sub(at + 1)
    length, at = utf8.len(text, at)
  end
  return text
end

--- What JSON can hold of a value: without empty tables and numbers that are not finite.
local function for_json(v)
  if type(v) == "string" then return valid(v) end
  if type(v) == "number" then return v - v == 0 and v or nil end
  if type(v) ~= "table" then return v end
  local out <const> = {}
  for key, inner in pairs(v) do out[key] = for_json(inner) end
  return next(out) ~= nil and out or nil
end

-- Asking ----------------------------------------------------------------------------------------------------------------------

--- The state of a process, without 'stack' if the script came to no instruction in time; or nil and why.
function M.ask(pid)
  local refused <const> = process.check(pid)
  if refused then return nil, refused end
  local named <const> = process.environment(pid, "XDG_RUNTIME_DIR")
  local directory <const> = named and named:sub(1, 1) == "/" and #named < 256 and named or "/tmp"
  if not process.ask(pid, directory) then return nil, ("process %d has ended"):format(pid) end
  local began <const>, state = core.clock(), nil
  local asked = began
  repeat
    local text <const> = process.answer(pid, directory)
    state = text and M.read(text) or state
    if text == nil and core.clock() - asked > AGAIN then       -- another 'attach' has taken the answer away
      process.ask(pid, directory)
      asked = core.clock()
    end
  until state and state.stack or core.clock() - began > PATIENCE
  process.forget(pid, directory)
  if state then return state end
  if process.check(pid) then return nil, ("process %d has ended"):format(pid) end
  return nil, ("process %d gave no answer within %g s: it is stopped, or it cannot write to %s"):format(pid, PATIENCE, directory)
end

local function parse(words)
  local pid, json = nil, false
  for _, word in ipairs(words) do
    if word == "--json" then json = true
    elseif pid == nil and math.tointeger(tonumber(word)) and tonumber(word) > 0 then pid = math.tointeger(tonumber(word))
    else return nil, ("attach takes a process number and --json, got '%s'"):format(word) end
  end
  return {pid = pid, json = json}
end

local function listed(json)
  local list <const> = process.list()
  table.sort(list, function(a, b) return a.pid < b.pid end)
  if json then return core.json_encode(for_json(list) or list) end
  if #list == 0 then return "no gibbous process of yours is running" end
  local lines <const> = {}
  for i, one in ipairs(list) do lines[i] = ("%d  %s"):format(one.pid, one.command) end
  return table.concat(lines, "\n")
end

--- The command. Gives what it prints, or nil and a complaint.
function M.command(words)
  local o <const>, wrong <const> = parse(words)
  if not o then return nil, wrong end
  if not o.pid then return listed(o.json) end
  local command <const> = process.command(o.pid)
  local state <const>, why <const> = M.ask(o.pid)
  if not state then return nil, why end
  if not o.json then return M.text(state, o.pid, command) end
  state.pid, state.command = o.pid, command
  return core.json_encode(for_json(state))
end

return M
