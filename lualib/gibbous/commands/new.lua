--- gibbous new NAME [--kind experiment|sweep|module]: a script that runs as it stands, and a spec of it, in the working directory.
local core <const> = require "gibbous.core"

local KINDS <const> = {"experiment", "sweep", "module"}

local function kind_of(word)
  for _, kind in ipairs(KINDS) do
    if kind == word then return kind end
  end
  local near <const> = core.nearest(word, KINDS)
  core.raise("option", ("--kind must be %s, got '%s'%s"):format(table.concat(KINDS, ", "), word,
    near and (", did you mean '%s'?"):format(near) or ""))
end

local function read(words)
  local name, kind
  local i = 1
  while words[i] do
    local given <const> = words[i]:match "^%-%-kind=(.*)$"
    if given then
      kind = kind_of(given)
    elseif words[i] == "--kind" and words[i + 1] then
      i, kind = i + 1, kind_of(words[i + 1])
    elseif words[i]:sub(1, 1) ~= "-" and not name then
      name = words[i]:gsub("%.lua$", "")
    else
      core.raise("option", ("new takes a name and --kind, got '%s'"):format(words[i]))
    end
    i = i + 1
  end
  if not name then core.raise("option", "new needs a name: gibbous new NAME [--kind experiment|sweep|module]") end
  if not name:match "^%a[%w_]*$" or not load("local " .. name) then           -- no word of Lua either
    core.raise("option", ("the name must be a word of letters, digits and '_' that Lua takes for a name, got '%s'"):format(name))
  end
  return name, kind or KINDS[1]
end

--- Writes NAME.lua and NAME_spec.lua, both or none: a file that is there stays.
return function(words)
  local name <const>, kind <const> = read(words)
  local files <const> = {{name .. ".lua", kind}, {name .. "_spec.lua", kind .. "_spec"}}
  for _, f in ipairs(files) do
    if core.file_exists(f[1]) then core.raise("io", ("%s is there already: nothing was written"):format(f[1])) end
  end
  for _, f in ipairs(files) do
    core.text_write(f[1], (core.text("skeletons/" .. f[2] .. ".lua"):gsub("%f[%w]NAME", name)))
  end
  print(("%s and %s are written"):format(files[1][1], files[2][1]))
  print(kind == "experiment" and ("gibbous %s.lua --help"):format(name)
    or kind == "sweep" and ("gibbous sweep plan %s.lua"):format(name)
    or ('local %s = require "%s"'):format(name, name))
end
