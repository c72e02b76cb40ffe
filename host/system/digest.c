/* digest.c - digests by Nettle. */
#include "system/digest.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>

#include "base/infile.h"

static void finish (struct sha256_ctx *c, char out[GB_DIGEST]) {
  uint8_t bytes[SHA256_DIGEST_SIZE];
  sha256_digest(c, sizeof bytes, bytes);
  base16_encode_update(out, sizeof bytes, bytes);
  out[GB_DIGEST - 1] = '\0';
}

void gb_digest_text (const void *p, size_t n, char out[GB_DIGEST]) {
  struct sha256_ctx c;
  sha256_init(&c);
  sha256_update(&c, n, p);
  finish(&c, out);
}

gb_status gb_digest_file (const char *path, char out[GB_DIGEST], gb_error *err) {
  gb_infile f;
  GB_TRY(gb_infile_open(path, &f, err));
  struct sha256_ctx c;
  sha256_init(&c);
  uint8_t piece[1 << 16];
  size_t got = sizeof piece;
  gb_status st = GB_OK;
  while (st == GB_OK && got == sizeof piece) {
    st = gb_infile_read(&f, piece, sizeof piece, &got, err);
    if (st == GB_OK) sha256_update(&c, got, piece);
  }
  gb_infile_close(&f);
  if (st == GB_OK) finish(&c, out);
  return st;
}
