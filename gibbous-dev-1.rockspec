rockspec_format = "3.0"
package = "gibbous"
version = "dev-1"
source = {url = "git+file://."}           -- for luarocks make, in a checkout
description = {
  summary = "Lua workbench for Gaussian processes",
  detailed = "Lazy tensors, a planner that keeps every computation within the memory there is, kernels, solvers and models of "
    .. "Gaussian processes, in C behind one module.",
  license = "MIT",
  labels = {"machine-learning", "statistics", "gaussian-processes"},
}
supported_platforms = {"linux"}
dependencies = {"lua >= 5.4, < 5.5"}
-- The module alone; CMake finds the libraries that ./bootstrap installs. `cmake --install` has the program and the rest.
build = {
  type = "cmake",
  variables = {CMAKE_BUILD_TYPE = "Release", BUILD_TESTING = "OFF", GB_MPI = "OFF", GB_CUDA = "OFF"},
  install_pass = false,
  install = {lib = {gibbous = "build.luarocks/gibbous.so"}},
}
-- The specs run in the program, which starts others of its kind.
test = {type = "busted", flags = {"--lua=build/gibbous", "spec"}}
