--- Files and data sets to tensors.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.object"
local options <const> = require "gibbous.options"

local M <const> = {}

-- Where files are looked for ----------------------------------------------------------------------------------------------

local function exists(path)
  local f <const> = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

local function directory(path) return path:match "^(.*)/[^/]*$" or "." end

--- The directories searched for a relative path, in order: the working directory, the script's and its data/, then those
-- listed in GIBBOUS_DATA (separated by ':').
function M.places()
  local out <const> = {"."}
  local script <const> = rawget(_G, "arg") and arg[0]
  if type(script) == "string" and script:match "%.lua$" then
    out[#out + 1] = directory(script)
    out[#out + 1] = directory(script) .. "/data"
  end
  for place in (os.getenv "GIBBOUS_DATA" or ""):gmatch "[^:]+" do out[#out + 1] = place end
  return out
end

M.exists = exists

local function find(path, level)
  if path:sub(1, 1) == "/" then return path end
  local tried <const> = {}
  for _, place in ipairs(M.places()) do
    local full <const> = place == "." and path or place .. "/" .. path
    if exists(full) then return full end
    tried[#tried + 1] = place
  end
  core.raise("io", ("cannot find '%s' in %s (GIBBOUS_DATA adds directories)"):format(path, table.concat(tried, ", ")), level + 1)
end

-- Frames ------------------------------------------------------------------------------------------------------------------

---@class gibbous.frame
---@field names string[]   column names, in order
local Frame <const> = {__name = "gibbous.frame"}
local methods <const> = object.methods(Frame, "a frame", "f")

function Frame.__index(self, key)
  if methods[key] then return methods[key] end
  if key == "names" then return self._names end
  core.raise("option", ("a frame has no field '%s'; columns are f:col(name)"):format(tostring(key)), 2)
end

function Frame.__newindex() core.raise("option", "a frame is a value and cannot be assigned to", 2) end
function Frame.__len(self) return rawget(self, "_columns").rows end

local function column(self, name, level)
  local columns <const> = rawget(self, "_columns")
  if math.type(name) == "integer" then
    local c <const> = columns[name < 0 and #columns + 1 + name or name]
    if c then return c end
    core.raise("index", ("column %d of a frame with %d columns"):format(name, #columns), level + 1)
  end
  local known <const> = {}
  for _, c in ipairs(columns) do
    if c.name == name then return c end
    known[c.name] = true
  end
  local near <const> = options.nearest(tostring(name), known)
  core.raise("option", ("there is no column '%s'%s; columns: %s"):format(tostring(name),
    near and (" (did you mean '%s'?)"):format(near) or "", table.concat(rawget(self, "_names"), ", ")), level + 1)
end

--- A column of text where most cells are words; a few words among numbers are a mistake in the file.
local function values(self, name, level)
  local c <const> = column(self, name, level + 1)
  if c.value then return c.value end
  if c.odd * 10 < #c.text then
    core.raise("format", ("column '%s' is not all numbers: %s:%d has '%s' (%d such cells; name it in na = \"...\" to read it as NaN)")
      :format(c.name, rawget(self, "_path"), c.line, c.sample, c.odd), level + 1)
  end
  return c.text
end

--- f:col(name) gives a column (n): a tensor, f64, NaN where the file says "not available"; a list of strings where it holds
-- text. f:col{names} gives the named columns as (n, k).
function methods.col(self, name)
  if type(name) ~= "table" then return values(self, name, 2) end
  local list <const> = {}
  for i, one in ipairs(name) do
    list[i] = values(self, one, 2)
    if type(list[i]) == "table" then
      core.raise("format", ("column '%s' holds text and cannot join a tensor"):format(tostring(one)), 2)
    end
  end
  if #list == 0 then core.raise("option", "col: the list of names is empty", 2) end
  return core.stack(list, 2)
end

function Frame.__tostring(self)
  return ("frame of %d rows: %s"):format(#self, table.concat(rawget(self, "_names"), ", "))
end

local function new_frame(path, columns, names)
  local list <const> = {}
  for i, c in ipairs(columns) do
    if names then c.name = names[i] end
    if c.name == "" then c.name = "V" .. i end
    list[i] = c.name
    if c.text then
      for _, cell in ipairs(c.text) do
        if not tonumber(cell) and cell ~= "" then
          c.sample = cell
          break
        end
      end
    end
  end
  return setmetatable({_path = path, _columns = columns, _names = list}, Frame)
end

-- Reading and writing -----------------------------------------------------------------------------------------------------

local read_spec <const> = {skip = "count", names = "table", na = "string", delimiter = "string", dtype = {"f64", "f32"}}

local function cast(t, dtype)
  local is_float <const> = t.dtype ~= "i64" and t.dtype ~= "bool"
  return dtype and is_float and t.dtype ~= dtype and t:to{dtype = dtype} or t
end

local function read_tensors(path, dtype)
  local tensors <const>, texts <const> = core.safetensors_read(path)
  for name, t in pairs(tensors) do tensors[name] = cast(t, dtype) end
  return tensors, texts
end

--- Reads a file by what is in it: .npy gives a tensor; .safetensors a table of tensors by name, and its metadata, strings by
-- name; delimited text (also gzipped) gives a frame.
-- o: skip (lines to leave out), names (of the columns), na (one more spelling of "not available"), delimiter; dtype of the
-- floats of .npy and .safetensors.
-- A relative path is looked for beside the script and in GIBBOUS_DATA, too. Errors name file and line.
function M.read(path, opts)
  if type(path) ~= "string" then
    error(("bad argument #1 to 'read' (string expected, got %s)"):format(type(path)), 2)
  end
  local o <const> = options.parse(opts, read_spec, "gb.data.read", 2)
  local full <const> = find(path, 2)
  local f <const> = io.open(full, "rb")
  local lead <const> = f and f:read(9) or ""
  if f then f:close() end
  if lead:match "^\x93NUMPY" then return cast(core.npy_read(full), o.dtype) end
  if full:match "%.safetensors$" or lead:match "^....\0\0\0\0{" then return read_tensors(full, o.dtype) end
  local columns <const> = core.csv_read(full, {skip = o.skip, delimiter = o.delimiter, na = o.na, has_names = o.names ~= nil})
  if o.names and #o.names ~= #columns then
    core.raise("format", ("%s: %d names given, the file has %d columns"):format(full, #o.names, #columns), 2)
  end
  return new_frame(full, columns, o.names)
end

local function is_plain(v) return type(v) == "table" and getmetatable(v) == nil end

local function write_tensors(path, v, metadata, level)
  if not is_plain(v) then
    core.raise("option", ("gb.data.write: a table of tensors by name expected, got %s"):format(core.type(v)), level + 1)
  end
  for key, text in pairs(metadata or {}) do
    if type(key) ~= "string" or type(text) ~= "string" then
      core.raise("option", "gb.data.write: metadata must be strings by name", level + 1)
    end
  end
  core.safetensors_write(path, v, metadata)
end

--- Writes a tensor or frame: .npy keeps type and shape; .csv holds vectors and matrices; .safetensors a table of tensors by
-- name: the file is there whole or not at all, and equal tensors give equal bytes. o: metadata of .safetensors, strings by name.
function M.write(path, v, opts)
  if type(path) ~= "string" then
    error(("bad argument #1 to 'write' (string expected, got %s)"):format(type(path)), 2)
  end
  local o <const> = options.parse(opts, {metadata = is_plain}, "gb.data.write", 2)
  if path:match "%.safetensors$" then return write_tensors(path, v, o.metadata or nil, 2) end
  if o.metadata then core.raise("option", "gb.data.write: only .safetensors files have metadata", 2) end
  if getmetatable(v) == Frame then
    local names <const> = rawget(v, "_names")
    return core.csv_write(path, methods.col(v, names), names)
  end
  local t <const> = core.as_tensor(v)
  if t == nil then core.raise("option", ("gb.data.write: a tensor or frame expected, got %s"):format(type(v)), 2) end
  if path:match "%.npy$" then return core.npy_write(path, t) end
  if path:match "%.csv$" then return core.csv_write(path, t) end
  core.raise("option", ("gb.data.write: cannot tell the format of '%s': expected .npy, .csv or .safetensors"):format(path), 2)
end

local prepare <const>, sets <const> = require "gibbous.data.prepare", require "gibbous.data.set"
M.standardize, M.split = prepare.standardize, prepare.split

--- A data set by name, as gb.data.sets() lists them: .x (n, d) .y (n) .n .d .splits .names .citation, and
-- train, test = set:split(i, {standardize = true}). Looked for as NAME/data.csv.gz in the places of gb.data.places().
-- o: dtype "f64"|"f32", that of gb.config unless it is given.
function M.set(name, opts) return sets.load(name, opts, M, 2) end

--- The names of the data sets that are found, sorted.
---@return string[]
function M.sets() return sets.found(M.places()) end

return require "gibbous.names"(M, "gb.data")
