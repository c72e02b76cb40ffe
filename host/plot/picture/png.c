/* png.c - chunks, filters, deflate. Source: ISO/IEC 15948:2004. */
#include "plot/picture/png.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 15 };

static void put_u32 (unsigned char *p, size_t v) {
  for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* A chunk of two pieces, the second of which may be empty. */
static bool put_chunk (gb_png *p, const char name[4], const void *a, size_t na, const void *b, size_t nb) {
  unsigned char head[8], sum[4];
  put_u32(head, na + nb);
  memcpy(head + 4, name, 4);
  uLong crc = crc32(0, head + 4, 4);
  if (na > 0) crc = crc32(crc, a, (uInt)na);
  if (nb > 0) crc = crc32(crc, b, (uInt)nb);
  put_u32(sum, crc);
  return p->take(p->ud, head, sizeof head) && p->take(p->ud, a, na) && p->take(p->ud, b, nb) &&
         p->take(p->ud, sum, sizeof sum);
}

static bool put_head (gb_png *p, size_t height, const char *made) {
  static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  static const char text[] = "Description\0\0\0\0"; /* not compressed, no language, no translated keyword */
  unsigned char head[13] = {[8] = 8, [9] = p->channels == 4 ? 6 : 2};
  put_u32(head, p->width);
  put_u32(head + 4, height);
  return p->take(p->ud, signature, sizeof signature) && put_chunk(p, "IHDR", head, sizeof head, "", 0) &&
         (made[0] == '\0' || put_chunk(p, "iTXt", text, sizeof text, made, strlen(made)));
}

bool gb_png_open (gb_png *p, size_t width, size_t height, bool alpha, const char *made, gb_png_take *take,
                  void *ud) {
  const size_t channels = alpha ? 4 : 3, row = 1 + channels * width;
  *p = (gb_png){.take = take, .ud = ud, .width = width, .channels = channels};
  const bool deflates = deflateInit(&p->z, Z_DEFAULT_COMPRESSION) == Z_OK;
  p->row = deflates ? malloc(row) : NULL;
  p->above = calloc(row, 1);
  p->chunk = malloc(CHUNK);
  p->z.next_out = p->chunk;
  p->z.avail_out = CHUNK;
  if (p->row != NULL && p->above != NULL && p->chunk != NULL && put_head(p, height, made)) return true;
  gb_png_close(p);
  return false;
}

/* Deflates what is in; writes each chunk that is full, and the last one where 'how' finishes. */
static bool squeeze (gb_png *p, int how) {
  for (;;) {
    const int rc = deflate(&p->z, how);
    const bool ends = rc == Z_STREAM_END;
    if (rc == Z_STREAM_ERROR) return false;
    if (p->z.avail_out > 0 && !ends) return true;
    if (!put_chunk(p, "IDAT", p->chunk, CHUNK - p->z.avail_out, "", 0)) return false;
    p->z.next_out = p->chunk;
    p->z.avail_out = CHUNK;
    if (ends) return true;
  }
}

static unsigned char straight (unsigned colour, unsigned alpha) {
  const unsigned v = alpha == 0 ? 0 : (colour * 255 + alpha / 2) / alpha;
  return (unsigned char)(v < 255 ? v : 255);
}

static void put_pixel (unsigned char *to, uint32_t v, size_t channels) {
  const unsigned alpha = channels == 4 ? v >> 24 : 255;
  to[0] = straight(v >> 16 & 255, alpha);
  to[1] = straight(v >> 8 & 255, alpha);
  to[2] = straight(v & 255, alpha);
  if (channels == 4) to[3] = (unsigned char)alpha;
}

/* Where bytes, or their differences from those above, begin a new run: what deflates well has few. */
static size_t runs (const unsigned char *at, const unsigned char *above, size_t n, size_t channels) {
  size_t count = 0;
  for (size_t i = channels; i < n; i++) {
    const int now = at[i] - (above != NULL ? above[i] : 0),
              last = at[i - channels] - (above != NULL ? above[i - channels] : 0);
    count += now != last;
  }
  return count;
}

/* Filter 2 of a row, each byte less the one above, or filter 0, the bytes as they are. */
static void filter (gb_png *p, size_t n) {
  const bool differences = runs(p->row + 1, p->above + 1, n, p->channels) <
                           runs(p->row + 1, NULL, n, p->channels);
  p->row[0] = differences ? 2 : 0;
  for (size_t i = 1; i <= n; i++) {
    const unsigned char now = p->row[i];
    if (differences) p->row[i] = (unsigned char)(now - p->above[i]);
    p->above[i] = now;
  }
}

bool gb_png_row (gb_png *p, const uint32_t *pixels) {
  const size_t n = p->channels * p->width;
  for (size_t i = 0; i < p->width; i++) put_pixel(p->row + 1 + p->channels * i, pixels[i], p->channels);
  filter(p, n);
  p->z.next_in = p->row;
  p->z.avail_in = (uInt)(n + 1);
  if (squeeze(p, Z_NO_FLUSH)) return true;
  gb_png_close(p);
  return false;
}

bool gb_png_finish (gb_png *p) {
  const bool good = squeeze(p, Z_FINISH) && put_chunk(p, "IEND", "", 0, "", 0);
  gb_png_close(p);
  return good;
}

void gb_png_close (gb_png *p) {
  if (p->z.state != NULL) deflateEnd(&p->z);
  free(p->row);
  free(p->above);
  free(p->chunk);
  *p = (gb_png){0};
}
