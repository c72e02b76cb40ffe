--- Writes a text to a file, whole or not at all: beside it first. Errors: io.
local core <const> = require "gibbous.core"

return function(path, text)
  local beside <const> = path .. ".tmp"
  local f <const>, why <const> = io.open(beside, "w")
  if not f then core.raise("io", ("cannot write %s: %s"):format(path, why:match "^.*: (.*)$" or why)) end
  local ok, problem = f:write(text)
  local closed <const>, late <const> = f:close()
  if ok and closed then ok, problem = os.rename(beside, path) end
  if ok and closed then return end
  os.remove(beside)
  core.raise("io", ("cannot write %s: %s"):format(path, problem or late))
end
