---@meta

---@class gibbous
local gb = {}

--- Networks: blocks, which are boxes of parameters called with a tensor, and losses. gb.params(net) finds the parameters.
---@class gb.nn
gb.nn = {}

--- A layer or network: net(x) is lazy; net[i] is layer i of a sequential one; parameters are fields.
---@class gibbous.block
---@field weight gibbous.param  where the layer has one
---@field bias gibbous.param  where the layer has one
---@field mean gibbous.param  of batch_norm: what gb.nn.calibrate set
---@field variance gibbous.param  of batch_norm: what gb.nn.calibrate set
---@field label string  what messages call it
---@field layers table?  of a sequential network
---@field parts table  its parameters or layers, by name; for the library
---@field made table?  the call that makes such a block again; for the library
---@field mode table?  its settings of training and evaluation; for the library
local block = {}

--- What the block computes; net(x) calls it.
---@param x gibbous.tensor
---@param label string
---@return gibbous.tensor
function block:forward(x, label) end

---@class gibbous.linear.options
---@field bias? boolean  default: true
---@field seed? integer  of the start; without it the next numbers of gb.seed
---@field dtype? "f32"|"f64"  of the parameters; default: that of gb.config

---@class gibbous.embedding.options
---@field seed? integer  of the start
---@field dtype? "f32"|"f64"  of the parameters; default: that of gb.config

---@class gibbous.norm.options
---@field eps? number  added to the variance, of rms_norm to the mean square, under the root; default: 1e-5, of rms_norm 1e-6
---@field dtype? "f32"|"f64"  of the parameters; default: that of gb.config

---@class gibbous.batch_norm.options: gibbous.norm.options
---@field training? boolean  default: true

---@class gibbous.dropout.options
---@field seed? integer  every call has the same mask; without it each call has the next of gb.seed
---@field training? boolean  default: true

---@class gibbous.convolve.options
---@field stride? integer|integer[]  default: 1
---@field padding? integer|integer[]  zeros at each end; default: 0
---@field dilation? integer|integer[]  distance of the entries of a window; default: 1
---@field groups? integer  channels are divided into so many, each with weights of its own; default: 1

---@class gibbous.convolve_transposed.options: gibbous.convolve.options
---@field output_padding? integer|integer[]  makes the result larger behind; default: 0

---@class gibbous.conv.options: gibbous.convolve.options
---@field bias? boolean  default: true
---@field seed? integer  of the start
---@field dtype? "f32"|"f64"  of the parameters

---@class gibbous.conv_transpose.options: gibbous.convolve_transposed.options
---@field bias? boolean  default: true
---@field seed? integer  of the start
---@field dtype? "f32"|"f64"  of the parameters

---@class gibbous.pool.options
---@field stride? integer|integer[]  default: the size
---@field padding? integer|integer[]  default: 0

---@class gibbous.loss.options
---@field reduction? "mean"|"sum"|"none"  "mean": sum w l / sum w
---@field weights? gibbous.tensor|number[]  one a row, or one an element

---@class gibbous.huber.options: gibbous.loss.options
---@field delta? number  where the line begins; default: 1

---@class gibbous.smooth_l1.options: gibbous.loss.options
---@field beta? number  where the line begins; default: 1

---@class gibbous.nll.options: gibbous.loss.options
---@field ignore? integer  a label of rows that do not count

---@class gibbous.cross_entropy.options: gibbous.nll.options
---@field smoothing? number  s, 0 to 1: the label has probability 1 - s + s / k, every other class s / k

--- A fully connected layer: net(x) = x weight + bias, x (..., n_in), weight (n_in, n_out), bias (n_out).
---@param n_in integer
---@param n_out integer
---@param o gibbous.linear.options?
---@return gibbous.block
---```lua
--- print(gb.nn.linear(2, 3, {seed = 1})(gb.ones(4, 2)).shape)
---```
function gb.nn.linear(n_in, n_out, o) end

--- Layers one after the other: blocks, functions of one tensor, names of tensor methods such as "relu".
---@param layers (gibbous.block|function|string)[]
---@return gibbous.block
---```lua
--- local net = gb.nn.sequential{gb.nn.linear(2, 8), "relu", gb.nn.linear(8, 1)}
--- print(net(gb.ones(4, 2)).shape)
---```
function gb.nn.sequential(layers) end

--- An embedding: net(labels) gives the row of weight (count, d) of each label, (..., d).
---@param count integer
---@param d integer
---@param o gibbous.embedding.options?
---@return gibbous.block
---```lua
--- print(gb.nn.embedding(5, 2)(gb.tensor({1, 5}, {dtype = "i64"})).shape)
---```
function gb.nn.embedding(count, d, o) end

--- Dropout: in training each element is 0 with probability p, else x / (1 - p); in evaluation x.
---@param p number  from 0 to 1, 1 excluded
---@param o gibbous.dropout.options?
---@return gibbous.block
---```lua
--- print(gb.nn.dropout(0.5, {seed = 1})(gb.ones(4)))
---```
function gb.nn.dropout(p, o) end

--- x (n, ...) as rows (n, d).
---@return gibbous.block
---```lua
--- print(gb.nn.flatten()(gb.ones(2, 3, 4)).shape)
---```
function gb.nn.flatten() end

--- Layer normalisation: (x - mean) / sqrt(var + eps) weight + bias over the last dimension.
---@param d integer
---@param o gibbous.norm.options?
---@return gibbous.block
---```lua
--- print(gb.nn.layer_norm(3)(gb.tensor{{1, 2, 3}}))
---```
function gb.nn.layer_norm(d, o) end

--- Normalisation by the root of the mean square: x / sqrt(mean x^2 + eps) weight over the last dimension.
---@param d integer
---@param o gibbous.norm.options?
---@return gibbous.block
---```lua
--- print(gb.nn.rms_norm(3)(gb.tensor{{1, 2, 3}}))
---```
function gb.nn.rms_norm(d, o) end

--- Batch normalisation of c channels, the second dimension. In training mean and variance are those of x; else those that
--- gb.nn.calibrate set.
---@param c integer
---@param o gibbous.batch_norm.options?
---@return gibbous.block
---```lua
--- print(gb.nn.batch_norm(2)(gb.rand(5, 2)).shape)
---```
function gb.nn.batch_norm(c, o) end

--- Group normalisation: c channels in groups, each normalised over its channels and all dimensions behind them, for every row.
---@param groups integer
---@param c integer  a multiple of groups
---@param o gibbous.norm.options?
---@return gibbous.block
---```lua
--- print(gb.nn.group_norm(2, 4)(gb.rand(3, 4, 5)).shape)
---```
function gb.nn.group_norm(groups, c, o) end

--- Instance normalisation: every channel of every row is normalised over the dimensions behind it.
---@param c integer
---@param o gibbous.norm.options?
---@return gibbous.block
---```lua
--- print(gb.nn.instance_norm(4)(gb.rand(3, 4, 5)).shape)
---```
function gb.nn.instance_norm(c, o) end

--- Training, or evaluation (on = false), for every batch_norm and dropout of a network; gives the network.
---@param net gibbous.block
---@param on boolean?  default: true
---@return gibbous.block
---```lua
--- local net = gb.nn.training(gb.nn.dropout(0.5), false)
--- print(net(gb.ones(3)))
---```
function gb.nn.training(net, on) end

--- Gives every batch_norm the mean and variance that its input has over the rows x, with nothing dropped. Evaluates.
---@param net gibbous.block
---@param x gibbous.tensor  (n, ...)
---@return gibbous.block
---```lua
--- local net = gb.nn.calibrate(gb.nn.batch_norm(2), gb.rand(9, 2))
--- print(net.mean)
---```
function gb.nn.calibrate(net, x) end

--- A convolution over x (n, c_in, l); weight (c_out, c_in / groups, size).
---@param c_in integer
---@param c_out integer
---@param size integer|integer[]
---@param o gibbous.conv.options?
---@return gibbous.block
---```lua
--- print(gb.nn.conv1d(2, 3, 3)(gb.ones(1, 2, 8)).shape)
---```
function gb.nn.conv1d(c_in, c_out, size, o) end

--- A convolution over x (n, c_in, h, w); weight (c_out, c_in / groups, height, width). Options are one number, or one for each dimension.
---@param c_in integer
---@param c_out integer
---@param size integer|integer[]
---@param o gibbous.conv.options?
---@return gibbous.block
---```lua
--- print(gb.nn.conv2d(2, 3, {3, 3})(gb.ones(1, 2, 8, 8)).shape)
---```
function gb.nn.conv2d(c_in, c_out, size, o) end

--- A transposed convolution over x (n, c_in, l); weight (c_in, c_out / groups, size).
---@param c_in integer
---@param c_out integer
---@param size integer|integer[]
---@param o gibbous.conv_transpose.options?
---@return gibbous.block
---```lua
--- print(gb.nn.conv_transpose1d(2, 3, 3)(gb.ones(1, 2, 8)).shape)
---```
function gb.nn.conv_transpose1d(c_in, c_out, size, o) end

--- A transposed convolution over x (n, c_in, h, w); weight (c_in, c_out / groups, height, width).
---@param c_in integer
---@param c_out integer
---@param size integer|integer[]
---@param o gibbous.conv_transpose.options?
---@return gibbous.block
---```lua
--- print(gb.nn.conv_transpose2d(2, 3, 3)(gb.ones(1, 2, 4, 4)).shape)
---```
function gb.nn.conv_transpose2d(c_in, c_out, size, o) end

--- The largest value of each window; of padding -inf. Two values that tie share the gradient.
---@param size integer|integer[]
---@param o gibbous.pool.options?
---@return gibbous.block
---```lua
--- print(gb.nn.max_pool(2)(gb.rand(1, 1, 4, 4)).shape)
---```
function gb.nn.max_pool(size, o) end

--- The mean of each window, zeros of the padding among its values.
---@param size integer|integer[]
---@param o gibbous.pool.options?
---@return gibbous.block
---```lua
--- print(gb.nn.avg_pool(2)(gb.rand(1, 1, 4, 4)).shape)
---```
function gb.nn.avg_pool(size, o) end

--- The convolution (without flipping) of x with weight, over one or two dimensions: (n, co, ...).
---@param x gibbous.tensor  (n, c, l) or (n, c, h, w)
---@param weight gibbous.tensor  (co, c / groups, size) or (co, c / groups, height, width)
---@param o gibbous.convolve.options?
---@return gibbous.tensor
---```lua
--- print(gb.nn.convolve(gb.ones(1, 1, 4), gb.ones(1, 1, 2)))
---```
function gb.nn.convolve(x, weight, o) end

--- The transposed convolution of x with weight, over one or two dimensions: (n, co, ...).
---@param x gibbous.tensor  (n, c, l) or (n, c, h, w)
---@param weight gibbous.tensor  (c, co / groups, size) or (c, co / groups, height, width)
---@param o gibbous.convolve_transposed.options?
---@return gibbous.tensor
---```lua
--- print(gb.nn.convolve_transposed(gb.ones(1, 1, 4), gb.ones(1, 1, 2)))
---```
function gb.nn.convolve_transposed(x, weight, o) end

--- Squared error (p - t)^2, averaged over all elements.
---@param p gibbous.tensor  (n) or (n, d)
---@param t gibbous.tensor  the shape of p
---@param o gibbous.loss.options?
---@return gibbous.tensor
--- Errors: shape where the shapes differ.
---```lua
--- print(gb.nn.mse(gb.tensor{0.2, 0.8}, gb.tensor{0, 1}):item())
---```
function gb.nn.mse(p, t, o) end

--- |p - t|, averaged over all elements.
---@param p gibbous.tensor  (n) or (n, d)
---@param t gibbous.tensor  the shape of p
---@param o gibbous.loss.options?
---@return gibbous.tensor
--- Errors: shape where the shapes differ.
---```lua
--- print(gb.nn.l1(gb.tensor{0.2, 0.8}, gb.tensor{0, 1}):item())
---```
function gb.nn.l1(p, t, o) end

--- Huber's loss: e^2 / 2 where |e| < delta, delta (|e| - delta / 2) elsewhere; averaged over all elements.
---@param p gibbous.tensor  (n) or (n, d)
---@param t gibbous.tensor  the shape of p
---@param o gibbous.huber.options?
---@return gibbous.tensor
--- Errors: shape where the shapes differ.
---```lua
--- print(gb.nn.huber(gb.tensor{0.2, 0.8}, gb.tensor{0, 1}):item())
---```
function gb.nn.huber(p, t, o) end

--- Huber's loss divided by its corner: e^2 / (2 beta) where |e| < beta, |e| - beta / 2 elsewhere.
---@param p gibbous.tensor  (n) or (n, d)
---@param t gibbous.tensor  the shape of p
---@param o gibbous.smooth_l1.options?
---@return gibbous.tensor
--- Errors: shape where the shapes differ.
---```lua
--- print(gb.nn.smooth_l1(gb.tensor{0.2, 0.8}, gb.tensor{0, 1}):item())
---```
function gb.nn.smooth_l1(p, t, o) end

--- Cross-entropy of probabilities p and targets t, both from 0 to 1, with logs of at least -100.
---@param p gibbous.tensor  (n) or (n, d)
---@param t gibbous.tensor  the shape of p
---@param o gibbous.loss.options?
---@return gibbous.tensor
--- Errors: shape where the shapes differ.
---```lua
--- print(gb.nn.bce(gb.tensor{0.2, 0.8}, gb.tensor{0, 1}):item())
---```
function gb.nn.bce(p, t, o) end

--- bce of sigmoid(z), without overflow or lost digits.
---@param z gibbous.tensor  logits
---@param t gibbous.tensor  the shape of z, from 0 to 1
---@param o gibbous.loss.options?
---@return gibbous.tensor
--- Errors: shape where the shapes differ.
---```lua
--- print(gb.nn.bce_with_logits(gb.tensor{-2, 2}, gb.tensor{0, 1}):item())
---```
function gb.nn.bce_with_logits(z, t, o) end

--- Divergence of q from p, sum p (log p - log q) over the last dimension, averaged over the rest.
---@param log_q gibbous.tensor  (..., k), log probabilities
---@param p gibbous.tensor  (..., k), probabilities
---@param o gibbous.loss.options?
---@return gibbous.tensor
--- Errors: shape where the shapes differ.
---```lua
--- print(gb.nn.kl(gb.tensor{{0.5, 0.5}}:log(), gb.tensor{{0.2, 0.8}}):item())
---```
function gb.nn.kl(log_q, p, o) end

--- Negative log-likelihood of class labels, -log softmax(logits)[i, labels[i]], averaged over rows. Labels count from 1.
---@param logits gibbous.tensor  (n, k)
---@param labels gibbous.tensor  (n), i64 or i32, from 1 to k
---@param o gibbous.cross_entropy.options?
---@return gibbous.tensor
--- Errors: index for a label outside 1 to k, at once where its value is known, else where the loss is computed.
---```lua
--- print(gb.nn.cross_entropy(gb.tensor{{2, 0}, {0, 2}}, gb.tensor({1, 2}, {dtype = "i64"})):item())
---```
function gb.nn.cross_entropy(logits, labels, o) end

--- -log_p[i, labels[i]] of log probabilities, averaged over rows.
---@param log_p gibbous.tensor  (n, k)
---@param labels gibbous.tensor  (n), i64 or i32, from 1 to k
---@param o gibbous.nll.options?
---@return gibbous.tensor
--- Errors: index for a label outside 1 to k.
---```lua
--- print(gb.nn.nll(gb.tensor{{0.5, 0.5}}:log(), gb.tensor({1}, {dtype = "i64"})):item())
---```
function gb.nn.nll(log_p, labels, o) end

--- x sigmoid(x).
---@param x gibbous.tensor
---@return gibbous.tensor
---@see tensor:silu
---```lua
--- print(gb.nn.silu(gb.tensor{-1, 2}))
---```
function gb.nn.silu(x) end

--- x tanh(softplus(x)).
---@param x gibbous.tensor
---@return gibbous.tensor
---@see tensor:mish
---```lua
--- print(gb.nn.mish(gb.tensor{-1, 2}))
---```
function gb.nn.mish(x) end

--- x / (1 + |x|).
---@param x gibbous.tensor
---@return gibbous.tensor
---@see tensor:softsign
---```lua
--- print(gb.nn.softsign(gb.tensor{-1, 2}))
---```
function gb.nn.softsign(x) end

--- elu with the scales that keep mean 0 and variance 1.
---@param x gibbous.tensor
---@return gibbous.tensor
---@see tensor:selu
---```lua
--- print(gb.nn.selu(gb.tensor{-1, 2}))
---```
function gb.nn.selu(x) end

--- x between -1 and 1.
---@param x gibbous.tensor
---@return gibbous.tensor
---@see tensor:hard_tanh
---```lua
--- print(gb.nn.hard_tanh(gb.tensor{-1, 2}))
---```
function gb.nn.hard_tanh(x) end

--- x / 6 + 1/2 between 0 and 1.
---@param x gibbous.tensor
---@return gibbous.tensor
---@see tensor:hard_sigmoid
---```lua
--- print(gb.nn.hard_sigmoid(gb.tensor{-1, 2}))
---```
function gb.nn.hard_sigmoid(x) end

--- x hard_sigmoid(x).
---@param x gibbous.tensor
---@return gibbous.tensor
---@see tensor:hard_swish
---```lua
--- print(gb.nn.hard_swish(gb.tensor{-1, 2}))
---```
function gb.nn.hard_swish(x) end

--- x between 0 and 6.
---@param x gibbous.tensor
---@return gibbous.tensor
---@see tensor:relu6
---```lua
--- print(gb.nn.relu6(gb.tensor{-1, 2}))
---```
function gb.nn.relu6(x) end

--- x where it is positive, slope x elsewhere.
---@param x gibbous.tensor
---@param slope number?  default: 0.01
---@return gibbous.tensor
---@see tensor:leaky_relu
---```lua
--- print(gb.nn.leaky_relu(gb.tensor{-1, 2}, 0.1))
---```
function gb.nn.leaky_relu(x, slope) end

--- x where it is positive, alpha (e^x - 1) elsewhere.
---@param x gibbous.tensor
---@param alpha number?  default: 1
---@return gibbous.tensor
---@see tensor:elu
---```lua
--- print(gb.nn.elu(gb.tensor{-1, 2}))
---```
function gb.nn.elu(x, alpha) end

---@class gibbous.gelu.options
---@field approximate? "none"|"tanh"  "tanh": the formula with tanh; default: "none"

--- x Phi(x), Phi the normal distribution function.
---@param x gibbous.tensor
---@param o gibbous.gelu.options?
---@return gibbous.tensor
---@see tensor:gelu
---```lua
--- print(gb.nn.gelu(gb.tensor{-1, 2}))
---```
function gb.nn.gelu(x, o) end
