---@meta

---@class gibbous
local gb = {}

---@class gb.gp
gb.gp = {}

--- A model of T outputs, cov(f_t(x), f_s(z)) = k(x, z) B[t, s]. Options: kernel (of the points), tasks, rank of B (1), noise (one
--- variance, or a list with one per task, the default), mean (of x; gb.means.constant{c_1, ..., c_T} has one per task), solver.
--- y is (n, T). Without missing cells the covariance is a Kronecker product: O(n^3 + T^3 + n T (n + T)) a step, instead of
--- O(n^3 T^3). fit(x, y, {missing = "mask"}) leaves NaN cells out, counts them in info.masked, and works on the values there
--- are; by default NaN raises. predict(x) gives mean, f_var and y_var as (m, T); score(x, y, {missing}) adds figures per task.
--- condition(x, y, {missing}) gives a model that has also seen k more points: in O(N^2 K) for K values more than N where cells
--- are missing and a prediction was made before, else made anew when it first predicts. draw(k)(x) gives (k, m, T), and
--- leave_one_out() predicts each cell from all others, (n, T). plan(x, y), save(path) and gb.load as gb.gp.exact.
---@return gibbous.gp.multitask
function gb.gp.multitask(o) end

--- m places that stand for the rows of x, (n, d) or (n), as a tensor (m, d) of its type (of whole numbers f64). o: method "kmeans"
--- (centroids of a k-means by Euclidean distance: give x in units of the lengthscales), "random" (distinct rows) or "greedy" (rows of
--- the largest variance that those before leave, with a kernel); seed (0); weights, one a row. Fewer distinct rows than m are an
--- error. Evaluates.
---@param x gibbous.tensor
---@param m integer
---@param o {method: "kmeans"|"random"|"greedy", kernel: gibbous.kernel, seed: integer, weights: gibbous.tensor}?
---@return gibbous.tensor
function gb.gp.inducing_points(x, m, o) end

--- The model, of one output or several, of a file that m:save(path) wrote; it predicts with the same bits. Runs nothing: what
--- only a script can say is given.
---@param path string
---@param o {kernels: table, means: table, functions: table, warp: function, x: gibbous.tensor, y: gibbous.tensor}?
---@return gibbous.gp.exact|gibbous.gp.multitask
function gb.load(path, o) end
