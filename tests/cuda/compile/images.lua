--- Images of compiled kernels: the pack (cuda/compile/pack.c), its keys (cuda/compile/key.c), and what an image says of registers
-- and of the stack. Needs Lua 5.4 and nothing else.
local M <const> = {}

local function mix(h, v)   -- gb_hash_u64
  h = h ~ (v + 0x9e3779b97f4a7c15 + (h << 6) + (h >> 2))
  h = (h ~ (h >> 30)) * 0xbf58476d1ce4e5b9
  h = (h ~ (h >> 27)) * 0x94d049bb133111eb
  return h ~ (h >> 31)
end

--- The key of code for a target, from that of a text, as 32 digits.
function M.at(key, target)
  local second <const> = tonumber(key:sub(17, 24), 16) << 32 | tonumber(key:sub(25), 16)
  return key:sub(1, 16) .. ("%016x"):format(mix(second, target))
end

--- The bytes of a file.
function M.read(path)
  local f <const> = assert(io.open(path, "rb"))
  local bytes <const> = f:read "a"
  f:close()
  return bytes
end

--- Images by key.
function M.pack(path)
  local bytes <const> = M.read(path)
  local mark <const>, _, _, n <const> = ("<c8I8I8I4"):unpack(bytes)
  assert(mark == "gbpack1\0", path .. " is no pack")
  local out <const>, first <const> = {}, 8 + 16 + 8 + 8 * 4 + 8
  for i = 0, n - 1 do
    local a <const>, b <const>, at <const>, size <const> = ("<i8i8I8I8"):unpack(bytes, first + 40 * i + 1)
    out[("%016x%016x"):format(a, b)] = bytes:sub(at + 1, at + size)
  end
  return out
end

--- Bytes of the section of an ELF file that has this name; nil where it has none.
local function section(elf, name)
  local at <const> = ("<I8"):unpack(elf, 0x28 + 1)
  local size <const>, count <const>, strings <const> = ("<I2I2I2"):unpack(elf, 0x3a + 1)
  local function header(i)
    local word <const>, _, _, _, from <const>, length <const> = ("<I4I4I8I8I8I8"):unpack(elf, at + i * size + 1)
    return word, from, length
  end
  local _, names <const> = header(strings)
  for i = 0, count - 1 do
    local word <const>, from <const>, length <const> = header(i)
    if ("z"):unpack(elf, names + word + 1) == name then return elf:sub(from + 1, from + length) end
  end
end

--- {registers, stack}: registers and bytes of the stack of a thread, where spilled registers would lie.
function M.resources(elf)
  local info <const>, out <const> = assert(section(elf, ".nv.info"), "an image without .nv.info"), {}
  local names <const> = {[0x2f] = "registers", [0x11] = "stack"}
  local at = 1
  while at + 3 <= #info do
    local form <const>, attribute <const>, size <const> = ("<BBI2"):unpack(info, at)
    at = at + 4
    if form == 4 then
      if names[attribute] then out[names[attribute]] = ("<I4"):unpack(info, at + 4) end
      at = at + size
    end
  end
  assert(out.registers and out.stack, "an image that does not say its registers and its stack")
  return out
end

return M
