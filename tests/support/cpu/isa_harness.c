/* isa_harness.c - tables of kernels, typed access to buffers, and comparison in units of the last place. */
#include "support/cpu/isa_harness.h"

void each_table (void (*test)(const table *t)) {
  static const char *const names[] = {"avx512", "avx2", "portable"};
  for (int i = 0; i < 3; i++) {
    if (gb_isa_select(names[i], NULL) != GB_OK) {
      print_message("%s: not on this machine\n", names[i]);
      continue;
    }
    for (int single = 0; single < 2; single++) {
      const table t = {gb_isa_active, single ? &gb_isa_active->f32 : &gb_isa_active->f64, single == 1,
                       gb_isa_active != &gb_isa_portable, single ? 4 : 8};
      test(&t);
    }
  }
}

double get (const table *t, const void *p, size_t i) {
  return t->single ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

void put (const table *t, void *p, size_t i, double v) {
  if (t->single) ((float *)p)[i] = (float)v;
  else ((double *)p)[i] = v;
}

double muladd (const table *t, double a, double b, double c) {
  if (t->single)
    return (double)(t->fused ? fmaf((float)a, (float)b, (float)c) : (float)a * (float)b + (float)c);
  return t->fused ? fma(a, b, c) : a * b + c;
}

double minus (const table *t, double a, double b) {
  return t->single ? (double)((float)a - (float)b) : a - b;
}

double uniform (double lo, double hi) {
  static uint64_t s = 1;
  s = s * 6364136223846793005u + 1442695040888963407u;
  return lo + (hi - lo) * ((double)(s >> 11) * 0x1p-53);
}

void *room (const table *t, size_t n) {
  void *p = aligned_alloc(64, (n * t->width + 63) / 64 * 64);
  assert_non_null(p);
  return p;
}

void *random_values (const table *t, size_t n, double lo, double hi) {
  void *p = room(t, n);
  for (size_t i = 0; i < n; i++) put(t, p, i, uniform(lo, hi));
  return p;
}

void *zeros (const table *t, size_t n) {
  void *p = room(t, n);
  memset(p, 0, n * t->width);
  return p;
}

/* |got - want| in units of the last place of 'want'; below the normal range the unit is that of its limit. */
static double ulps (const table *t, double got, long double want) {
  if (isnan(want)) return isnan(got) ? 0.0 : (double)INFINITY;
  if ((long double)got == want) return 0.0;
  const int lowest = t->single ? -126 : -1022;
  int e = isinf(want) ? 0 : ilogbl(want);
  if (e < lowest) e = lowest;
  return (double)(fabsl((long double)got - want) / ldexpl(1.0L, e - (t->single ? 23 : 52)));
}

void check_ulps (const table *t, double got, long double want, double most, const char *what, double at) {
  const double e = ulps(t, got, want);
  if (!(e <= most))
    fail_msg("%s f%d %s at %.17g: %.17g, expected %.17Lg, off by %.2f ulp, allowed %.2f", t->isa->name,
             t->single ? 32 : 64, what, at, got, want, e, most);
}

void check_same (const table *t, const void *a, const void *b, size_t n, const char *what) {
  if (memcmp(a, b, n * t->width) == 0) return;
  for (size_t i = 0; i < n; i++)
    if (memcmp((const char *)a + i * t->width, (const char *)b + i * t->width, t->width) != 0)
      fail_msg("%s f%d %s: element %zu is %.17g and %.17g", t->isa->name, t->single ? 32 : 64, what, i,
               get(t, a, i), get(t, b, i));
}
