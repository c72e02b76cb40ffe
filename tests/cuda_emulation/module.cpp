/* module.cpp - the driver's modules and functions: images that nvrtc.cpp made, loaded from memory. A module that was
** unloaded stays in the process, so that a launch of its functions is stopped and not a crash. */
#include "module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "ptx/ptx.h"

struct CUmod_st {
  void *handle; /* NULL: it is PTX */
  bool unloaded;
  std::unique_ptr<ptx::module> text;
};
struct CUfunc_st {
  CUmodule module;
  const void *address;
};

namespace emu {

static const char mark[] = "emulated";
static auto &modules = *new std::set<CUmodule>; /* until the process ends */
static auto &functions = *new std::set<CUfunction>;

std::string make_image (const std::string &object) {
  const uint64_t bytes = object.size();
  return std::string(mark, 8) + std::string((const char *)&bytes, 8) + object;
}

/* -- PTX of the real NVRTC (tests/ptx) */

static bool is_ptx (const char *image) {
  return strncmp(image, "//", 2) == 0 || strncmp(image, ".version", 8) == 0;
}

static size_t launches;
static auto &launched = *new std::set<const ptx::function *>;
void print_ptx (void) {
  fprintf(stderr, "PTX: %zu kernels ran in %zu launches\n", launched.size(), launches);
}

/* A kernel of PTX is launched by the address of its function. */
static void export_text (const ptx::module &m, const ptx::function &f) {
  export_kernel(&f, f.name.c_str(), [&m, &f] (const launch_call &how, void **arguments) {
    launched.insert(&f), launches++;
    std::string bytes(f.argument, '\0');
    for (size_t k = 0; k < f.in.size(); k++) memcpy(&bytes[f.in[k].at], arguments[k], f.in[k].bytes);
    return launch(how, [&m, &f, bytes] { ptx::run_thread(m, f, bytes); }, {});
  });
  own_shared(&f, {{ptx::shared, f.shared}, {(char *)ptx::unwritten, f.shared}});
}

static void load_text (CUmodule *out, const char *text) {
  *out = new CUmod_st{nullptr, false, ptx::read(text)};
  modules.insert(*out);
  for (auto &f : (*out)->text->functions)
    if (f.second->kernel) export_text(*(*out)->text, *f.second);
}

static CUresult load (CUmodule *out, const void *image) {
  uint64_t bytes;
  if (is_ptx((const char *)image)) {
    load_text(out, (const char *)image);
    return CUDA_SUCCESS;
  }
  if (memcmp(image, mark, 8) != 0) return CUDA_ERROR_INVALID_IMAGE;
  memcpy(&bytes, (const char *)image + 8, 8);
  const int fd = memfd_create("module", MFD_CLOEXEC);
  if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const bool written = write(fd, (const char *)image + 16, bytes) == (ssize_t)bytes;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
  void *handle = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (handle == nullptr) {
    close(fd);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *out = new CUmod_st{handle, false, nullptr}; /* the file stays open: exec.cpp reads its sections */
  modules.insert(*out);
  return CUDA_SUCCESS;
}

static const void *function_of (const ptx::module &m, const char *name) {
  auto it = m.functions.find(name);
  return it != m.functions.end() && it->second->kernel ? it->second.get() : nullptr;
}

static CUresult get_function (CUfunction *out, CUmodule m, const char *name) {
  if (modules.count(m) == 0 || m->unloaded) return CUDA_ERROR_INVALID_HANDLE;
  const void *address = m->text != nullptr ? function_of(*m->text, name) : dlsym(m->handle, name);
  if (address == nullptr) return CUDA_ERROR_NOT_FOUND;
  *out = new CUfunc_st{m, address};
  functions.insert(*out);
  return CUDA_SUCCESS;
}

static const void *address_of (CUfunction f) {
  if (functions.count(f) == 0) stop("%p is no function of a module", (void *)f);
  if (f->module->unloaded) stop("a function of a module that was unloaded");
  return f->address;
}

}   // namespace emu

using namespace emu;
extern "C" {

CUresult cuModuleLoadData (CUmodule *out, const void *image) {
  EMU_DRIVER_CALL("cuModuleLoadData");
  return load(out, image);
}
CUresult cuModuleLoadDataEx (CUmodule *out, const void *image, unsigned, CUjit_option *, void **) {
  EMU_DRIVER_CALL("cuModuleLoadData");
  return load(out, image);
}
CUresult cuModuleUnload (CUmodule m) {
  EMU_DRIVER_CALL("cuModuleUnload");
  if (modules.count(m) == 0 || m->unloaded) return CUDA_ERROR_INVALID_HANDLE;
  run_all(current_device());
  m->unloaded = true;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction (CUfunction *out, CUmodule m, const char *name) {
  EMU_DRIVER_CALL("cuModuleGetFunction");
  return get_function(out, m, name);
}
CUresult cuFuncSetAttribute (CUfunction f, CUfunction_attribute what, int value) {
  EMU_DRIVER_CALL("cuFuncSetAttribute");
  if (what != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  return driver_result(allow_shared(address_of(f), value));
}
CUresult cuLaunchKernel (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra) {
  std::lock_guard<std::recursive_mutex> guard(lock()); /* launch() counts the call */
  const inside here;
  if (extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const launch_call how = {address_of(f),    "?",    dim3(gx, gy, gz),
                           dim3(bx, by, bz), shared, (cudaStream_t)stream};
  return driver_result(launch_by_address(how, arguments));
}
}
