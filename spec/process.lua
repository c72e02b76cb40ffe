--- Runs programs for the specs: this interpreter under its own path, with text for stdin, and what it printed.
local M <const> = {}

local function capture(command)
  local pipe <close> = assert(io.popen(command))
  return (pipe:read "a")
end

M.binary = (capture "readlink -f /proc/$PPID/exe"):gsub("%s+$", "")

--- The folder of the C tests beside it, and whether the far device was built there.
M.tests = M.binary:match "^(.*)/" .. "/tests"
function M.has_far()
  local f <close> = io.open(M.tests .. "/libgibbous_far.so")
  return f ~= nil
end

--- Whether the emulated GPU was built there: GIBBOUS_CUDA=emulated.
function M.has_cuda()
  local f <close> = io.open(M.tests .. "/cuda/libgibbous_cuda.so")
  return f ~= nil
end

--- The folder that the specs run in: the tree.
function M.here() return (capture "pwd":gsub("%s+$", "")) end

local function quote(s) return "'" .. tostring(s):gsub("'", "'\\''") .. "'" end

--- Runs 'gibbous args...'. o: input (text for stdin), env ("A=1 B=2"), program. Gives output, errors, exit code.
function M.run(args, o)
  o = o or {}
  local files <const> = {os.tmpname(), os.tmpname(), os.tmpname()}
  do
    local f <close> = assert(io.open(files[1], "wb"))
    f:write(o.input or "")
  end
  local words <const> = {"env", o.env or "", o.program or quote(M.binary)}
  for _, a in ipairs(args) do words[#words + 1] = quote(a) end
  local _, how <const>, code <const> = os.execute(("%s <%s >%s 2>%s"):format(table.concat(words, " "), files[1],
    files[2], files[3]))
  local out <const> = {}
  for i = 2, 3 do
    local f <close> = assert(io.open(files[i], "rb"))
    out[i] = f:read "a"
  end
  for _, path in ipairs(files) do os.remove(path) end
  return out[2], out[3], how == "signal" and 128 + code or code
end

return M
