--- Gaussian-process models.
return {exact = require "gibbous.gp.exact"}
