--- Answers to '?name' at the prompt, from the documentation that ships with the library.
local core <const> = require "gibbous.core"

-- Definitions look as in gibbous/_meta.lua: comment lines, then 'function owner.name(...)' or 'owner.name = ...'.
local function entries()
  local list <const>, comment = {}, {}
  for line in (core.source "gibbous._meta" or ""):gmatch "([^\n]*)\n" do
    local text <const> = line:match "^%-%-%-%s?(.*)"
    local owner <const>, sep <const>, name <const>, args <const> = line:match "^function ([%w_.]-)([.:])([%w_]+)(%b())"
    if text then
      comment[#comment + 1] = text
    else
      if name then
        list[#list + 1] = {name = name, path = owner .. sep .. name, call = owner .. sep .. name .. args, text = comment}
      end
      comment = {}
    end
  end
  return list
end

local function render(entry)
  local lines <const> = {entry.call}
  for _, text in ipairs(entry.text) do
    local name <const>, rest <const> = text:match "^@param (%S+)%s+(.*)"
    local result <const> = text:match "^@return (.*)"
    if name then lines[#lines + 1] = ("  %-12s %s"):format(name, rest)
    elseif result then lines[#lines + 1] = "  gives        " .. result
    elseif not text:match "^@" then lines[#lines + 1] = "  " .. text end
  end
  return table.concat(lines, "\n")
end

--- The entries that 'topic' names: "gb.linspace", "linspace", "x:sum".
return function(topic)
  topic = topic:gsub("^%s+", ""):gsub("%s+$", ""):gsub("%(.*", "")
  if topic == "" then return "?name explains a function or method: ?gb.linspace, ?matmul" end
  local list <const>, found <const>, names <const> = entries(), {}, {}
  local short <const> = topic:match "([%w_]+)$" or topic
  for _, e in ipairs(list) do
    names[#names + 1] = e.name
    if e.path == topic then return render(e) end
    if e.name == short then found[#found + 1] = render(e) end
  end
  if #found > 0 then return table.concat(found, "\n\n") end
  local near <const> = core.nearest(short, names)
  return ("there is no help on '%s'%s"):format(topic, near and (", did you mean '%s'?"):format(near) or "")
end
