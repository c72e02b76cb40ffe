---@meta

--- The library: local gb = require "gibbous". At the prompt gb is there.
---@class gibbous
---@field version string  "0.1.0"
local gb = {}

---@class gibbous.config.options
---@field dtype? "f64"|"f32"  what makers take; default: "f64"
---@field device? string  "cpu", "cuda", "cuda:1": where makers put tensors, and where models and solvers work
---@field devices? integer  simulated ones: besides cpu cpu:2 to cpu:n
---@field threads? integer  of the CPU
---@field digits? integer  that tensors print; default: 4
---@field edge? integer  rows and columns that tensors print at each edge; default: 3
---@field arithmetic? "unit"|"exact"  of kernel profiles in f32 on a GPU

--- Sets dtype ("f64" or "f32"), device, devices, threads, digits, edge, arithmetic; gives the previous values of those, or all
--- without argument. device ("cpu", "cuda", "cuda:1"): where makers put tensors, and where models, solvers and gb.func work, from
--- here on; tensors from before stay where they are, :to moves them; plans and preconditioners from before are refused, and so is
--- a change within gb.vmap, a function that an evaluation calls, or gb.time. arithmetic: of kernel profiles in f32 on a GPU, "unit" (its special function unit) or "exact" (the bits of the
--- CPU); chosen before the device computes. devices = n: besides cpu there are cpu:2 to cpu:n, simulated: memory limits of their own, the same code and
--- threads, one after the other (GIBBOUS_DEVICES sets it at the start).
---@param o gibbous.config.options?
---@return table
--- Errors: option.
---```lua
--- local before = gb.config{digits = 6}
--- print(gb.config().dtype)
--- gb.config(before)
---```
function gb.config(o) end

--- The devices: name, isa, blas, threads, limit, used, of a GPU mapped (bytes of the pages that it holds) and kernels (what it
--- has compiled), state ("ready", or "lost" with the reason in why); memory is the limit too. The session's own first, its
--- simulated ones, the host's, and those that the script has named (x:to, option device). kinds.cuda: count, how many GPUs
--- there are to open as cuda:0, cuda:1, ...; without one, why.
---@return table[]
---```lua
--- print(gb.devices()[1].name)
---```
function gb.devices() end

--- What to cite, as BibTeX: of a model its method, kernel, likelihood, solver and optimiser; also of kernels, solvers,
--- preconditioners, k-means and data sets. The entry of Gibbous itself comes first.
---@param ... any
---@return string
--- Errors: option.
---```lua
--- print(gb.cite(gb.kernels.matern52{}, gb.solvers.cg{}))
---```
function gb.cite(...) end

--- Monotonic seconds.
---@return number
---```lua
--- local start = gb.clock()
--- print(gb.clock() - start)
---```
function gb.clock() end

--- "tensor", "param", "kernel", "plan", ..., else Lua's type.
---@param v any
---@return string
---```lua
--- print(gb.type(gb.zeros(2)), gb.type(3))
---```
function gb.type(v) end

--- for i in gb.progress(n, label), for i, v in gb.progress(list, label): a bar with rate and time left, where stderr is a terminal.
---@param over integer|any[]
---@param label string?
---```lua
--- for i in gb.progress(3, "trial") do print(i) end
---```
function gb.progress(over, label) end

--- What the library raises: pcall gives it, and tostring its text.
---@class gibbous.error
---@field code string  "shape", "dtype", "option", "index", "nan", "not_pd", "not_converged", "refused", "oom", "io", "format", "interrupted", "device"
---@field message string  what is wrong, and what mends it
---@field line string  "script.lua:12", the caller's
---@field need integer?  of refused and oom: bytes
---@field have integer?  of refused and oom: bytes
---@field minimum integer?  of refused: the smallest budget that would do
---@field options string[]?  of refused: the ways out
---@field order integer?  of not_pd: of the failing minor
---@field diagnosis table?  of not_pd in a model: why its covariance could not be factored
---@field solve gibbous.solve_info?  of interrupted: how far the solve was that Ctrl-C ended, with 'solver', its name
local error = {}
