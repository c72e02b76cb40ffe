/* infile.c - checks the type of a file before opening it: opening a pipe waits for a writer, and opening a
** device may have side effects. */
#define _GNU_SOURCE
#include "base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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
