--- gibbous data VERB [NAME..]: what is known of data sets and where they are; tables that look like one.
local table_text <const> = require "gibbous.text.table"
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

--- The value behind --name, or joined to it by '='; nil where it is not there. Both are taken out of the words.
local function option(words, name)
  for i, word in ipairs(words) do
    if word == name then
      local v <const> = words[i + 1]
      if v == nil then error({message = name .. " needs a value"}, 0) end
      table.remove(words, i)
      return table.remove(words, i)
    end
    local joined <const> = word:match("^" .. name:gsub("%-", "%%-") .. "=(.*)$")
    if joined then
      table.remove(words, i)
      return joined
    end
  end
end

local function whole(words, name)
  local text <const> = option(words, name)
  if text == nil then return nil end
  local v <const> = math.tointeger(tonumber(text))
  if v == nil or v < 0 then error({message = ("%s: a whole number expected, got '%s'"):format(name, text)}, 0) end
  return v
end

--- --like FILE|NAME --out FILE [--rows N] [--seed S]
function verbs.synth(words)
  local like <const>, out <const> = option(words, "--like"), option(words, "--out")
  local n <const>, seed <const> = whole(words, "--rows"), whole(words, "--seed")
  if #words > 0 then error({message = ("data synth: unknown word '%s'"):format(words[1])}, 0) end
  if not like or not out then error({message = "data synth --like FILE|NAME --out OUT.csv [--rows N] [--seed S]"}, 0) end
  local f <const>, truth <const> = gb_data().synth(like, {n = n, seed = seed})
  gb_data().write(out, f)
  print(("%s: %d rows of %d columns"):format(out, #f, #f.names))
  print(truth)
  return true
end

return function(words) return require "gibbous.commands.verbs"(verbs, words, "data", "list, info, verify, path, cite, synth") end
