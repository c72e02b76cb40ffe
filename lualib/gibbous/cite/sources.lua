--- The publications behind each part of the library: keys of gibbous.cite.publications. Nothing is to be cited for a part with an
--- empty list.
local book <const> = {"rasmussen2006"}
local matern <const> = {"matern1960"}

return {
  kernel = {arc_cosine = {"cho2009"}, change_point = {"lloyd2014"}, constant = {}, cosine = {}, custom = {},
    index = {"bonilla2007"},
    linear = book, matern12 = matern, matern32 = matern, matern52 = matern, periodic = {"mackay1998"},
    piecewise_polynomial = {"wendland1995"}, polynomial = book, product = {}, rational_quadratic = book, rbf = book,
    spectral_mixture = {"wilson2013"}, sum = {}, white = {}},
  solver = {alternating_projections = {"wu2024"}, cg = {"hestenes1952", "oleary1980", "grigori2016", "gardner2018", "ubaru2017"},
    cholesky = book, direct = book, fitc = {"snelson2006"}, kronecker = {"stegle2011"}, lanczos = {"lanczos1950", "ubaru2017"},
    minres = {"paige1975"}, sdd = {"lin2024"}, svgp = {"salimbeni2018"}, vfe = {"titsias2009"}},
  precond = {jacobi = {}, nystrom = {"frangella2023"}, pivoted_cholesky = {"harbrecht2012"}},
  likelihood = {bernoulli = book, beta = {}, exponential = {}, fixed = {}, gamma = {}, gaussian = {}, gradients = {},
    heteroscedastic = {"goldberg1998"}, laplace = {}, negative_binomial = {}, ordinal = {"chu2005"}, poisson = {}, softmax = book,
    student_t = {}, tasks = {}},
  model = {["gp.batch"] = book, ["gp.classifier"] = book, ["gp.exact"] = book, ["gp.gradients"] = {"rasmussen2006", "solak2003"},
    ["gp.laplace"] = book,
    ["gp.sgpr"] = {"titsias2009", "titsias2014"}, ["gp.svgp"] = {"hensman2013", "hensman2015"},
    ["gp.multitask"] = {"rasmussen2006", "bonilla2007"}},
  optimiser = {adam = {"kingma2015"}, lbfgs = {"liu1989"}, none = {}, sgd = {}},
  kmeans = {["k-means++"] = {"arthur2007"}, ["k-means||"] = {"bahmani2012"}, random = {}, lloyd = {"lloyd1982"},
    elkan = {"elkan2003"}, minibatch = {"sculley2010"}, auto = {"lloyd1982"}},
}
