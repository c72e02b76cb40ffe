---@meta

---@class gibbous
local gb = {}

---@class gb.plot
gb.plot = {}

--- A figure of what gb.silhouette or km:silhouette gives: a bar a row, sorted within its cluster, clusters from the top; the line is
--- the mean. o: title, xlabel, ylabel.
---@param s gibbous.silhouette
---@return gibbous.figure
function gb.plot.silhouette(s, o) end

--- A figure of inertia against k, from a list of {k, inertia} or of fitted k-means; and the k of its elbow, the point farthest below
--- the chord from the first to the last, or nil where none lies below. o: title, xlabel, ylabel.
---@return gibbous.figure, integer|nil
function gb.plot.elbow(list, o) end
