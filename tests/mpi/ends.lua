--- A rank that ends in the midst of a fit of the others, or spoils it: ends.lua how.
local gb <const> = require "gibbous"

local how <const> = arg[1]
local x = gb.randn(100, 3, {seed = gb.mpi.rank()}):eval()
local km <const> = gb.kmeans{k = 4, ranks = true}
km:fit(x)
if gb.mpi.rank() == 1 then
  if how == "nan" then
    local numbers <const> = x:totable()
    numbers[7][2] = 0 / 0
    x = gb.tensor(numbers)
  elseif how == "kill" then os.execute "kill -9 $PPID"
  elseif how == "exit" then os.exit(3)
  elseif how == "close" then os.exit(3, true)
  elseif how == "error" then error "of this rank alone" end
end
local fitted <const>, err <const> = pcall(km.fit, km, x)
if not fitted then
  if gb.mpi.rank() == 0 then os.execute "sleep 0.4" end      -- the others have ended
  error(err, 0)
end
print("rank " .. gb.mpi.rank() .. " ends well")
