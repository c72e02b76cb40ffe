--- A study in a folder of its own, for the specs of sweeps: its script, its store, and the command that runs it.
local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local store <const> = require "gibbous.sweep.store"

local Study <const> = {}
Study.__index = Study

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

--- text: the fields of gb.sweep{...} but its name. before: lines of the script above it.
local function new(text, before)
  local folder <const> = os.tmpname()
  os.remove(folder)
  core.make_folder(folder)
  local self <const> = setmetatable({folder = folder, script = folder .. "/study.lua", store = folder .. "/store"}, Study)
  self:rewrite(text, before)
  return self
end

function Study:rewrite(text, before)
  write(self.script, ('local gb = require "gibbous"\n%s\nreturn gb.sweep{name = "study",\n%s}\n'):format(before or "", text))
end

--- gibbous sweep verb SCRIPT ...: output, errors, status.
function Study:sweep(verb, ...)
  return process.run({"sweep", verb, self.script, "--store", self.store, ...}, {env = self.env})
end

--- The rows of the store's trials. condition: SQL.
function Study:trials(condition, ...)
  local s <close> = store.open(self.store, "read")
  return s:trials(condition, ...)
end

--- What the results are, as text: parameters, class, result, seed and number of each trial that is wanted.
function Study:results()
  local lines <const> = {}
  for i, t in ipairs(self:trials "wanted = 1") do
    lines[i] = table.concat({t.params, t.class or t.state, t.result or "", t.seed}, " ")
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

--- What the processes said that were started with its output.txt.
function Study:said()
  local f <close> = io.open(self:path "output.txt")
  return f and f:read "a" or "nothing"
end

function Study:path(name) return self.folder .. "/" .. name end

function Study:remove() os.execute("rm -rf '" .. self.folder .. "'") end
Study.__close = Study.remove

return new
