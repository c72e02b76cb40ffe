/* alloc_guard.c - the allocators of glibc behind a check. */
#include "support/plan/alloc_guard.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(const char *) guarded_step; /* NULL: not armed */
atomic_long guarded_calls;
int (*guard_exempt)(void);

void guard_step (const char *what) { atomic_store(&guarded_step, what); }

#if ALLOC_GUARDED

static void say (const char *text) {
  if (write(2, text, strlen(text)) < 0) return;
}

static void guard (const char *what) {
  const char *step = atomic_load(&guarded_step);
  if (step == NULL || (guard_exempt != NULL && guard_exempt())) return;
  atomic_store(&guarded_step, NULL);
  say(what);
  say(" inside step: ");
  say(step);
  say("\n");
  abort();
}

void *__libc_malloc (size_t n);
void *__libc_calloc (size_t n, size_t size);
void *__libc_realloc (void *p, size_t n);
void *__libc_memalign (size_t align, size_t n);

void *malloc (size_t n) {
  guard("malloc");
  atomic_fetch_add_explicit(&guarded_calls, 1, memory_order_relaxed);
  return __libc_malloc(n);
}
void *calloc (size_t n, size_t size) { return guard("calloc"), __libc_calloc(n, size); }
void *realloc (void *p, size_t n) { return guard("realloc"), __libc_realloc(p, n); }
void *memalign (size_t align, size_t n);
void *memalign (size_t align, size_t n) { return guard("memalign"), __libc_memalign(align, n); }
void *aligned_alloc (size_t align, size_t n) { return guard("aligned_alloc"), __libc_memalign(align, n); }
int posix_memalign (void **p, size_t align, size_t n) {
  guard("posix_memalign");
  *p = __libc_memalign(align, n);
  return *p == NULL ? ENOMEM : 0;
}
void *mmap (void *at, size_t n, int prot, int flags, int fd, off_t offset) {
  guard("mmap");
  return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}
#endif
