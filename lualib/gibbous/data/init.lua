--- Files and data sets to tensors.
local core <const> = require "gibbous.core"
local column <const> = require "gibbous.frame.column"
local counted <const> = require "gibbous.base.counted"
local frame <const> = require "gibbous.frame"
local options <const> = require "gibbous.base.options"
local seen <const> = require "gibbous.data.seen"
local subject <const> = require "gibbous.tensor.subject"

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

-- Reading and writing -----------------------------------------------------------------------------------------------------

local read_spec <const> = {skip = "count", names = "table", na = "string", delimiter = "string", decimal = "string",
  max_ratio = "positive", dtype = {"f64", "f32"}, columns = "table", text = "table",
  query = "string", dataset = "string"}

local function cast(t, dtype)
  local is_float <const> = t.dtype:find("f", 1, true) ~= nil
  return dtype and is_float and t.dtype ~= dtype and t:to{dtype = dtype} or t
end

local function cast_all(tensors, dtype)
  for name, t in pairs(tensors) do tensors[name] = cast(t, dtype) end
  return tensors
end

--- The arrays of a file that another project's library reads, by name; o.dataset: one of them.
local function read_foreign(kind, path, o)
  local tensors <const>, notes <const> = core.foreign_read(kind, path, o.dataset or nil)
  for line in notes:gmatch "[^\n]+" do io.stderr:write("gibbous: warning: ", line, "\n") end
  cast_all(tensors, o.dtype)
  if o.dataset then return tensors[o.dataset] end
  return tensors
end

local readers <const> = {
  npy = function(path, o) return cast(core.npy_read(path), o.dtype) end,
  npz = function(path, o) return cast_all(core.npz_read(path, o.max_ratio or 0), o.dtype) end,
  tensors = function(path, o)
    local tensors <const>, texts <const> = core.safetensors_read(path)
    return cast_all(tensors, o.dtype), texts
  end,
  hdf5 = function(path, o) return read_foreign("hdf5", path, o) end,
  matio = function(path, o) return read_foreign("matio", path, o) end,
  sql = function(path, o) return require "gibbous.data.sql".read(path, o.query) end,
  json = function(path) return require "gibbous.data.json".read(path) end,
  lines = function(path) return require "gibbous.data.json".read_lines(path) end,
}

--- Formats that are known by their first bytes and not read: what they are, and what to do.
local unread <const> = {
  {"PAR1", "a Parquet file: pandas.read_parquet(path).to_csv(path, index=False) makes .csv"},
  {"ARROW1", "an Arrow file: pandas.read_feather(path).to_csv(path, index=False) makes .csv"},
  {"BZh", "packed by bzip2: unpack it with bunzip2"},
  {"\xFD7zXZ", "packed by xz: unpack it with unxz"},
  {"\x28\xB5\x2F\xFD", "packed by zstd: unpack it with unzstd"},
  {"\xFF\xFE", "text in UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8"},
  {"\xFE\xFF", "text in UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8"},
}

--- "npy", "npz", "tensors", "hdf5", "matio", "sql", "json", "lines" or "text", by what is in the file, and where that may be
-- anything, by its ending.
local function format_of(path)
  local lead <const> = core.file_lead(path)
  local ending <const> = path:match "%.([^./]*)$"
  if lead:match "^PK\3\4" or lead:match "^PK[\5\6]\6" then
    if ending ~= "npz" then
      core.raise("format", path .. ": a zip archive, read where its name ends in .npz; from a spreadsheet, save as .csv")
    end
    return "npz"
  end
  if lead:match "^SQLite format 3\0" then return "sql" end
  if lead:match "^\x89HDF" then return "hdf5" end
  if lead:match "^MATLAB [57]%.%d MAT" then return "matio" end
  for _, one in ipairs(unread) do
    if lead:sub(1, #one[1]) == one[1] then core.raise("format", ("%s: not read yet: %s"):format(path, one[2])) end
  end
  if lead:match "^\x93NUMPY" then return "npy" end
  if ending == "npy" then core.raise("format", path .. ": not a NumPy array file") end
  if ending == "npz" then core.raise("format", path .. ": not a NumPy archive, or one that is damaged") end
  if ending == "json" then return "json" end
  if ending == "jsonl" or ending == "ndjson" then return "lines" end
  return (path:match "%.safetensors$" or lead:match "^....\0\0\0\0{") and "tensors" or "text"
end

local function character(name, v)
  if v and #v ~= 1 then core.raise("option", ("gb.data.read: %s must be one character, got '%s'"):format(name, v)) end
  return v or nil
end

--- The columns that an option lists, as the file knows them: by number where names = {...} names them. nil where it is not given.
local function chosen(option, o)
  local list <const> = o[option]
  if not list then return nil end
  local number <const>, out <const> = {}, {}
  for i, name in ipairs(o.names or {}) do number[name] = i end
  for i, name in ipairs(list) do
    if type(name) ~= "string" and math.type(name) ~= "integer" then
      core.raise("option", ("gb.data.read: %s must be names or numbers, got %s"):format(option, core.type(name)))
    end
    if o.names and type(name) == "string" and not number[name] then
      core.raise("option", ("gb.data.read: %s asks for '%s', which is not in names"):format(option, name))
    end
    out[i] = number[name] or name
  end
  if #out == 0 then core.raise("option", ("gb.data.read: the list of %s is empty"):format(option)) end
  return out
end

local function read_text(path, o)
  local delimiter <const>, decimal <const> = character("delimiter", o.delimiter), character("decimal", o.decimal)
  if decimal and decimal ~= "." and decimal ~= "," then
    core.raise("option", ("gb.data.read: decimal must be \".\" or \",\", got '%s'"):format(decimal))
  end
  if decimal and decimal == delimiter then
    core.raise("option", ("gb.data.read: '%s' cannot be both delimiter and decimal"):format(decimal))
  end
  local read <const> = core.csv_read(path, {skip = o.skip, delimiter = delimiter, decimal = decimal, na = o.na,
    has_names = o.names ~= nil, max_ratio = o.max_ratio, columns = chosen("columns", o),
    text = chosen("text", o)})
  if o.names and #o.names ~= #read then
    core.raise("format", ("%s: %s given, the file has %s"):format(path, counted(#o.names, "name"), counted(#read, "column")))
  end
  local f <const> = require "gibbous.frame.csv"(path, read, o)
  return o.columns and f:select(o.columns) or f
end

--- Reads a file by what is in it: .npy gives a tensor; .npz and .safetensors a table of tensors by name, the latter its metadata,
-- too, strings by name; HDF5 and MATLAB files their arrays of numbers by name, or the one of o.dataset; delimited text (also
-- gzipped), rows of .json and .jsonl, and the query of an SQLite file give a frame. o: skip (lines to leave out), names (of the
-- columns), columns (names or numbers of those to read: others take no memory), text (of those that are text, whatever their cells
-- look like: zip codes), na (one more spelling of "not available"), delimiter, decimal ("," for decimal commas), max_ratio (of
-- unpacked to packed bytes; 1000 unless it is given); dtype of the floats of .npy, .npz and .safetensors; query, of an SQLite file.
-- A relative path is looked for beside the script and in GIBBOUS_DATA, too. Errors name file and line.
function M.read(path, opts)
  subject.path(path, "gb.data.read(path)")
  local o <const> = options.parse(opts, read_spec, "gb.data.read")
  local full <const> = find(path)
  local format <const> = format_of(full)
  seen.note(full)
  if o.query and format ~= "sql" then core.raise("option", full .. ": query = ... is for SQLite files") end
  if o.dataset and format ~= "hdf5" and format ~= "matio" then
    core.raise("option", full .. ": dataset = ... is for HDF5 and MATLAB files")
  end
  local v <const>, texts <const> = (readers[format] or read_text)(full, o)
  if texts then return v, texts end
  return v
end

--- The array of a .npy file where it lies there, as a tensor of the host that is never read whole: pages come when they are looked
-- at, and go when the system needs them. It takes no bytes of gb.memory.limit; gb.memory.report().mapped counts it. For f64, f32,
-- f16, i64, i32 and bool, in C and in Fortran order. The file must stay as it is as long as the tensor lives: a fit or an
-- evaluation looks whether it has become shorter, and raises; bytes that go while they are read end the process (SIGBUS). A
-- relative path is looked for as gb.data.read does. Errors: io, format (what cannot be mapped gb.data.read reads).
function M.map(path)
  subject.path(path, "gb.data.map(path)")
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

local function write_archive(path, v)
  if not is_plain(v) then
    core.raise("option", ("gb.data.write: a table of tensors by name expected, got %s"):format(core.type(v)))
  end
  core.npz_write(path, v)
end

local function write_json(path, v, whole)
  if not frame.is(v) then core.raise("option", "gb.data.write: JSON files hold frames, got " .. core.type(v)) end
  core.text_write(path, require "gibbous.data.json".text(v, whole))
end

--- The columns of a frame under their names; words and dates as they were written.
local function write_frame(path, f)
  local list <const> = {}
  for i, c in ipairs(frame.columns(f)) do
    local seen <const> = column.seen(c)                      -- raises where the column is a mistake
    list[i] = c.source or c.words and c.words() or seen
  end
  for k, kind in pairs(core.csv_write(path, list, f.names)) do
    local name <const> = f.names[k]
    if not frame.columns(f)[k].date then
      io.stderr:write(("gibbous: warning: %s: column '%s' is text that reads as %s; gb.data.read(path, {text = {%q}}) keeps it\n")
        :format(path, name, kind, name))
    end
  end
end

--- Writes a tensor or frame: .npy keeps type and shape; .csv holds vectors and matrices; .npz and .safetensors a table of tensors
-- by name, equal ones as equal bytes; .csv, .json (a list of objects) and .jsonl (an object a line, NaN as null) a frame. The
-- file is there whole or not at all: after any failure the old one is as it was. o: metadata of .safetensors, strings by name.
function M.write(path, v, opts)
  subject.path(path, "gb.data.write(path, x)")
  local o <const> = options.parse(opts, {metadata = is_plain}, "gb.data.write")
  if path:match "%.safetensors$" then return write_tensors(path, v, o.metadata or nil) end
  if o.metadata then core.raise("option", "gb.data.write: only .safetensors files have metadata") end
  if path:match "%.npz$" then return write_archive(path, v) end
  if path:match "%.jsonl?$" or path:match "%.ndjson$" then return write_json(path, v, path:match "%.json$" ~= nil) end
  if frame.is(v) then
    if not path:match "%.csv$" then
      core.raise("option", ("gb.data.write: frames are written to .csv, .json and .jsonl, got '%s'"):format(path))
    end
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
  core.raise("option", ("gb.data.write: cannot tell the format of '%s': expected .npy, .npz, .csv, .json, .jsonl or "
    .. ".safetensors"):format(path))
end

local prepare <const>, sets <const> = require "gibbous.data.prepare", require "gibbous.data.set"
local folds <const> = require "gibbous.data.folds"
M.standardize, M.split, M.frame = prepare.standardize, prepare.split, frame.of
M.kfold, M.stratified, M.time_ordered = folds.kfold, folds.stratified, folds.time_ordered

--- A data set by name, as gb.data.sets() lists them: .x (n, d) .y (n) .n .d .splits .names .citation, and
-- train, test = set:split(i, {standardize = true}). Looked for as NAME/data.csv.gz in the places of gb.data.places().
-- o: dtype "f64"|"f32", that of gb.config unless it is given.
function M.set(name, opts)
  subject.path(name, "gb.data.set(name)")
  return sets.load(name, opts, M)
end

--- What is known of a data set: .title .licence (SPDX, or words) .citation .source .n .d .sha256, and .path where it is found.
-- Files citation.txt and licence.txt in a set's folder say what is known of it. Nothing is downloaded.
function M.info(name)
  subject.path(name, "gb.data.info(name)")
  local info <const> = sets.info(name, M)
  return info
end

--- Rows of the shape of a table, a frame, or of a customary set that need not be here, so that a test of scale needs neither
-- network nor private data: numbers have the mean, deviation and range of each column, words and truth values their shares, and
-- the last column of numbers is a draw of a known process over the others. o: n, rows; seed. Gives a frame, and what the target
-- was made from. Nothing is missing, and columns other than the target do not depend on one another.
---@return gibbous.frame, gibbous.data.synth.truth
function M.synth(like, opts)
  local f <const>, truth <const> = require "gibbous.data.synth".make(like, opts, M)
  return f, truth
end

--- The names of the data sets that are found, sorted.
---@return string[]
function M.sets() return sets.found(M.places()) end

return require "gibbous.base.names"(M, "gb.data")
