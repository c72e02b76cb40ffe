/* place.c - folders, locks, claims, journals and kinds of file systems. */
#include "system/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_folder (const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static gb_status make_one (const char *path, gb_error *err) {
  if (mkdir(path, 0777) == 0) return GB_OK;
  const int cause = errno;
  if (is_folder(path)) return GB_OK;
  return gb_fail(err, GB_EIO, "cannot make the folder %s: %s", path, strerror(cause));
}

gb_status gb_folder_make (const char *path, gb_error *err) {
  char part[PATH_MAX];
  if ((size_t)snprintf(part, sizeof part, "%s", path) >= sizeof part)
    return gb_fail(err, GB_EIO, "cannot make the folder %s: the name is too long", path);
  for (char *p = part + 1; *p != '\0'; p++) {
    if (*p != '/') continue;
    *p = '\0';
    GB_TRY(make_one(part, err));
    *p = '/';
  }
  return make_one(part, err);
}

gb_status gb_lock_take (const char *path, int *fd, gb_error *err) {
  *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (*fd < 0) return gb_fail(err, GB_EIO, "cannot open %s: %s", path, strerror(errno));
  int bad;
  while ((bad = flock(*fd, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) continue;
  if (bad == 0) return GB_OK;
  const int cause = errno;
  close(*fd);
  *fd = -1;
  return cause == EWOULDBLOCK ? GB_OK : gb_fail(err, GB_EIO, "cannot lock %s: %s", path, strerror(cause));
}

/* Writes all bytes, in several pieces where the system takes fewer at once. */
static bool write_all (int fd, const char *at, size_t n) {
  while (n > 0) {
    const ssize_t done = write(fd, at, n);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;
    if (done <= 0) return false;
    at += done;
    n -= (size_t)done;
  }
  return true;
}

static gb_status cannot_write (int fd, const char *path, int cause, gb_error *err) {
  close(fd);
  return gb_fail(err, GB_EIO, "cannot write %s: %s", path, strerror(cause));
}

/* A new file with this text; its descriptor, or -1: errno says why, and nothing is left. */
static int new_file (const char *path, const char *text, size_t n) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 || write_all(fd, text, n)) return fd;
  const int cause = errno;
  close(fd);
  unlink(path);
  errno = cause;
  return -1;
}

/* Gives the file 'temp', open at fd, the name 'path' too. A server may do so and its answer be lost: the number of names tells. */
static int give_name (int fd, const char *temp, const char *path) {
  struct stat s;
  if (link(temp, path) == 0) return 0;
  const int cause = errno;
  return fstat(fd, &s) == 0 && s.st_nlink == 2 ? 0 : cause;
}

/* The name is given to a file that is whole. Where a file system has no second names, the file itself is made under its name. */
gb_status gb_claim_make (const char *path, const char *text, size_t n, bool *won, gb_error *err) {
  char temp[PATH_MAX];
  *won = false;
  uint64_t mark; /* so that no other process, on any host, takes the same name */
  if (getrandom(&mark, sizeof mark, 0) != (ssize_t)sizeof mark)
    return gb_fail(err, GB_EIO, "cannot make %s: no random number", path);
  if ((size_t)snprintf(temp, sizeof temp, "%s.tmp-%016" PRIx64, path, mark) >= sizeof temp)
    return gb_fail(err, GB_EIO, "cannot make %s: the name is too long", path);
  int fd = new_file(temp, text, n), bad = fd < 0 ? errno : give_name(fd, temp, path);
  if (fd >= 0) {
    close(fd);
    unlink(temp);
    if (bad == EPERM || bad == EOPNOTSUPP || bad == ENOSYS || bad == EMLINK) {
      fd = new_file(path, text, n);
      bad = fd < 0 ? errno : 0;
      if (fd >= 0) close(fd);
    }
  }
  *won = bad == 0;
  return bad == 0 || bad == EEXIST ? GB_OK : gb_fail(err, GB_EIO, "cannot make %s: %s", path, strerror(bad));
}

gb_status gb_journal_append (const char *path, const char *text, size_t n, bool durable, gb_error *err) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return gb_fail(err, GB_EIO, "cannot open %s: %s", path, strerror(errno));
  const off_t before = lseek(fd, 0, SEEK_END);
  if (before >= 0 && write_all(fd, text, n) && (!durable || fdatasync(fd) == 0)) {
    close(fd);
    return GB_OK;
  }
  const int cause = errno;
  if (before >= 0 && ftruncate(fd, before) != 0) { /* a part of the bytes stays: readers pass over it */
  }
  return cannot_write(fd, path, cause, err);
}

gb_status gb_file_cut (const char *path, uint64_t bytes, gb_error *err) {
  struct stat s;
  if (stat(path, &s) == 0 && ((uint64_t)s.st_size <= bytes || truncate(path, (off_t)bytes) == 0))
    return GB_OK;
  return gb_fail(err, GB_EIO, "cannot cut %s: %s", path, strerror(errno));
}

bool gb_place_is_remote (const char *path) {
  /* NFS, SMB 1 and 2, FUSE (sshfs), Lustre, AFS, Ceph, GPFS, 9P, BeeGFS; linux/magic.h names the first ones */
  static const unsigned long remote[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42,
                                         0x65735546, 0x0BD00BD0, 0x5346414F, 0x00C36400,
                                         0x47504653, 0x01021997, 0x19830326};
  struct statfs s;
  if (statfs(path, &s) != 0) return false;
  for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++)
    if ((unsigned long)(unsigned)s.f_type == remote[i]) return true;
  return false;
}
