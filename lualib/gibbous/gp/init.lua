--- Gaussian-process models.
return require "gibbous.names"({exact = require "gibbous.gp.exact", classifier = require "gibbous.gp.classifier",
  laplace = require "gibbous.gp.laplace",
  multitask = require "gibbous.gp.tasks",
  inducing_points = require "gibbous.gp.inducing",
  load = require "gibbous.gp.store".load}, "gb.gp", {"sgpr", "svgp"}, {
  classification = "gb.gp.classifier",
  regression = "gb.gp.exact",
  regressor = "gb.gp.exact",
  gpr = "gb.gp.exact",
})
