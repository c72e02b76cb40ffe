---@meta

---@class gibbous
local gb = {}

---@class gb.likelihoods
gb.likelihoods = {}

--- Noise with a variance for each task, free: a list or a gb.param of T. The last column of the inputs is the task, from 1.
---@return gibbous.likelihood
function gb.likelihoods.tasks(v) end
