--- The areas of the documentation, in the order of the printed reference: module below gibbous.meta, title.
return {
  {"session", "Session and settings"}, {"make", "Making tensors"}, {"tensor", "Tensors"}, {"shapes", "Shapes and positions"},
  {"elementwise", "Elementwise functions"}, {"reductions", "Reductions and sorting"}, {"labels", "Sums by label"},
  {"linalg", "Linear algebra"}, {"functions", "Functions of functions"}, {"param", "Parameters"}, {"kernels", "Kernels"},
  {"means", "Means"}, {"likelihoods", "Likelihoods"}, {"priors", "Priors"}, {"gp", "Gaussian processes"},
  {"sparse", "Sparse models"}, {"batch", "Batches of models"},
  {"predictions", "Predictions and reports"}, {"solvers", "Solvers and preconditioners"}, {"optim", "Optimisation"},
  {"nn", "Neural networks"}, {"cluster", "Clustering"}, {"data", "Data and files"}, {"plot", "Figures"},
  {"sweep", "Scripts and sweeps"}, {"report", "Reports"}, {"plan", "Plans"}, {"memory", "Memory"}, {"timing", "Time and profiles"},
  {"mpi", "Several processes"}, {"shell", "The prompt and the command line"}, {"core", "Inside the library"},
}
