/* process.c - the running gibbous processes of the user, and asking one where it is: the module gibbous.process of
** 'gibbous attach'. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lua/lgb.h"
#include "shell/host.h"

#define PROC_PATH 64
#define LOOK_NS 20000000L /* between two looks for the answer */

/* The user of a process; false: there is no such process. */
static bool owner_of (long pid, uid_t *out) {
  char path[PROC_PATH];
  struct stat s;
  snprintf(path, sizeof path, "/proc/%ld", pid);
  if (stat(path, &s) != 0) return false;
  *out = s.st_uid;
  return true;
}

static bool is_gibbous (long pid) {
  char path[PROC_PATH], exe[4096];
  snprintf(path, sizeof path, "/proc/%ld/exe", pid);
  const ssize_t n = readlink(path, exe, sizeof exe - 1);
  if (n <= 0) return false;
  exe[n] = '\0';
  char *gone = strstr(exe, " (deleted)"); /* built anew since */
  if (gone != NULL) *gone = '\0';
  const char *name = strrchr(exe, '/');
  return name != NULL && strcmp(name, "/gibbous") == 0;
}

/* Does it handle SIGUSR1, which would end it otherwise? */
static bool answers (long pid) {
  char path[PROC_PATH], line[256];
  snprintf(path, sizeof path, "/proc/%ld/status", pid);
  FILE *f = fopen(path, "r");
  if (f == NULL) return false;
  unsigned long long caught = 0;
  while (fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, "SigCgt:", 7) == 0) caught = strtoull(line + 7, NULL, 16);
  fclose(f);
  return (caught >> (SIGUSR1 - 1) & 1) != 0;
}

/* Pushes the words of its command line, with blanks between. */
static void push_command (lua_State *L, long pid) {
  char path[PROC_PATH], text[1024];
  snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
  FILE *f = fopen(path, "r");
  const size_t n = f != NULL ? fread(text, 1, sizeof text, f) : 0;
  if (f != NULL) fclose(f);
  for (size_t i = 0; i < n; i++)
    if (text[i] == '\0' || text[i] == '\n') text[i] = ' ';
  lua_pushlstring(L, text, n > 0 && text[n - 1] == ' ' ? n - 1 : n);
}

/* process.list() -> {{pid, command}, ...} of this user, without this one */
static int process_list (lua_State *L) {
  lua_newtable(L);
  DIR *proc = opendir("/proc");
  if (proc == NULL) return 1;
  lua_Integer count = 0;
  for (struct dirent *e = readdir(proc); e != NULL; e = readdir(proc)) {
    char *end;
    const long pid = strtol(e->d_name, &end, 10);
    uid_t owner;
    if (*end != '\0' || pid <= 0 || pid == getpid()) continue;
    if (!owner_of(pid, &owner) || owner != getuid() || !is_gibbous(pid)) continue;
    lua_createtable(L, 0, 2);
    lua_pushinteger(L, pid);
    lua_setfield(L, -2, "pid");
    push_command(L, pid);
    lua_setfield(L, -2, "command");
    lua_rawseti(L, -2, ++count);
  }
  closedir(proc);
  return 1;
}

/* process.check(pid) -> nil, or why it cannot be asked */
static int process_check (lua_State *L) {
  const long pid = (long)luaL_checkinteger(L, 1);
  uid_t owner;
  if (!owner_of(pid, &owner)) lua_pushfstring(L, "there is no process %d", (int)pid);
  else if (owner != getuid()) lua_pushfstring(L, "process %d is another user's", (int)pid);
  else if (!is_gibbous(pid)) lua_pushfstring(L, "process %d is not a gibbous process", (int)pid);
  else if (!answers(pid)) lua_pushfstring(L, "process %d does not answer: it ignores SIGUSR1", (int)pid);
  else lua_pushnil(L);
  return 1;
}

/* process.command(pid) -> text */
static int process_command (lua_State *L) {
  push_command(L, (long)luaL_checkinteger(L, 1));
  return 1;
}

/* Pushes the state file at 'path' if it is one of the user's own; false: it is not there. */
static bool push_state (lua_State *L, const char *path) {
  struct stat s;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  char text[20000];
  const bool own = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == getuid();
  const ssize_t n = own ? read(fd, text, sizeof text) : -1;
  close(fd);
  if (n < 0) return false;
  lua_pushlstring(L, text, (size_t)n);
  return true;
}

/* process.ask(pid, directory): asks it to write its state there or in /tmp. Old answers are removed. */
static int process_ask (lua_State *L) {
  const long pid = (long)luaL_checkinteger(L, 1);
  const char *const in[] = {luaL_checkstring(L, 2), "/tmp"};
  char path[LGB_STATE_PATH];
  for (int i = 0; i < 2; i++) {
    lgb_state_path(path, in[i], pid);
    unlink(path);
  }
  lua_pushboolean(L, kill((pid_t)pid, SIGUSR1) == 0);
  return 1;
}

/* process.answer(pid, directory) -> what it has written by now, or nil, after a moment */
static int process_answer (lua_State *L) {
  const long pid = (long)luaL_checkinteger(L, 1);
  const char *const in[] = {luaL_checkstring(L, 2), "/tmp"};
  const struct timespec moment = {.tv_nsec = LOOK_NS};
  char path[LGB_STATE_PATH];
  nanosleep(&moment, NULL);
  for (int i = 0; i < 2; i++) {
    lgb_state_path(path, in[i], pid);
    if (push_state(L, path)) return 1;
  }
  lua_pushnil(L);
  return 1;
}

/* process.forget(pid, directory): removes what it wrote */
static int process_forget (lua_State *L) {
  const long pid = (long)luaL_checkinteger(L, 1);
  const char *const in[] = {luaL_checkstring(L, 2), "/tmp"};
  char path[LGB_STATE_PATH];
  for (int i = 0; i < 2; i++) {
    lgb_state_path(path, in[i], pid);
    unlink(path);
  }
  return 0;
}

/* process.environment(pid, name) -> what the variable was when the process began, or nil */
static int process_environment (lua_State *L) {
  const long pid = (long)luaL_checkinteger(L, 1);
  size_t length;
  const char *name = luaL_checklstring(L, 2, &length);
  char path[PROC_PATH], word[4096];
  snprintf(path, sizeof path, "/proc/%ld/environ", pid);
  FILE *f = fopen(path, "r");
  if (f == NULL) return 0;
  size_t n = 0;
  bool found = false;
  for (int c = fgetc(f); !found; c = fgetc(f)) {
    if (c != '\0' && c != EOF) {
      if (n < sizeof word - 1) word[n++] = (char)c;
      continue;
    }
    word[n] = '\0';
    found = n > length && strncmp(word, name, length) == 0 && word[length] == '=';
    if (!found) n = 0;
    if (c == EOF) break;
  }
  fclose(f);
  if (!found) return 0;
  lua_pushstring(L, word + length + 1);
  return 1;
}

int lgb_open_process (lua_State *L) {
  static const luaL_Reg functions[] = {{"answer", process_answer}, {"ask", process_ask},
                                       {"check", process_check},   {"command", process_command},
                                       {"forget", process_forget}, {"environment", process_environment},
                                       {"list", process_list},     {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
