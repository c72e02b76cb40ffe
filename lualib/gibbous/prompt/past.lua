--- :history: entries of this and of earlier sessions, with when they were typed, how long they took and how they ended.
local counted <const> = require "gibbous.base.counted"
local table_text <const> = require "gibbous.text.table"
local timing <const> = require "gibbous.timing"
local window <const> = require "gibbous.text.window"

local M <const> = {}

local MOST <const> = 25                    -- entries that are listed
local LEAST <const>, WIDEST <const> = 20, 100              -- columns of an entry

local FAILED <const> = {error = true, interrupted = true}

local function has_all(text, words)
  for _, word in ipairs(words) do
    if not text:find(word, 1, true) then return false end
  end
  return true
end

--- The entries that have all words, the last ones; and how many there are.
local function matching(entries, words, failed)
  local list <const> = {}
  for _, e in ipairs(entries) do
    if (not failed or FAILED[e.ended]) and has_all(e.text, words) then list[#list + 1] = e end
  end
  return table.move(list, math.max(1, #list - MOST + 1), #list, 1, {}), #list
end

--- The first line of a text, cut to some columns.
local function cut(text, columns)
  local line <const> = text:match "^[^\n]*":gsub("\t", " ")
  local is_whole <const> = line == text
  if is_whole and utf8.len(line) <= columns then return line end
  local stop <const> = utf8.offset(line, columns - 3)
  return (stop and line:sub(1, stop - 1) or line) .. " ..."
end

local function directory(path)
  local home <const> = os.getenv "HOME"
  if path == nil then return "" end
  if home and home ~= "" and (path .. "/"):sub(1, #home + 1) == home .. "/" then return "~" .. path:sub(#home + 1) end
  return path
end

local function row_of(e, columns)
  return {e.began and os.date("%Y-%m-%d %H:%M", math.floor(e.began)) or "", e.seconds and timing.duration(e.seconds) or "",
    e.ended or "", directory(e.directory), cut(e.text, columns)}
end

--- What the other columns take leaves the entry its room.
local function room()
  local columns <const> = window.columns() or WIDEST
  return math.max(LEAST, math.min(WIDEST, columns - 60))
end

local function nothing(count, words, failed)
  if count == 0 then return "no entry is kept: the history begins with what is typed at a terminal" end
  local what <const> = {}
  if failed then what[1] = "failed" end
  if #words > 0 then what[#what + 1] = ("has '%s'"):format(table.concat(words, "' and '")) end
  return ("none of %s %s"):format(counted(count, "entry", "entries"), table.concat(what, " and "))
end

--- The table for what follows ':history': '--failed' for those that ended by an error or Ctrl-C, and words that an entry must have.
function M.report(text, entries, damaged)
  local words <const>, failed = {}, false
  for word in text:gmatch "%S+" do
    if word == "--failed" then failed = true else words[#words + 1] = word end
  end
  local list <const>, count <const> = matching(entries, words, failed)
  local lines <const> = {}
  if #list == 0 then lines[1] = nothing(#entries, words, failed)
  else
    local rows <const> = {{"typed", "took", "ended", "directory", "entry"}}
    for i, e in ipairs(list) do rows[i + 1] = row_of(e, room()) end
    lines[1] = table_text(rows)
  end
  if count > #list then lines[#lines + 1] = ("the last %d of %d: words find fewer"):format(#list, count) end
  if damaged > 0 then lines[#lines + 1] = ("%s left out"):format(counted(damaged, "damaged line")) end
  return table.concat(lines, "\n")
end

return M
