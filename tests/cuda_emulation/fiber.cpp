/* fiber.cpp - stacks and the switch between them: 13 instructions and no system call. Where kernels are compiled with
** -fsanitize=thread, this file has -DEMU_TSAN, and the detector of races sees each CUDA thread as a thread; with
** -fsanitize=address it has -DEMU_ASAN, and tells of each switch. The rest of the emulation needs no sanitizer. */
#include "fiber.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__) || defined(EMU_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emu {

#ifdef EMU_TSAN
extern "C" {
void *__tsan_get_current_fiber (void);
void *__tsan_create_fiber (unsigned);
void __tsan_switch_to_fiber (void *, unsigned);
void __tsan_acquire (void *);
void __tsan_release (void *);
}
/* A detector's fiber is kept until its block ends: used by the next CUDA thread at once, it would order the two. */
struct detector {
  void *main;
  std::vector<void *> fiber; /* of a stack */
  std::vector<int> held;
  char begin, end, group[33];
  void enter (int stack) {
    __tsan_switch_to_fiber(fiber[stack], 1);
  } /* 1: the switch itself orders nothing */
  void leave () { __tsan_switch_to_fiber(main, 1); }
  void acquire (void *p) { __tsan_acquire(p); }
  void release (void *p) { __tsan_release(p); }
  void start () { main = __tsan_get_current_fiber(); }
  void add () { fiber.push_back(__tsan_create_fiber(0)); }
};
#else
struct detector {
  std::vector<int> held;
  char begin, end, group[33];
  void enter (int) {}
  void leave () {}
  void acquire (void *) {}
  void release (void *) {}
  void start () {}
  void add () {}
};
#endif

static const size_t page = 4096;
static detector races;
static struct {
  std::vector<char *> stack;
  std::vector<int> idle;
  size_t bytes = 0;
  void *scheduler; /* its saved stack pointer */
  const std::function<void()> *body;
} fibers;

/* emu_switch(&saved, to): keeps the registers that a function call keeps, and changes the stack. */
asm(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\nemu_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
extern "C" void emu_switch (void **saved, void *to);

#if defined(__SANITIZE_ADDRESS__) || defined(EMU_ASAN)
static struct {
  const void *bottom; /* of the scheduler's stack */
  size_t bytes;
  void *fake;
} address_check;
static void tell_leaving_scheduler (int stack) {
  __sanitizer_start_switch_fiber(&address_check.fake, fibers.stack[stack], fibers.bytes);
}
static void tell_back_in_scheduler (void) {
  __sanitizer_finish_switch_fiber(address_check.fake, nullptr, nullptr);
}
static void tell_leaving_fiber (void **fake, bool for_good) {
  __sanitizer_start_switch_fiber(for_good ? nullptr : fake, address_check.bottom, address_check.bytes);
}
static void tell_back_in_fiber (void *fake) {
  __sanitizer_finish_switch_fiber(fake, &address_check.bottom, &address_check.bytes);
}
/* Frames of the stack's last owner never returned: their red zones are left. */
static void clean_stack (char *p, size_t n) { __asan_unpoison_memory_region(p, n); }
#else
static void tell_leaving_scheduler (int) {}
static void tell_back_in_scheduler (void) {}
static void tell_leaving_fiber (void **, bool) {}
static void tell_back_in_fiber (void *) {}
static void clean_stack (char *, size_t) {}
#endif

void begin_fibers (const std::function<void()> *body) {
  fibers.body = body;
  races.start();
  if (fibers.bytes == set.stack) return;
  for (char *p : fibers.stack) munmap(p - page, fibers.bytes + page);
  fibers.stack.clear();
  fibers.idle.clear();
  fibers.bytes = set.stack;
}

static int new_stack (void) {
  char *p = (char *)mmap(nullptr, fibers.bytes + page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) stop("no memory for the stack of a CUDA thread");
  mprotect(p, page, PROT_NONE); /* a stack that overflows ends here */
  fibers.stack.push_back(p + page);
  races.add();
  return (int)fibers.stack.size() - 1;
}

static void leave_fiber (cuda_thread *t) {
  void *fake = nullptr;
  races.leave();
  tell_leaving_fiber(&fake, t->done);
  emu_switch(&t->stack_at, fibers.scheduler);
  tell_back_in_fiber(fake);
}

static void first_frame (void) {
  tell_back_in_fiber(nullptr);
  races.acquire(&races.begin);
  (*fibers.body)();
  races.release(&races.end);
  now.thread->done = true;
  leave_fiber(now.thread);
  abort();
}

static void take_stack (cuda_thread *t) {
  if (fibers.idle.empty()) fibers.idle.push_back(new_stack());
  t->stack = fibers.idle.back();
  fibers.idle.pop_back();
  char *low = fibers.stack[t->stack];
  clean_stack(low, fibers.bytes);
  void **top = (void **)(low + fibers.bytes);
  *--top = nullptr; /* where first_frame would return to, and alignment */
  *--top = (void *)first_frame;
  for (int i = 0; i < 6; i++) *--top = nullptr; /* the registers */
  t->stack_at = top;
}

void resume (cuda_thread *t) {
  now.thread = t;
  if (t->stack < 0) take_stack(t);
  races.enter(t->stack);
  tell_leaving_scheduler(t->stack);
  emu_switch(&fibers.scheduler, t->stack_at);
  tell_back_in_scheduler();
  if (!t->done) return;
#ifdef EMU_TSAN
  races.held.push_back(t->stack);
#else
  fibers.idle.push_back(t->stack);
#endif
}

void give_way (cuda_thread *t) { leave_fiber(t); }

void give_way_ordered (cuda_thread *t, unsigned group) {
  races.release(&races.group[group]);
  leave_fiber(t);
  races.acquire(&races.group[group]);
}

void order_block_begin (void) { races.release(&races.begin); }
void order_block_end (void) {
  races.acquire(&races.end);
  fibers.idle.insert(fibers.idle.end(), races.held.begin(), races.held.end());
  races.held.clear();
}

/* After a kernel that an illegal address ended, threads still own stacks: all of them are idle again. */
void end_fibers (void) {
  fibers.idle.clear();
  races.held.clear();
  for (size_t i = 0; i < fibers.stack.size(); i++) fibers.idle.push_back((int)i);
}

}   // namespace emu
