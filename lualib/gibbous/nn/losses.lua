--- Losses: lazy, averaged over all elements or rows unless 'reduction' says otherwise.
local core <const> = require "gibbous.core"
local labels_of <const> = require "gibbous.tensor.labels"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local loss_spec <const> = {reduction = {"mean", "sum", "none"}, weights = "any"}

--- Weights (n), one a row, or one an element, shaped to multiply 'losses' (n, ...).
local function checked_weights(v, losses, what)
  local is_list <const> = type(v) == "table" and getmetatable(v) == nil
  local w <const> = core.as_tensor(is_list and core.tensor(v, {dtype = losses.dtype}) or v)
  if w == nil then core.raise("option", ("%s: weights must be a tensor or a list, got %s"):format(what, core.type(v))) end
  local each <const> = w.dtype == losses.dtype and w or w:to{dtype = losses.dtype}
  if w.shape == losses.shape then return each end
  if w.ndim ~= 1 or losses.ndim < 1 or #w ~= #losses then
    core.raise("shape", ("%s: weights must be one a row or one an element: weights %s, losses %s"):format(what,
      core.told(w), core.told(losses)))
  end
  local shape <const> = {#w}
  for i = 2, losses.ndim do shape[i] = 1 end
  return each:reshape(shape)
end

--- sum w l / sum w for "mean" where the sum of weights runs over the same elements. kept: a mask of rows; others count as if they
-- were not there.
local function reduced(losses, o, what, kept)
  local reduction <const> = o.reduction or "mean"
  local w = o.weights and checked_weights(o.weights, losses, what)
  if kept then
    losses = core.where(kept, losses, 0)
    w = core.where(kept, w or core.ones(#kept, {dtype = losses.dtype, device = losses.device}), 0)
  end
  local each <const> = w and w * losses or losses
  if reduction == "none" then return each end
  if reduction == "sum" then return each:sum() end
  if not w then return losses:mean() end
  return each:sum() / (w:sum() * (losses.numel / w.numel))
end

local function pair(p, t, what)
  local a <const>, b <const> = core.as_tensor(p), core.as_tensor(t)
  if a == nil or b == nil then
    core.raise("option", ("%s takes two tensors, got %s and %s"):format(what, core.type(p), core.type(t)))
  end
  return a, b
end

--- Two tensors of one shape.
local function alike(p, t, what)
  local a <const>, b <const> = pair(p, t, what)
  if a.shape ~= b.shape then
    core.raise("shape", ("%s: shapes differ: %s and %s"):format(what, core.told(a), core.told(b)))
  end
  return a, b
end

--- Squared error (p - t)^2, averaged over all elements. Lazy.
-- weights (n), one a row, or one an element: "mean" is then sum w (p - t)^2 / sum w.
---@param p gibbous.tensor  (n) or (n, d)
---@param t gibbous.tensor  the shape of p
---@param opts {reduction: "mean"|"sum"|"none", weights: gibbous.tensor|number[]}?
---@return gibbous.tensor
function M.mse(p, t, opts)
  local what <const> = "gb.nn.mse"
  local o <const> = options.parse(opts, loss_spec, what)
  local a <const>, b <const> = alike(p, t, what)
  return reduced((a - b) ^ 2, o, what)
end

--- o.ignore: a label of rows that do not count. The labels with another in its place, and a mask of the rows that count.
local function without_ignored(y, ignore)
  if not ignore then return y end
  local kept <const> = y:ne(ignore)
  local others <const> = core.where(kept, y, 1)
  if core.known(y) then others:eval() end                                  -- then they are checked at once
  return others, kept
end

local label_spec <const> = {reduction = loss_spec.reduction, weights = "any", ignore = "integer"}
local entropy_spec <const> = {reduction = loss_spec.reduction, weights = "any", ignore = "integer", smoothing = "number"}

local function checked_labels(scores, labels, what)
  local z <const>, y <const> = pair(scores, labels, what)
  if z.ndim ~= 2 or y.ndim ~= 1 or #z ~= #y then
    core.raise("shape", ("%s: expected logits (n, k) and labels (n), got %s and %s"):format(what, core.told(z),
      core.told(y)))
  end
  return z, labels_of.of(y, what, z.device)
end

--- x[i, labels[i]]; labels outside 1 .. k raise: at once where their values are known, else where the loss is computed.
local function chosen(x, y, what)
  local k <const> = x.shape[2]
  return core.where(labels_of.mask(labels_of.checked(y, k, what):unsqueeze(2), k, 2, x.dtype), x, 0):sum(2)
end

--- Negative log-likelihood of class labels, -log softmax(logits)[i, labels[i]], averaged over rows. Lazy; nothing larger than
-- the logits is stored, and its gradient softmax - [j = label] is one pass over them. A label outside 1 .. k raises: at once
-- where its value is known, else where the loss is computed.
-- weights (n): "mean" is then sum w l / sum w. Rows whose label is 'ignore', any whole number, do not count. smoothing s, from 0
-- to 1: the label has probability 1 - s + s / k, every other class s / k.
---@param logits gibbous.tensor  (n, k)
---@param labels gibbous.tensor  (n), i64 or i32, positions from 1 to k
---@param opts {reduction: "mean"|"sum"|"none", weights: gibbous.tensor|number[], ignore: integer, smoothing: number}?
---@return gibbous.tensor
function M.cross_entropy(logits, labels, opts)
  local what <const> = "gb.nn.cross_entropy"
  local o <const> = options.parse(opts, entropy_spec, what)
  local s <const> = o.smoothing or 0
  if not (s >= 0 and s <= 1) then
    core.raise("option", ("%s: smoothing must be a number from 0 to 1, got %s"):format(what, tostring(options.plain(s))))
  end
  local z <const>, given <const> = checked_labels(logits, labels, what)
  local y <const>, kept <const> = without_ignored(given, o.ignore)
  local top <const> = z.shape[2] > 0 and z:max(2):detach() or core.zeros(#z, {dtype = z.dtype})
  local x <const> = z - core.where(top:isfinite(), top, 0):unsqueeze(2)      -- log_softmax does the same, in a pass more
  local score = chosen(x, y, what)
  if s > 0 then score = score * (1 - s) + x:mean(2) * s end
  return reduced(x:logsumexp(2) - score, o, what, kept)
end

--- -log_p[i, labels[i]] of log probabilities, averaged over rows; as cross_entropy.
---@param log_p gibbous.tensor  (n, k)
---@param labels gibbous.tensor  (n), i64 or i32, positions from 1 to k
---@param opts {reduction: "mean"|"sum"|"none", weights: gibbous.tensor|number[], ignore: integer}?
---@return gibbous.tensor
function M.nll(log_p, labels, opts)
  local what <const> = "gb.nn.nll"
  local o <const> = options.parse(opts, label_spec, what)
  local x <const>, given <const> = checked_labels(log_p, labels, what)
  local y <const>, kept <const> = without_ignored(given, o.ignore)
  return reduced(-chosen(x, y, what), o, what, kept)
end

--- |p - t|, averaged over all elements. Options as for mse.
function M.l1(p, t, opts)
  local what <const> = "gb.nn.l1"
  local o <const> = options.parse(opts, loss_spec, what)
  local a <const>, b <const> = alike(p, t, what)
  return reduced((a - b):abs(), o, what)
end

--- Squared errors up to 'corner', a straight line beyond: e^2 / 2 where |e| < corner, corner (|e| - corner / 2) elsewhere.
local function bent(p, t, corner)
  local e <const> = (p - t):abs()
  local inner <const> = e:clamp(nil, corner)
  return inner * (e - inner / 2)
end

--- Huber's loss: e^2 / 2 where |e| < delta, delta (|e| - delta / 2) elsewhere; averaged over all elements. Options as for mse.
---@param opts {delta: number, reduction: "mean"|"sum"|"none", weights: gibbous.tensor|number[]}?  delta = 1
function M.huber(p, t, opts)
  local what <const> = "gb.nn.huber"
  local o <const> = options.parse(opts, {reduction = loss_spec.reduction, weights = "any", delta = "positive"}, what)
  local a <const>, b <const> = alike(p, t, what)
  return reduced(bent(a, b, o.delta or 1), o, what)
end

--- huber divided by its corner: e^2 / (2 beta) where |e| < beta, |e| - beta / 2 elsewhere. Options as for mse.
---@param opts {beta: number, reduction: "mean"|"sum"|"none", weights: gibbous.tensor|number[]}?  beta = 1
function M.smooth_l1(p, t, opts)
  local what <const> = "gb.nn.smooth_l1"
  local o <const> = options.parse(opts, {reduction = loss_spec.reduction, weights = "any", beta = "positive"}, what)
  local a <const>, b <const> = alike(p, t, what)
  local beta <const> = o.beta or 1
  return reduced(bent(a, b, beta) / beta, o, what)
end

--- Cross-entropy of probabilities p and targets t, both from 0 to 1: -t log p - (1 - t) log(1 - p), with logs of at least -100 (of
-- f32 -87); NaN where p is no probability. Options as for mse.
function M.bce(p, t, opts)
  local what <const> = "gb.nn.bce"
  local o <const> = options.parse(opts, loss_spec, what)
  local a <const>, b <const> = alike(p, t, what)
  local least <const> = a.dtype == "f64" and math.exp(-100) or 0x1p-126
  local q <const> = core.where(a:ge(0) & a:le(1), a, 0 / 0)
  return reduced(-(b * q:clamp(least):log() + (1 - b) * (1 - q):clamp(least):log()), o, what)
end

--- bce of sigmoid(z), without overflow or lost digits. Options as for mse.
function M.bce_with_logits(z, t, opts)
  local what <const> = "gb.nn.bce_with_logits"
  local o <const> = options.parse(opts, loss_spec, what)
  local a <const>, b <const> = alike(z, t, what)
  return reduced(core.maximum(a, 0) - a * b + (-a:abs()):exp():log1p(), o, what)
end

--- Divergence of q from p, sum p (log p - log q) over the last dimension, averaged over the rest; 0 log 0 is 0. Options as for mse.
---@param log_q gibbous.tensor  (..., k), log probabilities: log_softmax(-1) gives them
---@param p gibbous.tensor  (..., k), probabilities
---@return gibbous.tensor
function M.kl(log_q, p, opts)
  local what <const> = "gb.nn.kl"
  local o <const> = options.parse(opts, loss_spec, what)
  local a <const>, b <const> = alike(log_q, p, what)
  if a.ndim < 1 then core.raise("shape", what .. ": expected (..., k), got one number") end
  local some <const> = b:gt(0)
  local each <const> = core.where(some, b * (core.where(some, b, 1):log() - a), 0)
  return reduced(each:sum(-1), o, what)
end

return M
