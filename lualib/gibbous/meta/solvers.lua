---@meta

---@class gibbous
local gb = {}

--- Solvers of A x = b for symmetric A, stored or streamed: given to models as their option 'solver', or used by themselves.
---@class gb.solvers
---@field names string[]  the names that a model's option 'solver' takes
gb.solvers = {}

--- Preconditioners of iterative solvers.
---@class gb.precond
gb.precond = {}

--- A preconditioner, as gb.precond makes it.
---@class gibbous.precond
---@field kind string  "pivoted_cholesky", "nystrom", "jacobi"
---@field o table  its options
---@field make function?  builds it of a rank; for the library
---@field build function?  builds it for a matrix; for the library
---@field resolve function?  settles its rank; for the library
---@field deepen function?  a larger rank; for the library
---@field choices table?  ranks that were chosen; for the library
local precond = {}

--- This preconditioner for work within so many bytes.
---@param budget integer
---@return gibbous.precond
---```lua
--- print(gb.precond.nystrom{rank = 10}:within(2^20))
---```
function precond:within(budget) end

--- The rank for a matrix of n rows, at most n; "auto" until it is chosen.
---@param n integer
---@return integer|string
---```lua
--- print(gb.precond.nystrom{rank = 10}:rank_at(1000))
---```
function precond:rank_at(n) end

--- The parts k and noise of a = k + noise I, as the preconditioner needs them.
---@param a gibbous.tensor  (n, n)
---@param k gibbous.tensor?
---@param noise number|gibbous.tensor?
---```lua
--- print(select("#", gb.precond.jacobi{}:split(gb.eye(3), gb.eye(3), 0.1)))
---```
function precond:split(a, k, noise) end

---@class gibbous.precond.rank.options
---@field rank? integer|"auto"  "auto": chosen by time; default: one for every 50 points, from 100 to 1000, within an eighth of the memory limit
---@field noise? number  the multiple of the identity in A; models know their own
---@field tol? number  stops where less than this share of the trace is left

---@class gibbous.precond.nystrom.options: gibbous.precond.rank.options
---@field seed? integer  of the draws; default: 0

--- L L' + noise I with the partial Cholesky factor of A - noise I, pivoted on the largest diagonal entry left.
--- Cost: reads the diagonal and 'rank' rows; n rank values.
---@param o gibbous.precond.rank.options?
---@return gibbous.precond
---```lua
--- print(gb.solvers.cg{precond = gb.precond.pivoted_cholesky{rank = 50}})
---```
function gb.precond.pivoted_cholesky(o) end

--- The Nystrom approximation from 'rank' points, each drawn in proportion to what those before leave of the diagonal.
--- Cost: reads the diagonal and 'rank' rows; n rank values.
---@param o gibbous.precond.nystrom.options?
---@return gibbous.precond
---```lua
--- print(gb.solvers.cg{precond = gb.precond.nystrom{rank = 50, seed = 1}})
---```
function gb.precond.nystrom(o) end

--- The diagonal of A.
---@param o table?  no options
---@return gibbous.precond
---```lua
--- print(gb.solvers.cg{precond = gb.precond.jacobi{}})
---```
function gb.precond.jacobi(o) end

--- Is v a preconditioner?
---@param v any
---@return boolean
---```lua
--- print(gb.precond.is(gb.precond.jacobi{}))
---```
function gb.precond.is(v) end

--- Options of every iterative solver.
---@class gibbous.iterative.options
---@field tol? number  the largest |b - A x| / |b| of a column, below 1; default: 1e-6
---@field train_tol? number  the same in a model's fit; default: 'tol' where that is given, else 1e-2
---@field max_iter? integer  steps at most; default: 1000
---@field probes? integer  random vectors of the log determinant in a fit; default: 16
---@field seed? integer  of the probes; default: 0

---@class gibbous.cg.options: gibbous.iterative.options
---@field probes? integer|"exact"  random vectors of the log determinant in a fit, 2 or more; default: 64 up to 1,250 points, 16 from 5,000 on
---@field precond? gibbous.precond  a gb.precond value
---@field precision? "full"|"mixed"  "mixed": products in f32, residuals and result in f64; default: "mixed" for streamed f64 of 1000 points or more, "full" if the noise is known to be below 2^-24 of the trace

--- Conjugate gradients for symmetric positive definite A.
--- Cost: one product with A a step.
---@param o gibbous.cg.options?
---@return gibbous.solver
---```lua
--- local A, b = gb.eye(4) * 2 + 1, gb.ones(4)
--- local x, info = gb.solvers.cg{tol = 1e-8}:solve(A, b)
--- print(x, info.converged)
---```
function gb.solvers.cg(o) end

---@class gibbous.cholesky.options
---@field jitter? number  the first one tried where A is not positive definite, relative to its mean diagonal; 0: never any
---@field max_jitter? number  the largest one tried; default: 1e-6

--- The direct solver, by a Cholesky factor.
--- Cost: n^3 / 3 multiply-adds, n^2 values.
---@param o gibbous.cholesky.options?
---@return gibbous.solver
---```lua
--- print((gb.solvers.cholesky{}:solve(gb.eye(3) * 2 + 1, gb.ones(3))))
---```
function gb.solvers.cholesky(o) end

---@class gibbous.minres.options: gibbous.iterative.options
---@field precond? gibbous.precond  positive definite

--- Minimal residuals, for symmetric A, definite or not. A system without a solution gives x of least residual.
--- Cost: one product with A a step.
---@param o gibbous.minres.options?
---@return gibbous.solver
---```lua
--- print((gb.solvers.minres{}:solve(gb.linalg.diag(gb.tensor{1, -2}), gb.ones(2))))
---```
function gb.solvers.minres(o) end

---@class gibbous.sdd.options: gibbous.iterative.options
---@field tol? number  the largest |b - A x| / |b| of a column, below 1; default: 1e-2
---@field max_iter? integer  steps at most; default: 20000
---@field batch? integer  rows of a step; default: 512
---@field momentum? number  default: 0.9
---@field step? number  step length; by default from the largest eigenvalue and diagonal entry

--- Stochastic dual descent, for very many points. The result is the average of the last steps.
--- Cost: batch n pairs a step; O(n r) memory.
---@param o gibbous.sdd.options?
---@return gibbous.solver
---```lua
--- print((gb.solvers.sdd{tol = 1e-2, batch = 2}:solve(gb.eye(4) * 2 + 1, gb.ones(4))))
---```
function gb.solvers.sdd(o) end

---@class gibbous.alternating_projections.options: gibbous.iterative.options
---@field max_iter? integer  epochs at most; default: 200
---@field block? integer  rows solved together; default: 1000

--- Alternating projections, for very many points.
--- Cost: an epoch takes n^2 pairs and n / block factors; O(n r + block^2) memory.
---@param o gibbous.alternating_projections.options?
---@return gibbous.solver
---```lua
--- print((gb.solvers.alternating_projections{block = 2}:solve(gb.eye(4) * 2 + 1, gb.ones(4))))
---```
function gb.solvers.alternating_projections(o) end

---@class gibbous.lanczos.options
---@field steps? integer  of one run; default: 100
---@field probes? integer  of logdet; default: 32
---@field seed? integer  of the probes; default: 0
---@field tol? number  a probe stops where its residual is that small; default: 1e-8
---@field precond? gibbous.precond  of logdet

--- Lanczos tridiagonalisation, and log determinants by quadrature.
---@param o gibbous.lanczos.options?
---@return gibbous.lanczos
---```lua
--- print((gb.solvers.lanczos{steps = 4}:logdet(gb.eye(4) * 2 + 1)))
---```
function gb.solvers.lanczos(o) end

--- The solver of a model with too many points to factor their covariance, or another one by its name, with its usual options.
---@param dtype gibbous.dtype  of the data
---@param name string?  default: "cg"
---@return gibbous.solver
---```lua
--- print(gb.solvers.for_models("f64"))
---```
function gb.solvers.for_models(dtype, name) end

--- The solver that a model's option 'solver' names, for data of a dtype; what names none is given back.
---@param v any
---@param dtype gibbous.dtype
---@return any
---```lua
--- print(gb.solvers.named("minres", "f64"))
---```
function gb.solvers.named(v, dtype) end

--- A solver, as gb.solvers makes it; its options are fields.
---@class gibbous.solver
---@field o table  its options
---@field planned boolean  true: it works within plans
local solver = {}

---@class gibbous.solve.options
---@field x0? gibbous.tensor  a first guess, of the shape of b

--- x with A x = b, differentiable in A and b, and a report. Not converging is not an error: the report says so.
---@param a gibbous.tensor  (n, n), symmetric
---@param b gibbous.tensor  (n) or (n, r)
---@param o gibbous.solve.options?
---@return gibbous.tensor  the shape of b
---@return gibbous.solve_info
--- Errors: shape, dtype; not_pd of the direct solver.
---```lua
--- local x, info = gb.solvers.cg{}:solve(gb.eye(3) * 2 + 1, gb.ones(3))
--- print(x, info)
---```
function solver:solve(a, b, o) end

--- Prepares A for several solves: a value whose solve(b, x0) gives what solver:solve gives.
---@param a gibbous.tensor  (n, n)
--- Errors: not_pd and refused of the direct solver.
---```lua
--- print((gb.solvers.cholesky{}:prepare(gb.eye(3) * 2):solve(gb.ones(3))))
---```
function solver:prepare(a) end

--- The negative log marginal likelihood of residuals r under covariance c = k + noise I, lazy, and how its solve goes; models call it.
---@param c gibbous.tensor  (n, n)
---@param r gibbous.tensor  (n)
---@param k gibbous.tensor?
---@param noise number|gibbous.tensor?
---@return gibbous.tensor
---@return gibbous.solve_info
---```lua
--- print((gb.solvers.cholesky{}:objective(gb.eye(3), gb.ones(3))):item())
---```
function solver:objective(c, r, k, noise) end

--- x with A x = b for a prepared matrix, lazy and differentiable; models call it.
---@param system any
---@param b gibbous.tensor
---@param x0 gibbous.tensor?
---@return gibbous.tensor
---```lua
--- local cg, b = gb.solvers.cg{}, gb.ones(3)
--- print(cg:lazy(cg:prepare(gb.eye(3) * 2), b))
---```
function solver:lazy(system, b, x0) end

--- Solves for b with a prepared matrix, at once; models call it.
---@param system any
---@param b gibbous.tensor
---@param x0 gibbous.tensor?
function solver:run(system, b, x0) end

--- Right-hand sides of a fit's solves for n points beside the residual.
---@param n integer
---@return integer
---```lua
--- print(gb.solvers.cg{}:probe_count(1000))
---```
function solver:probe_count(n) end

--- Solves for many columns to a share of prior - b' A^-1 b each; models call it for variances.
---@param system any
---@param b gibbous.tensor
---@param prior gibbous.tensor
---@param least number
function solver:forms(system, b, prior, least) end

--- log det of c = k + noise I, and the interval that covers it with a probability; numbers, computed at once.
---@param c gibbous.tensor  (n, n)
---@param k gibbous.tensor
---@param noise number|gibbous.tensor
---@param level number?  default: 0.95
---@return number value
---@return number low
---@return number high
---```lua
--- print(gb.solvers.cg{}:logdet(gb.eye(3) * 1.5, gb.eye(3), 0.5))
---```
function solver:logdet(c, k, noise, level) end

--- The gradient of the negative log marginal likelihood in tensors xs, and half the width of the interval that covers each element.
---@param c gibbous.tensor  (n, n)
---@param r gibbous.tensor  (n)
---@param xs gibbous.tensor[]
---@param k gibbous.tensor
---@param noise number|gibbous.tensor
---@param level number?  default: 0.95
---@return gibbous.tensor[] gradient
---@return gibbous.tensor[] half
---```lua
--- local s = gb.param(1)
--- local k = gb.eye(3) * s
--- print(#gb.solvers.cg{}:gradient_interval(k + gb.eye(3), gb.ones(3), {s.raw}, k, 1))
---```
function solver:gradient_interval(c, r, xs, k, noise, level) end

--- What print(solver) says.
---@return string
---```lua
--- print(gb.solvers.minres{}:text())
---```
function solver:text() end

--- Lanczos, as gb.solvers.lanczos makes it.
---@class gibbous.lanczos
---@field o table  its options
local lanczos = {}

--- An orthonormal basis Q (n, t) of the Krylov space of A and q, T = Q' A Q tridiagonal, and a report.
---@param a gibbous.tensor  (n, n), symmetric
---@param q gibbous.tensor  (n)
---@return gibbous.tensor Q
---@return gibbous.tensor T
---@return table
--- Cost: t products with A, 4 n t^2 operations, n t values.
---```lua
--- print(select(2, gb.solvers.lanczos{steps = 2}:run(gb.linalg.diag(gb.tensor{1, 2, 3}), gb.ones(3))))
---```
function lanczos:run(a, q) end

---@class gibbous.lanczos.logdet.options
---@field k? gibbous.tensor  (n, n), with A = k + noise I, where a preconditioner wants them
---@field noise? number|gibbous.tensor  one, or (n)

--- log det A, a number, and a report with its interval.
---@param a gibbous.tensor  (n, n), symmetric positive definite
---@param o gibbous.lanczos.logdet.options?
---@return number
---@return gibbous.logdet_info
--- Cost: at most 'steps' products with A and 'probes' columns. Errors: not_pd; nan.
---```lua
--- print(gb.solvers.lanczos{}:logdet(gb.eye(3) * 2))
---```
function lanczos:logdet(a, o) end

--- The report of a log determinant.
---@class gibbous.logdet_info
---@field value number  nats
---@field standard_error number  of the mean of the probes
---@field condition number  an estimate from below
---@field jitter number  added to the diagonal
---@field interval number[]  {low, high}: holds log det A in 95 % of seeds
---@field truncation number  how much the last fifth of the steps changed the value
---@field probes integer  random vectors
---@field iterations integer  steps
---@field seconds number  it took
---@field bytes integer  of memory
---@field residual number  the largest of a probe
---@field reason string  why it stopped
---@field message string?  what would help
---@field converged boolean  every probe's Krylov space was exhausted to tol
---@field tol number?  of its solves, asked for
---@field smallest_eigenvalue number?  of A, that solves without a preconditioner met
---@field largest_eigenvalue number?  the same
---@field curve {every: integer, [integer]: number}?  the largest relative residual after each 'every' steps, 64 at most
local logdet_info = {}

--- How a solve went. A lazy solve has its report once it has run: looking at a field runs it.
---@class gibbous.solve_info
---@field converged boolean  the tolerance was met
---@field reason string  why it stopped
---@field message string?  what would help
---@field iterations integer  steps
---@field residual number  the largest |b - A x| / |b| of a column, computed again
---@field condition number  an estimate from below of that of the preconditioned matrix; 0: no step was made
---@field tol number?  asked for
---@field smallest_eigenvalue number?  of A, that conjugate gradients without a preconditioner met: of their Lanczos matrix
---@field largest_eigenvalue number?  the same
---@field preconditioner_rank integer?  0 of a diagonal one; nil: the solve had none
---@field curve {every: integer, [integer]: number}?  of cg and minres: the largest relative residual after each 'every' steps, 64 at most
---@field jitter number  added to the diagonal
---@field relative_jitter number?  the same over the mean diagonal
---@field seconds number  it took
---@field bytes integer  of memory
---@field missing number?  what the interval of the value lacks
---@field step number?  step length, of sdd
---@field digits number?  decimal digits that the solution can have, by the condition
---@field residual_y number?  of the residual of the data, in an objective
---@field residual_probes number?  the largest of the probes, in an objective
---@field logdet number?  estimated, in an objective
---@field standard_error number?  of logdet
local solve_info = {}
