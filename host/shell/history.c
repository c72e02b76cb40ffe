/* history.c - the file of entries. Each line is appended at once, so a crash loses nothing.
**
** "\\@ID\tDIRECTORY\tTEXT" is an entry, "\\=ID\tSECONDS\tHOW" its end; in lines of older versions no backslash is
** followed by '@' or '='. */
#define _GNU_SOURCE
#include "shell/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/outfile.h"

/* entries before the end of one that may be its beginning: those of other sessions lie between them */
#define NEIGHBOURS 1000

static const char *const end_names[] = {"", "ok", "error", "interrupted"};

/* -- lines */

static void unescape (char *s) {
  char *to = s;
  for (; *s != '\0'; s++) {
    if (*s == '\\' && s[1] != '\0') *to++ = *++s == 'n' ? '\n' : *s;
    else *to++ = *s;
  }
  *to = '\0';
}

/* Writes 'text' with backslashes and line breaks escaped, and returns the end. 'to' has room for two bytes a byte. */
static char *escape (char *to, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '\\' || *text == '\n') *to++ = '\\';
    *to++ = *text == '\n' ? 'n' : *text;
  }
  return to;
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

/* Cuts a line at its tab; NULL: there is none. */
static char *past_tab (char *line) {
  char *tab = strchr(line, '\t');
  if (tab == NULL) return NULL;
  *tab = '\0';
  return tab + 1;
}

/* A number up to 'stop', not negative and finite. */
static bool read_number (const char *text, char stop, double *out) {
  char *end;
  *out = strtod(text, &end);
  return end > text && *end == stop && *out >= 0 && *out < 1e12;
}

/* "ID\tDIRECTORY\tTEXT", the ID beginning with the time. */
static bool parse_entry (char *line, gb_history_entry *e) {
  char *directory = past_tab(line), *text = directory != NULL ? past_tab(directory) : NULL;
  if (text == NULL || strlen(line) >= GB_HISTORY_ID || !read_number(line, '-', &e->began)) return false;
  unescape(directory);
  unescape(text);
  e->id = line;
  e->directory = directory;
  e->text = text;
  return *text != '\0' && strlen(text) <= GB_HISTORY_LONGEST;
}

/* "ID\tSECONDS\tHOW": false if it is damaged. An end whose entry is not there any more says nothing. */
static bool parse_end (gb_history *h, char *line) {
  char *seconds = past_tab(line), *how = seconds != NULL ? past_tab(seconds) : NULL;
  double took;
  if (how == NULL || !read_number(seconds, '\0', &took)) return false;
  int end = GB_END_INTERRUPTED;
  while (end > GB_END_UNKNOWN && strcmp(end_names[end], how) != 0) end--;
  if (end == GB_END_UNKNOWN) return false;
  for (size_t i = h->n; i > 0 && h->n - i < NEIGHBOURS; i--) {
    gb_history_entry *e = &h->entry[i - 1];
    if (strcmp(e->id, line) != 0) continue;
    e->seconds = took;
    e->end = (gb_history_end)end;
    break;
  }
  return true;
}

/* Takes a line, which ends with a line break in the file if it is 'whole'. False: it is damaged. */
static bool take_line (gb_history *h, char *line, bool whole) {
  gb_history_entry *e = &h->entry[h->n];
  *e = (gb_history_entry){.text = line, .directory = "", .id = ""};
  if (!is_text(line)) return false;
  if (strncmp(line, "\\=", 2) == 0) return whole && parse_end(h, line + 2);
  if (strncmp(line, "\\@", 2) == 0) {
    if (!whole || !parse_entry(line + 2, e)) return false;
  } else {
    unescape(line);
    if (strlen(line) > GB_HISTORY_LONGEST) return false;
  }
  h->n++;
  return true;
}

static gb_status take_lines (gb_history *h, size_t n, gb_error *err) {
  char *text = h->bytes;
  size_t lines = 1;
  for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
  h->entry = malloc(lines * sizeof *h->entry);
  if (h->entry == NULL) return gb_fail(err, GB_ENOMEM, "no memory for the entries of the history");
  for (char *line = text, *end; line < text + n; line = end + 1) {
    end = memchr(line, '\n', (size_t)(text + n - line));
    const bool whole = end != NULL;
    if (!whole) end = text + n;
    *end = '\0';
    if (line == end) continue;
    const bool has_nul = strlen(line) < (size_t)(end - line);
    if (has_nul || !take_line(h, line, whole)) h->damaged++;
  }
  return GB_OK;
}

/* -- the file */

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

gb_status gb_history_read (const char *path, gb_history *out, gb_error *err) {
  gb_infile f;
  size_t n = 0;
  *out = (gb_history){0};
  GB_TRY(gb_infile_open(path, &f, err));
  gb_status st = load(&f, &out->bytes, &n, err);
  gb_infile_close(&f);
  /* on failure the file stays long */
  if (st == GB_OK && f.size > GB_HISTORY_MOST) (void)gb_outfile_put(path, out->bytes, n, NULL);
  if (st == GB_OK) {
    out->bytes[n] = '\0';
    st = take_lines(out, n, err);
  }
  if (st != GB_OK) gb_history_clear(out);
  return st;
}

void gb_history_clear (gb_history *h) {
  free(h->entry);
  free(h->bytes);
  *h = (gb_history){0};
}

/* -- writing */

const char *gb_history_unfit (const char *text) {
  if (strlen(text) > GB_HISTORY_LONGEST) return "it is longer than 16 KiB";
  for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
    const size_t n = *at == '\n' ? 1 : character(at);
    if (n == 0) return "it has control characters, or bytes that are not UTF-8";
    at += n;
  }
  return NULL;
}

/* Is the last line of the file cut off, so that the next one must begin with a line break? */
static bool is_cut_off (const char *path) {
  char last = '\n';
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool has_bytes = lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) == 1;
  close(fd);
  return has_bytes && last != '\n';
}

/* line[0] is a line break, which is written where the last line has none. */
static gb_status append (const char *path, const char *line, size_t n, gb_error *err) {
  const size_t skip = is_cut_off(path) ? 0 : 1;
  return gb_outfile_append(path, 0600, line + skip, n - skip, err);
}

/* The working directory; "" if it is unknown, or its name is no text. */
static void find_directory (char *to, size_t size) {
  if (getcwd(to, size) == NULL || !is_text(to) || strchr(to, '\t') != NULL) *to = '\0';
}

gb_status gb_history_begin (const char *path, const char *text, char id[GB_HISTORY_ID], gb_error *err) {
  struct timespec now;
  char directory[4096];
  clock_gettime(CLOCK_REALTIME, &now);
  find_directory(directory, sizeof directory);
  snprintf(id, GB_HISTORY_ID, "%lld.%06ld-%ld", (long long)now.tv_sec, now.tv_nsec / 1000, (long)getpid());
  char *line = malloc(2 * (strlen(text) + strlen(directory)) + GB_HISTORY_ID + 8);
  if (line == NULL) return gb_fail(err, GB_ENOMEM, "no memory for an entry of the history");
  char *to = line + snprintf(line, GB_HISTORY_ID + 8, "\n\\@%s\t", id);
  to = escape(to, directory);
  *to++ = '\t';
  to = escape(to, text);
  *to++ = '\n';
  const gb_status st = append(path, line, (size_t)(to - line), err);
  free(line);
  return st;
}

gb_status gb_history_finish (const char *path, const char *id, double seconds, gb_history_end end,
                             gb_error *err) {
  char line[GB_HISTORY_ID + 64];
  const int n = snprintf(line, sizeof line, "\n\\=%s\t%.6f\t%s\n", id, seconds, end_names[end]);
  return append(path, line, (size_t)n, err);
}
