-- Arrays of NumPy: .npy files are written, read, and mapped where they lie.
local gb = require "gibbous"

local path = os.tmpname() .. ".npy"
gb.data.write(path, gb.linspace(0, 1, 12):reshape(4, 3))     -- numpy.load(path) reads it

local a = gb.data.read(path)
print(a.shape[1], a.shape[2], a.dtype)
print(a)

local mapped = gb.data.map(path)                     -- of any size: nothing is read before it is used
print(mapped:sum(1))

local names = os.tmpname() .. ".safetensors"
gb.data.write(names, {x = a, y = a:sum(2)}, {metadata = {made = "by an example"}})
for name, t in pairs(gb.data.read(names)) do print(name, t.shape[1]) end
os.remove(path)
os.remove(names)
