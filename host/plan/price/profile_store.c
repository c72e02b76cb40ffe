/* profile_store.c - sheets in a text file. A section is
**   [key]
**   name value          every figure, in the order of gb_price_ops.walk
**   end hash            of all lines since the key, it included
** Whoever finds anything else takes the file for no wisdom at all. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/infile.h"
#include "base/outfile.h"
#include "plan/price/profile.h"

#define TITLE "gibbous wisdom 2"
enum { MOST_BYTES = 1 << 18, LINE = GB_WISDOM_KEY + 8 }; /* of a file that is kept; of a line */

/* where, and under what */

bool gb_profile_store_path (char path[GB_WISDOM_PATH]) {
  const char *file = getenv("GIBBOUS_WISDOM"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n = -1;
  if (file != NULL && *file != '\0') n = snprintf(path, GB_WISDOM_PATH, "%s", file);
  else if (cache != NULL && *cache == '/') n = snprintf(path, GB_WISDOM_PATH, "%s/gibbous/wisdom", cache);
  else if (home != NULL && *home != '\0')
    n = snprintf(path, GB_WISDOM_PATH, "%s/.cache/gibbous/wisdom", home);
  return n > 0 && n < GB_WISDOM_PATH - 8; /* room for the suffix of a temporary file */
}

void gb_profile_store_key (const gb_device *dev, char key[GB_WISDOM_KEY]) {
  char device[GB_WISDOM_KEY - 64];
  dev->ops->price->identity(dev, device, sizeof device);
  for (char *c = device; *c != '\0'; c++)
    if (iscntrl((unsigned char)*c) || *c == ']') *c = ' ';
  snprintf(key, GB_WISDOM_KEY, "gibbous %s, %d threads, %s", GIBBOUS_VERSION, gb_pool_threads(dev->pool),
           device);
}

/* reading */

typedef struct reader {
  FILE *f;
  uint64_t hash;
  bool good;
} reader;

/* The next line, without its end; false: there is none, or it is too long. */
static bool next_line (FILE *f, char line[LINE]) {
  if (fgets(line, LINE, f) == NULL) return false;
  const size_t n = strlen(line);
  if (n == 0 || line[n - 1] != '\n') return false;
  line[n - 1] = '\0';
  return true;
}

static uint64_t hash_line (uint64_t h, const char *line) { return gb_hash_bytes(h, line, strlen(line)); }

static void read_figure (void *ud, const char *name, double *value) {
  reader *r = ud;
  char line[LINE], *end;
  const size_t n = strlen(name);
  r->good = r->good && next_line(r->f, line) && strncmp(line, name, n) == 0 && line[n] == ' ';
  if (!r->good) return;
  r->hash = hash_line(r->hash, line);
  *value = strtod(line + n + 1, &end);
  r->good = end != line + n + 1 && *end == '\0' && isfinite(*value) && *value >= 0;
}

static bool read_end (reader *r) {
  char line[LINE], want[LINE];
  snprintf(want, sizeof want, "end %016llx", (unsigned long long)r->hash);
  return r->good && next_line(r->f, line) && strcmp(line, want) == 0;
}

/* The file after its first line, or NULL if it is no plain file, too large, or begins with another line. */
static FILE *open_wisdom (const char *path) {
  char line[LINE];
  gb_infile in;
  FILE *f = gb_infile_open(path, &in, NULL) == GB_OK && in.size < MOST_BYTES ? fdopen(in.fd, "r") : NULL;
  if (f == NULL) gb_infile_close(&in);
  if (f != NULL && next_line(f, line) && strcmp(line, TITLE) == 0) return f;
  if (f != NULL) fclose(f);
  return NULL;
}

static void section_of (const char *key, char line[LINE]) { snprintf(line, LINE, "[%s]", key); }

bool gb_profile_store_read (const char *path, const char *key, const gb_price_ops *price,
                            gb_device_profile *out) {
  char line[LINE], want[LINE];
  reader r = {.f = open_wisdom(path)};
  if (r.f == NULL) return false;
  section_of(key, want);
  while (!r.good && next_line(r.f, line)) r.good = strcmp(line, want) == 0;
  r.hash = hash_line(0, want);
  memset(out, 0, price->bytes);
  price->walk(out, read_figure, &r);
  const bool good = read_end(&r);
  fclose(r.f);
  return good;
}

/* writing */

typedef struct writer {
  gb_outfile f;
  gb_status st;
  uint64_t hash;
} writer;

static void put_line (writer *w, const char *line) {
  if (w->st == GB_OK) w->st = gb_outfile_write(&w->f, line, strlen(line), NULL);
  if (w->st == GB_OK) w->st = gb_outfile_write(&w->f, "\n", 1, NULL);
}

static void write_line (writer *w, const char *line) {
  put_line(w, line);
  w->hash = hash_line(w->hash, line);
}

static void write_figure (void *ud, const char *name, double *value) {
  char line[LINE];
  snprintf(line, sizeof line, "%s %.17g", name, *value);
  write_line(ud, line);
}

/* Sections under other keys, past the first 'skip' of them, to 'to' (may be NULL). Gives their number. */
static int copy_some (writer *to, const char *path, const char *section, int skip) {
  char line[LINE];
  FILE *f = open_wisdom(path);
  bool other = false;
  int n = 0;
  while (f != NULL && next_line(f, line)) {
    if (line[0] == '[') n += other = strcmp(line, section) != 0;
    if (to != NULL && other && n > skip) put_line(to, line);
  }
  if (f != NULL) fclose(f);
  return n;
}

/* The youngest of the others: who writes comes last. */
static void copy_others (writer *to, const char *path, const char *section) {
  const int n = copy_some(NULL, path, section, 0);
  copy_some(to, path, section, n < GB_WISDOM_SHEETS ? 0 : n - (GB_WISDOM_SHEETS - 1));
}

static void make_parents (const char *path) {
  char part[GB_WISDOM_PATH];
  snprintf(part, sizeof part, "%s", path);
  for (char *c = part + 1; *c != '\0'; c++) {
    if (*c != '/') continue;
    *c = '\0';
    mkdir(part, 0777); /* it may be there; the file will tell */
    *c = '/';
  }
}

bool gb_profile_store_write (const char *path, const char *key, const gb_price_ops *price,
                             const gb_device_profile *r) {
  char line[LINE], section[LINE];
  writer w = {.hash = 0};
  make_parents(path);
  w.st = gb_outfile_open(path, &w.f, NULL);
  section_of(key, section);
  put_line(&w, TITLE);
  copy_others(&w, path, section);
  write_line(&w, section);
  price->walk((gb_device_profile *)(uintptr_t)r, write_figure, &w); /* which changes none */
  snprintf(line, sizeof line, "end %016llx", (unsigned long long)w.hash);
  put_line(&w, line);
  return w.st == GB_OK && gb_outfile_commit(&w.f, NULL) == GB_OK;
}
