--- Files and data sets to tensors.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.counted"
local object <const> = require "gibbous.object"
local options <const> = require "gibbous.options"
local seen <const> = require "gibbous.data.seen"
local subject <const> = require "gibbous.subject"

local M <const> = {}

-- Where files are looked for ----------------------------------------------------------------------------------------------

local exists <const> = core.file_exists

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

local function find(path)
  if path:sub(1, 1) == "/" then return path end
  local tried <const> = {}
  for _, place in ipairs(M.places()) do
    local full <const> = place == "." and path or place .. "/" .. path
    if exists(full) then return full end
    tried[#tried + 1] = place
  end
  core.raise("io", ("cannot find '%s' in %s (GIBBOUS_DATA adds directories)"):format(path, table.concat(tried, ", ")))
end

-- Frames ------------------------------------------------------------------------------------------------------------------

---@class gibbous.frame
---@field names string[]     column names, in order
---@field warnings string[]  what was read otherwise than it may be meant, each with file:line; also said on stderr
local Frame <const> = {__name = "gibbous.frame"}
local methods <const> = object.methods(Frame, "a frame", "f")

function Frame.__index(self, key)
  if methods[key] then return methods[key] end
  if key == "names" then return self._names end
  if key == "warnings" then return rawget(self, "_columns").notes end
  core.raise("option", ("a frame has no field '%s'; columns are f:col(name)"):format(tostring(key)))
end

function Frame.__newindex() core.raise("option", "a frame is a value and cannot be assigned to") end
function Frame.__len(self) return rawget(self, "_columns").rows end

--- The column of this name, which must be the only one.
local function named(self, name)
  local found <const>, known <const> = {}, {}
  for i, c in ipairs(rawget(self, "_columns")) do
    if c.name == name then found[#found + 1] = i end
    known[c.name] = true
  end
  if #found == 1 then return rawget(self, "_columns")[found[1]] end
  if found[1] then
    core.raise("option", ("%s: columns %s are all called '%s': f:col(%d) takes one by its number, names = {...} gives them names")
      :format(rawget(self, "_path"), table.concat(found, ", "), name, found[1]))
  end
  local near <const> = options.nearest(tostring(name), known)
  core.raise("option", ("there is no column '%s'%s; columns: %s"):format(tostring(name),
    near and (" (did you mean '%s'?)"):format(near) or "", table.concat(rawget(self, "_names"), ", ")))
end

local function column(self, name)
  local columns <const> = rawget(self, "_columns")
  if math.type(name) ~= "integer" then return named(self, name) end
  local c <const> = columns[name < 0 and #columns + 1 + name or name]
  if c then return c end
  core.raise("index", ("column %d of a frame with %s"):format(name, counted(#columns, "column")))
end

--- A column of text where most cells are words; a few words among numbers are a mistake in the file, and so are numbers with a
-- decimal comma that nobody expected.
local function values(self, name)
  local c <const> = column(self, name)
  if c.value then return c.value end
  if c.comma and not rawget(self, "_decimal") then
    core.raise("format", ("column '%s' holds numbers with a decimal comma: %s:%d has '%s'; read it with decimal = \",\" (or, as "
      .. "text, with decimal = \".\")"):format(c.name, rawget(self, "_path"), c.line, c.sample))
  end
  if not c.words then
    core.raise("format",
      ("column '%s' is not all numbers: %s:%d has '%s' (%d such cells; name it in na = \"...\" to read it as NaN)")
      :format(c.name, rawget(self, "_path"), c.line, c.sample, c.odd))
  end
  c.text = c.text or core.csv_text(rawget(self, "_columns").frame, c.index)
  return c.text
end

--- A column of numbers; text has no place in a tensor.
local function numbers(self, name)
  local v <const> = values(self, name)
  if type(v) ~= "table" then return v end
  local c <const> = column(self, name)
  core.raise("format", ("column '%s' holds text and cannot join a tensor: %s:%d has '%s'"):format(c.name, rawget(self, "_path"),
    c.line, c.sample))
end

local function is_whole(v) return (v:floor():eq(v) & v:abs():lt(2.0 ^ 63)):all() end

--- Columns of one type; bool becomes 0 and 1 beside numbers. i64 is i64 because no float holds it: beside it, f64 that holds
-- whole numbers alone becomes i64, too.
local function together(list, names)
  local seen <const>, wide = {}, false
  for _, v in ipairs(list) do wide = wide or v.dtype == "i64" end
  for i, v in ipairs(list) do
    if wide and v.dtype == "f64" and is_whole(v) then list[i] = v:to{dtype = "i64"} end
    seen[list[i].dtype] = seen[list[i].dtype] or names[i]
  end
  if seen.i64 and seen.f64 then
    core.raise("dtype", ("column '%s' is i64, for f64 would round its integers, and '%s' is f64: they do not go into one tensor; "
      .. "f:col(name):to{dtype = \"f64\"} rounds"):format(seen.i64, seen.f64))
  end
  local dtype <const> = seen.bool and (seen.f64 and "f64" or seen.i64 and "i64")
  for i, v in ipairs(list) do list[i] = dtype and v.dtype == "bool" and v:to{dtype = dtype} or v end
  return core.stack(list, 2)
end

--- f:col(name) gives a column (n): a tensor, f64, NaN where the file says "not available"; i64 where its integers need it; bool
-- where every cell is true or false; a list of strings where it holds text, with a warning by line and cell where two thirds of the
-- cells or more are numbers. f:col{names} gives the named columns as (n, k).
function methods.col(self, name)
  if type(name) ~= "table" then return values(self, name) end
  if #name == 0 then core.raise("option", "col: the list of names is empty") end
  local list <const> = {}
  for i, one in ipairs(name) do list[i] = numbers(self, one) end
  local all <const> = together(list, name)
  return all
end

function Frame.__tostring(self)
  return ("frame of %s: %s"):format(counted(#self, "row"), table.concat(rawget(self, "_names"), ", "))
end

local function new_frame(path, columns, o)
  local list <const> = {}
  for i, c in ipairs(columns) do
    if o.names then c.name = o.names[i] end
    if c.name == "" then c.name = "V" .. i end
    list[i], c.index = c.name, i
  end
  for _, text in ipairs(columns.notes) do io.stderr:write("gibbous: warning: ", text, "\n") end
  return setmetatable({_path = path, _columns = columns, _names = list, _decimal = o.decimal}, Frame)
end

-- Reading and writing -----------------------------------------------------------------------------------------------------

local read_spec <const> = {skip = "count", names = "table", na = "string", delimiter = "string", decimal = "string",
  max_ratio = "positive", dtype = {"f64", "f32"}}

local function cast(t, dtype)
  local is_float <const> = t.dtype:find("f", 1, true) ~= nil
  return dtype and is_float and t.dtype ~= dtype and t:to{dtype = dtype} or t
end

local function read_tensors(path, dtype)
  local tensors <const>, texts <const> = core.safetensors_read(path)
  for name, t in pairs(tensors) do tensors[name] = cast(t, dtype) end
  return tensors, texts
end

--- Formats that are known by their first bytes and not read: what they are, and what to do.
local unread <const> = {
  {"PK\3\4", "a zip archive, as .npz and .xlsx are: from .npz, np.save each array as .npy; from a spreadsheet, save as .csv"},
  {"\x89HDF", "an HDF5 file: np.save each array as .npy"},
  {"MATLAB 5.0 MAT", "a MATLAB file: writematrix saves .csv"},
  {"PAR1", "a Parquet file: pandas.read_parquet(path).to_csv(path, index=False) makes .csv"},
  {"ARROW1", "an Arrow file: pandas.read_feather(path).to_csv(path, index=False) makes .csv"},
  {"BZh", "packed by bzip2: unpack it with bunzip2"},
  {"\xFD7zXZ", "packed by xz: unpack it with unxz"},
  {"\x28\xB5\x2F\xFD", "packed by zstd: unpack it with unzstd"},
  {"\xFF\xFE", "text in UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8"},
  {"\xFE\xFF", "text in UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8"},
}

--- "npy", "tensors" or "text", by what is in the file.
local function format_of(path)
  local lead <const> = core.file_lead(path)
  for _, one in ipairs(unread) do
    if lead:sub(1, #one[1]) == one[1] then core.raise("format", ("%s: not read yet: %s"):format(path, one[2])) end
  end
  if lead:match "^\x93NUMPY" then return "npy" end
  if path:match "%.npy$" then core.raise("format", path .. ": not a NumPy array file") end
  return (path:match "%.safetensors$" or lead:match "^....\0\0\0\0{") and "tensors" or "text"
end

local function character(name, v)
  if v and #v ~= 1 then core.raise("option", ("gb.data.read: %s must be one character, got '%s'"):format(name, v)) end
  return v or nil
end

local function read_text(path, o)
  local delimiter <const>, decimal <const> = character("delimiter", o.delimiter), character("decimal", o.decimal)
  if decimal and decimal ~= "." and decimal ~= "," then
    core.raise("option", ("gb.data.read: decimal must be \".\" or \",\", got '%s'"):format(decimal))
  end
  if decimal and decimal == delimiter then
    core.raise("option", ("gb.data.read: '%s' cannot be both delimiter and decimal"):format(decimal))
  end
  local columns <const> = core.csv_read(path, {skip = o.skip, delimiter = delimiter, decimal = decimal, na = o.na,
    has_names = o.names ~= nil, max_ratio = o.max_ratio})
  if o.names and #o.names ~= #columns then
    core.raise("format", ("%s: %s given, the file has %s"):format(path, counted(#o.names, "name"), counted(#columns, "column")))
  end
  return new_frame(path, columns, o)
end

--- Reads a file by what is in it: .npy gives a tensor; .safetensors a table of tensors by name, and its metadata, strings by
-- name; delimited text (also gzipped) gives a frame.
-- o: skip (lines to leave out), names (of the columns), na (one more spelling of "not available"), delimiter, decimal ("," for
-- decimal commas), max_ratio (of unpacked to packed bytes; 1000 unless it is given); dtype of the floats of .npy and .safetensors.
-- A relative path is looked for beside the script and in GIBBOUS_DATA, too. Errors name file and line.
function M.read(path, opts)
  subject.path(path, 1, "gb.data.read(path)")
  local o <const> = options.parse(opts, read_spec, "gb.data.read")
  local full <const> = find(path)
  local format <const> = format_of(full)
  seen.note(full)
  if format == "npy" then return cast(core.npy_read(full), o.dtype) end
  if format == "tensors" then return read_tensors(full, o.dtype) end
  local frame <const> = read_text(full, o)
  return frame
end

--- The array of a .npy file where it lies there, as a tensor of the host that is never read whole: pages come when they are looked
-- at, and go when the system needs them. It takes no bytes of gb.memory.limit; gb.memory.report().mapped counts it. For f64, f32,
-- f16, i64, i32 and bool, in C and in Fortran order. The file must stay as it is as long as the tensor lives: a fit or an
-- evaluation looks whether it has become shorter, and raises; bytes that go while they are read end the process (SIGBUS). A
-- relative path is looked for as gb.data.read does. Errors: io, format (what cannot be mapped gb.data.read reads).
function M.map(path)
  subject.path(path, 1, "gb.data.map(path)")
  local full <const> = find(path)
  if format_of(full) ~= "npy" then
    core.raise("format", ("%s: only .npy files are mapped; gb.data.read reads it"):format(full))
  end
  seen.note(full)
  return core.npy_map(full)
end

local function is_plain(v) return type(v) == "table" and getmetatable(v) == nil, "a table of strings by name" end

local function write_tensors(path, v, metadata)
  if not is_plain(v) then
    core.raise("option", ("gb.data.write: a table of tensors by name expected, got %s"):format(core.type(v)))
  end
  for key, text in pairs(metadata or {}) do
    if type(key) ~= "string" or type(text) ~= "string" then
      core.raise("option", "gb.data.write: metadata must be strings by name")
    end
  end
  core.safetensors_write(path, v, metadata)
end

--- The columns of a frame as they were read, under their names.
local function write_frame(path, f)
  local columns <const>, list <const> = rawget(f, "_columns"), {}
  for i, c in ipairs(columns) do
    if not c.value then values(f, i) end        -- raises where the column is a mistake
    list[i] = c.value or {columns.frame, i}
  end
  core.csv_write(path, list, rawget(f, "_names"))
end

--- Writes a tensor or frame: .npy keeps type and shape; .csv holds vectors and matrices; .safetensors a table of tensors by
-- name, equal ones as equal bytes. The file is there whole or not at all: after any failure the old one is as it was.
-- o: metadata of .safetensors, strings by name.
function M.write(path, v, opts)
  subject.path(path, 1, "gb.data.write(path, x)")
  local o <const> = options.parse(opts, {metadata = is_plain}, "gb.data.write")
  if path:match "%.safetensors$" then return write_tensors(path, v, o.metadata or nil) end
  if o.metadata then core.raise("option", "gb.data.write: only .safetensors files have metadata") end
  if getmetatable(v) == Frame then
    write_frame(path, v)
    return
  end
  local t <const> = core.as_tensor(v)
  if t == nil then core.raise("option", ("gb.data.write: a tensor or frame expected, got %s"):format(type(v))) end
  if path:match "%.npy$" then return core.npy_write(path, t) end
  if path:match "%.csv$" then
    if t.ndim > 2 then
      core.raise("shape", ("gb.data.write: a .csv file holds vectors and matrices, got shape %s; x:reshape(%d, -1) is a matrix, "
        .. ".npy keeps the shape"):format(core.told(t), t.shape[1]))
    end
    return core.csv_write(path, t)
  end
  core.raise("option", ("gb.data.write: cannot tell the format of '%s': expected .npy, .csv or .safetensors"):format(path))
end

local prepare <const>, sets <const> = require "gibbous.data.prepare", require "gibbous.data.set"
M.standardize, M.split = prepare.standardize, prepare.split

--- A data set by name, as gb.data.sets() lists them: .x (n, d) .y (n) .n .d .splits .names .citation, and
-- train, test = set:split(i, {standardize = true}). Looked for as NAME/data.csv.gz in the places of gb.data.places().
-- o: dtype "f64"|"f32", that of gb.config unless it is given.
function M.set(name, opts)
  subject.path(name, 1, "gb.data.set(name)")
  return sets.load(name, opts, M)
end

--- The names of the data sets that are found, sorted.
---@return string[]
function M.sets() return sets.found(M.places()) end

return require "gibbous.names"(M, "gb.data")
