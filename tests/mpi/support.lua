--- What the specs of ranks share: mpirun, and a folder that ranks write to.
local process <const> = require "spec.process"

local M <const> = {}

local MPIRUN <const> = assert(os.getenv "GIBBOUS_MPIRUN", "GIBBOUS_MPIRUN: mpirun and its options")

--- Runs a script of this folder by so many ranks; it fails where they hang. Gives output, errors, exit code.
function M.mpirun(ranks, script, ...)
  local program <const> = ("timeout 30 %s -np %d %s"):format(MPIRUN, ranks, process.binary)
  local out <const>, err <const>, code <const> = process.run({script, ...}, {program = program})
  if code == 124 then error("the ranks hang\n" .. err) end
  return out, err, code
end

--- A folder for what ranks write, and what is in it by rank.
function M.with_folder(f)
  local folder <const> = os.tmpname()
  os.remove(folder)
  os.execute("mkdir " .. folder)
  local ok <const>, err <const> = pcall(f, folder, function(rank)
    local file <close> = assert(io.open(folder .. "/" .. rank))
    return file:read "a"
  end)
  os.execute("rm -r " .. folder)
  if not ok then error(err, 0) end
end

return M
