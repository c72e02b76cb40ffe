--- Gaussian-process models.
return require "gibbous.base.names"({auto = require "gibbous.gp.auto", exact = require "gibbous.gp.exact",
  batch = require "gibbous.gp.batch",
  classifier = require "gibbous.gp.classifier",
  laplace = require "gibbous.gp.laplace",
  multitask = require "gibbous.gp.tasks",
  sgpr = require "gibbous.gp.sgpr", svgp = require "gibbous.gp.svgp",
  inducing_points = require "gibbous.gp.inducing",
  load = require "gibbous.gp.store".load}, "gb.gp", {}, {
  classification = "gb.gp.classifier",
  regression = "gb.gp.exact",
  regressor = "gb.gp.exact",
  gpr = "gb.gp.exact",
})
