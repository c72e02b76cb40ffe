/* nvrtc.cpp - programs compiled while the process runs. The real NVRTC, where it is, judges the text as it would on a GPU:
** its errors, its log, and a kernel that spills registers is refused. Then g++ compiles the text over device.h, and the
** shared object stands for the cubin, wholly: it may be kept in a file and loaded by another process. */
#include <dlfcn.h>
#include <fcntl.h>
#include <nvrtc.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <regex>
#include <sstream>

#include "module.h"

struct _nvrtcProgram {
  std::string text, name, log, image;
  std::vector<std::pair<std::string, std::string>> headers; /* name, text */
};

namespace emu {

typedef std::vector<std::string> words;

/* A failure that was asked for. The lock is not held while a compiler works. */
static nvrtcResult asked (const char *api) {
  call here(api, needs::nothing);
  if (here.error == cudaSuccess) return NVRTC_SUCCESS;
  return here.error == cudaErrorMemoryAllocation ? NVRTC_ERROR_OUT_OF_MEMORY : NVRTC_ERROR_INTERNAL_ERROR;
}

/* -- the real library */

struct real_library {
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetPTXSize) ptx_size;
  decltype(&nvrtcGetPTX) ptx;
  decltype(&nvrtcDestroyProgram) destroy;
};
template <class F> static bool find (void *handle, const char *name, F *out) {
  *out = (F)dlsym(handle, name);
  return *out != nullptr;
}
static const real_library *real (void) {
  static real_library r;
  static const bool there = [] {
    const char *named = getenv("EMU_NVRTC");
    void *handle = nullptr;
    const std::string file = "libnvrtc.so." + std::to_string(CUDART_VERSION / 1000);
    for (const std::string &path :
         named != nullptr ? words{named}
                          : words{file, EMU_TOOLKIT "/../lib64/" + file, EMU_TOOLKIT "/../lib/" + file})
      if (handle == nullptr) handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return handle != nullptr && find(handle, "nvrtcCreateProgram", &r.create) &&
           find(handle, "nvrtcCompileProgram", &r.compile) &&
           find(handle, "nvrtcGetProgramLogSize", &r.log_size) &&
           find(handle, "nvrtcGetProgramLog", &r.log) && find(handle, "nvrtcGetPTXSize", &r.ptx_size) &&
           find(handle, "nvrtcGetPTX", &r.ptx) && find(handle, "nvrtcDestroyProgram", &r.destroy);
  }();
  return there ? &r : nullptr;
}

static bool spills (const std::string &log) {
  static const std::regex bytes("([0-9]+) bytes spill (stores|loads)");
  for (std::sregex_iterator i(log.begin(), log.end(), bytes), end; i != end; ++i)
    if ((*i)[1] != "0") return true;
  return false;
}

/* The real library compiles the text; 'image' is its PTX, where that is wanted. */
static nvrtcResult compile_really (const real_library *r, nvrtcProgram p, const words &options,
                                   std::string *image) {
  std::vector<const char *> names, texts, given;
  for (auto &h : p->headers) {
    names.push_back(h.first.c_str());
    texts.push_back(h.second.c_str());
  }
  for (auto &o : options) given.push_back(o.c_str());
  nvrtcProgram theirs;
  nvrtcResult result =
      r->create(&theirs, p->text.c_str(), p->name.c_str(), (int)names.size(), texts.data(), names.data());
  if (result != NVRTC_SUCCESS) return result;
  result = r->compile(theirs, (int)given.size(), given.data());
  size_t bytes = 0;
  r->log_size(theirs, &bytes);
  std::string log(bytes, '\0');
  if (bytes > 0) r->log(theirs, &log[0]);
  p->log = log.c_str();
  if (result == NVRTC_SUCCESS && image != nullptr && r->ptx_size(theirs, &bytes) == NVRTC_SUCCESS) {
    image->resize(bytes);
    result = r->ptx(theirs, &(*image)[0]);
  }
  r->destroy(&theirs);
  return result;
}

static nvrtcResult judge (nvrtcProgram p, words options) {
  const real_library *r = real();
  if (r == nullptr) return NVRTC_SUCCESS;
  options.push_back("--ptxas-options=-v"); /* the log tells of spills */
  const nvrtcResult result = compile_really(r, p, options, nullptr);
  if (result != NVRTC_SUCCESS || !spills(p->log)) return result;
  p->log += "\nregisters are spilled\n";
  return NVRTC_ERROR_COMPILATION;
}

/* PTX for an architecture in place of the one that is asked for: tests/ptx runs it. */
static nvrtcResult compile_to_ptx (nvrtcProgram p, words options, const std::string &architecture) {
  const real_library *r = real();
  if (r == nullptr) stop("EMU_PTX is set, and the real NVRTC is not here");
  for (std::string &o : options)
    if (o.compare(0, 6, "-arch=") == 0 || o.compare(0, 19, "--gpu-architecture=") == 0)
      o = "--gpu-architecture=compute_" + architecture;
  const nvrtcResult result = compile_really(r, p, options, &p->image);
  static std::atomic<int> number;
  if (const char *folder = getenv("EMU_PTX_KEEP"))
    std::ofstream(std::string(folder) + "/" + std::to_string(getpid()) + "." + std::to_string(number++) +
                  ".ptx")
        << p->image.c_str();
  return result;
}

/* -- g++ */

struct folder { /* of one compilation */
  std::string path;
  folder() {
    const char *where = getenv("TMPDIR");
    path = std::string(where != nullptr ? where : "/tmp") + "/emulated-XXXXXX";
    if (mkdtemp(&path[0]) == nullptr) stop("no folder for a compilation: %s", path.c_str());
  }
  ~folder() {
    if (std::system(("rm -rf '" + path + "'").c_str()) != 0) stop("cannot remove %s", path.c_str());
  }
  std::string file (const std::string &name) const { return path + "/" + name; }
};

static void write_file (const std::string &path, const std::string &text) {
  for (size_t i = path.find('/', 1); i != std::string::npos; i = path.find('/', i + 1))
    mkdir(path.substr(0, i).c_str(), 0700);
  std::ofstream(path, std::ios::binary) << text;
}
static std::string read_file (const std::string &path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

/* Each kernel can be launched by its address. */
static std::string exports (const std::string &text) {
  static const std::regex kernel(
      "__global__\\s+void\\s+(?:__launch_bounds__\\s*\\([^)]*\\)\\s*)?(\\w+)\\s*\\(");
  std::string out;
  std::set<std::string> seen;
  for (std::sregex_iterator i(text.begin(), text.end(), kernel), end; i != end; ++i)
    if (seen.insert((*i)[1]).second) out += "EMU_EXPORT(" + (*i)[1].str() + ");\n";
  return out;
}

static int run (const words &command, const std::string &said) {
  std::vector<char *> arguments;
  for (auto &w : command) arguments.push_back((char *)w.c_str());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 2, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child;
  int status = -1;
  if (posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ) == 0)
    waitpid(child, &status, 0);
  posix_spawn_file_actions_destroy(&files);
  return status;
}

/* The object that holds the emulation, for the compiled one to find it; empty where that is the program itself. */
static std::string own_object (void) {
  Dl_info here;
  if (dladdr((void *)(uintptr_t)&stop, &here) == 0) return "";
  std::string path = here.dli_fname;
  char *whole = realpath(path.c_str(), nullptr);
  if (whole != nullptr) path = whole;
  free(whole);
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
  return n > 0 && path == std::string(self, (size_t)n) ? "" : path;
}

static bool passes_on (const std::string &o) {
  return o.compare(0, 2, "-I") == 0 || o.compare(0, 2, "-D") == 0 || o.compare(0, 2, "-U") == 0;
}

static nvrtcResult translate (nvrtcProgram p, const words &options) {
  const folder f;
  for (auto &h : p->headers) write_file(f.file(h.first), h.second);
  write_file(f.file("kernel.cpp"), "#include \"cuda_emulation/device.h\"\n#line 1 \"" + p->name + "\"\n" +
                                       p->text + "\n" + exports(p->text));
  const char *compiler = getenv("EMU_CXX");
  words command = {compiler != nullptr ? compiler : EMU_COMPILER,
                   "-std=gnu++17",
                   "-O1",
                   "-w",
                   "-fPIC",
                   "-shared",
                   "-ffp-contract=off",
                   "-mfma",
                   "-mavx2",
                   "-I" + f.path,
                   "-I" EMU_INCLUDE,
                   "-isystem",
                   EMU_TOOLKIT};
  for (auto &o : options)
    if (passes_on(o)) command.push_back(o);
  for (const std::string &w : {f.file("kernel.cpp"), std::string("-o"), f.file("kernel.so")})
    command.push_back(w);
  const std::string own = own_object();
  if (!own.empty()) command.push_back(own);
  if (run(command, f.file("said")) != 0) {
    p->log += read_file(f.file("said"));
    return NVRTC_ERROR_COMPILATION;
  }
  p->image = make_image(read_file(f.file("kernel.so")));
  return NVRTC_SUCCESS;
}

static nvrtcResult compile (nvrtcProgram p, const words &options) {
  static std::mutex guard;
  static std::map<std::string, std::string> known; /* text with headers and options, to image */
  std::string key = p->text;
  for (auto &h : p->headers) key += '\0' + h.first + '\0' + h.second;
  for (auto &o : options) key += '\0' + o;
  {
    std::lock_guard<std::mutex> hold(guard);
    if (known.count(key) != 0) {
      p->image = known[key];
      return NVRTC_SUCCESS;
    }
  }
  const char *architecture = getenv("EMU_PTX");
  nvrtcResult r = architecture != nullptr ? compile_to_ptx(p, options, architecture) : judge(p, options);
  if (r == NVRTC_SUCCESS && architecture == nullptr) r = translate(p, options);
  std::lock_guard<std::mutex> hold(guard);
  if (r == NVRTC_SUCCESS) known[key] = p->image;
  return r;
}

}   // namespace emu

using namespace emu;
extern "C" {

nvrtcResult nvrtcVersion (int *major, int *minor) {
  *major = CUDART_VERSION / 1000;
  *minor = CUDART_VERSION % 1000 / 10;
  return NVRTC_SUCCESS;
}
const char *nvrtcGetErrorString (nvrtcResult r) {
  switch (r) {
    case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INTERNAL_ERROR: return "NVRTC_ERROR_INTERNAL_ERROR";
    default: return "NVRTC_ERROR unknown";
  }
}
nvrtcResult nvrtcCreateProgram (nvrtcProgram *out, const char *text, const char *name, int count,
                                const char *const *texts, const char *const *names) {
  const nvrtcResult r = asked("nvrtcCreateProgram");
  if (r != NVRTC_SUCCESS) return r;
  *out = new _nvrtcProgram{text, name != nullptr ? name : "default_program", "", "", {}};
  for (int i = 0; i < count; i++) (*out)->headers.push_back({names[i], texts[i]});
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram (nvrtcProgram *p) {
  if (p == nullptr || *p == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  delete *p;
  *p = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram (nvrtcProgram p, int count, const char *const *options) {
  const nvrtcResult r = asked("nvrtcCompileProgram");
  return r != NVRTC_SUCCESS ? r : compile(p, words(options, options + count));
}
nvrtcResult nvrtcGetProgramLogSize (nvrtcProgram p, size_t *out) {
  const nvrtcResult r = asked("nvrtcGetProgramLogSize");
  if (r != NVRTC_SUCCESS) return r;
  *out = p->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog (nvrtcProgram p, char *out) {
  const nvrtcResult r = asked("nvrtcGetProgramLog");
  if (r != NVRTC_SUCCESS) return r;
  memcpy(out, p->log.c_str(), p->log.size() + 1);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize (nvrtcProgram p, size_t *out) {
  const nvrtcResult r = asked("nvrtcGetCUBINSize");
  if (r != NVRTC_SUCCESS) return r;
  *out = p->image.size();
  return p->image.empty() ? NVRTC_ERROR_INVALID_PROGRAM : NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN (nvrtcProgram p, char *out) {
  const nvrtcResult r = asked("nvrtcGetCUBIN");
  if (r != NVRTC_SUCCESS) return r;
  memcpy(out, p->image.data(), p->image.size());
  return NVRTC_SUCCESS;
}
/* PTX is the same image here. */
nvrtcResult nvrtcGetPTXSize (nvrtcProgram p, size_t *out) { return nvrtcGetCUBINSize(p, out); }
nvrtcResult nvrtcGetPTX (nvrtcProgram p, char *out) { return nvrtcGetCUBIN(p, out); }
}
