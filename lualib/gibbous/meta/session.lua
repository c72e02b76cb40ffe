---@meta

---@class gibbous
local gb = {}

--- Sets dtype ("f64" or "f32"), device, devices, threads, digits, edge, arithmetic; gives the previous values of those, or all
--- without argument. device ("cpu", "cuda", "cuda:1"): where makers put tensors, and where models, solvers and gb.func work, from
--- here on; tensors from before stay where they are, :to moves them; plans and preconditioners from before are refused, and so is
--- a change within gb.vmap, a function that an evaluation calls, or gb.time. arithmetic: of kernel profiles in f32 on a GPU, "unit" (its special function unit) or "exact" (the bits of the
--- CPU); chosen before the device computes. devices = n: besides cpu there are cpu:2 to cpu:n, simulated: memory limits of their own, the same code and
--- threads, one after the other (GIBBOUS_DEVICES sets it at the start).
---@return table
function gb.config(o) end

--- The devices: name, isa, blas, threads, limit, used, of a GPU mapped (bytes of the pages that it holds) and kernels (what it
--- has compiled), state ("ready", or "lost" with the reason in why); memory is the limit too. The session's own first, its
--- simulated ones, the host's, and those that the script has named (x:to, option device). kinds.cuda: count, how many GPUs
--- there are to open as cuda:0, cuda:1, ...; without one, why.
---@return table[]
function gb.devices() end

--- Monotonic seconds.
---@return number
function gb.clock() end

--- "tensor", "param", "kernel", "plan", ..., else Lua's type.
---@return string
function gb.type(v) end

--- for i in gb.progress(n, label), for i, v in gb.progress(list, label): a bar with rate and time left, where stderr is a terminal.
---@param over integer|any[]
---@param label string?
function gb.progress(over, label) end
