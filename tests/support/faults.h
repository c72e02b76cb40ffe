/* faults.h - injects system failures: link with
** --wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=read,--wrap=write,
** --wrap=fsync,--wrap=fdatasync,--wrap=rename. Included once a program. */
#ifndef GB_TESTS_FAULTS_H
#define GB_TESTS_FAULTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/interrupt.h"

static long permitted = -1;   /* allocations until all fail; -1: none fails */
static size_t short_write;    /* most bytes that one write accepts; 0: all */
static long writes_left = -1; /* writes until the disk is full */
static bool fsync_fails, rename_fails;
static long interrupt_at = -1; /* reads until a Ctrl-C; -1: never */
static long reads_since;       /* reads after it */
static size_t longest_read;    /* bytes asked for at once */
static bool flushed;           /* nothing was written since the last fsync */
static bool renamed_unflushed; /* a file was renamed that was not flushed */
static int flushes;

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

#endif
