/* faults.c - wrappers of the allocator and of the calls that read and write files. */
#include "support/io/faults.h"

#include <errno.h>
#include <sys/types.h>

#include "base/interrupt.h"

long permitted = -1;
size_t short_write;
long writes_left = -1;
bool fsync_fails, rename_fails;
long interrupt_at = -1;
long reads_since;
size_t longest_read;
static bool flushed; /* nothing was written since the last fsync */
bool renamed_unflushed;
int flushes;

static bool permit (void) {
  if (permitted < 0) return true;
  if (permitted > 0) return permitted--, true;
  errno = ENOMEM;
  return false;
}

void *__real_malloc (size_t n);
void *__real_calloc (size_t n, size_t m);
void *__real_realloc (void *p, size_t n);
ssize_t __real_read (int fd, void *p, size_t n);
ssize_t __real_write (int fd, const void *p, size_t n);
int __real_rename (const char *from, const char *to);
void *__wrap_malloc (size_t n);
void *__wrap_calloc (size_t n, size_t m);
void *__wrap_realloc (void *p, size_t n);
ssize_t __wrap_read (int fd, void *p, size_t n);
ssize_t __wrap_write (int fd, const void *p, size_t n);
int __wrap_fsync (int fd);
int __wrap_fdatasync (int fd);
int __wrap_rename (const char *from, const char *to);
void *__wrap_malloc (size_t n) { return permit() ? __real_malloc(n) : NULL; }
void *__wrap_calloc (size_t n, size_t m) { return permit() ? __real_calloc(n, m) : NULL; }
void *__wrap_realloc (void *p, size_t n) { return permit() ? __real_realloc(p, n) : NULL; }

ssize_t __wrap_read (int fd, void *p, size_t n) {
  if (n > longest_read) longest_read = n;
  if (interrupt_at == 0) reads_since++;
  if (interrupt_at > 0 && --interrupt_at == 0) gb_interrupt_raise();
  return __real_read(fd, p, n);
}

ssize_t __wrap_write (int fd, const void *p, size_t n) {
  flushed = false;
  if (writes_left == 0) return errno = ENOSPC, -1;
  if (writes_left > 0) writes_left--;
  return __real_write(fd, p, short_write > 0 && n > short_write ? short_write : n);
}

int __wrap_fsync (int fd) { /* counted, not waited for */
  (void)fd;
  if (fsync_fails) return errno = EIO, -1;
  flushed = true;
  flushes++;
  return 0;
}

int __wrap_fdatasync (int fd) { return (void)fd, 0; }

int __wrap_rename (const char *from, const char *to) {
  renamed_unflushed |= !flushed;
  return rename_fails ? (errno = EXDEV, -1) : __real_rename(from, to);
}
