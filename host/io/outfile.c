/* outfile.c - write beside, flush, rename, flush the directory. */
#define _GNU_SOURCE
#include "io/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"

#define MAX_WRITE ((size_t)16 << 20)     /* bytes between two looks for a Ctrl-C */

void gb_outfile_abandon (gb_outfile *f) {
  if (f->fd >= 0) close(f->fd);
  if (f->temp != NULL) unlink(f->temp);
  free(f->temp);
  free(f->path);
  *f = (gb_outfile){.fd = -1};
}

static gb_status failed (gb_outfile *f, const char *path, gb_error *err) {
  const int why = errno;
  const gb_status st = why == ENOMEM ? GB_ENOMEM : GB_EIO;
  gb_fail(err, st, "cannot write '%s': %s", path, strerror(why));
  gb_outfile_abandon(f);
  return st;
}

/* A name beside 'path' that nobody else has. 0666 less the umask, as fopen would. */
static int create_beside (gb_outfile *f) {
  const size_t room = strlen(f->path) + 48;
  f->temp = malloc(room);
  if (f->temp == NULL) return -1;
  for (unsigned attempt = 0; attempt < 1000; attempt++) {
    snprintf(f->temp, room, "%s.tmp-%ld-%u", f->path, (long)getpid(), attempt);
    f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f->fd >= 0 || errno != EEXIST) break;
  }
  if (f->fd < 0) {                       /* what has this name is not ours to remove */
    free(f->temp);
    f->temp = NULL;
  }
  return f->fd;
}

gb_status gb_outfile_open (const char *path, gb_outfile *out, gb_error *err) {
  struct stat there;
  *out = (gb_outfile){.fd = -1};
  const bool exists = stat(path, &there) == 0;
  if (!exists && errno != ENOENT) return failed(out, path, err);
  if (exists && !S_ISREG(there.st_mode))
    return gb_fail(err, GB_EIO, "cannot write '%s': it is not a plain file", path);
  out->path = exists ? realpath(path, NULL) : strdup(path);
  if (out->path == NULL || create_beside(out) < 0) return failed(out, path, err);
  if (exists && fchmod(out->fd, there.st_mode & 07777) != 0) return failed(out, path, err);
  return GB_OK;
}

gb_status gb_outfile_write (gb_outfile *f, const void *p, size_t n, gb_error *err) {
  const char *at = p;
  while (n > 0) {
    if (gb_interrupted()) {
      gb_outfile_abandon(f);
      return gb_fail(err, GB_EINTR, "interrupted");
    }
    const ssize_t done = write(f->fd, at, n < MAX_WRITE ? n : MAX_WRITE);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;       /* a device that takes nothing and says nothing */
    if (done <= 0) return failed(f, f->path, err);
    at += done;
    n -= (size_t)done;
  }
  return GB_OK;
}

/* The directory's entry reaches the disk too; file systems that cannot flush directories are none the worse. */
static void flush_directory (const char *path) {
  const char *slash = strrchr(path, '/');
  char name[PATH_MAX];
  const size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  if (n >= sizeof name) return;
  memcpy(name, n == 0 ? "." : path, n == 0 ? 1 : n);
  name[n == 0 ? 1 : n] = '\0';
  const int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

gb_status gb_outfile_commit (gb_outfile *f, gb_error *err) {
  if (fsync(f->fd) != 0) return failed(f, f->path, err);
  const int fd = f->fd;
  f->fd = -1;
  if (close(fd) != 0 || rename(f->temp, f->path) != 0) return failed(f, f->path, err);
  flush_directory(f->path);
  free(f->temp);
  f->temp = NULL;
  gb_outfile_abandon(f);
  return GB_OK;
}
