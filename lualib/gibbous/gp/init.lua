--- Gaussian-process models.
return require "gibbous.names"({exact = require "gibbous.gp.exact", multitask = require "gibbous.gp.multitask"}, "gb.gp",
  {"sgpr", "svgp"})
