--- The devices that a study gives out: how many bytes each has for trials, and which one of the host it is.
local asked <const> = require "gibbous.sweep.asked"
local core <const> = require "gibbous.core"
local machine <const> = require "gibbous.sweep.run.machine"
local memory <const> = require "gibbous.memory"

local M <const> = {}

local PATIENCE <const> = 60                -- seconds for a device to open

---@class gibbous.sweep.device
---@field name string      as the trials of this process call it
---@field place string     as the host does: a device that two jobs see under two names has one
---@field limit integer    bytes for trials

--- Which device of the host has this name here? A job that is given some of the GPUs counts them from 0. given: those, "2,5"; nil:
-- all.
function M.place(name, given)
  local ordinal <const> = name == "cuda" and 0 or math.tointeger(tonumber(name:match "^cuda:(%d+)$"))
  if not given or not ordinal then return name end
  local i = 0
  for one in given:gmatch "[^,%s]+" do
    if i == ordinal then return "cuda:" .. one end
    i = i + 1
  end
  return name
end

--- Prints what the device of this process has: bytes that are free, bytes in all.
function M.tell()
  local report <const>, here <const> = memory.report(), os.getenv "GIBBOUS_DEVICE"
  local all = report.limit
  for _, d in ipairs(core.devices()) do
    if d.name == here and d.memory then all = math.max(all, d.memory) end
  end
  print(("room %d of %d"):format(report.limit - report.used, all))
  return true
end

--- Bytes for trials on a device; it is opened by another process, for an open one costs memory there.
local function limit_of(name, given)
  local pid <const> = machine.process()
  local said <const>, ended <const> = asked({"room", tostring(pid)}, {"GIBBOUS_DEVICE=" .. name}, PATIENCE)
  local free <const>, all <const> = said:match "room (%d+) of (%d+)\n?$"
  if not free then
    core.raise("device", ("gb.sweep: the device '%s' of devices does not answer: %s"):format(name,
      not ended and ("nothing within %d s"):format(PATIENCE) or said:match "([^\n]+)" or "it ended without a word"))
  end
  if given then return math.min(given, math.tointeger(tonumber(all))) end
  return math.floor(machine.SHARE * tonumber(free))
end

--- The devices of a study; nil where it names none. given: bytes of each for trials, nil: most of what is free.
---@return gibbous.sweep.device[]?
function M.of(study, given)
  if not study.devices then return nil end
  local bytes <const> = given and core.bytes(given, "gibbous sweep: the limit")
  local here <const> = os.getenv "SLURM_STEP_GPUS" or os.getenv "SLURM_JOB_GPUS" or os.getenv "CUDA_VISIBLE_DEVICES"
  local out <const> = {}
  for i, name in ipairs(study.devices) do out[i] = {name = name, place = M.place(name, here), limit = limit_of(name, bytes)} end
  return out
end

return M
