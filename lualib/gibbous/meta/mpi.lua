---@meta

---@class gibbous
local gb = {}

--- Several processes, which mpirun started: each has its share of the rows.
---@class gb.mpi
gb.mpi = {}

--- The number of this rank, from 0, of those that mpirun started; without it there is one, 0.
---@return integer
---```lua
--- print(gb.mpi.rank())
---```
function gb.mpi.rank() end

--- How many ranks there are.
---@return integer
---```lua
--- print(gb.mpi.size())
---```
function gb.mpi.size() end

--- Whether there can be several ranks: the library of MPI was built. Where it was not, false, and why.
---@return boolean
---@return string?
---```lua
--- print(gb.mpi.available())
---```
function gb.mpi.available() end

--- The first and the last of n rows that are this rank's; none where the last is less than the first.
---@param n integer
---@return integer
---@return integer
---```lua
--- print(gb.mpi.share(10))
---```
function gb.mpi.share(n) end
