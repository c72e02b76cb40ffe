/* internal.h - what the files of the emulation share. One lock guards everything: calls of the API take it, and work of
** the devices runs under it, in the thread that waits for that work. */
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "device.h"

namespace emu {

/* -- settings (settings.cpp) */

enum class sequence { forward, backward, seeded };
enum class schedule { eager, lazy, seeded };

struct settings {
  sequence order = sequence::forward; /* of the threads of a block and of the blocks of a grid */
  schedule streams = schedule::eager; /* when queued work runs */
  uint64_t order_seed = 0, stream_seed = 0;
  size_t devices = 1;
  std::vector<size_t> bytes = {size_t(4) << 30}; /* of each device; the last holds for those that follow */
  bool protect = true;                           /* host code cannot touch memory of devices */
  bool trap = false; /* an illegal address is error 700, not the end of the process */
  bool strict = true, poison = true;
  size_t stack = 64 << 10; /* bytes of a CUDA thread's stack */
};
extern settings set;
std::recursive_mutex &lock (void);
void read_settings (void); /* of the environment, once */

/* -- calls of the API (faults.cpp) */

enum class needs { device, nothing };

/* The frame of an entry point: takes the lock and counts the call. 'error' is what the call gives instead of its work:
** a failure that was asked for, or the end of the current device. */
struct call {
  std::lock_guard<std::recursive_mutex> guard;
  inside here;
  cudaError_t error;
  explicit call(const char *api, needs = needs::device);
};
#define EMU_CALL(...)                                                                                        \
  emu::call here(__VA_ARGS__);                                                                               \
  if (here.error != cudaSuccess) return emu::remember(here.error)

cudaError_t remember(cudaError_t); /* for cudaGetLastError of this thread */
cudaError_t forget (void);
cudaError_t remembered (void);
CUresult driver_result(cudaError_t);
bool ends_device (int code);                 /* a sticky error */
cudaError_t asked_failure (const char *api); /* counts the call too */

/* -- devices (runtime.cpp) */

struct stream;
struct device {
  size_t limit = 0, used = 0, most = 0;
  cudaError_t lost = cudaSuccess; /* the sticky error that ended it */
  std::set<int> peers;            /* whose memory its kernels may touch */
  std::unique_ptr<stream> legacy; /* the default stream */
};
std::vector<device> &devices (void);
int current_device (void);
device &current (void);

/* -- memory (memory.cpp, virtual.cpp) */

enum class kind { device, managed, pinned, mapped };
struct region {
  size_t bytes; /* asked for */
  char *base;   /* of the mapping, with what surrounds the region */
  size_t mapped;
  kind of;
  int device;
  bool registered;      /* pinned memory of the caller's */
  std::set<int> access; /* of a mapped one: the devices that may touch it */
};
std::map<char *, region> &regions (void);
/* The region that holds [at, at + bytes), or the first of several that follow each other there; NULL: none. */
const region *region_of (const void *at, size_t bytes);
inline bool on_device (const region *r) { return r != nullptr && r->of != kind::pinned; }
cudaError_t charge (int device, size_t bytes); /* against its limit */
void uncharge (int device, size_t bytes);
void fill_fresh (char *at, size_t bytes); /* NaN in every type */
void check_canaries (const char *after);
std::string describe_address (const void *);

/* -- doors (doors.cpp) */

/* While it lives, work of a device runs: what the device may touch opens when it is touched ('every': copies reach all
** devices). */
struct device_side {
  explicit device_side(int device, bool every = false);
  ~device_side();
  int before;
  bool before_every;
};
bool open_door (const void *address); /* after an access that failed; false: it stays closed */
bool is_open (const void *);
void forget_doors (const char *from, size_t bytes); /* before it is unmapped */
void set_door (const region &);                     /* of a region that is new, or has other rights */
void set_doors (void);                              /* of all, after a setting changed */

/* -- streams (stream.cpp) */

enum class task { kernel, copy, host, mark };
struct capture; /* graph.cpp */
struct work {
  std::function<void()> body;
  std::string what;
  task of;
  int device;
  double seconds = 0, end = 0;              /* of the model clock: how long, and when it ends */
  std::vector<std::shared_ptr<work>> after; /* emptied when it has run */
  bool done = false;
  capture *captured = nullptr; /* the recording that it is a node of: it never runs itself */
};
struct stream {
  int device;
  unsigned flags;
  std::shared_ptr<work> last;
  capture *into = nullptr; /* the recording that takes its work */
};
stream *stream_of(cudaStream_t);                       /* ends the process where it does not live */
cudaError_t check_stream (cudaStream_t, stream **out); /* and belongs to the current device */
std::shared_ptr<work> enqueue (stream *, task, const char *what, double seconds, std::function<void()> body,
                               const std::shared_ptr<work> &also = nullptr);
cudaError_t wait_for (const std::shared_ptr<work> &);
void run_all (int device); /* -1: of all devices */
void lose (int device, cudaError_t);
bool in_host_function (void);
extern const work *running_work;

/* -- kernels (exec.cpp) */

struct piece {
  char *at;
  size_t bytes;
};
/* Shared memory of a kernel that is in no object of the process. */
void own_shared (const void *kernel, const std::vector<piece> &);
void run_grid (const launch_call &, const std::function<void()> &thread);
cudaError_t launch_by_address (const launch_call &, void **arguments);
cudaError_t allow_shared (const void *kernel, int bytes); /* dynamic shared memory beyond 48 KiB */

extern size_t grids_begun; /* so far */
void abandon_grid (void);  /* after an illegal address ended a kernel */

/* Runs a body; an illegal address in it stops the process, or is 700 where faults are trapped. */
cudaError_t run_guarded (const std::function<void()> &body);

}   // namespace emu
