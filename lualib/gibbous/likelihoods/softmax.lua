--- Classes 1 .. C without order: p(y | f) = e^f_y / sum_c e^f_c of C latent functions, f (..., n, C).
--
-- Averages over latent values are by seeded draws, the same for all rows, in pairs z and -z. var (n, C) are variances of
-- independent latent functions; predictive and log_predictive also take a root R (n, C, C) of their covariances R R' in its place.
-- Source: Rasmussen & Williams (2006), sections 3.3 and 3.5.
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local rows <const> = require "gibbous.likelihoods.rows"

local form <const> = {kind = "softmax", quadrature = false, spec = {classes = "count", draws = "count", seed = "integer"},
  shown = {"classes", "draws"}}

local DRAWS <const>, PREDICTED <const> = 200, 10               -- predictions take so many times the draws of fits

function form.make(o, what)
  local C <const> = o.classes
  if C == nil or C < 2 then core.raise("option", what .. ": classes, their number, must be 2 or more") end
  if o.draws and (o.draws < 2 or o.draws % 2 == 1) then core.raise("option", what .. ": draws come in pairs: an even number") end
  return {classes = C, draws = o.draws or DRAWS, seed = o.seed or 0}
end

function form.latents(self) return self.classes end

local function hint(v)
  if v == 0 then return "classes count from 1: give y + 1" end
  return "gb.gp.classifier takes labels of any kind"
end

function form.check(self, y, what)
  return rows.check(y, rows.whole_in(1, self.classes), what, ("a class, 1 to %d"):format(self.classes), hint)
end

local function one_hot(y, C, like)
  local class_of <const> = core.linspace(1, C, C, {dtype = like.dtype, device = like.device})
  return y:unsqueeze(-1):eq(class_of:unsqueeze(1)):to{dtype = like.dtype}
end

--- f_y, (..., n).
local function own(self, f, y) return (f * one_hot(y, self.classes, f)):sum(-1) end

function form.log_density(self, f, y) return own(self, f, y) - f:logsumexp(-1) end

--- So many draws of the latent values, (draws, n, C): half of them z, half -z.
local function drawn(self, mean, var, draws)
  local half <const> = core.randn(draws // 2, 1, self.classes, {dtype = mean.dtype, device = mean.device, seed = self.seed})
  local z <const> = core.cat({half, -half}, 1)
  if var.ndim == 2 then return mean:unsqueeze(1) + var:sqrt():unsqueeze(1) * z end
  local flat <const> = z:reshape(draws, self.classes)
  return mean:unsqueeze(1) + (var:unsqueeze(1) * flat:unsqueeze(2):unsqueeze(2)):sum(-1)
end

--- E f_y is exact; E log sum e^f by draws.
function form.expected(self, mean, var, y) return own(self, mean, y) - drawn(self, mean, var, self.draws):logsumexp(-1):mean(1) end

--- The standard error of the draws, by their pairs.
function form.expected_error(self, mean, var)
  local each <const> = drawn(self, mean, var, self.draws):logsumexp(-1)
  local pairs_of <const> = self.draws // 2
  local means <const> = (each:slice(1, 1, pairs_of) + each:slice(1, pairs_of + 1, 2 * pairs_of)) / 2
  return pairs_of > 1 and means:std(1) / math.sqrt(pairs_of) or each:select(1, 1) * 0 + math.huge
end

function form.probabilities(_, f) return f:softmax(-1) end

--- Classes without order have no mean.
function form.predictive(self, mean, var)
  return {probabilities = drawn(self, mean, var, PREDICTED * self.draws):softmax(-1):mean(1)}
end

function form.log_predictive(self, mean, var, y)
  local draws <const> = PREDICTED * self.draws
  return form.log_density(self, drawn(self, mean, var, draws), y):logsumexp(1) - math.log(draws)
end

--- The largest of f and Gumbel noise.
function form.draw(_, f, seed)
  local u <const> = core.rand(f.shape, {dtype = f.dtype, device = f.device, seed = seed}):clamp(1e-300, 1 - 2.0 ^ -24)
  return (f - (-u:log()):log()):argmax(-1):to{dtype = f.dtype}
end

return class.define(form)
