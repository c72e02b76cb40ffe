--- The data files that this process has read, for whoever wants to know what a result came from.
local core <const> = require "gibbous.core"

local M <const> = {}

local paths <const> = {}

--- A file was read.
function M.note(path) paths[path] = paths[path] or false end

--- SHA-256 by path of the files that were read, as they are now; "" where a file is gone.
---@return table<string, string>
function M.digests()
  local out <const> = {}
  for path, digest in pairs(paths) do
    if not digest then
      local ok <const>, now <const> = pcall(core.sha256_file, path)
      digest = ok and now or ""
      paths[path] = digest
    end
    out[path] = digest
  end
  return out
end

return M
