/* infile.c - checks the type of a file before opening it: opening a pipe waits for a writer, and opening a
** device may have side effects. */
#define _GNU_SOURCE
#include "base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"

#define MAX_READ ((size_t)4 << 20) /* bytes between two polls for Ctrl-C */

static const char *kind_of (mode_t mode) {
  return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

static gb_status refuse (const char *path, mode_t mode, gb_error *err) {
  return gb_fail(err, GB_EIO, "cannot read '%s': it is %s, not a plain file", path, kind_of(mode));
}

gb_status gb_infile_open (const char *path, gb_infile *out, gb_error *err) {
  struct stat st;
  *out = (gb_infile){.fd = -1, .path = path};
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return refuse(path, st.st_mode, err);
  out->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (out->fd < 0 || fstat(out->fd, &st) != 0) {
    gb_fail(err, GB_EIO, "cannot open '%s': %s", path, strerror(errno));
    gb_infile_close(out);
    return GB_EIO;
  }
  if (!S_ISREG(st.st_mode)) { /* the path was replaced after the check */
    gb_infile_close(out);
    return refuse(path, st.st_mode, err);
  }
  out->size = (size_t)st.st_size;
  return GB_OK;
}

gb_status gb_infile_read (gb_infile *f, void *to, size_t n, size_t *got, gb_error *err) {
  char *at = to;
  *got = 0;
  while (*got < n) {
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    const size_t want = n - *got < MAX_READ ? n - *got : MAX_READ;
    const ssize_t some = read(f->fd, at + *got, want);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return gb_fail(err, GB_EIO, "cannot read '%s': %s", f->path, strerror(errno));
    if (some == 0) break;
    *got += (size_t)some;
  }
  return GB_OK;
}

gb_status gb_infile_exactly (gb_infile *f, void *to, size_t n, gb_error *err) {
  size_t got;
  GB_TRY(gb_infile_read(f, to, n, &got, err));
  if (got < n) return gb_fail(err, GB_EIO, "cannot read '%s': it ended %zu bytes early", f->path, n - got);
  return GB_OK;
}

gb_status gb_infile_rewind (gb_infile *f, gb_error *err) {
  if (lseek(f->fd, 0, SEEK_SET) != 0)
    return gb_fail(err, GB_EIO, "cannot read '%s': %s", f->path, strerror(errno));
  return GB_OK;
}

void gb_infile_close (gb_infile *f) {
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

/* -- mappings */

/* The pages of the file are put over the first of those that are reserved; what is read from front to back is read ahead. */
static bool map_pages (gb_mapping *m, size_t from, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = from % page,
               whole = (skip + bytes + page - 1) / page * page;
  m->length = whole + page;
  m->base = mmap(NULL, m->length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m->base == MAP_FAILED) return false;
  if (bytes == 0) return true;
  if (mmap(m->base, skip + bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, m->fd, (off_t)(from - skip)) ==
      MAP_FAILED) {
    munmap(m->base, m->length);
    return false;
  }
  posix_madvise(m->base, whole, POSIX_MADV_SEQUENTIAL);
  return true;
}

gb_status gb_infile_map (gb_infile *f, size_t from, size_t bytes, gb_mapping *out, void **at, gb_error *err) {
  gb_mapping m = {.fd = f->fd, .path = strdup(f->path), .end = from + bytes};
  if (m.path == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the name of a file");
  if (!map_pages(&m, from, bytes)) {
    gb_fail(err, GB_EIO, "cannot map '%s': %s", f->path, strerror(errno));
    free(m.path);
    return GB_EIO;
  }
  f->fd = -1; /* the mapping has it now */
  *at = (char *)m.base + from % (size_t)sysconf(_SC_PAGESIZE);
  *out = m;
  return GB_OK;
}

gb_status gb_mapping_check (const gb_mapping *m, gb_error *err) {
  struct stat st;
  if (fstat(m->fd, &st) != 0) return gb_fail(err, GB_EIO, "cannot read '%s': %s", m->path, strerror(errno));
  if ((size_t)st.st_size >= m->end) return GB_OK;
  return gb_fail(err, GB_EIO, "'%s' has become shorter since it was mapped: it has %zu bytes of %zu", m->path,
                 (size_t)st.st_size, m->end);
}

void gb_mapping_close (gb_mapping *m) {
  munmap(m->base, m->length);
  close(m->fd);
  free(m->path);
}
