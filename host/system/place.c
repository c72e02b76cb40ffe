/* place.c - folders, locks and kinds of file systems. */
#include "system/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_folder (const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static gb_status make_one (const char *path, gb_error *err) {
  if (mkdir(path, 0777) == 0 || is_folder(path)) return GB_OK;
  return gb_fail(err, GB_EIO, "cannot make the folder %s: %s", path, strerror(errno));
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
