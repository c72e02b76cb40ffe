--- gb.mpi: the ranks of a program that mpirun started several times; without mpirun there is one. MPI begins when one of these is
-- first called, or by a fit with ranks = true, and ends with the program. docs/guide/kmeans.md says how fits use it.
local core <const> = require "gibbous.core"

local M <const> = {}

--- The number of this rank, from 0: gb.mpi.rank() == 0 for what only one of them is to print or write.
function M.rank() return (core.ranks()) end

--- How many ranks there are; 1 without mpirun.
function M.size() return (select(2, core.ranks())) end

--- Whether this build can have several ranks; where it cannot, false and why, with what would mend it.
function M.available()
  local ok <const>, err <const> = pcall(core.ranks_check)
  if ok then return true end
  return false, err.message
end

--- The first and the last of n rows that are this rank's, where all have as many as can be; last = first - 1: none.
function M.share(n)
  local rows <const> = math.type(n) and math.tointeger(n)
  if not rows or rows < 0 or rows > 1 << 48 then
    core.raise("option", ("gb.mpi.share: a whole number of rows expected, 0 or more, got %s"):format(tostring(n)))
  end
  local rank <const>, size <const> = core.ranks()
  return rows * rank // size + 1, rows * (rank + 1) // size
end

return require "gibbous.base.names"(M, "gb.mpi", nil, {init = "MPI begins by itself", finalize = "MPI ends with the program",
  world = "gb.kmeans{ranks = true} takes all ranks"})
