--- Tests of caught errors. A caught value may be nil, a number or an object of the script: no metamethod of it is called.
local M <const> = {}

--- The code of an error object, nil of any other value.
function M.code(err)
  local code <const> = type(err) == "table" and rawget(err, "code")
  return type(code) == "string" and code or nil
end

--- Is it an error object with one of these codes?
function M.is(err, ...)
  local code <const> = M.code(err)
  for i = 1, select("#", ...) do
    if code ~= nil and code == (select(i, ...)) then return true end
  end
  return false
end

--- Does the error say where something ran, and nothing of what it was? Attempts pass it on.
function M.is_of_place(err) return M.is(err, "interrupted", "oom", "refused", "device", "internal") end

local function passed(ok, ...)
  if not ok and M.is_of_place((...)) then error((...), 0) end
  return ok, ...
end

--- As pcall for errors of what is done; those of place are raised on. So Ctrl-C is not taken for a file that is damaged.
function M.attempt(f, ...) return passed(pcall(f, ...)) end

return M
