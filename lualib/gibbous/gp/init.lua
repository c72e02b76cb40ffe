--- Gaussian-process models.
return require "gibbous.names"({exact = require "gibbous.gp.exact"}, "gb.gp", {"sgpr", "svgp"})
