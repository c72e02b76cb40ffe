---@meta

---@class gibbous
local gb = {}

---@class gibbous.report.options
---@field title? string  default: "Report"
---@field about? function  gives what the report was made from: {facts = {}, machine = {}, script = text}; default: version, seed, script, data, machine; false: left out

--- One HTML file of texts, tables and figures, which needs no network, with what it was made from at its end: version, seed, digests of
--- the script and of the data files that were read, machine. Tables sort by a click; it is readable on a narrow screen, dark or light.
---@param o gibbous.report.options?
---@return gibbous.report
--- Errors: option.
---```lua
--- local x = gb.linspace(0, 6, 50)
--- local path = os.tmpname()
--- gb.report{title = "Sines"}:text "One of them.":figure(gb.plot.figure{}:line(x, x:sin())):save(path)
--- print(io.open(path):read "l")
--- os.remove(path)
---```
function gb.report(o) end

--- A report that is being written. Its methods chain.
---@class gibbous.report
local report = {}

--- A title of what follows.
---@param text string
---@return gibbous.report
---```lua
--- print(gb.report{}:heading "Results")
---```
function report:heading(text) end

--- Paragraphs, which are apart by empty lines.
---@param text string
---@return gibbous.report
---```lua
--- print(gb.report{}:text "One paragraph.\n\nAnother one.")
---```
function report:text(text) end

--- A text as it stands, such as a script or a log.
---@param text string
---@return gibbous.report
---```lua
--- print(gb.report{}:code "for i = 1, 3 do print(i) end")
---```
function report:code(text) end

---@class gibbous.report.table.options
---@field columns? string[]  the headings, or the fields of records in order
---@field caption? string  above
---@field note? string  below

--- A table; a click on a heading sorts it. A cell is a number, string, boolean or nil, or {text =, value =, strong = true}: what is shown,
--- by which number it sorts, in bold.
---@param rows table  rows of cells, of which the first is the headings unless there are columns; or records; or a tensor (n, m) or (n); or a frame; or a model, whose parameters are told
---@param o gibbous.report.table.options?
---@return gibbous.report
--- Errors: option, shape.
---```lua
--- local r = gb.report{}
--- r:table{{"set", "rmse"}, {"pol", 0.11}, {"kin40k", 0.07}}
--- r:table({{set = "pol", n = 15000}, {set = "kin40k", n = 40000}}, {columns = {"set", "n"}, caption = "sizes"})
---```
function report:table(rows, o) end

---@class gibbous.report.values.options
---@field caption? string  above

--- A list of facts, sorted by name.
---@param values table<string, any>
---@param o gibbous.report.values.options?
---@return gibbous.report
--- Errors: option.
---```lua
--- print(gb.report{}:values({rmse = 0.11, converged = true}, {caption = "result"}))
---```
function report:values(values, o) end

---@class gibbous.report.figure.options
---@field caption? string  below
---@field width? number  in points, 10 to 14400; default: 720
---@field height? number  in points, 10 to 14400; default: by its panels

--- A figure as it is now.
---@param fig gibbous.figure
---@param o gibbous.report.figure.options?
---@return gibbous.report
--- Errors: option, io.
---```lua
--- print(gb.report{}:figure(gb.plot.figure{}:line({1, 2, 3}, {1, 4, 9}), {caption = "squares"}))
---```
function report:figure(fig, o) end

--- Writes the file, whole or not at all.
---@param path string
---@return gibbous.report
--- Errors: io.
---```lua
--- local path = os.tmpname()
--- gb.report{title = "Empty"}:save(path)
--- os.remove(path)
---```
function report:save(path) end
