/* unpack.c - gzip, member by member. zlib's file functions ignore bytes after a complete member and treat a truncated file as its
** end. */
#include "io/unpack.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/interrupt.h"

#define IN ((size_t)64 << 10)
#define OUT ((size_t)256 << 10)            /* bytes between two polls for Ctrl-C */
#define WIDE ((size_t)8 << 20)             /* bytes of a block of a long text that is kept */
#define FREE_OF_RATIO ((uint64_t)16 << 20) /* bytes that any file may unpack to, whatever the ratio */

static bool ends_in_gz (const char *path) {
  const size_t n = strlen(path);
  return n > 3 && strcasecmp(path + n - 3, ".gz") == 0;
}

static gb_status start (gb_unpack *u, gb_error *err) {
  GB_TRY(gb_ledger_alloc(u->ledger, GB_MEM_WORKSPACE, IN + gb_inflate_bytes, "", "", &u->in, err));
  if (gb_inflate_open(&u->inflate, (char *)u->in.data + IN)) return GB_OK;
  gb_ledger_free(u->ledger, &u->in);
  return gb_fail(err, GB_ENOMEM, "no memory to unpack '%s'", u->file.path);
}

static gb_status look (gb_unpack *u, gb_error *err) {
  unsigned char lead[2];
  size_t got;
  GB_TRY(gb_infile_read(&u->file, lead, 2, &got, err));
  GB_TRY(gb_infile_rewind(&u->file, err));
  if (got == 2 && lead[0] == 0x1F && lead[1] == 0x8B) return start(u, err);
  if (!ends_in_gz(u->file.path)) return GB_OK;
  return gb_fail(
      err, GB_EFORMAT,
      "%s: its name ends in .gz, but it does not begin as gzip does; a damaged file, or one that needs "
      "another name",
      u->file.path);
}

gb_status gb_unpack_open (gb_ledger *l, const char *path, double max_ratio, gb_unpack *out, gb_error *err) {
  *out = (gb_unpack){.file.fd = -1, .ledger = l, .max_ratio = max_ratio};
  GB_TRY(gb_infile_open(path, &out->file, err));
  const gb_status st = look(out, err);
  if (st != GB_OK) gb_unpack_close(out);
  return st;
}

/* Refills the packed bytes unless the file has ended. */
static gb_status fill (gb_unpack *u, gb_error *err) {
  size_t got;
  if (u->inflate.available > 0 || u->file_ended) return GB_OK;
  GB_TRY(gb_infile_read(&u->file, u->in.data, IN, &got, err));
  u->inflate.next = u->in.data;
  u->inflate.available = got;
  u->file_ended = got < IN;
  u->taken += got;
  return GB_OK;
}

/* Between two members: sets '*more' if another one begins. Zeros up to the end of the file are padding. */
static gb_status next_member (gb_unpack *u, bool *more, gb_error *err) {
  bool padded = false;
  for (;;) {
    GB_TRY(fill(u, err));
    if (u->inflate.available == 0) return *more = false, GB_OK;
    if (*u->inflate.next != 0) break;
    padded = true;
    u->inflate.next++;
    u->inflate.available--;
  }
  if (padded || *u->inflate.next != 0x1F)
    return gb_fail(err, GB_EFORMAT, "%s: other bytes follow the gzip data: the file is damaged",
                   u->file.path);
  gb_inflate_reset(&u->inflate);
  u->at_end = false;
  return *more = true, GB_OK;
}

static gb_status failed (const gb_unpack *u, gb_inflated what, gb_error *err) {
  if (what == GB_INFLATED_NO_MEMORY) return gb_fail(err, GB_ENOMEM, "no memory to unpack '%s'", u->file.path);
  if (what == GB_INFLATED_STUCK)
    return gb_fail(err, GB_EFORMAT, "%s: the gzip data end too early: the file is cut short", u->file.path);
  return gb_fail(err, GB_EFORMAT, "%s: damaged gzip data: %s", u->file.path, u->inflate.why);
}

static gb_status inflate_some (gb_unpack *u, unsigned char *to, size_t room, size_t *got, gb_error *err) {
  const gb_inflated what = gb_inflate_read(&u->inflate, to, room, got);
  u->given += *got;
  if (what == GB_INFLATED_END) u->at_end = true;
  else if (what == GB_INFLATED_STUCK && !(u->file_ended && u->inflate.available == 0)) return GB_OK;
  else if (what != GB_INFLATED_SOME) return failed(u, what, err);
  if (u->max_ratio > 0 && u->given > FREE_OF_RATIO && (double)u->given > u->max_ratio * (double)u->taken) {
    *got = 0;
    return gb_fail(
        err, GB_EFORMAT,
        "%s: it unpacks to more than %g times its size; max_ratio = ... allows more, or unpack it first",
        u->file.path, u->max_ratio);
  }
  return GB_OK;
}

/* -- bytes that are kept */

struct gb_unpacked {
  gb_block memory;
  size_t used;
  gb_unpacked *next;
};

void gb_unpack_forget (gb_unpack *u) {
  for (gb_unpacked *k = u->kept, *next; k != NULL; k = next) {
    next = k->next;
    gb_ledger_free(u->ledger, &k->memory);
    free(k);
  }
  u->kept = u->last = NULL;
  u->kept_bytes = u->room = 0;
  u->remembers = u->replays = false;
}

/* Bytes of the next block: of a long text it is a large one, in wide pages where the system has them. */
static size_t block_for (const gb_unpack *u, size_t n) {
  const bool is_long = u->kept_bytes >= WIDE && n < WIDE;
  return is_long && u->kept_bytes + WIDE <= gb_ledger_room(u->ledger) ? WIDE : n;
}

void gb_unpack_remember (gb_unpack *u, size_t n) {
  if (!u->remembers || u->replays || u->room >= n || n == 0) return;
  gb_unpacked *k = NULL;
  n = block_for(u, n);
  if (u->kept_bytes + n <= gb_ledger_room(u->ledger)) k = calloc(1, sizeof *k);
  if (k != NULL && gb_ledger_alloc(u->ledger, GB_MEM_WORKSPACE, n, "", "", &k->memory, NULL) != GB_OK) {
    free(k);
    k = NULL;
  }
  if (k == NULL) return gb_unpack_forget(u);
  *(u->last == NULL ? &u->kept : &u->last->next) = k;
  u->last = k;
  u->kept_bytes += n;
  u->room = n;
}

static void keep (gb_unpack *u, const void *from, size_t n) {
  if (!u->remembers) return;
  memcpy((char *)u->last->memory.data + u->last->used, from, n);
  u->last->used += n;
  u->room -= n;
}

static size_t replay (gb_unpack *u, char *to, size_t n) {
  size_t got = 0;
  while (got < n && u->last != NULL) {
    const size_t left = u->last->used - u->given, some = n - got < left ? n - got : left;
    memcpy(to + got, (char *)u->last->memory.data + u->given, some);
    got += some;
    u->given += some;
    if (u->given == u->last->used) u->last = u->last->next, u->given = 0;
  }
  return got;
}

/* -- the stream */

gb_status gb_unpack_read (gb_unpack *u, void *to, size_t n, size_t *got, gb_error *err) {
  if (u->in.data == NULL) return gb_infile_read(&u->file, to, n, got, err);
  *got = 0;
  if (u->replays) return *got = replay(u, to, n), GB_OK;
  unsigned char *at = to;
  while (*got < n) {
    size_t some = 0;
    bool more = true;
    if (gb_interrupted()) return gb_fail(err, GB_EINTR, "interrupted");
    if (u->at_end) GB_TRY(next_member(u, &more, err));
    if (!more) {
      u->ended = true;
      break;
    }
    GB_TRY(fill(u, err));
    const gb_status st = inflate_some(u, at + *got, n - *got < OUT ? n - *got : OUT, &some, err);
    keep(u, at + *got, some);
    *got += some;
    if (st != GB_OK) return st;
  }
  return GB_OK;
}

gb_status gb_unpack_rewind (gb_unpack *u, gb_error *err) {
  u->replays = u->remembers && u->ended;
  u->last = u->kept;
  u->taken = u->given = 0;
  if (u->replays) return GB_OK;
  gb_unpack_forget(u);
  GB_TRY(gb_infile_rewind(&u->file, err));
  u->remembers = u->in.data != NULL;
  u->inflate.available = 0;
  u->at_end = u->file_ended = u->ended = false;
  if (u->in.data != NULL) gb_inflate_reset(&u->inflate);
  return GB_OK;
}

void gb_unpack_close (gb_unpack *u) {
  gb_unpack_forget(u);
  gb_inflate_close(&u->inflate);
  gb_ledger_free(u->ledger, &u->in);
  gb_infile_close(&u->file);
}
