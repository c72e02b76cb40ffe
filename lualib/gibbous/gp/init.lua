--- Gaussian-process models.
return require "gibbous.names"({exact = require "gibbous.gp.exact", multitask = require "gibbous.gp.multitask",
  load = require "gibbous.gp.store".load}, "gb.gp", {"sgpr", "svgp"})
