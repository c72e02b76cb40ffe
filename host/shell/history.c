/* history.c - each entry is appended to the file at once, so a crash loses nothing. */
#define _GNU_SOURCE
#include "shell/history.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/outfile.h"

static void unescape (char *s) {
  char *to = s;
  for (; *s != '\0'; s++) {
    if (*s == '\\' && s[1] != '\0') *to++ = *++s == 'n' ? '\n' : *s;
    else *to++ = *s;
  }
  *to = '\0';
}

/* Length of the UTF-8 character at s; 0: not valid UTF-8, or a control character. */
static size_t character (const unsigned char *s) {
  if (s[0] < 0x80) return s[0] == '\t' || (s[0] >= 32 && s[0] != 127) ? 1 : 0;
  const size_t n = s[0] >= 0xC2 && s[0] < 0xE0   ? 2
                   : s[0] >= 0xE0 && s[0] < 0xF0 ? 3
                   : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                                 : 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if (s[0] == 0xC2 && s[1] < 0xA0) return 0;                                    /* control characters too */
  if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F)) return 0; /* too long; a surrogate */
  if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F)) return 0;
  return n;
}

static bool is_text (const char *s) {
  const unsigned char *at = (const unsigned char *)s;
  while (*at != '\0') {
    const size_t n = character(at);
    if (n == 0) return false;
    at += n;
  }
  return true;
}

/* Returns the number of lines that are damaged. */
static size_t give (char *text, size_t n, void (*take)(void *ud, const char *entry), void *ud) {
  size_t damaged = 0;
  for (char *line = text, *end; line < text + n; line = end + 1) {
    end = memchr(line, '\n', (size_t)(text + n - line));
    if (end == NULL) end = text + n;
    const bool whole = strlen(line) >= (size_t)(end - line); /* no NUL in it */
    *end = '\0';
    if (whole && *line == '\0') continue;
    if (!whole || !is_text(line)) {
      damaged++;
      continue;
    }
    unescape(line);
    take(ud, line);
  }
  return damaged;
}

/* The last bytes of the file from the beginning of a line, with room for a NUL. */
static gb_status load (gb_infile *f, char **text, size_t *n, gb_error *err) {
  const size_t skip = f->size > GB_HISTORY_MOST ? f->size - GB_HISTORY_MOST / 2 : 0;
  if (skip > 0 && lseek(f->fd, (off_t)skip, SEEK_SET) < 0)
    return gb_fail(err, GB_EIO, "cannot read '%s'", f->path);
  *text = malloc(GB_HISTORY_MOST + 1);
  if (*text == NULL) return gb_fail(err, GB_ENOMEM, "no memory to read '%s'", f->path);
  GB_TRY(gb_infile_read(f, *text, GB_HISTORY_MOST, n, err));
  const char *first = skip > 0 ? memchr(*text, '\n', *n) : NULL;
  if (skip > 0) {
    const size_t cut = first == NULL ? *n : (size_t)(first + 1 - *text);
    memmove(*text, *text + cut, *n - cut);
    *n -= cut;
  }
  return GB_OK;
}

gb_status gb_history_read (const char *path, void (*take)(void *ud, const char *entry), void *ud,
                           size_t *damaged, gb_error *err) {
  gb_infile f;
  char *text = NULL;
  size_t n = 0;
  GB_TRY(gb_infile_open(path, &f, err));
  gb_status st = load(&f, &text, &n, err);
  gb_infile_close(&f);
  /* on failure the file stays long */
  if (st == GB_OK && f.size > GB_HISTORY_MOST) (void)gb_outfile_put(path, text, n, NULL);
  if (st == GB_OK) {
    text[n] = '\0';
    const size_t lines = give(text, n, take, ud);
    if (damaged != NULL) *damaged = lines;
  }
  free(text);
  return st;
}

gb_status gb_history_append (const char *path, const char *entry, gb_error *err) {
  const size_t n = strlen(entry);
  char *line = malloc(2 * n + 2);
  if (line == NULL) return gb_fail(err, GB_ENOMEM, "no memory for an entry of the history");
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    if (entry[i] == '\\' || entry[i] == '\n') line[k++] = '\\';
    line[k++] = entry[i] == '\n' ? 'n' : entry[i];
  }
  line[k++] = '\n';
  const gb_status st = gb_outfile_append(path, 0600, line, k, err);
  free(line);
  return st;
}
