--- Helpers of all specs: comparisons that fail on NaN, checks of error objects, finite differences.
local gb <const> = require "gibbous"
local luassert <const> = require "luassert"

local M <const> = {}

local function flatten(v, out)
  if type(v) == "number" then
    out[#out + 1] = v
  elseif type(v) == "boolean" then
    out[#out + 1] = v and 1 or 0
  elseif type(v) == "table" and getmetatable(v) == nil then
    for _, inner in ipairs(v) do flatten(inner, out) end
  else
    flatten(v:totable(), out)
  end
  return out
end

--- The numbers of a number, nested list, tensor or param, in order.
function M.numbers(v) return flatten(v, {}) end

--- Every element of 'got' is within tol * max(1, |want|) of 'want'. NaN is near nothing.
function M.near(want, got, tol, what)
  local a <const>, b <const> = M.numbers(want), M.numbers(got)
  luassert.equal(#a, #b, ("%snumber of elements"):format(what and what .. ": " or ""))
  for i = 1, #a do
    local ok <const> = math.abs(a[i] - b[i]) <= tol * math.max(1, math.abs(a[i]))
    luassert.is_true(ok, ("%selement %d: expected %.12g, got %.12g"):format(what and what .. ": " or "", i, a[i], b[i]))
  end
end

--- A message without what may follow shapes, the variable that holds the tensor and the line that made it; unless it is what is
-- wanted.
function M.shapes_alone(message, wanted) return message == wanted and message or (message:gsub(" %([^()]*:%d+%)", "")) end

--- f raises an error object of this code whose message holds 'text', which may leave out where tensors come from. Gives the error.
function M.raises(code, text, f, ...)
  local ok <const>, err <const> = pcall(f, ...)
  luassert.is_false(ok, "expected an error of code " .. code)
  luassert.is_not_equal("string", type(err), tostring(err))
  luassert.equal(code, err.code, tostring(err))
  local holds <const> = err.message:find(text, 1, true) or M.shapes_alone(err.message):find(text, 1, true)
  luassert.is_true(holds ~= nil, ("expected '%s' in '%s'"):format(text, err.message))
  return err
end

--- Central differences of f() by every unconstrained number of the parameters: one list of numbers a parameter.
function M.differences(f, params, h)
  h = h or 1e-5
  local out <const> = {}
  for i, p in ipairs(params) do
    local raw <const> = M.numbers(p.raw)
    local function at(k, step)
      local moved <const> = table.move(raw, 1, #raw, 1, {})
      moved[k] = moved[k] + step
      p.raw = gb.tensor(moved):reshape(p.raw.shape)
      return f():item()
    end
    out[i] = {}
    for k = 1, #raw do out[i][k] = (at(k, h) - at(k, -h)) / (2 * h) end
    p.raw = gb.tensor(raw):reshape(p.raw.shape)
  end
  return out
end

--- gb.grad of f() by the unconstrained values agrees with differences.
function M.check_gradients(f, params, tol, h)
  local want <const> = M.differences(f, params, h)
  local got <const> = gb.grad(f(), params, {raw = true})
  for i in ipairs(params) do M.near(want[i], got[i], tol, "gradient of " .. params[i].name) end
end

-- Dense linear algebra by the textbook, in plain Lua: the reference for models ----------------------------------------------

--- Lower L with L L' = a.
function M.cholesky(a)
  local n <const>, l <const> = #a, {}
  for i = 1, n do
    l[i] = {}
    for j = 1, i do
      local s = a[i][j]
      for k = 1, j - 1 do s = s - l[i][k] * l[j][k] end
      l[i][j] = i == j and math.sqrt(s) or s / l[j][j]
    end
  end
  return l
end

--- x with L L' x = b.
function M.cholesky_solve(l, b)
  local n <const>, x <const> = #l, {}
  for i = 1, n do
    local s = b[i]
    for k = 1, i - 1 do s = s - l[i][k] * x[k] end
    x[i] = s / l[i][i]
  end
  for i = n, 1, -1 do
    local s = x[i]
    for k = i + 1, n do s = s - l[k][i] * x[k] end
    x[i] = s / l[i][i]
  end
  return x
end

function M.dot(a, b)
  local s = 0.0
  for i = 1, #a do s = s + a[i] * b[i] end
  return s
end

--- f() while fields of t have other values; they come back also after an error.
function M.with(t, values, f)
  local old <const> = {}
  for key, v in pairs(values) do old[key], t[key] = t[key], v end
  local got <const> = table.pack(pcall(f))
  for key in pairs(values) do t[key] = old[key] end
  if not got[1] then error(got[2], 0) end
  return table.unpack(got, 2, got.n)
end

--- The text of an error without the list of what there is, where the text that is expected says none.
function M.without_list(text, expected)
  for _, list in ipairs{" %(it has [^)]*%)$", "; there are [%w_, ]*$", " known: [%w_, ]*$", ", there are none$"} do
    if not expected:find(list) and not expected:find "lists them" then text = text:gsub(list, "") end
  end
  return text
end

--- A path for a file of this run, with an ending; removed by M.sweep.
local made <const> = {}

function M.path(ending)
  local path <const> = os.tmpname()
  made[#made + 1] = path
  if ending then made[#made + 1] = path .. ending end
  return path .. (ending or "")
end

function M.sweep()
  for i, path in ipairs(made) do
    os.remove(path)
    made[i] = nil
  end
end

function M.write(path, text)
  local f <const> = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
  return path
end

function M.read(path)
  local f <const> = assert(io.open(path, "rb"))
  local text <const> = f:read "a"
  f:close()
  return text
end

--- Leaves so much room beside what is held, and gives the limit of before. First it makes a request that no memory has
--- room for: caches and plans of earlier tests, which the next request would be given, are given up for it.
function M.leave_room(bytes)
  local before <const> = gb.memory.limit()
  gb.memory.limit(gb.memory.report().used)
  local ok <const> = pcall(function() return gb.zeros(1 << 40):eval() end)
  assert(not ok)
  collectgarbage()
  collectgarbage()
  gb.memory.limit(gb.memory.report().used + bytes)
  return before
end

--- The arguments of the first call of owner[name] while f runs; the call ends f.
function M.arguments(owner, name, f)
  local seen
  pcall(M.with, owner, {[name] = function(...)
    seen = seen or table.pack(...)
    error "seen"
  end}, f)
  assert(seen, name .. " was not called")
  return seen
end

return M
