--- gibbous example [NAME] [--copy DIR]: the examples that are built in (lualib/examples/), each a script that runs.
local core <const> = require "gibbous.core"

local M <const> = {}

local FOLDER <const> = "examples/"

local function text_of(name) return core.text(FOLDER .. name .. ".lua") end

--- The names, sorted.
function M.names()
  local list <const> = {}
  for _, path in ipairs(core.texts()) do list[#list + 1] = path:match("^" .. FOLDER .. "(.*)%.lua$") end
  table.sort(list)
  return list
end

--- The first comment of an example, without its dashes.
local function about(name) return text_of(name):match "^%-%- ([^\n]*)" end

local function list()
  local text <const>, columns <const> = require "gibbous.reference.text", require "gibbous.text.window".columns() or 100
  local width = 0
  for _, name in ipairs(M.names()) do width = math.max(width, #name) end
  for _, name in ipairs(M.names()) do print(text.row(name, about(name), columns, 0, width + 2)) end
  print "gibbous example NAME runs one after it has shown it; --copy DIR writes it as DIR/NAME.lua"
end

local function known(name)
  local text <const> = text_of(name)
  if text then return text end
  local near <const> = core.nearest(name, M.names())
  core.raise("index", ("there is no example '%s'%s; gibbous example lists them"):format(name,
    near and (", did you mean '%s'?"):format(near) or ""))
end

--- Writes an example into a directory that there is; a file that is there stays.
local function copy(name, directory)
  local path <const> = directory .. "/" .. name .. ".lua"
  local text <const> = known(name)
  if core.file_exists(path) then core.raise("io", ("%s is there already: nothing was written"):format(path)) end
  core.make_folder(directory)
  core.text_write(path, text)
  print("written to " .. path)
end

--- Shows an example, then runs it as the script of that name.
local function run(name)
  local text <const> = known(name)
  io.write(text, "\n")
  io.stdout:flush()
  local value <const> = assert(load(text, "@" .. name .. ".lua", "t"))()
  if value ~= nil then print(value) end
end

--- words: nothing, NAME, NAME --copy DIR, --copy DIR (all of them).
function M.command(words)
  local name, directory
  local i = 1
  while words[i] do
    local given <const> = words[i]:match "^%-%-copy=(.+)$"
    if given then
      directory = given
    elseif words[i] == "--copy" and words[i + 1] then
      i, directory = i + 1, words[i + 1]
    elseif words[i]:sub(1, 1) ~= "-" and not name then
      name = words[i]:gsub("%.lua$", "")
    else
      core.raise("option", ("example takes a name and --copy DIR, got '%s'"):format(words[i]))
    end
    i = i + 1
  end
  if directory then
    for _, one in ipairs(name and {name} or M.names()) do copy(one, directory) end
  elseif name then
    run(name)
  else
    list()
  end
end

return M
