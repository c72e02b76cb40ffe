/* outfile.c - write beside, flush, rename, flush the directory.
**
** A temporary file is PATH.tmp-PID-N, and its writer holds a lock on it. It is litter if no process
** holds the lock and process PID has ended. */
#define _GNU_SOURCE
#include "base/outfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"

#define BUFFER ((size_t)64 << 10)
#define MAX_WRITE ((size_t)4 << 20)      /* bytes between two polls for Ctrl-C */
#define MAX_UNFLUSHED ((size_t)32 << 20) /* bounds the last flush, which cannot be interrupted */
#define MAX_ENTRIES 10000                /* entries of the folder that are examined for litter */

void gb_outfile_abandon (gb_outfile *f) {
  if (f->fd >= 0) close(f->fd);
  if (f->temp != NULL) unlink(f->temp);
  free(f->buffer);
  free(f->temp);
  free(f->path);
  *f = (gb_outfile){.fd = -1};
}

/* The folder of a path with one; 0: the one in which the process works. */
static int folder_length (const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);
}

/* Its first 'length' bytes name nothing. A file may be missing where its folder is there: a folder of /proc makes none. */
static bool is_missing (const char *path, int length) {
  char folder[PATH_MAX];
  struct stat s;
  if (length == 0 || length >= (int)sizeof folder) return false;
  snprintf(folder, sizeof folder, "%.*s", length, path);
  return stat(folder, &s) != 0 && errno == ENOENT;
}

static const char *remedy (int why) {
  switch (why) {
    case ENOSPC:
    case EDQUOT: return "; free some, or write elsewhere: nothing was changed";
    case EROFS:
    case EACCES:
    case EPERM: return "; write to another folder";
    default: return "";
  }
}

static gb_status failed (gb_outfile *f, const char *path, gb_error *err) {
  const int why = errno, folder = folder_length(path);
  const gb_status st = why == ENOMEM ? GB_ENOMEM : GB_EIO;
  if (why == ENOENT && is_missing(path, folder))
    gb_fail(err, st, "cannot write '%s': there is no folder '%.*s', create it first", path, folder, path);
  else gb_fail(err, st, "cannot write '%s': %s%s", path, strerror(why), remedy(why));
  gb_outfile_abandon(f);
  return st;
}

/* write(2) in which a file that exceeds the process limit is the error EFBIG, not a signal. The signal is
** sent to the thread that writes, so it is blocked here. */
static ssize_t write_quietly (int fd, const void *p, size_t n) {
  sigset_t size, old, waiting;
  sigemptyset(&size);
  sigaddset(&size, SIGXFSZ);
  sigpending(&waiting);
  pthread_sigmask(SIG_BLOCK, &size, &old);
  const ssize_t done = write(fd, p, n);
  const int why = errno;
  if (done < 0 && why == EFBIG && !sigismember(&waiting, SIGXFSZ))
    while (sigtimedwait(&size, NULL, &(struct timespec){0}) < 0 && errno == EINTR) {}
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  errno = why;
  return done;
}

/* The process id in a name "BASE.tmp-PID-N"; 0: the name has another form. */
static pid_t writer_of (const char *name, const char *base) {
  const size_t n = strlen(base);
  if (strncmp(name, base, n) != 0 || strncmp(name + n, ".tmp-", 5) != 0 ||
      !isdigit((unsigned char)name[n + 5]))
    return 0;
  char *end;
  errno = 0;
  const long pid = strtol(name + n + 5, &end, 10);
  if (errno != 0 || pid <= 0 || pid > INT_MAX || *end != '-' || end[1] == '\0') return 0;
  return end[1 + strspn(end + 1, "0123456789")] == '\0' ? (pid_t)pid : 0;
}

static bool is_dead (pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

static void remove_unlocked (int folder, const char *name) {
  const int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  struct stat st;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
    unlinkat(folder, name, 0);
  close(fd);
}

/* Opens the folder of 'path'; -1: it does not exist. */
static int open_folder (const char *path) {
  const char *slash = strrchr(path, '/');
  char name[PATH_MAX];
  const size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  if (n >= sizeof name) return -1;
  memcpy(name, n == 0 ? "." : path, n == 0 ? 1 : n);
  name[n == 0 ? 1 : n] = '\0';
  return open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Best effort: remaining litter is harmless. */
static void remove_litter (const char *path) {
  const int fd = open_folder(path);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (d == NULL) {
    if (fd >= 0) close(fd);
    return;
  }
  const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
  const struct dirent *e;
  for (int i = 0; i < MAX_ENTRIES && (e = readdir(d)) != NULL; i++) {
    const pid_t pid = writer_of(e->d_name, base);
    if (pid != 0 && is_dead(pid)) remove_unlocked(dirfd(d), e->d_name);
  }
  closedir(d);
}

/* Is the file new and ours alone? On a file system without locks the name decides. */
static bool lock (int fd) {
  struct stat st;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* A unique name beside 'path'. Mode: 0666 less the umask, as fopen. */
static int create_beside (gb_outfile *f) {
  const size_t room = strlen(f->path) + 48;
  f->temp = malloc(room);
  if (f->temp == NULL) return -1;
  for (unsigned attempt = 0; attempt < 1000; attempt++) {
    snprintf(f->temp, room, "%s.tmp-%ld-%u", f->path, (long)getpid(), attempt);
    f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f->fd < 0 && errno != EEXIST) break;
    if (f->fd >= 0 && lock(f->fd)) break;
    if (f->fd >= 0) close(f->fd); /* another process removed it as litter */
    f->fd = -1;
    errno = EEXIST;
  }
  if (f->fd < 0) { /* the file of this name belongs to another process */
    free(f->temp);
    f->temp = NULL;
  }
  return f->fd;
}

/* Copies owner and permissions of the file that will be replaced; the owner only if the process has the right
** to change it. */
static bool dress (int fd, const struct stat *old) {
  if (fchown(fd, old->st_uid, old->st_gid) != 0 && errno != EPERM) return false;
  return fchmod(fd, old->st_mode & 07777) == 0;
}

gb_status gb_outfile_open (const char *path, gb_outfile *out, gb_error *err) {
  struct stat there;
  *out = (gb_outfile){.fd = -1};
  const bool exists = stat(path, &there) == 0;
  if (!exists && errno != ENOENT) return failed(out, path, err);
  if (exists && !S_ISREG(there.st_mode))
    return gb_fail(err, GB_EIO, "cannot write '%s': it is not a plain file", path);
  if (exists && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) return failed(out, path, err);
  out->path = exists ? realpath(path, NULL) : strdup(path);
  out->buffer = out->path == NULL ? NULL : malloc(BUFFER);
  if (out->buffer == NULL) return failed(out, path, err);
  remove_litter(out->path);
  if (create_beside(out) < 0) return failed(out, path, err);
  if (exists && !dress(out->fd, &there)) return failed(out, path, err);
  return GB_OK;
}

/* Writes to the system, bypassing the buffer. */
static gb_status pass_on (gb_outfile *f, const char *at, size_t n, gb_error *err) {
  while (n > 0) {
    if (gb_interrupted()) {
      gb_outfile_abandon(f);
      return gb_fail(err, GB_EINTR, "interrupted");
    }
    const ssize_t done = write_quietly(f->fd, at, n < MAX_WRITE ? n : MAX_WRITE);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC; /* a device that takes no bytes and reports no error */
    if (done <= 0) return failed(f, f->path, err);
    at += done;
    n -= (size_t)done;
    f->unflushed += (size_t)done;
    if (f->unflushed < MAX_UNFLUSHED) continue;
    if (fdatasync(f->fd) != 0) return failed(f, f->path, err);
    f->unflushed = 0;
  }
  return GB_OK;
}

static gb_status empty_buffer (gb_outfile *f, gb_error *err) {
  const size_t held = f->held;
  f->held = 0;
  return pass_on(f, f->buffer, held, err);
}

gb_status gb_outfile_write (gb_outfile *f, const void *p, size_t n, gb_error *err) {
  if (n > BUFFER - f->held) GB_TRY(empty_buffer(f, err));
  if (n >= BUFFER) return pass_on(f, p, n, err);
  if (n > 0) memcpy(f->buffer + f->held, p, n);
  f->held += n;
  return GB_OK;
}

gb_status gb_outfile_take (void *ud, const void *p, size_t n) {
  const gb_outfile_sink *to = ud;
  return gb_outfile_write(to->file, p, n, to->err);
}

/* Flushes the directory entry too. A file system that cannot flush directories is not an error. */
static void flush_directory (const char *path) {
  const int fd = open_folder(path);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

gb_status gb_outfile_commit (gb_outfile *f, gb_error *err) {
  GB_TRY(empty_buffer(f, err));
  if (fsync(f->fd) != 0) return failed(f, f->path, err);
  /* still locked: no process removes it as litter */
  if (rename(f->temp, f->path) != 0) return failed(f, f->path, err);
  free(f->temp);
  f->temp = NULL;
  flush_directory(f->path);
  gb_outfile_abandon(f);
  return GB_OK;
}

gb_status gb_outfile_put (const char *path, const void *p, size_t n, gb_error *err) {
  gb_outfile f;
  GB_TRY(gb_outfile_open(path, &f, err));
  GB_TRY(gb_outfile_write(&f, p, n, err));
  return gb_outfile_commit(&f, err);
}

gb_status gb_outfile_append (const char *path, unsigned mode, const void *p, size_t n, gb_error *err) {
  struct stat st;
  gb_outfile f = {.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, mode)};
  if (f.fd < 0) return failed(&f, path, err);
  if (fstat(f.fd, &st) != 0) return failed(&f, path, err);
  if (!S_ISREG(st.st_mode)) {
    gb_outfile_abandon(&f);
    return gb_fail(err, GB_EIO, "cannot write '%s': it is not a plain file", path);
  }
  for (int i = 0; i < 20 && flock(f.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  if (fstat(f.fd, &st) != 0) return failed(&f, path, err); /* its size now that the lock is held */
  const ssize_t done = write_quietly(f.fd, p, n);
  if (done >= 0 && (size_t)done == n) {
    gb_outfile_abandon(&f);
    return GB_OK;
  }
  if (done >= 0) errno = ENOSPC;
  const int why = errno;
  if (done > 0 && ftruncate(f.fd, st.st_size) != 0) { /* a part of the bytes remains in the file */
  }
  errno = why;
  return failed(&f, path, err);
}
