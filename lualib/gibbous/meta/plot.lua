---@meta

---@alias gibbous.colour integer|string|"black"|"blue"|"brown"|"cyan"|"darkgreen"|"gold"|"gray"|"green"|"grey"|"magenta"|"navy"|"olive"|"orange"|"pink"|"purple"|"red"|"silver"|"sky"|"teal"|"white"|"yellow"
---@alias gibbous.dash "solid"|"dashed"|"dotted"|"dashdot"|"-"|"--"|":"|"-."
---@alias gibbous.marker "circle"|"square"|"triangle"|"diamond"|"plus"|"cross"|"o"|"s"|"^"|"d"|"+"|"x"
---@alias gibbous.vector gibbous.tensor|number[]

---@class gibbous
local gb = {}

--- Figures: drawn to SVG, PNG or PDF, or into the terminal.
---@class gb.plot
gb.plot = {}

---@class gibbous.axes.options
---@field title? string  above
---@field xlabel? string  of the horizontal axis
---@field ylabel? string  of the vertical axis
---@field xlim? (number|false)[]  {low, high}, low < high; false: by the values
---@field ylim? (number|false)[]  as xlim
---@field xscale? "linear"|"log"  a log axis leaves out values that are not above 0; default: "linear"
---@field yscale? "linear"|"log"  as xscale
---@field xticks? table[]  a list of {place, name}, in place of numbers
---@field yticks? table[]  as xticks
---@field legend? "auto"|"top left"|"top right"|"bottom left"|"bottom right"|"outside"|"off"  "auto": where it covers no data; default: "auto"
---@field aspect? "auto"|"equal"  "equal": a unit of x is as long as one of y; default: "auto"
---@field grid? boolean  lines at the ticks
---@field colour_bar? boolean  false: a heat map without one

---@class gibbous.plot.figure.options: gibbous.axes.options
---@field rows? integer  of panels, 1 to 8; default: 1
---@field cols? integer  of panels, 1 to 8; default: 1
---@field share_x? boolean  panels of a column have one x axis
---@field share_y? boolean  panels of a row have one y axis

--- A figure of one panel, or of rows x cols; what its methods add chains. Of several panels the title is above all, and the other
--- options are of each.
---@param o gibbous.plot.figure.options?
---@return gibbous.figure
---```lua
--- local x = gb.linspace(0, 6, 50)
--- print(gb.plot.figure{title = "sine", xlabel = "x"}:line(x, x:sin(), {label = "sin"}):text(60, 12))
---```
function gb.plot.figure(o) end

---@class gibbous.plot.posterior.options
---@field x? gibbous.vector  points to draw at, of one input; default: 500 over the data
---@field samples? integer  draws of f, of curves and slices; default: 0
---@field seed? integer  of the draws; without it the next numbers of gb.seed
---@field level? number  of the bands; default: 0.95
---@field title? string  above the figure
---@field xlabel? string  default: "x"
---@field ylabel? string  default: "y"
---@field task? integer  which output of a model of several; default: a panel for each, of two and more inputs the first
---@field columns? integer[]  slices along these columns of the inputs; default: the first 9
---@field at? number[]  the point that slices pass through; default: the medians of the data
---@field names? string[]  of the columns of the inputs
---@field x_scaler? gibbous.scaler  draws inputs as they were before gb.data.standardize
---@field y_scaler? gibbous.scaler  the same for outputs

--- A model of one input: its mean, bands of f and of y, and the data. Of two inputs: mean and standard deviation of f as colours with
--- lines of equal value. Of more: slices, along each column while the others stay.
---@param model gibbous.gp.exact|gibbous.gp.multitask
---@param o gibbous.plot.posterior.options?
---@return gibbous.figure
--- Errors: option, shape; those of a prediction.
---```lua
--- local x = gb.linspace(0, 6, 20)
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(x, x:sin(), {steps = 3})
--- print(gb.plot.posterior(m):text(60, 12))
---```
function gb.plot.posterior(model, o) end

---@class gibbous.plot.title.options
---@field title? string  above the figure

--- A fit step by step: its value less the best, and the norm of its gradient, on log axes, a line for each start.
---@param fit gibbous.info|table[]  the report of a fit, or a list of the steps that on_step got
---@param o gibbous.plot.title.options?
---@return gibbous.figure
---```lua
--- local x = gb.linspace(0, 6, 20)
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- print(gb.plot.training(m:fit(x, x:sin(), {steps = 5})):text(60, 16))
---```
function gb.plot.training(fit, o) end

--- The observed coverage of central intervals against the expected one, with a 95 % band of chance for so many points; and a
--- histogram of the probability integral transform.
---@param model gibbous.model
---@param x gibbous.tensor  (m, d) or (m), new
---@param y gibbous.tensor  (m)
---@param o gibbous.plot.title.options?
---@return gibbous.figure
---```lua
--- local x = gb.linspace(0, 6, 20)
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(x, x:sin(), {steps = 3})
--- print(gb.plot.calibration(m, x, x:sin()):text(60, 16))
---```
function gb.plot.calibration(model, x, y, o) end

--- Standardised residuals against the predicted mean, and against normal quantiles.
---@param model gibbous.model
---@param x gibbous.tensor  (m, d) or (m), new
---@param y gibbous.tensor  (m)
---@param o gibbous.plot.title.options?
---@return gibbous.figure
---```lua
--- local x = gb.linspace(0, 6, 20)
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(x, x:sin(), {steps = 3})
--- print(gb.plot.residuals(m, x, x:sin()):text(60, 16))
---```
function gb.plot.residuals(model, x, y, o) end

---@class gibbous.plot.convergence.options
---@field tol? number  a line across
---@field title? string  above the figure
---@field xlabel? string  of the horizontal axis

--- Relative residuals on a log axis: of a solve by its iterations, of numbers, of records of solves, or of steps of a fit by a solver.
---@param curves gibbous.solve_info|gibbous.info|table  the record of a solve, a list, the report of a fit, or several of these by name
---@param o gibbous.plot.convergence.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.convergence({cg = {1, 0.1, 1e-3}}, {tol = 1e-2}):text(60, 12))
---```
function gb.plot.convergence(curves, o) end

---@class gibbous.plot.memory.options: gibbous.plot.title.options
---@field run? boolean|table  true: runs the plan and draws the measured account too; a table: with these values of leaves, as plan:run; default: false

--- The bytes that a plan predicts to hold at each of its steps, its peak, and its budget where that is near. With run = true also
--- the measured account: what the run has of the device's memory at the end of each step. The arena is taken whole at the start.
---@param plan gibbous.plan
---@param o gibbous.plot.memory.options?
---@return gibbous.figure
---```lua
--- local plan = gb.plan(gb.rand(50, 50):matmul(gb.rand(50)):exp())
--- print(gb.plot.memory(plan, {run = true}):text(60, 12))
---```
function gb.plot.memory(plan, o) end

---@class gibbous.plot.sweep.options
---@field kind? "parallel"|"slice"|"heat"|"curve"|"importance"|"timeline"|"pareto"  "parallel": coordinates; "slice": the metric against each parameter; "heat": against two; "curve": progress, what trials reported; "importance": what its variance comes from; default: "parallel"
---@field metric? string  a number of the results; default: that of the study
---@field goal? "min"|"max"  default: that of the study
---@field x? string  of "heat" and "pareto": the horizontal axis
---@field y? string  of "heat": the vertical axis
---@field where? table|string  {parameter = value}: trials of these values alone
---@field store? string  the folder of the store, where it is not NAME.gibbous
---@field title? string  above the figure

--- The figures of `gibbous sweep plot` in a script, of the trials that a sweep has so far; nothing in the store changes.
---@param sweep string|gibbous.sweep  the name of a sweep whose store is NAME.gibbous, the folder of a store, or a gb.sweep value
---@param o gibbous.plot.sweep.options?
---@return gibbous.figure
--- Errors: io where there is no store; option.
---```lua
--- local ok, fig = pcall(gb.plot.sweep, "study", {kind = "importance"})
--- print(ok and fig or fig.message)                     -- there is no sweep in study.gibbous
---```
function gb.plot.sweep(sweep, o) end

---@class gibbous.plot.kernel.options
---@field range? number[]  {low, high} of the input that moves
---@field columns? integer  of the inputs; default: those of the model's data, else 1
---@field title? string  above the figure

--- A kernel, or that of a model: k(0, r) as the first input moves, and k(x, z) as colours.
---@param k gibbous.kernel|gibbous.gp.exact
---@param o gibbous.plot.kernel.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.kernel(gb.kernels.matern32{}):text(60, 12))
---```
function gb.plot.kernel(k, o) end

---@class gibbous.plot.clusters.options
---@field columns? integer[]  the two of x that are drawn
---@field title? string  above the figure
---@field xlabel? string  of the horizontal axis
---@field ylabel? string  of the vertical axis

--- Points by cluster, and the centres.
---@param x gibbous.tensor  (n, d)
---@param km gibbous.kmeans|gibbous.vector  fitted, or labels (n)
---@param o gibbous.plot.clusters.options?
---@return gibbous.figure
---```lua
--- local x = gb.randn(30, 2, {seed = 1})
--- print(gb.plot.clusters(x, gb.kmeans{k = 2, seed = 1}:fit(x)):text(60, 12))
---```
function gb.plot.clusters(x, km, o) end

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

--- A figure, as gb.plot makes it; what its methods add goes to the panel that fig:panel chose, the first unless it did.
---@class gibbous.figure
local figure = {}

--- The figure whose marks and axes are those of this panel, from 1 at the top left.
---@param row integer
---@param column integer?  default: 1
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{rows = 2}:panel(2, 1):line({1, 2}, {1, 2}):text(40, 16))
---```
function figure:panel(row, column) end

--- Sets what is given of this panel: titles, labels, limits, scales, ticks, legend, aspect, grid.
---@param o gibbous.axes.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:line({1, 10}, {1, 100}):axes{xscale = "log", yscale = "log"}:text(40, 12))
---```
function figure:axes(o) end

---@class gibbous.line.series.options
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: the next of the palette
---@field width? number  points
---@field dash? gibbous.dash  "solid", "dashed", "dotted", "dashdot"; default: "solid", and the next one for each eight lines
---@field marker? gibbous.marker  "circle", "square", "triangle", "diamond", "plus", "cross"
---@field size? number  points of type
---@field alpha? number  above 0, 1 at most

--- A line through points, with gaps where values are not finite.
---@param x gibbous.vector  (n)
---@param y gibbous.vector  (n)
---@param o gibbous.line.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:line({1, 2, 3}, {1, 4, 2}, {label = "a", dash = "--"}):text(40, 8))
---```
function figure:line(x, y, o) end

---@class gibbous.scatter.series.options
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: the next of the palette
---@field marker? gibbous.marker  "circle", "square", "triangle", "diamond", "plus", "cross"
---@field size? number  points of type
---@field alpha? number  above 0, 1 at most

--- Points; size is their diameter.
---@param x gibbous.vector  (n)
---@param y gibbous.vector  (n)
---@param o gibbous.scatter.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:scatter({1, 2, 3}, {1, 4, 2}, {colour = "red"}):text(40, 8))
---```
function figure:scatter(x, y, o) end

---@class gibbous.area.series.options
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: that of the next line
---@field alpha? number  above 0, 1 at most

--- The area between two curves. It has the colour of the next line; a band inside one of its colour is darker.
---@param x gibbous.vector  (n)
---@param lo gibbous.vector  (n)
---@param hi gibbous.vector  (n)
---@param o gibbous.area.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:band({1, 2, 3}, {1, 2, 1}, {3, 4, 3}):text(40, 8))
---```
function figure:band(x, lo, hi, o) end

---@class gibbous.errorbar.series.options
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: the next of the palette
---@field width? number  points
---@field marker? gibbous.marker  "circle", "square", "triangle", "diamond", "plus", "cross"
---@field size? number  points of type
---@field alpha? number  above 0, 1 at most

--- Dots with vertical bars from y - err to y + err.
---@param x gibbous.vector  (n)
---@param y gibbous.vector  (n)
---@param err gibbous.vector|gibbous.vector[]  (n), or {down, up}, two of them
---@param o gibbous.errorbar.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:errorbar({1, 2, 3}, {1, 4, 2}, {0.5, 0.5, 1}):text(40, 8))
---```
function figure:errorbar(x, y, err, o) end

---@class gibbous.bars.series.options
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: the next of the palette
---@field width? number  how high each is, in units of y; default: 1
---@field alpha? number  above 0, 1 at most

--- Horizontal bars from 0 around heights.
---@param at gibbous.vector  (n)
---@param lengths gibbous.vector  (n)
---@param o gibbous.bars.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:bars({1, 2, 3}, {5, 2, 8}):text(40, 8))
---```
function figure:bars(at, lengths, o) end

---@class gibbous.columns.series.options
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: the next of the palette
---@field width? number  in units of x; default: 0.8
---@field alpha? number  above 0, 1 at most

--- Vertical bars from 0.
---@param at gibbous.vector  (n)
---@param heights gibbous.vector  (n)
---@param o gibbous.columns.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:columns({1, 2, 3}, {5, 2, 8}):text(40, 8))
---```
function figure:columns(at, heights, o) end

---@class gibbous.hist.series.options
---@field bins? integer  default: 10
---@field range? number[]  {low, high}; default: the least and the largest value
---@field density? boolean  scaled to an area of 1; default: false
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: the next of the palette
---@field alpha? number  above 0, 1 at most

--- Counts of the finite values in bins of equal width.
---@param values gibbous.vector  (n)
---@param o gibbous.hist.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:hist(gb.randn(200, {seed = 1}), {bins = 12}):text(40, 8))
---```
function figure:hist(values, o) end

---@class gibbous.heatmap.options
---@field x? number[]  {first, last}: centres of the outer columns; default: {1, columns}
---@field y? number[]  {first, last}: centres of the outer rows; default: {1, rows}
---@field limits? number[]  {low, high}: the values of the darkest and the lightest colour
---@field label? string  beside the colour bar

--- A matrix as colours, row 1 at the bottom, with a colour bar.
---@param values gibbous.tensor  (rows, columns)
---@param o gibbous.heatmap.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:heatmap(gb.rand(4, 6)):text(40, 10))
---```
function figure:heatmap(values, o) end

---@class gibbous.contour.series.options
---@field x? number[]  {first, last}: as of heatmap
---@field y? number[]  {first, last}: as of heatmap
---@field levels? integer|number[]  how many round ones, or a list; default: 8
---@field labels? boolean  false: without their values
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: the next of the palette
---@field width? number  points
---@field dash? gibbous.dash  "solid", "dashed", "dotted", "dashdot"; default: "solid"
---@field alpha? number  above 0, 1 at most

--- Lines of equal value of a matrix.
---@param values gibbous.tensor  (rows, columns)
---@param o gibbous.contour.series.options?
---@return gibbous.figure
---```lua
--- local x = gb.linspace(-1, 1, 12)
--- print(gb.plot.figure{}:contour(x:unsqueeze(1) ^ 2 + x:unsqueeze(2) ^ 2, {levels = 3}):text(40, 12))
---```
function figure:contour(values, o) end

---@class gibbous.note.options
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: the next of the palette
---@field size? number  points of type

--- Text centred at a point of the axes.
---@param x number
---@param y number
---@param text string
---@param o gibbous.note.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:line({1, 2}, {1, 2}):note(1.5, 1.5, "here"):text(40, 8))
---```
function figure:note(x, y, text, o) end

---@class gibbous.across.series.options
---@field label? string  in the legend
---@field colour? gibbous.colour  a number of the palette from 1, a name ("red"), or "#rrggbb"; default: grey
---@field width? number  points
---@field dash? gibbous.dash  "solid", "dashed", "dotted", "dashdot"; default: "dashed"
---@field alpha? number  above 0, 1 at most

--- A line across the panel.
---@param y number
---@param o gibbous.across.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:line({1, 2}, {1, 2}):hline(1.5, {dash = ":"}):text(40, 8))
---```
function figure:hline(y, o) end

--- A line up the panel.
---@param x number
---@param o gibbous.across.series.options?
---@return gibbous.figure
---```lua
--- print(gb.plot.figure{}:line({1, 2}, {1, 2}):vline(1.5, {dash = ":"}):text(40, 8))
---```
function figure:vline(x, o) end

---@class gibbous.figure.save.options
---@field width? number  points; default: 720
---@field height? number  points; default: 440, and 160 more for each row of panels after the first, up to four rows

--- Writes the figure; the ending of the path says how: .svg (its text can be selected), .png (two pixels a point), .pdf. The file says
--- how it was made: the version, the line of the script, the seed.
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

---@class gibbous.figure.text.options
---@field ascii? boolean  without characters beyond ASCII; default: false

--- The figure as characters.
---@param columns integer?  20 at least; default: those of the terminal
---@param rows integer?  8 at least; default: those of the terminal
---@param o gibbous.figure.text.options?
---@return string
---```lua
--- print(gb.plot.figure{}:line({1, 2}, {1, 2}):text(40, 8, {ascii = true}))
---```
function figure:text(columns, rows, o) end

--- Draws the figure in the terminal: a picture where the terminal says that it shows them (kitty, sixel), else characters.
--- GIBBOUS_GRAPHICS=kitty|sixel|braille|off decides otherwise; NO_COLOR is without colour. It gives nothing: it ends a chain.
---```lua
--- gb.plot.figure{}:line({1, 2}, {1, 2}):show()
---```
function figure:show() end
