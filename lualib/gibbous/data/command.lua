--- gibbous data VERB [NAME..]: what is known of data sets and where they are.
local table_text <const> = require "gibbous.table_text"
local registry <const> = require "gibbous.data.registry"

local function gb_data() return require "gibbous.data" end

local function each(names, f)
  if #names == 0 then error({message = "a name is needed; gibbous data list has them"}, 0) end
  local good = true
  for _, name in ipairs(names) do good = f(gb_data().info(name)) ~= false and good end
  return good
end

--- Names that are known or found, sorted.
local function all_names()
  local seen <const>, out <const> = {}, {}
  for _, list in ipairs{registry.names(), gb_data().sets()} do
    for _, name in ipairs(list) do
      if not seen[name] then out[#out + 1] = name end
      seen[name] = true
    end
  end
  table.sort(out)
  return out
end

local verbs <const> = {}

function verbs.list()
  local rows <const> = {{"name", "n", "d", "licence", "path"}}
  for _, name in ipairs(all_names()) do
    local i <const> = gb_data().info(name)
    rows[#rows + 1] = {name, tostring(i.n or ""), tostring(i.d or ""), (i.licence:match "^[^:]*"), i.path or "not found"}
  end
  print(table_text(rows))
  return true
end

function verbs.info(names) return each(names, function(i) print(i) end) end

function verbs.cite(names)
  return each(names, function(i)
    if i.citation ~= "" then return print(i.citation) end
    io.stderr:write("gibbous: no citation of '", i.name, "' is known; a file citation.txt in its folder says it\n")
    return false
  end)
end

function verbs.path(names)
  return each(names, function(i)
    if i.path then return print(i.path) end
    io.stderr:write("gibbous: '", i.name, "' is not found in ", table.concat(gb_data().places(), ", "), "\n")
    return false
  end)
end

--- Names, or all that are found; false where one is not what its entry says.
function verbs.verify(names)
  return each(#names > 0 and names or gb_data().sets(), function(i)
    local ok <const>, why <const> = registry.verify(i)
    print(("%s: %s"):format(i.name, ok and "as expected" or why))
    return ok or ok == nil and #names == 0
  end)
end

return function(words) return require "gibbous.verbs"(verbs, words, "data", "list, info, verify, path, cite") end
