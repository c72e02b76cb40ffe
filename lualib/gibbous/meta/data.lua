---@meta

---@class gibbous
local gb = {}

--- Files and data sets to tensors, and back.
---@class gb.data
gb.data = {}

---@class gibbous.data.read.options
---@field skip? integer  lines to leave out at the top; default: 0
---@field names? string[]  of the columns, in place of a heading
---@field columns? (string|integer)[]  those to read, in this order; others take no memory; default: all
---@field text? (string|integer)[]  columns that are text whatever their cells look like, as "007"; default: those that hold words
---@field na? string  one more spelling of "not available"
---@field delimiter? string  found by the file's lines unless it is given
---@field decimal? string  "," for decimal commas
---@field max_ratio? number  of unpacked to packed bytes of a gzipped file; default: 1000
---@field dtype? "f64"|"f32"  of the floats of .npy, .npz and .safetensors
---@field dataset? string  of an HDF5 or MATLAB file: this array alone
---@field query? string  of an SQLite file: "SELECT ..."

--- Reads a file by what is in it: .npy gives a tensor, .npz and .safetensors a table of tensors (and metadata), delimited text (also
--- gzipped), HDF5 and MATLAB files their arrays by name (where Debian's libhdf5-dev and libmatio-dev were installed when it was built), rows
--- in .json and .jsonl and the query of an SQLite file a frame. A relative path is looked for in gb.data.places(), too.
---@param path string
---@param o gibbous.data.read.options?
---@return gibbous.frame|gibbous.tensor|table
---@return table?
--- Errors: io; format, with file and line.
---```lua
--- local path = os.tmpname() .. ".csv"
--- local f = io.open(path, "w") f:write("x,y\n1,2\n3,4\n") f:close()
--- print(gb.data.read(path):col "y")
--- os.remove(path)
---```
function gb.data.read(path, o) end

--- The array of a .npy file where it lies, as a tensor that is never read whole. It takes no bytes of gb.memory.limit. The file must
--- stay as it is as long as the tensor lives.
---@param path string
---@return gibbous.tensor
--- Errors: io, format.
---```lua
--- local path = os.tmpname() .. ".npy"
--- gb.data.write(path, gb.ones(3, 2))
--- print(gb.data.map(path):sum():item())
--- os.remove(path)
---```
function gb.data.map(path) end

---@class gibbous.data.write.options
---@field metadata? table<string, string>  of .safetensors

--- Writes a tensor or frame: .npy keeps type and shape; .csv holds vectors and matrices; .npz and .safetensors a table of tensors by
--- name; .csv, .json and .jsonl a frame. The file is there whole or not at all. A column of text that would be read as numbers or dates
--- ("007") is a warning, which says how it is read as text: CSV has no types, and quotes say nothing (so it is in pandas and readr).
---@param path string
---@param v gibbous.tensor|gibbous.frame|table<string, gibbous.tensor>
---@param o gibbous.data.write.options?
--- Errors: io; option, shape, format for what the format cannot hold.
---```lua
--- local path = os.tmpname() .. ".npy"
--- gb.data.write(path, gb.ones(3, 2))
--- print(gb.data.read(path).shape)
--- os.remove(path)
---```
function gb.data.write(path, v, o) end

--- Is anything there?
---@param path string
---@return boolean
---```lua
--- print(gb.data.exists "/no/such/file")
---```
function gb.data.exists(path) end

--- The directories searched for a relative path: the working directory, the script's and its data/, those listed in GIBBOUS_DATA.
---@return string[]
---```lua
--- print(gb.data.places()[1])
---```
function gb.data.places() end

--- Zero mean and unit standard deviation (ddof 0) by column: (x - mean) / sd, and the scaler that undoes it. Columns of one value become
--- 0; NaN stays missing and counts for nothing. Evaluates.
---@param x gibbous.tensor  (n, d) or (n)
---@return gibbous.tensor
---@return gibbous.scaler
--- Errors: nan where a value is infinite; shape where there are no rows.
---```lua
--- local xs, scaler = gb.data.standardize(gb.tensor{{1, 10}, {3, 30}})
--- print(xs, scaler:undo(xs))
---```
function gb.data.standardize(x) end

---@class gibbous.data.split.options
---@field test? number  the fraction (below 1) or the number of test rows; default: 0.1
---@field seed? integer  default: 0

--- Splits rows at random into training and test, each with x and y.
---@param x gibbous.tensor  (n, ...)
---@param y gibbous.tensor  (n, ...)
---@param o gibbous.data.split.options?
---@return {x: gibbous.tensor, y: gibbous.tensor} train
---@return {x: gibbous.tensor, y: gibbous.tensor} test
---```lua
--- local train, test = gb.data.split(gb.rand(10, 2), gb.rand(10), {test = 0.2})
--- print(#train.x, #test.x)
---```
function gb.data.split(x, y, o) end

---@class gibbous.data.synth.options
---@field n? integer  rows; default: as many as the table has
---@field seed? integer  default: 0

--- What a synthetic table was made from.
---@class gibbous.data.synth.truth
---@field target string  the column that the process gives
---@field lengthscale number  of the rbf kernel, in standard deviations of each input
---@field noise number  share of the target's variance
---@field seed integer  that was given
local synth_truth = {}

--- A table that looks like another one, for tests of scale without network or private data: numbers have the mean, deviation and range
--- of their column, words and truth values their shares; the last column of numbers, the target, is a draw of a Gaussian process
--- over the other numbers, of the column's mean and variance: an rbf kernel, by 256 random cosines. Nothing is missing, and the inputs do not depend on one another.
---@param like gibbous.frame|string  a frame, a file, or the name of a customary set, which need not be here
---@param o gibbous.data.synth.options?
---@return gibbous.frame
---@return gibbous.data.synth.truth
--- Cost: 512 n d flops; O(n d) memory.
--- Errors: option, io, format.
--- Source: Rahimi & Recht (2007), Random Features for Large-Scale Kernel Machines.
---```lua
--- local f, truth = gb.data.synth("yacht", {n = 100})
--- print(f, truth)
---```
function gb.data.synth(like, o) end

---@class gibbous.data.kfold.options
---@field k? integer  folds; default: 5
---@field seed? integer  default: 0

--- k folds of n rows, or of the rows of x: a list of {train =, test =}, positions of rows in order. Each row is tested once; the sizes of
--- the tests differ by one at most.
---@param n integer|gibbous.tensor|gibbous.frame
---@param o gibbous.data.kfold.options?
---@return {train: gibbous.tensor, test: gibbous.tensor}[]
--- Errors: option.
---```lua
--- local x = gb.rand(10, 2)
--- for i, fold in ipairs(gb.data.kfold(x, {k = 5})) do print(i, #x:index(1, fold.train), fold.test) end
---```
function gb.data.kfold(n, o) end

---@class gibbous.data.stratified.options: gibbous.data.kfold.options

--- k folds in which every label has its share: of each label the numbers of rows tested in two folds differ by one at most.
---@param labels gibbous.tensor|(string|number)[]  (n)
---@param o gibbous.data.stratified.options?
---@return {train: gibbous.tensor, test: gibbous.tensor}[]
--- Errors: option, shape, nan.
---```lua
--- print(gb.data.stratified({"a", "b", "a", "b"}, {k = 2})[1].test)
---```
function gb.data.stratified(labels, o) end

---@class gibbous.data.time_ordered.options
---@field k? integer  folds; default: 5
---@field test? integer  rows of a test; default: n / (k + 1)
---@field gap? integer  rows left out before a test; default: 0
---@field window? integer  the most rows to train on; default: all that came before

--- k folds of n rows in the order of time: each tests the rows that follow those it is trained on, the last one up to the last row.
---@param n integer|gibbous.tensor|gibbous.frame
---@param o gibbous.data.time_ordered.options?
---@return {train: gibbous.tensor, test: gibbous.tensor}[]
--- Errors: option where nothing is left to train on.
---```lua
--- for _, fold in ipairs(gb.data.time_ordered(12, {k = 3, gap = 1})) do print(fold.train, fold.test) end
---```
function gb.data.time_ordered(n, o) end

---@class gibbous.data.set.options
---@field dtype? "f64"|"f32"  default: that of gb.config

--- A data set by name, from a folder NAME with data.csv.gz (last column = target) in the places of gb.data.places(). Nothing is
--- downloaded.
---@param name string
---@param o gibbous.data.set.options?
---@return gibbous.data.set
--- Errors: io where there is none; format.
---```lua
--- print(pcall(gb.data.set, "no_such_set"))
---```
function gb.data.set(name, o) end

--- What is known of a data set. Its own folder may say it in citation.txt and licence.txt. Nothing is downloaded.
---@param name string
---@return gibbous.data.info
--- Errors: option where nothing is known of it.
---```lua
--- print(gb.data.info "yacht")
---```
function gb.data.info(name) end

--- What is known of a data set, as gb.data.info gives it.
---@class gibbous.data.info
---@field name string  as it was asked for
---@field title string  in words
---@field licence string  an SPDX identifier, or words; "" where unknown
---@field citation string  "" where unknown
---@field source string  who gives it; "" where unknown
---@field n integer?  rows
---@field d integer?  columns of x
---@field sha256 string?  of data.csv.gz in the customary layout
---@field path string?  where it is found
local set_info = {}

--- The names of the data sets that are found, sorted.
---@return string[]
---```lua
--- print(#gb.data.sets())
---```
function gb.data.sets() end

---@class gibbous.data.frame.options
---@field names? string[]  the order of the columns; default: that of the alphabet

--- A frame of vectors and lists of numbers, strings or booleans, by name.
---@param columns table<string, gibbous.tensor|number[]|string[]|boolean[]>
---@param o gibbous.data.frame.options?
---@return gibbous.frame
--- Errors: option; shape where columns differ in length.
---```lua
--- print(gb.data.frame{x = gb.linspace(0, 1, 3), site = {"a", "b", "a"}})
---```
function gb.data.frame(columns, o) end

--- A table of columns under names: numbers, truth values, dates and words. f.name is a column; #f is the number of rows; printed, a
--- frame shows its types and first rows. It never changes: methods give another one.
---@class gibbous.frame
---@field names string[]  of the columns, in order
---@field warnings string[]  what was read otherwise than it may be meant, each with file and line
local frame = {}

--- A column by name or number: a tensor (n), NaN where the file says "not available"; of dates the seconds since 1970 in UTC; a list of
--- strings where it holds text. Of a list of names the columns as (n, k), whose names figures show.
---@param name string|integer|(string|integer)[]
---@return gibbous.tensor|string[]
--- Errors: option for an unknown name; format, with the line, where text cannot join a tensor.
---```lua
--- local f = gb.data.frame{a = {1, 3}, b = {2, 4}}
--- print(f:col{"a", "b"}, f.a)
---```
function frame:col(name) end

--- Words and dates as they were written.
---@param name string|integer
---@return string[]
---```lua
--- print(gb.data.frame{site = {"x", "y"}}:text("site")[2])
---```
function frame:text(name) end

--- The first n rows; of a negative n all but the last -n.
---@param n integer?  default: 10
---@return gibbous.frame
---```lua
--- print(gb.data.frame{a = gb.range(1, 100)}:head(3))
---```
function frame:head(n) end

--- The rows where a mask is true, or for which a function gives a true value: the row has a field a column, as long as it runs.
---@param which gibbous.tensor|fun(row: table): any  (n) of bool, or a function
---@return gibbous.frame
---```lua
--- local f = gb.data.frame{a = {1, 2, 3}, site = {"x", "y", "x"}}
--- print(f:filter(f.a:gt(1)))
--- print(f:filter(function(row) return row.site == "x" end))
---```
function frame:filter(which) end

---@class gibbous.frame.sort.options
---@field descending? boolean  default: false

--- The rows in the order of a column: numbers by size, NaN last, words by their bytes. Equal ones keep their order.
---@param name string|integer
---@param o gibbous.frame.sort.options?
---@return gibbous.frame
---```lua
--- print(gb.data.frame{a = {2, 3, 1}}:sort("a", {descending = true}))
---```
function frame:sort(name, o) end

--- These columns, in this order.
---@param names (string|integer)[]
---@return gibbous.frame
---```lua
--- print(gb.data.frame{a = {1}, b = {2}, c = {3}}:select{"c", "a"})
---```
function frame:select(names) end

--- With more columns, or others in place of those of a name.
---@param columns table<string, gibbous.tensor|number[]|string[]|boolean[]>
---@return gibbous.frame
---```lua
--- local f = gb.data.frame{a = {1, 2}}
--- print(f:with{b = f.a ^ 2})
---```
function frame:with(columns) end

--- With other names of columns.
---@param names table<string, string>  old = "new"
---@return gibbous.frame
---```lua
--- print(gb.data.frame{a = {1, 2}}:rename{a = "b"}.names[1])
---```
function frame:rename(names) end

--- The rows in groups that are equal in a column, or in each of several.
---@param names string|integer|(string|integer)[]
---@return gibbous.frame.group
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}, v = {1, 2, 3}}:group "site":mean())
---```
function frame:group(names) end

---@class gibbous.frame.join.options
---@field on string|string[]  the columns that must be equal
---@field how? "inner"|"left"  "left" keeps rows without a partner, with NaN (numbers are f64 then) and ""; default: "inner"

--- The rows with the columns of those rows of another frame that are equal in o.on; a row with several partners comes several times.
---@param other gibbous.frame
---@param o gibbous.frame.join.options
---@return gibbous.frame
--- Errors: option where both have a column of one name; dtype where words meet numbers, or a row without a partner integers beyond 2^53.
---```lua
--- local f, sites = gb.data.frame{site = {"x", "y"}, v = {1, 2}}, gb.data.frame{site = {"x"}, height = {30}}
--- print(f:join(sites, {on = "site", how = "left"}))
---```
function frame:join(other, o) end

--- Categories as numbers: codes from 1, and the list of categories that they number, in order.
---@param name string|integer
---@return gibbous.tensor  (n), i32
---@return (string|number|boolean)[]
--- Errors: nan where a row is missing.
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}}:encode "site")
---```
function frame:encode(name) end

--- Categories as rows of 0 with one 1, and the list of the k categories.
---@param name string|integer
---@return gibbous.tensor  (n, k), f64
---@return (string|number|boolean)[]
--- Errors: nan where a row is missing.
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}}:one_hot "site")
---```
function frame:one_hot(name) end

--- A frame with a row a column: its type, how many cells are missing, how many words are distinct, mean, sd, least, median and largest
--- value.
---@return gibbous.frame
---```lua
--- print(gb.data.frame{a = {1, 2, 6}, site = {"x", "y", "x"}}:describe())
---```
function frame:describe() end

--- Rows of a frame in groups of equal keys, as f:group makes them. Each method gives a frame with a row a group, in the order of the
--- keys; missing values count for nothing.
---@class gibbous.frame.group
local group = {}

--- How many rows each group has, in the column "count".
---@return gibbous.frame
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}, v = {1, 2, 3}}:group "site":count())
---```
function group:count() end

--- Sums of the columns of numbers; 0 of none.
---@return gibbous.frame
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}, v = {1, 2, 3}}:group "site":sum())
---```
function group:sum() end

--- Means of the columns of numbers; NaN of none.
---@return gibbous.frame
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}, v = {1, 2, 3}}:group "site":mean())
---```
function group:mean() end

--- Standard deviations (n - 1) of the columns of numbers.
---@return gibbous.frame
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}, v = {1, 2, 3}}:group "site":std())
---```
function group:std() end

--- Least values of the columns of numbers.
---@return gibbous.frame
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}, v = {1, 2, 3}}:group "site":min())
---```
function group:min() end

--- Largest values of the columns of numbers.
---@return gibbous.frame
---```lua
--- print(gb.data.frame{site = {"x", "y", "x"}, v = {1, 2, 3}}:group "site":max())
---```
function group:max() end

--- What gb.data.standardize took away.
---@class gibbous.scaler
---@field mean gibbous.tensor  (d), or one number for a vector
---@field sd gibbous.tensor  the same shape; 1 for constant columns
local scaler = {}

--- (x - mean) / sd: other rows on the same scale.
---@param x gibbous.tensor
---@return gibbous.tensor
---```lua
--- local _, scaler = gb.data.standardize(gb.tensor{1, 3})
--- print(scaler:apply(gb.tensor{5}))
---```
function scaler:apply(x) end

--- Values, means and ends of intervals back in the original units.
---@param xs gibbous.tensor
---@return gibbous.tensor
---```lua
--- local xs, scaler = gb.data.standardize(gb.tensor{1, 3})
--- print(scaler:undo(xs))
---```
function scaler:undo(xs) end

--- Variances back in the original units squared.
---@param v gibbous.tensor
---@return gibbous.tensor
---```lua
--- local _, scaler = gb.data.standardize(gb.tensor{1, 5})
--- print(scaler:undo_var(gb.tensor{1}))
---```
function scaler:undo_var(v) end

--- A data set, as gb.data.set gives it.
---@class gibbous.data.set
---@field name string  as it was asked for
---@field x gibbous.tensor  (n, d)
---@field y gibbous.tensor  (n)
---@field n integer  rows
---@field d integer  columns of x
---@field splits integer  the customary ones; 0 where there is no mask
---@field names string[]  of the d inputs, then of the target
---@field citation string  its source; "" where unknown
local set = {}

---@class gibbous.set.split.options
---@field standardize? boolean  true: x and y with zero mean and unit standard deviation on the training rows; scaler_x and scaler_y undo it

--- Split i of the published masks: training and test, each with x and y.
---@param i integer  1 to splits
---@param o gibbous.set.split.options?
---@return table train
---@return table test
--- Errors: option where there is no mask; index.
function set:split(i, o) end
