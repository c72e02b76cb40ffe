--- The commands of the command line that are written in Lua: gibbous NAME [words]. Each gives true if all is well; a false one has
--- said why on stderr.
local core <const> = require "gibbous.core"

local M <const> = {}

local function complain(text)
  io.stderr:write("gibbous: ", text, "\n")
  return false
end

--- Whether the words are nothing but '--json', or nothing; nil where they are anything else.
local function wants_json(words)
  if #words == 0 then return false end
  if #words == 1 and words[1] == "--json" then return true end
  return nil
end

local function report(name)
  return function(words)
    local json <const> = wants_json(words)
    if json == nil then return complain(("%s takes --json alone, got '%s'"):format(name, table.concat(words, " "))) end
    return require "gibbous.commands.doctor"[name](json)
  end
end

M.doctor, M.env = report "doctor", report "env"

function M.version(words)
  local json <const> = wants_json(words)
  if json == nil then return complain(("version takes --json alone, got '%s'"):format(table.concat(words, " "))) end
  require "gibbous.commands.version"(json)
  return true
end

function M.selftest(words)
  if #words > 0 then return complain("selftest takes no words, got '" .. words[1] .. "'") end
  return require "gibbous.commands.selftest"()
end

--- What '?' says at the prompt; the parts of the library are there to be explained. A word that names nothing is looked for.
function M.help(words)
  local answer <const>, topic <const> = require "gibbous.reference.answer", table.concat(words, " ")
  local text <const>, known <const> = answer(topic, {gb = require "gibbous"})
  local found <const>, any <const> = answer("?" .. topic)
  if not known and not any then return complain((text:gsub("; %?%?.*$", ""))) end
  print(known and text or found)
  return true
end

function M.man(words)
  if #words > 0 then return complain("man takes no words, got '" .. words[1] .. "'") end
  io.write(require "gibbous.reference.man"())
  return true
end

function M.attach(words)
  local text <const>, why <const> = require "gibbous.commands.attach".command(words)
  if not text then return complain(why) end
  print(text)
  return true
end

function M.completion(words)
  local shell <const> = #words == 1 and require "gibbous.reference.completion"[words[1]]
  if not shell then return complain "completion needs a shell: gibbous completion bash|zsh|fish" end
  io.write(shell())
  return true
end

--- The one word that a command needs, or nil after a complaint. One like an option names no file: ./-name does.
local function one(words, name, what)
  if #words == 1 and words[1]:find "^[^-]" then return words[1] end
  complain(("%s needs %s: gibbous %s %s"):format(name, what, name, what))
  return nil
end

local function written(f, ...)
  local ok <const>, err <const> = pcall(f, ...)
  if not ok then return complain(tostring(type(err) == "table" and err.message or err)) end
  return true
end

function M.reference(words)
  local path <const> = one(words, "reference", "OUT.html")
  return path ~= nil and written(function() core.text_write(path, require "gibbous.reference.html"()) end)
end

function M.stubs(words)
  local directory <const> = one(words, "stubs", "DIR")
  return directory ~= nil and written(require "gibbous.reference.stubs", directory)
end

function M.data(words) return require "gibbous.data.command"(words) end

function M.new(words) return written(require "gibbous.commands.new", words) end

function M.example(words) return written(require "gibbous.commands.example".command, words) end

function M.sweep(words) return require "gibbous.sweep.command"(words) end

local has_verbs <const> = {data = true, sweep = true}

--- The topic of a command that is asked for help: --help or -h behind it, or behind its verb. nil where it is not asked.
local function asked_about(name, words)
  local function asks(word) return word == "--help" or word == "-h" end
  if asks(words[1]) then return {"gibbous", name} end
  if not has_verbs[name] or not asks(words[2]) then return nil end
  local is_described <const> = require "gibbous.reference".of(("gibbous %s %s"):format(name, words[1])) ~= nil
  return {"gibbous", name, is_described and words[1] or nil}
end

--- Runs a command by its name.
return function(name, ...)
  local f <const> = M[name]
  if not f then core.raise("internal", ("there is no command '%s'"):format(name)) end
  local topic <const> = asked_about(name, {...})
  if topic then return M.help(topic) end
  return f{...}
end
