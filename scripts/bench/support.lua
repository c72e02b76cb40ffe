--- Helpers of several benchmarks: the regression sets with their ten customary splits, memory of the process, options.
local gb <const> = require "gibbous"

local M <const> = {}

--- A set of GIBBOUS_DATA: x (n, d), y (n), test (n, splits) with 1 at test rows; nil where it is not there.
-- data.csv.gz has no header and y as its last column; test_mask.csv.gz has one column a split.
function M.set(name)
  local ok, rows = pcall(gb.data.read, name .. "/data.csv.gz")
  if not ok then return nil, tostring(rows) end
  local masks <const> = gb.data.read(name .. "/test_mask.csv.gz")
  local inputs <const>, splits <const> = {}, {}
  for i = 1, #rows.names - 1 do inputs[i] = i end
  for i = 1, #masks.names do splits[i] = i end
  return {name = name, x = rows:col(inputs):eval(), y = rows:col(-1):eval(), test = masks:col(splits):eval()}
end

local function rows_where(mask)
  local at <const> = {}
  for i, v in ipairs(mask:totable()) do
    if v then at[#at + 1] = i end
  end
  return gb.tensor(at, {dtype = "i64"})
end

--- Split i of a set: train and test with .x .y, both standardised on the training rows; 'limit' keeps the first training rows.
function M.split(set, i, limit)
  local is_test <const> = set.test:select(2, i):gt(0.5)
  local train = rows_where(~is_test)
  if limit and #train > limit then train = train:slice(1, 1, limit):eval() end
  local test <const> = rows_where(is_test)
  local x <const>, of_x <const> = gb.data.standardize(set.x:index(1, train))
  local y <const>, of_y <const> = gb.data.standardize(set.y:index(1, train))
  return {x = x, y = y}, {x = of_x:apply(set.x:index(1, test)):eval(), y = of_y:apply(set.y:index(1, test)):eval()}
end

--- A line of /proc/self/status in bytes ("VmRSS", "VmHWM"); nan if there is no such line.
function M.process_bytes(key)
  local f <const> = io.open "/proc/self/status"
  if not f then return 0 / 0 end
  local text <const> = f:read "a"
  f:close()
  return 1024 * (tonumber(text:match(key .. ":%s*(%d+)")) or 0 / 0)
end

--- The program that runs this script.
function M.binary()
  local i = 0
  while arg[i - 1] do i = i - 1 end
  return arg[i]
end

--- A word for the shell.
function M.quoted(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

--- Words of the command line, and --key value pairs; every key must have a default, whose type it takes. given: other words.
function M.options(defaults, given)
  given = given or arg
  local o <const>, words <const> = {}, {}
  for k, v in pairs(defaults) do o[k] = v end
  local i = 1
  while given[i] do
    local key <const> = given[i]:match "^%-%-(.+)$"
    if key then
      assert(defaults[key] ~= nil, "unknown option --" .. key)
      local text <const> = assert(given[i + 1], "--" .. key .. " wants a value")
      o[key] = type(defaults[key]) == "number" and assert(tonumber(text), "--" .. key .. " wants a number") or text
      i = i + 2
    else
      words[#words + 1] = given[i]
      i = i + 1
    end
  end
  return o, words
end

return M
