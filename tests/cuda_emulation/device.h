/* device.h - CUDA C++ for a processor: what a .cu file sees where g++ compiles it instead of nvcc. Types and
** prototypes are the toolkit's own; a kernel is a function, a CUDA thread a fiber of the host (exec.cpp), and a
** launch a piece of work in a stream (stream.cpp). Included by cuda/launch.h; see README.md for what it cannot show. */
#pragma once
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <vector_functions.h>

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/* -- qualifiers. A shared variable is static, because one block runs at a time; it lies in a section of its own
** name, which exec.cpp finds and fills before each block. */
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __grid_constant__
#undef __launch_bounds__
#define __global__ __attribute__((used))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define EMU_TEXT_(x) #x
#define EMU_TEXT(x) EMU_TEXT_(x)
#define EMU_SHARED_(n) static __attribute__((section("emu_shared_" EMU_TEXT(n))))
#define __shared__ EMU_SHARED_(__COUNTER__)

namespace emu {

/* What a CUDA thread waits for: nothing, the block (with a predicate), or lanes of its warp. */
enum class wait : uint8_t {
  none,
  block,
  block_or,
  block_and,
  block_count,
  warp,
  shuffle,
  ballot,
  match,
  add,
  least,
  most,
  bit_and,
  bit_or,
  bit_xor
};

struct copy_ahead { /* an asynchronous copy to shared memory: done when it is waited for */
  void *to;
  const void *from;
  size_t bytes, zeros;
};

struct cuda_thread {
  uint3 index;
  unsigned linear, lane;
  wait waits;
  bool done;
  int predicate; /* of a block barrier: in, then out */
  unsigned mask; /* of a warp operation, with its source lane and operand */
  int source;
  unsigned size;
  alignas(16) unsigned char in[16], out[16];
  const char *file; /* of the place where it waits */
  int line;
  void *stack_at; /* saved stack pointer */
  int stack;      /* which stack, -1: none yet */
};

/* What runs now: one block at a time in the whole process. */
struct running {
  uint3 block, block_size, grid_size;
  cuda_thread *thread; /* NULL outside of kernels */
  unsigned char *room; /* dynamic shared memory */
  const char *kernel;
};
extern running now;

void park (wait, unsigned mask, const char *file, int line);
void copy_later (const copy_ahead &);
void commit_copies (void);
void wait_copies (size_t but);
[[noreturn]] void stop (const char *format, ...) __attribute__((format(printf, 1, 2)));

/* -- launches */

struct launch_call {
  const void *function;
  const char *name;
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
/* Checks and queues 'thread', the kernel with its arguments; 'pointers' are those arguments that are addresses. */
cudaError_t launch (const launch_call &, std::function<void()> thread,
                    const std::vector<const void *> &pointers);

template <class T> void add_pointer (std::vector<const void *> &all, const T &value) {
  if constexpr (std::is_pointer<T>::value && !std::is_function<std::remove_pointer_t<T>>::value)
    all.push_back(value);
}

/* While the emulation works for a call of the program: what it allocates there is not the program's. */
struct inside {
  inside();
  ~inside();
};

template <class... P> struct launcher {
  void (*kernel)(P...);
  launch_call how;

  template <class... A> cudaError_t operator()(A &&...arguments) const {
    const inside here;
    typedef std::tuple<std::decay_t<P>...> values; /* by value, as a launch passes them */
    static_assert(sizeof(values) <= 4096, "the arguments of a kernel have 4096 bytes");
    values given(static_cast<std::decay_t<P>>(std::forward<A>(arguments))...);
    std::vector<const void *> pointers;
    std::apply([&] (const auto &...v) { (add_pointer(pointers, v), ...); }, given);
    auto run = kernel;
    return launch(
        how, [run, given] { std::apply(run, given); }, /* copies of each thread's own */
        pointers);
  }
};
template <class... P> launcher<P...> prepare (void (*kernel)(P...), launch_call how) {
  how.function = (const void *)kernel;
  return {kernel, how};
}

/* -- kernels that are reached by their address (cudaLaunchKernel, cuLaunchKernel): arguments as addresses */

typedef std::function<cudaError_t(const launch_call &, void **arguments)> by_address;
void export_kernel (const void *function, const char *name, by_address);

template <class... P, size_t... I> by_address unpacker (void (*kernel)(P...), std::index_sequence<I...>) {
  return [kernel] (const launch_call &how, [[maybe_unused]] void **at) {
    return launcher<P...>{kernel, how}(*(std::decay_t<P> *)at[I]...);
  };
}
template <class... P> struct exported {
  exported(void (*kernel)(P...), const char *name) {
    export_kernel((const void *)kernel, name, unpacker(kernel, std::index_sequence_for<P...>()));
  }
};

/* -- warp operations */

template <class T> T in_warp (wait op, unsigned mask, T value, int source, const char *file, int line) {
  static_assert(sizeof(T) <= 16 && std::is_trivially_copyable<T>::value, "an operand of a warp");
  cuda_thread *t = now.thread;
  memset(t->in, 0, sizeof t->in);
  memcpy(t->in, &value, sizeof(T));
  t->source = source;
  t->size = sizeof(T);
  park(op, mask, file, line);
  T result;
  memcpy(&result, now.thread->out, sizeof(T));
  return result;
}
inline int segment (int width) { return (int)(now.thread->lane & ~(unsigned)(width - 1)); }

}   // namespace emu

#ifndef GB_LAUNCH
#define GB_LAUNCH(k, grid, block, shared, stream, ...) EMU_LAUNCH(k, grid, block, shared, stream, __VA_ARGS__)
#endif
#ifndef GB_SHARED_ROOM
#define GB_SHARED_ROOM(T, name) EMU_SHARED_ROOM(T, name)
#endif
#define EMU_LAUNCH(k, grid, block, shared, stream, ...)                                                      \
  ((void)emu::prepare(k, emu::launch_call{nullptr, #k, dim3(grid), dim3(block), (size_t)(shared), stream})(  \
      __VA_ARGS__))
#define EMU_SHARED_ROOM(T, name) T *name = reinterpret_cast<T *>(emu::now.room)
#define EMU_JOIN_(a, b) a##b
#define EMU_JOIN(a, b) EMU_JOIN_(a, b)
#define EMU_EXPORT(k) static emu::exported EMU_JOIN(emu_exported_, __COUNTER__)(k, #k)

#define threadIdx (emu::now.thread->index)
#define blockIdx (emu::now.block)
#define blockDim (emu::now.block_size)
#define gridDim (emu::now.grid_size)
static const int warpSize = 32;

/* -- barriers, fences, votes, shuffles. The last two parameters are the caller's place. */
#define EMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads (EMU_HERE) { emu::park(emu::wait::block, 0, file, line); }
namespace emu {
inline int block_vote (wait op, int predicate, const char *file, int line) {
  now.thread->predicate = predicate;
  park(op, 0, file, line);
  return now.thread->predicate;
}
}   // namespace emu
inline int __syncthreads_or (int p, EMU_HERE) { return emu::block_vote(emu::wait::block_or, p, file, line); }
inline int __syncthreads_and (int p, EMU_HERE) {
  return emu::block_vote(emu::wait::block_and, p, file, line);
}
inline int __syncthreads_count (int p, EMU_HERE) {
  return emu::block_vote(emu::wait::block_count, p, file, line);
}
inline void __syncwarp (unsigned mask = ~0u, EMU_HERE) { emu::park(emu::wait::warp, mask, file, line); }
inline void __threadfence (void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block (void) { __threadfence(); }
inline void __threadfence_system (void) { __threadfence(); }
inline unsigned __activemask (void) { emu::stop("__activemask() is not portable: pass an explicit mask"); }
inline void __nanosleep (unsigned) {}

template <class T> T __shfl_sync (unsigned mask, T v, int from, int width = 32, EMU_HERE) {
  return emu::in_warp(emu::wait::shuffle, mask, v, emu::segment(width) + (from & (width - 1)), file, line);
}
template <class T> T __shfl_up_sync (unsigned mask, T v, unsigned by, int width = 32, EMU_HERE) {
  const int lane = (int)emu::now.thread->lane, from = lane - (int)by;
  return emu::in_warp(emu::wait::shuffle, mask, v, from < emu::segment(width) ? lane : from, file, line);
}
template <class T> T __shfl_down_sync (unsigned mask, T v, unsigned by, int width = 32, EMU_HERE) {
  const int lane = (int)emu::now.thread->lane, from = lane + (int)by;
  return emu::in_warp(emu::wait::shuffle, mask, v, from >= emu::segment(width) + width ? lane : from, file,
                      line);
}
template <class T> T __shfl_xor_sync (unsigned mask, T v, int with, int width = 32, EMU_HERE) {
  const int lane = (int)emu::now.thread->lane, from = lane ^ with;
  return emu::in_warp(emu::wait::shuffle, mask, v, from >= emu::segment(width) + width ? lane : from, file,
                      line);
}
inline unsigned __ballot_sync (unsigned mask, int p, EMU_HERE) {
  return emu::in_warp(emu::wait::ballot, mask, (unsigned)(p != 0), 0, file, line);
}
inline int __any_sync (unsigned mask, int p, EMU_HERE) { return __ballot_sync(mask, p, file, line) != 0; }
inline int __all_sync (unsigned mask, int p, EMU_HERE) { return __ballot_sync(mask, !p, file, line) == 0; }
template <class T> unsigned __match_any_sync (unsigned mask, T v, EMU_HERE) {
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof v);
  return (unsigned)emu::in_warp(emu::wait::match, mask, bits, 0, file, line);
}
#define EMU_REDUCE(name, op)                                                                                 \
  template <class T> T name(unsigned mask, T v, EMU_HERE) {                                                  \
    static_assert(std::is_integral<T>::value && sizeof(T) == 4, "integers of 32 bits");                      \
    return (T)emu::in_warp(emu::wait::op, mask, (int64_t)v, 0, file, line);                                  \
  }
EMU_REDUCE(__reduce_add_sync, add)
EMU_REDUCE(__reduce_min_sync, least)
EMU_REDUCE(__reduce_max_sync, most)
EMU_REDUCE(__reduce_and_sync, bit_and)
EMU_REDUCE(__reduce_or_sync, bit_or)
EMU_REDUCE(__reduce_xor_sync, bit_xor)

/* -- asynchronous copies to shared memory: the bytes arrive when they are waited for, so that a missing wait shows */
inline void __pipeline_memcpy_async (void *to, const void *from, size_t bytes, size_t zeros = 0) {
  if (bytes != 4 && bytes != 8 && bytes != 16)
    emu::stop("an asynchronous copy of %zu bytes: 4, 8 or 16", bytes);
  if (((uintptr_t)to | (uintptr_t)from) % bytes != 0)
    emu::stop("an asynchronous copy that is not aligned to %zu", bytes);
  emu::copy_later({to, from, bytes, zeros});
}
inline void __pipeline_commit (void) { emu::commit_copies(); }
inline void __pipeline_wait_prior (size_t but) { emu::wait_copies(but); }

/* -- atomics: blocks run one after another, fibers do not preempt */
namespace emu {
template <class T> struct same { typedef T type; };
template <class T> using given = typename same<T>::type;
template <class T, class F> T change (T *at, F to) {
  T old, next;
  __atomic_load(at, &old, __ATOMIC_RELAXED); /* atomic for the detector of races */
  do next = to(old);
  while (!__atomic_compare_exchange(at, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}
}   // namespace emu
template <class T> T atomicAdd (T *at, emu::given<T> v) {
  return emu::change(at, [=] (T old) { return (T)(old + v); });
}
template <class T> T atomicSub (T *at, emu::given<T> v) {
  return emu::change(at, [=] (T old) { return (T)(old - v); });
}
template <class T> T atomicMin (T *at, emu::given<T> v) {
  return emu::change(at, [=] (T old) { return v < old ? v : old; });
}
template <class T> T atomicMax (T *at, emu::given<T> v) {
  return emu::change(at, [=] (T old) { return old < v ? v : old; });
}
template <class T> T atomicAnd (T *at, emu::given<T> v) {
  return emu::change(at, [=] (T old) { return (T)(old & v); });
}
template <class T> T atomicOr (T *at, emu::given<T> v) {
  return emu::change(at, [=] (T old) { return (T)(old | v); });
}
template <class T> T atomicXor (T *at, emu::given<T> v) {
  return emu::change(at, [=] (T old) { return (T)(old ^ v); });
}
template <class T> T atomicExch (T *at, emu::given<T> v) {
  return emu::change(at, [=] (T) { return v; });
}
template <class T> T atomicCAS (T *at, emu::given<T> expected, emu::given<T> v) {
  return emu::change(at, [=] (T old) { return old == expected ? v : old; });
}

/* -- single values. Library functions (expf, sinf ...) are the host's own. */
template <class T> T __ldg (const T *at) { return *at; }
template <class T> T __ldcg (const T *at) { return *at; }
template <class T> T __ldcs (const T *at) { return *at; }
template <class T> void __stcs (T *at, T v) { *at = v; }
inline float __fmaf_rn (float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn (double a, double b, double c) { return fma(a, b, c); }
inline float __fadd_rn (float a, float b) { return a + b; }
inline float __fsub_rn (float a, float b) { return a - b; }
inline float __fmul_rn (float a, float b) { return a * b; }
inline float __fdiv_rn (float a, float b) { return a / b; }
inline float __fsqrt_rn (float a) { return sqrtf(a); }
inline float __frcp_rn (float a) { return 1.0f / a; }
inline double __dadd_rn (double a, double b) { return a + b; }
inline double __dsub_rn (double a, double b) { return a - b; }
inline double __dmul_rn (double a, double b) { return a * b; }
inline double __ddiv_rn (double a, double b) { return a / b; }
inline double __dsqrt_rn (double a) { return sqrt(a); }
inline double __drcp_rn (double a) { return 1.0 / a; }
inline float __expf (float x) { return expf(x); }
inline float __logf (float x) { return logf(x); }
inline float __fdividef (float a, float b) { return a / b; }
inline float rsqrtf (float x) { return 1.0f / sqrtf(x); }
inline double rsqrt (double x) { return 1.0 / sqrt(x); }
inline int __popc (unsigned x) { return __builtin_popcount(x); }
inline int __popcll (unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs (int x) { return __builtin_ffs(x); }
inline int __clz (int x) { return x != 0 ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll (long long x) { return x != 0 ? __builtin_clzll((unsigned long long)x) : 64; }
inline unsigned __umulhi (unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline unsigned long long __umul64hi (unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
namespace emu {
template <class To, class From> To same_bits (From v) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To r;
  memcpy(&r, &v, sizeof r);
  return r;
}
}   // namespace emu
inline int __float_as_int (float x) { return emu::same_bits<int>(x); }
inline unsigned __float_as_uint (float x) { return emu::same_bits<unsigned>(x); }
inline float __int_as_float (int x) { return emu::same_bits<float>(x); }
inline float __uint_as_float (unsigned x) { return emu::same_bits<float>(x); }
inline long long __double_as_longlong (double x) { return emu::same_bits<long long>(x); }
inline double __longlong_as_double (long long x) { return emu::same_bits<double>(x); }
inline int __float2int_rn (float x) { return (int)rintf(x); }
inline int __double2int_rn (double x) { return (int)rint(x); }
inline float __double2float_rn (double x) { return (float)x; }
inline float __int2float_rn (int x) { return (float)x; }
/* A number and a NaN give the number, as on the device. */
inline float min (float a, float b) { return fminf(a, b); }
inline float max (float a, float b) { return fmaxf(a, b); }
inline double min (double a, double b) { return fmin(a, b); }
inline double max (double a, double b) { return fmax(a, b); }
#define EMU_LEAST_MOST(T)                                                                                    \
  inline T min(T a, T b) { return b < a ? b : a; }                                                           \
  inline T max(T a, T b) { return a < b ? b : a; }
EMU_LEAST_MOST(int)
EMU_LEAST_MOST(unsigned)
EMU_LEAST_MOST(long)
EMU_LEAST_MOST(unsigned long)
EMU_LEAST_MOST(long long)
EMU_LEAST_MOST(unsigned long long)

/* -- the templates that the toolkit's header has for C++ */
template <class T> cudaError_t cudaMalloc (T **at, size_t bytes) { return cudaMalloc((void **)at, bytes); }
template <class T> cudaError_t cudaMallocHost (T **at, size_t bytes) {
  return cudaMallocHost((void **)at, bytes);
}
template <class T> cudaError_t cudaMemcpyToSymbol (const T &symbol, const void *from, size_t bytes) {
  return cudaMemcpyToSymbol((const void *)&symbol, from, bytes, 0, cudaMemcpyHostToDevice);
}
template <class T> cudaError_t cudaMemcpyFromSymbol (void *to, const T &symbol, size_t bytes) {
  return cudaMemcpyFromSymbol(to, (const void *)&symbol, bytes, 0, cudaMemcpyDeviceToHost);
}
template <class... P> cudaError_t cudaFuncSetAttribute (void (*k)(P...), cudaFuncAttribute what, int value) {
  return cudaFuncSetAttribute((const void *)k, what, value);
}
template <class... P> cudaError_t cudaFuncGetAttributes (cudaFuncAttributes *out, void (*k)(P...)) {
  return cudaFuncGetAttributes(out, (const void *)k);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor (int *blocks, void (*k)(P...), int threads,
                                                           size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)k, threads, shared);
}
