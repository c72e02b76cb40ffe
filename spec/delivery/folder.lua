--- A folder for a spec, gone afterwards, and programs that run in it.
local process <const> = require "spec.process"

local M <const> = {}

--- f(folder), with run(...): this interpreter with these words, in the folder, found as 'gibbous' by what it starts. run gives
-- output, errors and status.
function M.with(f)
  local path <const> = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir '" .. path .. "'"))
  local bin <const> = process.binary:match "^(.*)/[^/]*$"
  local function run(...)
    return process.run({"-c", 'cd "$1"; PATH=$2:$PATH; shift 2; exec gibbous "$@"', "sh", path, bin, ...}, {program = "sh"})
  end
  local ok <const>, err <const> = pcall(f, path, run)
  os.execute("rm -r '" .. path .. "'")
  if not ok then error(err, 0) end
end

function M.read(path)
  local file <close> = io.open(path)
  return file and file:read "a"
end

function M.write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

return M
