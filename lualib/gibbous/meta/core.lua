---@meta

---@class gibbous.core
local core = {}

--- Bytes that can still be had on a device, the session's own unless it is named; values that can be computed again count as free.
---@param device string?
---@return integer
function core.memory.room(device) end

--- v as a tensor (params give their value); nil if v is not a tensor.
function core.as_tensor(v) end

--- A number of bytes from a number or "1 MiB"; 'what' names it in messages.
---@return integer
function core.bytes(size, what) end

--- A number of bytes as a text of binary units, "1.5 MiB".
---@param n integer
---@return string
function core.bytes_text(n) end

--- The lazy result of an op made by core.func: tensors, shape and dtype of the result, bytes for its work.
---@return gibbous.tensor
function core.call(op, tensors, shape, dtype, bytes) end

--- An op for core.call from callbacks {run, grad, bytes}; gb.func makes one.
function core.func(name, callbacks, batched, map_axes) end

--- Lets go of every value that can be computed again; gives the bytes freed.
function core.drop_caches() end

--- An error object for the caller's line, not raised.
function core.error(code, message, fields) end

--- The n-th allocation from now, from 0, and all later ones fail, on a device, the session's own unless it is named; -1: never again.
function core.fail_after(n, device) end

--- Resident bytes of the process now, and at most since the last reset, as the system counts them.
---@param reset boolean?  count the peak anew, from now
---@return integer now, integer peak
function core.process_memory(reset) end

--- Predicted times of an imaginary machine, for texts that must not change.
---@param on boolean
function core.fixed_rates(on) end

--- The figures of a device by name, which predicted times come from; nil where it has none.
---@param device string
---@return table<string, number>?
function core.figures(device) end

--- dy/dxs with the keys of xs; {cotangent, unused = "error"}. gb.grad adds what params need.
function core.grad(y, xs, o) end

--- Does x have its value already?
---@return boolean
function core.known(x) end

--- Of the account of each device that is named {bytes in use, its peak so far}; a new peak is counted from this call on. With what that
--- gave as 'before': the most bytes in use since, beside those of then; the account has the larger of both peaks again.
---@param names string[]
---@param before integer[][]?
function core.high_water(names, before) end

--- Bytes of each buffer that core.kmeans_fit takes, and what they follow from; nothing is allocated, and gb.empty is welcome.
---@return table<string, integer>
function core.kmeans_bytes(list, o) end

--- K-means of the rows of a list of tensors: labels (n) of i32 from 1, centroids and shift (f64), history, {inertia, iterations,
--- empty, converged, change}. o: k, start, max_iter, tol, seed, bounded (Elkan's iterations), spherical, runs,
--- weights, devices, rooms, ranks.
function core.kmeans_fit(list, o) end

--- What centroids that are known say of points: labels, inertia, sums less the shift. o: k, centroids, shift, spherical, weights, devices,
--- rooms, ranks; labels, sums: whether they are wanted (labels or inertia).
function core.kmeans_apply(list, o) end

--- The number of this rank, from 0; how many there are; messages that it has sent to the others, and their bytes.
---@return integer, integer, integer, integer
function core.ranks() end

--- All ranks call it with what was raised there, or nil: it raises what the lowest rank says that has something.
function core.ranks_agree(err) end

--- Raises where the library of several ranks cannot be opened.
function core.ranks_check() end

--- What the last evaluation did.
function core.last_run() end

--- Until what it gives is closed, an expression that is built again is computed again, and values of older ones are not kept.
function core.measure() end

--- What was run since the last measurement began; 'measured' is of the largest run.
function core.measured() end

--- Times the steps of all runs until what it gives is closed; figures: devices that were never measured are measured first.
---@param figures boolean?
function core.trace(figures) end

--- What a trace has seen: began, dropped (steps without an event), rows (line, op, device, carrier, kernel, calls, seconds, total,
--- bytes, flops, predicted, bound), events (row, from, to, depth: registered ops around it).
---@return table
function core.traced(trace) end

--- Returns when the work of all devices is complete.
function core.synchronize() end

--- Returns when kernels that devices compile beside their work are there; true: work that is done again may be faster.
---@return boolean
function core.settle() end

--- A fresh leaf of x's value: kind "param" or "grad".
function core.leaf(x, kind, name) end

--- Says once a script line, on stderr, that a solve missed its tolerance, by its record.
---@param info gibbous.solve_info
function core.solve_missed(info) end

--- A line of progress, which gibbous attach shows: the last three are kept.
---@param text string
function core.said(text) end

--- A fit begins, of so many steps at most; gibbous attach shows how far it is.
---@param most integer
function core.fit_begin(most) end

--- The fit is at this step, with this value.
---@param step integer
---@param value number
function core.fit_at(step, value) end

--- The fit is over.
function core.fit_end() end

--- x with a value that is known: nothing computes it again, and gradients pass through it as through x.
function core.hold(x, value) end

--- A tensor that stands for what keep() gives, which is called when the tensor is looked at or differentiated, and may compute.
--- cost() says what that will take, as gb.plan wants it: {what, bytes, minimum, kept, seconds}.
---@param shape integer[]
---@param dtype string
---@param keep fun(): gibbous.tensor
---@param cost fun(): table
---@return gibbous.tensor
function core.promise(shape, dtype, keep, cost) end

--- The machine is measured, unless it was before, so that plans have seconds.
function core.know_rates() end

--- Is a function being traced, by gb.vmap?
---@return boolean
function core.tracing() end

--- Does x stand for what has not been asked for yet?
---@return boolean
function core.is_promise(x) end

--- "script.lua:12" of the nearest caller outside the library.
function core.line() end

--- The script line that made a tensor, "" where that is unknown, and the bytes of its value, 0 while it is lazy.
---@param x gibbous.tensor
---@return string
---@return integer
function core.made(x) end

--- "30x2 (X, script.lua:12)", for errors: the shape of a tensor, the variable of the script that holds it, the line that made it.
---@param x gibbous.tensor
---@return string
function core.told(x) end

--- Bytes and blocks in the ledger, nodes in the graph.
function core.live() end

--- Names of the modules built in.
function core.modules() end

--- Names a tensor in plans and messages; gives it.
function core.name(x, name) end

--- The most similar string of a list, nil if none is near.
function core.nearest(name, list) end

--- A stationary profile at u = c s: "rbf", "m12", "m32", "m52", or "rq" with alpha.
function core.radial(profile, s, c, alpha) end

--- Raises an error object for the nearest caller outside the library.
function core.raise(code, message, fields) end

--- The text of a module of the library, nil where there is none.
function core.source(module) end

--- Squared distances (n, m) of x (n, d) and y (m, d), weighted by w (d).
function core.sqdist(x, y, w) end

--- y with to[i] in the place of each placeholder from[i], which gb.empty made, of the same shapes and dtypes. Only builds.
---@param y gibbous.tensor
---@param from gibbous.tensor[]
---@param to gibbous.tensor[]
---@return gibbous.tensor
function core.substitute(y, from, to) end

--- y as it is, a function of x whose gradient goes to x by way of 'slope', the derivative of y in x: elementwise, in shapes that
--- broadcast. The slope is computed by gradients only, and may have one itself.
function core.with_slope(y, x, slope) end

--- Is x symmetric by structure?
function core.symmetric(x) end

--- Conjugate gradients for symmetric positive definite A, at once; {tol, max_iter, mixed, precond, x0, spread}. Gives x and a table.
--- spread: b (n) alone is solved by its parts in a block (docs/guide/solvers.md).
function core.cg(A, b, o) end

--- Right-hand sides that a spread solve of n rows has in the place of one: 16, or 1 where n is small.
function core.spread_parts(n) end

--- A Cholesky factor that grows: of the lower factor L (n, n), or, with L nil, of the matrix C. A value: f:append(B, C) is the
--- factor of [[A, B'], [B, C]], in O(n^2 k) for k rows, and f stays. n, dtype, capacity, bytes; half_solve(b) L^-1 b,
--- back_solve(b) L^-T b, solve(b), logdet() are lazy; extend(w, r) goes on with L^-1 b where w = L^-1 of b's first part is
--- known and r is the rest; dense() is L. gb.linalg.triangular_solve takes it in place of L.
function core.factor(L, C) end

--- The same as a lazy x, differentiable and planned; {tol, max_iter, mixed, precond, rank, precond_tol, k, noise, x0}.
function core.solver(A, b, o) end

--- What a lazy solve said when it ran, a table; nil before.
function core.solver_report(x) end

--- Do the elements of A exist nowhere, so that it has at least twice as many as what it is made of?
function core.is_streamed(A) end

--- Half of a two-sided interval of Student's t, in standard errors.
function core.student_quantile(degrees, level) end

--- The preconditioner diag(A).
function core.jacobi(A) end

--- Quadratic form and stochastic log-determinant in one set of products, lazy: (4) of f64, inv_quad, log det, its standard error
--- and 0, and all that was computed; the options of core.solver, probes, seed and exact.
function core.marginal(A, b, o) end

--- Alternating projections for symmetric positive definite A; {tol, max_iter, x0, block, keep}. Gives x and a record.
function core.alternating_projections(A, b, o) end

--- Stochastic dual descent for symmetric positive definite A; {tol, max_iter, x0, batch, momentum, step, seed}. Gives x and a record.
function core.sdd(A, b, o) end

--- |A| |A^-1| in the 1-norm for symmetric A with Cholesky factor L, estimated in O(n^2).
function core.factor_condition(A, L) end

--- (L L')^-1 b for a Cholesky factor L; lazy. Its gradient goes straight to the matrix of the factor.
function core.solve_chol(L, b) end

--- An orthonormal basis Q (n, t) of the Krylov space of symmetric A and q, T = Q' A Q tridiagonal, and a record.
function core.lanczos(A, q, steps) end

--- log det A by stochastic Lanczos quadrature; {tol, max_iter, precond, probes, seed}. Gives a record with value and standard_error.
function core.logdet_slq(A, o) end

--- Minimal residuals for symmetric A, definite or not; {tol, max_iter, precond, x0}. Gives x and a record.
function core.minres(A, b, o) end

--- A preconditioner of K + noise, one or (n), by Nystrom from drawn points; gives it, its rank, the share of the trace left out.
function core.nystrom(K, noise, rank, seed, tol) end

--- P^-1 b for a preconditioner, b (n) or (n, r); f64.
function core.precond_apply(P, b) end

--- The rows of K (n, n) that pivoted Cholesky takes, a list of at most 'most', each with the largest diagonal entry that those before
--- leave, until 'tol' of the trace is left; and that share. most n numbers of workspace.
---@param K gibbous.tensor
---@param most integer
---@param tol number?
function core.pivots(K, most, tol) end

--- log det P of a preconditioner.
function core.precond_logdet(P) end

--- A preconditioner as core.nystrom makes it, by pivoted Cholesky.
function core.pivoted_cholesky(K, noise, rank, tol) end

--- What the machine can do, measured now: {isa, fma, issue, exp2} a second.
function core.rates(seconds, threads) end

--- Reads columns from delimited text.
function core.csv_read(path, o) end

--- The cells of a column of text, of the frame that core.csv_read gave: all, or the first so many.
---@return string[]
function core.csv_text(frame, k, most) end

--- Writes a matrix, or a list of columns (vectors, texts that were read, lists of strings), as text.
function core.csv_write(path, x, names) end

--- The arrays of an HDF5 ("hdf5") or MATLAB ("matio") file, by name, and what was left out, a line each.
---@return table<string, gibbous.tensor>
---@return string
function core.foreign_read(kind, path, name) end

--- The tensors of a .npz file, by name.
---@return table<string, gibbous.tensor>
function core.npz_read(path, max_ratio) end

--- Writes tensors by name as a .npz file.
function core.npz_write(path, tensors) end

--- Is anything there?
---@return boolean
function core.file_exists(path) end

--- The first bytes of a plain file.
---@return string
function core.file_lead(path) end

--- Adds text to the end of a file that only this process writes: all of it, or none. durable: it is on the disk then.
---@param path string
---@param text string
---@param durable boolean?
function core.append(path, text, durable) end

--- Makes a file that is not there, with this text; false where another process, on any host, has made it.
---@param path string
---@param text string
---@return boolean
function core.claim(path, text) end

--- Leaves the first bytes of a file, where it has more.
---@param path string
---@param bytes integer
function core.cut(path, bytes) end

--- A text that changes when the file is written; nil where nothing is there.
---@return string?
function core.file_stamp(path) end

--- Reads one .npy array.
function core.npy_read(path) end

--- The array of a .npy file where it lies there, mapped, on the host.
---@return gibbous.tensor
function core.npy_map(path) end

--- Writes one .npy array.
function core.npy_write(path, x) end

--- Reads a .safetensors file: {name = tensor}, its metadata {key = text}, and whether its heading is spelled as the function below
--- does.
function core.safetensors_read(path) end

--- Writes {name = tensor} and {key = text}; the file is there whole or not at all.
function core.safetensors_write(path, tensors, texts) end

--- 16 hexadecimal digits of what the strings and tensors of a list hold: type, shape and bits, in order.
---@return string
function core.digest(list) end

--- The paths that match a pattern of the shell, sorted.
---@return string[]
function core.glob(pattern) end

--- Plain data as JSON text, keys sorted; a number has the same bits when it is read back.
---@return string
function core.json_encode(v) end

--- The value of JSON text; null is nil, a key that is there twice an error.
function core.json_decode(text) end

--- An entry in the ledger for so many bytes of lists, until it is closed or collected.
function core.account(bytes) end

--- The columns of JSON lines, as core.csv_read gives them.
function core.json_lines(path) end

--- true and the columns of a table in JSON, as core.csv_read gives them; or false and the value of another text.
---@return boolean
function core.json_read(path) end

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

--- This process ends when the process of that number does, and leaves no core file; guarded: it was started with a guard, and what it
--- starts ends then, too.
---@param parent integer
---@param guarded boolean?
function core.bind(parent, guarded) end

--- A process that ends the groups of guarded children, with all that they have started, when this one ends in whatever way, or closes it.
function core.guard() end

--- Starts a process with the environment of this one and the strings "NAME=value" of env; what it prints goes to the end of the file
--- out. child:pid(), child:signal "int"|"kill"|"term"|"usr1", child:reap() -> {exit or signal, peak, user, system}. It is killed when
--- the value goes. guard: its group is in those hands once it calls core.bind.
---@param argv string[]
---@param env string[]?
---@param out string?
---@param guard any
function core.child(argv, env, out, guard) end

--- The position of a child that has ended; nil where the seconds ran out.
---@param children any[]
---@param seconds number?
---@return integer?
function core.wait(children, seconds) end

--- The number of a process, when it started (in ticks since the system did), the name of the host; nil: no such process.
---@param pid integer?  default: this one
function core.process(pid) end

--- An SQLite file: db:run(sql, ...), db:rows(sql, ...), db:columns(sql, ...), db:image() (the bytes of the file), db:close(). "create"
--- makes one that is missing.
---@param path string
---@param mode "read"|"write"|"create"|nil
function core.database(path, mode) end

--- A database in memory, of what db:image() gave. The bytes are not checked: a digest beside them finds damage.
---@param bytes string
function core.database_image(bytes) end

--- Does a path lie on a file system of the network?
---@param path string
---@return boolean
function core.is_remote(path) end

--- The lock of a file until it is closed; nil where another process has it.
---@param path string
function core.lock(path) end

--- Makes a folder, with those above it.
---@param path string
function core.make_folder(path) end

--- The digest of a text, 64 hexadecimal digits.
---@param text string
---@return string
function core.sha256(text) end

--- The digest of a file.
---@param path string
---@return string
function core.sha256_file(path) end

--- Lua's traceback, with the calls within the library folded.
---@param text string?
---@param level integer?
---@return string
function core.traceback(text, level) end

--- The names of the texts built in that are no modules: "examples/first_model.lua".
---@return string[]
function core.texts() end

--- A text that is built in; nil where there is none of that name.
---@param name string
---@return string?
function core.text(name) end

--- The versions of libraries that the program is linked with, by name.
---@return table<string, string>
function core.libraries() end

--- Whether the parts that are built only where they can be are there: cuda, mpi.
---@return table<string, boolean>
function core.parts() end

--- Writes a file, whole or not at all. Errors: io, also where something other than a plain file is there.
---@param path string
---@param text string
function core.text_write(path, text) end

--- From now on SIGTERM and SIGUSR1 interrupt what runs, as Ctrl-C does, in place of ending the process.
function core.heed() end

--- The signal that core.heed answered last, nil where none has come.
---@return "term"|"usr1"|nil
function core.heeded() end

--- true: Ctrl-C, SIGTERM and SIGUSR1 wait from now on, for what must be done whole; false: they come again, but for those that have
--- waited, where those are to be forgotten.
---@param on boolean
---@param forget boolean?
function core.defer(on, forget) end

--- f(...), within which signals come although core.defer has them wait. One that f takes for its own (a fit that keeps its best point)
--- is raised after it all the same. Errors: interrupted; those of f.
function core.interruptible(f, ...) end

--- The character of a key that is pressed at the terminal within so many seconds, nil where none is. Errors: interrupted.
---@param seconds number
---@return string?
function core.key(seconds) end

--- Seconds since 1970, with fractions.
---@return number
function core.now() end

--- Is the file descriptor a terminal?
function core.isatty(fd) end

--- The width of the terminal behind a file descriptor; nil if it is not a terminal, or gives no width.
---@param fd integer
---@return integer?
function core.columns(fd) end

--- Columns and rows of the terminal, and whether there is one.
function core.terminal() end

--- The n of gb.seed(n), and how many random tensors without a seed of their own were made since.
---@return integer
---@return integer
function core.seeded() end
