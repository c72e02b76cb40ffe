---@meta

---@class gibbous
local gb = {}

--- Figures: drawn to SVG, PNG or PDF, or into the terminal.
---@class gb.plot
gb.plot = {}

---@class gibbous.plot.figure.options
---@field title? string  ""
---@field xlabel? string  ""
---@field ylabel? string  ""
---@field yticks? table[]  a list of {height, name}, in place of numbers

--- An empty figure; what its methods add chains.
---@param o gibbous.plot.figure.options?
---@return gibbous.figure
---```lua
--- local x = gb.linspace(0, 6, 50)
--- print(gb.plot.figure{title = "sine", xlabel = "x"}:line(x, x:sin(), {label = "sin"}):text(60, 12))
---```
function gb.plot.figure(o) end

---@class gibbous.plot.posterior.options
---@field x? gibbous.tensor|number[]  points to draw at; 500 over the data
---@field title? string  ""
---@field xlabel? string  "x"
---@field ylabel? string  "y"
---@field level? number  of the bands; 0.95

--- A model with one input column: its mean, bands of f and of y, and the data.
---@param model gibbous.gp.exact
---@param o gibbous.plot.posterior.options?
---@return gibbous.figure
--- Errors: option, shape; those of a prediction.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 3})
--- print(gb.plot.posterior(m):text(60, 12))
---```
function gb.plot.posterior(model, o) end

---@class gibbous.plot.labels.options
---@field title? string  above the figure
---@field xlabel? string  of the horizontal axis
---@field ylabel? string  of the vertical axis

--- A figure of what gb.silhouette or km:silhouette gives: a bar a row, sorted within its cluster, clusters from the top; the line is
--- the mean.
---@param s gibbous.silhouette
---@param o gibbous.plot.labels.options?
---@return gibbous.figure
---```lua
--- local x = gb.randn(20, 2, {seed = 1})
--- print(gb.plot.silhouette(gb.kmeans{k = 2, seed = 1}:fit(x):silhouette(x)):text(40, 10))
---```
function gb.plot.silhouette(s, o) end

--- A figure of inertia against k, from a list of {k, inertia} or of fitted k-means; and the k of its elbow, the point farthest below
--- the chord from the first to the last, or nil where none lies below.
---@param list table[]  of {k, inertia}, or fitted k-means
---@param o gibbous.plot.labels.options?
---@return gibbous.figure
---@return integer? k
---```lua
--- print(select(2, gb.plot.elbow{{1, 100}, {2, 30}, {3, 25}, {4, 22}}))
---```
function gb.plot.elbow(list, o) end

--- A figure, as gb.plot makes it; all methods that add give the figure.
---@class gibbous.figure
local figure = {}

---@class gibbous.series.options
---@field label? string  in the legend
---@field colour? integer  of the palette, from 1

--- A line through points.
---@param x gibbous.tensor|number[]  (n)
---@param y gibbous.tensor|number[]  (n)
---@param o gibbous.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:line({1, 2, 3}, {1, 4, 2}, {label = "a"}):text(40, 8))
---```
function figure:line(x, y, o) end

--- Points.
---@param x gibbous.tensor|number[]  (n)
---@param y gibbous.tensor|number[]  (n)
---@param o gibbous.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:scatter({1, 2, 3}, {1, 4, 2}, {label = "a"}):text(40, 8))
---```
function figure:scatter(x, y, o) end

--- The area between two lines.
---@param x gibbous.tensor|number[]  (n)
---@param low gibbous.tensor|number[]  (n)
---@param high gibbous.tensor|number[]  (n)
---@param o gibbous.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:band({1, 2, 3}, {1, 2, 1}, {3, 4, 3}, {label = "a"}):text(40, 8))
---```
function figure:band(x, low, high, o) end

--- Horizontal bars from 0, each one unit high around its height.
---@param at gibbous.tensor|number[]  (n), heights
---@param lengths gibbous.tensor|number[]  (n)
---@param o gibbous.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:bars({1, 2, 3}, {5, 2, 8}):text(40, 8))
---```
function figure:bars(at, lengths, o) end

---@class gibbous.heatmap.options
---@field x? number[]  {first, last}: centres of the outer columns; {1, columns}
---@field y? number[]  {first, last}: centres of the outer rows; {1, rows}

--- A matrix as colours, row 1 at the bottom.
---@param values gibbous.tensor  (rows, columns)
---@param o gibbous.heatmap.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:heatmap(gb.rand(4, 6)):text(40, 8))
---```
function figure:heatmap(values, o) end

---@class gibbous.figure.save.options
---@field width? number  points; 720
---@field height? number  points; 440

--- Writes the figure; the ending of the path says how: .svg, .png, .pdf.
---@param path string
---@param o gibbous.figure.save.options?
---@return gibbous.figure
--- Errors: io; option for another ending.
---```lua
--- local path = os.tmpname() .. ".svg"
--- gb.plot.figure{}:line({1, 2}, {1, 2}):save(path)
--- os.remove(path)
---```
function figure:save(path, o) end

--- The figure as text.
---@param columns integer?  those of the terminal
---@param rows integer?  those of the terminal
---@return string
---```lua
--- print(gb.plot.figure{}:line({1, 2}, {1, 2}):text(40, 8))
---```
function figure:text(columns, rows) end

--- Draws the figure into the terminal; in colour unless NO_COLOR is set.
---@return gibbous.figure
---```lua
--- gb.plot.figure{}:line({1, 2}, {1, 2}):show()
---```
function figure:show() end
