--- Queries of SQLite files as frames.
local core <const> = require "gibbous.core"

local M <const> = {}

local function tables(db)
  local names <const> = {}
  for _, row in ipairs(db:rows "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name") do
    names[#names + 1] = row.name
  end
  return #names == 0 and "it has no tables" or "it has " .. table.concat(names, ", ")
end

--- The result of a query: numbers, NaN for NULL; words, "" for NULL.
function M.read(path, query)
  local db <close> = core.database(path, "read")
  if not query then
    core.raise("option", ("%s: a database is read by a query, {query = \"SELECT ... FROM ...\"}; %s"):format(path, tables(db)))
  end
  return require "gibbous.frame.csv"(path, db:columns(query), {})
end

return M
