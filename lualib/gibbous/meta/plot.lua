---@meta gibbous.plot
-- Documentation and types of figures, in the form of gibbous._meta. Never run.

local gb, core = {plot = {}}, {}

---@alias gibbous.colour integer|string   a number of the palette from 1, a name ("red", "grey"), or "#rrggbb"
---@alias gibbous.dash "solid"|"dashed"|"dotted"|"dashdot"|"-"|"--"|":"|"-."
---@alias gibbous.marker "circle"|"square"|"triangle"|"diamond"|"plus"|"cross"|"o"|"s"|"^"|"d"|"+"|"x"
---@alias gibbous.vector gibbous.tensor|number[]

---@class gibbous.axes_options
---@field title string?
---@field xlabel string?
---@field ylabel string?
---@field xlim (number|false)[]?      {lo, hi}, lo < hi; false: by the values
---@field ylim (number|false)[]?
---@field xscale "linear"|"log"|nil   a log axis leaves out values that are not above 0, and says how many
---@field yscale "linear"|"log"|nil
---@field xticks table?               a list of {place, name}, in place of numbers
---@field yticks table?
---@field legend "auto"|"top left"|"top right"|"bottom left"|"bottom right"|"outside"|"off"|nil  auto: where it covers no data
---@field aspect "auto"|"equal"|nil   equal: a unit of x is as long as one of y
---@field grid boolean?
---@field colour_bar boolean?         false: a heat map without one

---@class gibbous.figure_options : gibbous.axes_options
---@field rows integer?               panels, 1 to 8
---@field cols integer?
---@field share_x boolean?            panels of a column have one x axis
---@field share_y boolean?            panels of a row have one y axis

---@class gibbous.figure
local figure = {}

--- A figure of one panel, or of rows x cols. Of several the title is above all, and the other options are of each.
---@param o gibbous.figure_options?
---@return gibbous.figure
function gb.plot.figure(o) end

--- The figure whose marks and axes are those of this panel, from 1 at the top left: fig:panel(2, 1):line(x, y).
---@param row integer
---@param column integer?
---@return gibbous.figure
function figure:panel(row, column) end

--- Sets what is given of this panel: title, labels, limits, scales, ticks, legend, aspect, grid.
---@param o gibbous.axes_options
---@return gibbous.figure
function figure:axes(o) end

--- A line through points, with gaps where values are not finite.
---@param x gibbous.vector   (n)
---@param y gibbous.vector   (n)
---@param o {label: string, colour: gibbous.colour, width: number, dash: gibbous.dash, marker: gibbous.marker, size: number, alpha: number}?
---@return gibbous.figure
function figure:line(x, y, o) end

--- Points; size is their diameter in points of type.
---@param x gibbous.vector   (n)
---@param y gibbous.vector   (n)
---@param o {label: string, colour: gibbous.colour, marker: gibbous.marker, size: number, alpha: number}?
---@return gibbous.figure
function figure:scatter(x, y, o) end

--- The area between two curves. It has the colour of the next line; a band inside one of its colour is darker.
---@param x gibbous.vector   (n)
---@param lo gibbous.vector  (n)
---@param hi gibbous.vector  (n)
---@param o {label: string, colour: gibbous.colour, alpha: number}?
---@return gibbous.figure
function figure:band(x, lo, hi, o) end

--- Dots with vertical bars from y - err to y + err.
---@param x gibbous.vector   (n)
---@param y gibbous.vector   (n)
---@param err gibbous.vector (n), or {down, up}, two of them
---@param o {label: string, colour: gibbous.colour, width: number, marker: gibbous.marker, size: number, alpha: number}?
---@return gibbous.figure
function figure:errorbar(x, y, err, o) end

--- Horizontal bars from 0 around heights; width: how high each is, 1.
---@param at gibbous.vector       (n)
---@param lengths gibbous.vector  (n)
---@param o {label: string, colour: gibbous.colour, width: number, alpha: number}?
---@return gibbous.figure
function figure:bars(at, lengths, o) end

--- Vertical bars from 0; width in units of x, 0.8.
---@param at gibbous.vector       (n)
---@param heights gibbous.vector  (n)
---@param o {label: string, colour: gibbous.colour, width: number, alpha: number}?
---@return gibbous.figure
function figure:columns(at, heights, o) end

--- Counts of the finite values in bins of equal width; density: scaled to an area of 1.
---@param values gibbous.vector  (n)
---@param o {bins: integer, range: number[], density: boolean, label: string, colour: gibbous.colour, alpha: number}?
---@return gibbous.figure
function figure:hist(values, o) end

--- Values (rows, columns) as colours, row 1 at the bottom, with a colour bar; x and y: centres of the outer cells, {first, last}.
---@param values gibbous.tensor  (rows, columns)
---@param o {x: number[], y: number[], limits: number[], label: string}?
---@return gibbous.figure
function figure:heatmap(values, o) end

--- Lines of equal value; levels: how many round ones, 8, or a list.
---@param values gibbous.tensor  (rows, columns)
---@param o {x: number[], y: number[], levels: integer|number[], labels: boolean, colour: gibbous.colour, width: number, dash: gibbous.dash, alpha: number, label: string}?
---@return gibbous.figure
function figure:contour(values, o) end

--- Text centred at a point of the axes.
---@param x number
---@param y number
---@param text string
---@param o {colour: gibbous.colour, size: number}?
---@return gibbous.figure
function figure:note(x, y, text, o) end

--- A line across the panel.
---@param y number
---@param o {label: string, colour: gibbous.colour, width: number, dash: gibbous.dash, alpha: number}?
---@return gibbous.figure
function figure:hline(y, o) end

--- A line up the panel.
---@param x number
---@param o {label: string, colour: gibbous.colour, width: number, dash: gibbous.dash, alpha: number}?
---@return gibbous.figure
function figure:vline(x, o) end

--- Writes the figure; the ending says how: .svg (its text can be selected), .png, .pdf. The file says how it was made: the
--- version, the line of the script, the seed. Errors: io; option (another ending).
---@param path string
---@param o {width: number, height: number}?  in points, 720 x 440; a PNG has two pixels a point
---@return gibbous.figure
function figure:save(path, o) end

--- The figure as characters, 20 columns and 8 rows at least; by default as many as the terminal has.
---@param columns integer?
---@param rows integer?
---@param o {ascii: boolean}?
---@return string
function figure:text(columns, rows, o) end

--- Draws the figure in the terminal: a picture where the terminal says that it shows them (kitty, sixel), else characters, ASCII
--- where the locale is not UTF-8. GIBBOUS_GRAPHICS=kitty|sixel|braille|off decides otherwise. It gives nothing: it ends a chain.
function figure:show() end

--- Sets the axes of a panel, of checked options.
function core.figure_axes(f, panel, o) end

--- Adds text at a point, or a line across a panel.
function core.figure_at(f, panel, kind, x, y, style) end

--- Adds a line of equal value of a matrix, and gives one of its points; nothing where there is no line.
---@return number|nil, number|nil
function core.figure_contour(f, panel, values, x0, x1, y0, y1, level, style) end

--- The bytes that make a terminal show a figure; how: "kitty", "sixel"; in pixels.
---@return string
function core.figure_inline(f, how, width, height) end

--- The line of the script that called the library, and the seed of random tensors.
---@return string, integer
function core.figure_origin() end

--- "kitty" or "sixel", if the terminal says that it can; waits 0.15 s at most.
---@return string|nil
function core.terminal_graphics() end

--- An empty figure of panels.
function core.figure(rows, columns, title, share_x, share_y) end

--- Adds a mark to a panel; kind: line, scatter, band, bars, columns, errors.
function core.figure_add(f, panel, kind, x, y, hi, style) end

--- Adds a heat map of values to a panel; x0, x1, y0, y1: centres of the outer cells.
function core.figure_heatmap(f, panel, values, x0, x1, y0, y1, style) end

--- Names on an axis, "x" or "y", at these places, in place of numbers.
function core.figure_ticks(f, panel, axis, at, names) end

--- Draws a figure to a file; made: how it was made.
function core.figure_save(f, path, width, height, made) end

--- Draws a figure as characters.
---@return string
function core.figure_text(f, columns, rows, colour, ascii) end

--- A model of one input: mean, bands of f and of y, and the data. Of two: mean and standard deviation of f as colours with lines
--- of equal value. Of one input: x, where to
--- draw, and samples, how many draws of f with their seed.
---@param model gibbous.model
---@param o {x: gibbous.vector, samples: integer, seed: integer, level: number, title: string, xlabel: string, ylabel: string}?
---@return gibbous.figure
function gb.plot.posterior(model, o) end

--- A fit step by step: its value less the best, and the norm of its gradient, on log axes, a line for each start.
---@param steps table[]   what on_step got: m:fit(x, y, {on_step = function(s) log[#log + 1] = s end})
---@param o {title: string}?
---@return gibbous.figure
function gb.plot.training(steps, o) end

--- How often intervals hold what they promise, beside what chance does to so many points; and the probability integral transform.
---@param model gibbous.model
---@param x gibbous.tensor   (m, d), new
---@param y gibbous.tensor   (m)
---@param o {title: string}?
---@return gibbous.figure
function gb.plot.calibration(model, x, y, o) end

--- Standardised residuals against the predicted mean, and against normal quantiles.
---@param model gibbous.model
---@param x gibbous.tensor   (m, d)
---@param y gibbous.tensor   (m)
---@param o {title: string}?
---@return gibbous.figure
function gb.plot.residuals(model, x, y, o) end

--- Relative residuals on a log axis. curves: a list of numbers, of records of solves, or of steps of a fit with an iterative
--- solver; or several lists by name. tol: a line across.
---@param curves table
---@param o {tol: number, title: string, xlabel: string}?
---@return gibbous.figure
function gb.plot.convergence(curves, o) end

--- The bytes that a plan holds at each of its steps, its peak, and its budget where that is near.
---@param plan gibbous.plan
---@param o {title: string}?
---@return gibbous.figure
function gb.plot.memory(plan, o) end

--- A kernel, or that of a model: k(0, r) as the first input moves, and k(x, z) as colours.
---@param k gibbous.kernel
---@param o {range: number[], columns: integer, title: string}?
---@return gibbous.figure
function gb.plot.kernel(k, o) end

--- Points by cluster, and the centres.
---@param x gibbous.tensor               (n, d)
---@param km gibbous.kmeans|gibbous.tensor  fitted, or labels (n)
---@param o {columns: integer[], title: string, xlabel: string, ylabel: string}?
---@return gibbous.figure
function gb.plot.clusters(x, km, o) end
