/* faults.cpp - failures on request at any call, the counts that they go by, the errors that CUDA remembers, and what
** becomes of an illegal address: words and the end of the process, or error 700 where EMU_TRAP=1. */
#include "faults.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emulation.h"

namespace emu {

/* -- failures on request */

enum { INTERRUPT = -1 }; /* the call succeeds, and Ctrl-C was pressed */
struct rule {
  std::string api;
  long at;
  bool later;
  int code;
};
static std::vector<rule> rules;
static std::map<std::string, long> calls;

static bool read_rule (const std::string &text, rule *r) {
  const size_t at = text.find('@'), is = text.find('=');
  if (at == std::string::npos || is == std::string::npos || is < at) return false;
  char *end;
  r->api = text.substr(0, at);
  r->at = strtol(text.c_str() + at + 1, &end, 10);
  r->later = *end == '+';
  r->code = text.compare(is + 1, std::string::npos, "int") == 0 ? INTERRUPT : atoi(text.c_str() + is + 1);
  return end + r->later == text.c_str() + is && r->at > 0 && r->code != 0;
}

bool ask_failures (const char *text) {
  const std::string list = text;
  std::vector<rule> read;
  for (size_t from = 0; from < list.size();) {
    const size_t to = std::min(list.find(',', from), list.size());
    rule r;
    if (!read_rule(list.substr(from, to - from), &r)) return false;
    read.push_back(r);
    from = to + 1;
  }
  rules = read;
  return true;
}

void forget_calls (void) { calls.clear(); }
void print_calls (void) {
  for (auto &c : calls) fprintf(stderr, "cuda emulation: %s %ld\n", c.first.c_str(), c.second);
}

bool ends_device (int code) {
  return code == 214 || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

static bool applies (const rule &r, const std::string &api, long n) {
  return r.api == api && (r.later ? n >= r.at : n == r.at);
}

cudaError_t asked_failure (const char *name) {
  const std::string api = name;
  const bool kernel = api.compare(0, 7, "kernel:") == 0;
  const std::string any = kernel ? "kernel:*" : "*";
  const long n = ++calls[api], of_all = ++calls[any];
  for (const rule &r : rules) {
    if (!applies(r, api, n) && !applies(r, any, of_all)) continue;
    if (r.code != INTERRUPT) return (cudaError_t)r.code;
    raise(SIGINT);
  }
  return cudaSuccess;
}

/* -- the frame of a call, and what it remembers */

static thread_local cudaError_t last_error = cudaSuccess;

cudaError_t remember (cudaError_t e) {
  if (e != cudaSuccess) last_error = e;
  return e;
}
cudaError_t remembered (void) { return last_error; }
cudaError_t forget (void) {
  const cudaError_t e = last_error;
  last_error = cudaSuccess;
  return e;
}

call::call(const char *api, needs what) : guard(lock()), error(cudaSuccess) {
  read_settings();
  if (in_host_function()) {
    error = cudaErrorNotPermitted;
    return;
  }
  error = asked_failure(api);
  if (what == needs::nothing) return;
  if (devices().empty()) {
    error = cudaErrorNoDevice;
    return;
  }
  device &d = current();
  if (d.lost != cudaSuccess) error = d.lost;
  else if (ends_device(error)) d.lost = error;
}

CUresult driver_result (cudaError_t e) {
  switch (e) {
    case cudaSuccess: return CUDA_SUCCESS;
    case cudaErrorMemoryAllocation: return CUDA_ERROR_OUT_OF_MEMORY;
    case cudaErrorInvalidValue: return CUDA_ERROR_INVALID_VALUE;
    default: return (CUresult)e; /* most numbers are the same */
  }
}

/* -- illegal addresses */

static sigjmp_buf back;
static volatile sig_atomic_t guarded;
static pthread_t guarded_thread; /* the one that runs work of a device */
static struct sigaction before[2];

static const char *who_touched (void) {
  if (now.thread != nullptr) return "a kernel touches";
  return running_work != nullptr && !in_host_function() ? "a copy or a library touches" : "host code touches";
}

static void on_fault (int signal, siginfo_t *info, void *context) {
  const bool in_work = guarded && pthread_equal(guarded_thread, pthread_self());
  if (in_work && signal == SIGSEGV && open_door(info->si_addr)) return;
  if (in_work && set.trap) siglongjmp(back, 1);
  const struct sigaction &old = before[signal == SIGBUS];
  const bool ours = in_work || region_of(info->si_addr, 1) != nullptr;
  if (!ours) { /* not ours: as it was before */
    if ((old.sa_flags & SA_SIGINFO) != 0) old.sa_sigaction(signal, info, context);
    else sigaction(signal, &old, nullptr);
    return;
  }
  const std::string where = describe_address(info->si_addr);
  if (in_work) stop("%s %s", who_touched(), where.c_str());
  fprintf(stderr, "cuda emulation: %s %s\n", who_touched(), where.c_str());
  ::signal(signal, SIG_DFL); /* the access happens once more: a core shows its place */
}

/* The handler has a stack of its own: the fault may be the end of a CUDA thread's. */
static void take_signal_stack (void) {
  static char room[65536];
  stack_t own = {};
  own.ss_sp = room;
  own.ss_size = sizeof room;
  sigaltstack(&own, nullptr);
}

static void watch (int signal, struct sigaction *was) {
  struct sigaction action = {}, old;
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(signal, &action, &old);
  if (old.sa_sigaction != on_fault) *was = old;
}
void watch_addresses (void) {
  watch(SIGSEGV, &before[0]);
  watch(SIGBUS, &before[1]);
}

cudaError_t run_guarded (const std::function<void()> &body) {
  stack_t old;
  sigaltstack(nullptr, &old);
  take_signal_stack();
  watch_addresses(); /* frameworks of tests have handlers of their own */
  const sig_atomic_t was = guarded;
  cudaError_t result = cudaSuccess;
  if (sigsetjmp(back, 0) == 0) { /* the handler blocks no signal */
    guarded = 1;
    guarded_thread = pthread_self();
    body();
  } else {
    abandon_grid();
    result = cudaErrorIllegalAddress;
  }
  guarded = was;
  sigaltstack(&old, nullptr);
  return result;
}

}   // namespace emu

long emu_calls (const char *api) {
  std::lock_guard<std::recursive_mutex> guard(emu::lock());
  auto it = emu::calls.find(api);
  return it == emu::calls.end() ? 0 : it->second;
}
