/* test_panel.c - products of panels with each other and with small matrices, bit for bit those of plain loops:
** blocks that are not full, lists of rows and columns, any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "device/panel.h"
#include "support/device.h"
#include "support/memory.h"

enum { MOST_ROWS = 700, MOST_COLUMNS = 40, SPARE = 5 };

static gb_device *dev;
static gb_error err;
static uint64_t draws;

static double *normals (size_t count) {
  double *v = malloc((count + 1) * sizeof *v);
  for (size_t i = 0; i < count; i++) v[i] = gb_rand_normal(3, 1, draws++);
  return v;
}

static void *take (gb_block *b, size_t entries) {
  assert_int_equal(
      gb_ledger_alloc(&dev->ledger, GB_MEM_WORKSPACE, (entries + 1) * sizeof(double), "", "", b, &err),
      GB_OK);
  return b->data;
}

/* -- a panel in the device's memory, and what that memory should hold */

typedef struct side {
  gb_block block;
  gb_panel whole, x;
  double *is;
  size_t rows[MOST_ROWS], columns[MOST_COLUMNS];
} side;

/* Lists leave some rows and columns out, and go backwards. */
static void begin_side (side *s, size_t n, size_t r, bool listed) {
  const size_t height = n + SPARE, width = r + SPARE;
  s->whole = gb_panel_of(dev, take(&s->block, height * width), height, width);
  s->is = normals(height * width);
  gb_panel_write(s->whole, s->is);
  s->x = s->whole;
  s->x.n = n, s->x.r = r;
  if (!listed) return;
  for (size_t i = 0; i < n; i++) s->rows[i] = n + 2 - i;
  for (size_t k = 0; k < r; k++) s->columns[k] = r + 3 - k;
  s->x = gb_panel_columns(gb_panel_rows(s->x, n, s->rows), r, s->columns);
}

static void end_side (side *s) {
  gb_ledger_free(&dev->ledger, &s->block);
  free(s->is);
}

static double *entry (const side *s, size_t i, size_t k) {
  const gb_panel *x = &s->x;
  return s->is + (x->row != NULL ? x->row[i] : i) * x->stride + (x->column != NULL ? x->column[k] : k);
}

static void assert_bits (const char *what, const double *is, const double *want, size_t count) {
  for (size_t e = 0; e < count; e++)
    if (memcmp(&is[e], &want[e], sizeof *is) != 0)
      fail_msg("%s: entry %zu of %zu is %a, not %a", what, e, count, is[e], want[e]);
}

static void check_side (const char *what, const side *s) {
  const size_t count = s->whole.n * s->whole.r;
  double *there = malloc(count * sizeof *there);
  gb_panel_read(s->whole, there);
  assert_bits(what, there, s->is, count);
  free(there);
}

/* -- the operations and their loops */

static void check_cross (const side *x, const side *y) {
  const size_t n = x->x.n, a = x->x.r, b = y->x.r;
  double *out = malloc(2 * a * b * sizeof *out), *want = out + a * b;
  gb_block sums;
  memset(out, 0xff, a * b * sizeof *out); /* all NaN */
  gb_panel_cross(x->x, y->x, take(&sums, gb_panel_sums(n, a * b)), out);
  for (size_t j = 0; j < a; j++)
    for (size_t k = 0; k < b; k++) {
      double total = 0;
      for (size_t i0 = 0; i0 < n; i0 += GB_PANEL_BLOCK) {
        double sum = 0;
        for (size_t i = i0; i < n && i < i0 + GB_PANEL_BLOCK; i++) sum += *entry(x, i, j) * *entry(y, i, k);
        total += sum;
      }
      want[j * b + k] = total;
    }
  assert_bits("cross", out, want, a * b);
  gb_ledger_free(&dev->ledger, &sums);
  free(out);
}

static void check_mix (const side *x, const side *y) {
  const size_t a = x->x.r, b = y->x.r;
  double *m = normals(a * b);
  gb_panel_mix(x->x, m, y->x);
  for (size_t i = 0; i < x->x.n; i++)
    for (size_t k = 0; k < b; k++)
      for (size_t j = 0; j < a; j++) *entry(y, i, k) += *entry(x, i, j) * m[j * b + k];
  check_side("mix", y);
  check_side("mix", x);
  free(m);
}

static void check_turn (const side *x, size_t to) {
  const size_t a = x->x.r;
  double *m = normals(a * to), row[MOST_COLUMNS];
  gb_block sums;
  gb_panel_turn(m, to, take(&sums, gb_panel_sums(x->x.n, a)), x->x);
  for (size_t i = 0; i < x->x.n; i++) {
    for (size_t j = 0; j < a; j++) row[j] = *entry(x, i, j);
    for (size_t k = 0; k < to; k++) {
      double sum = 0;
      for (size_t j = 0; j < a; j++) sum += row[j] * m[j * to + k];
      *entry(x, i, k) = sum;
    }
  }
  check_side("turn", x);
  gb_ledger_free(&dev->ledger, &sums);
  free(m);
}

static void check_shape (size_t n, size_t a, size_t b, int listed) {
  static side x, y;
  begin_side(&x, n, a, listed & 1);
  begin_side(&y, n, b, listed & 2);
  check_cross(&x, &y);
  check_cross(&x, &x);
  check_mix(&x, &y);
  check_turn(&x, a);
  check_turn(&x, (a + 1) / 2);
  check_turn(&y, 1);
  end_side(&x), end_side(&y);
}

static void products_have_the_bits_of_plain_loops (void **state) {
  static const size_t heights[] = {0, 1, 255, 256, 257, MOST_ROWS},
                      shapes[][2] = {{1, 1}, {3, 2}, {17, 40}, {40, 17}};
  (void)state;
  for (int threads = 1; threads <= 3; threads += 2) {
    assert_int_equal(test_device_new(threads, (size_t)1 << 30, &dev, &err), GB_OK);
    for (size_t h = 0; h < sizeof heights / sizeof *heights; h++)
      for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int listed = 0; listed < 4; listed++)
          check_shape(heights[h], shapes[s][0], shapes[s][1], listed);
    assert_int_equal(test_device_free(dev), 0);
  }
}

/* Both panels lie in one memory: earlier columns are mixed into later ones. */
static void columns_of_one_memory_mix (void **state) {
  static side x, y;
  (void)state;
  assert_int_equal(test_device_new(2, (size_t)1 << 30, &dev, &err), GB_OK);
  begin_side(&x, 300, 12, false);
  y = x;
  x.x.r = 5;
  for (size_t k = 0; k < 7; k++) y.columns[k] = 5 + k;
  y.x = gb_panel_columns(y.x, 7, y.columns);
  check_mix(&x, &y);
  end_side(&x);
  assert_int_equal(test_device_free(dev), 0);
}

/* The last test: the far device does not come back. */
static void a_lost_device_gives_no_products (void **state) {
  static side x;
  double out[9];
  gb_block sums;
  (void)state;
  if (test_device_kind() == NULL || strcmp(test_device_kind(), "far") != 0) skip();
  setenv("GIBBOUS_FAR_FAULT", "lost=9", 1);
  assert_int_equal(test_device_new(1, (size_t)1 << 30, &dev, &err), GB_OK);
  begin_side(&x, 300, 3, false);
  take(&sums, gb_panel_sums(300, 9));
  for (int call = 0; call < 9; call++) gb_panel_fill(x.x, 1);
  gb_panel_cross(x.x, x.x, sums.data, out);
  for (int e = 0; e < 9; e++) assert_true(isnan(out[e]));
  gb_ledger_free(&dev->ledger, &sums);
  end_side(&x);
  test_device_free(dev);
}

int main (void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_have_the_bits_of_plain_loops),
                                     cmocka_unit_test(columns_of_one_memory_mix),
                                     cmocka_unit_test(a_lost_device_gives_no_products)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
