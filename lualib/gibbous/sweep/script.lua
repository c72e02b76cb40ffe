--- A study from its script, and where its store lies.
local core <const> = require "gibbous.core"
local identity <const> = require "gibbous.sweep.run.identity"

local M <const> = {}

--- The script that a worker of the command line has in arg[0], so that it finds files beside itself.
local function with_arguments(path, words)
  local args <const> = {[0] = path}
  for i, word in ipairs(words or {}) do args[i] = word end
  rawset(_G, "arg", args)
end

local function folder_of(path) return path:match "^(.*)/[^/]*$" or "." end

--- Runs the script: gives its study and the digest of what a trial computes.
---@return gibbous.sweep study
---@return string code
function M.load(path, words)
  local globals <const> = {}
  for name in pairs(_G) do globals[name] = true end
  with_arguments(path, words)
  package.path = folder_of(path) .. "/?.lua;" .. folder_of(path) .. "/?/init.lua;" .. package.path
  if core.file_exists(path .. "/.") then
    core.raise("io", ("there is no sweep in %s: gibbous sweep run SCRIPT makes one"):format(path))
  end
  local chunk <const>, why <const> = loadfile(path, "t")
  if not chunk then core.raise(core.file_exists(path) and "format" or "io", tostring(why)) end
  local study <const> = chunk(table.unpack(words or {}))
  if core.type(study) ~= "sweep" then
    core.raise("option", ("%s gives %s: a script of a sweep ends with  return gb.sweep{...}"):format(path,
      study == nil and "nothing" or "a " .. core.type(study)))
  end
  return study, identity.code(study, globals)
end

--- The folder of the store of a study: NAME.gibbous in the working directory, unless another is named.
function M.folder(study, given) return given or study.name .. ".gibbous" end

return M
