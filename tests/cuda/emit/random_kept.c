/* random_kept.c - one random program whose reductions are LSE, ARG* and the least few, on the heap. */
#include "cuda/emit/generated_programs.h"

/* In place of the reduction that it was; of a slot as it was where that was one of the least few. */
static void keep (fx *x, gb_out *o, int which) {
  static const gb_monoid monoids[] = {GB_LSE, GB_LSE, GB_ARGMINIMUM, GB_ARGMAXIMUM};
  static const int few[] = {1, 2, 3, 5, 8, 16, 17};
  if (o->monoid == GB_KSMALLEST) return;
  const bool position = which == 2 || which == 3;
  o->dtype = x->slot_dtype[o->slot] = position ? GB_I64 : x->f.compute;
  if (which < 4) o->monoid = monoids[which];
  else fx_select(x, o, few[fx_below(x, 7)]);
}

/* A few elements are NaN, infinities, or equal to their neighbours. */
static void spoil (fx *x, int operand) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0};
  const gb_operand *o = &x->operand[operand];
  if (!gb_dtype_is_float(o->dtype) || x->in_n[o->slot] < 40) return;
  for (int n = fx_below(x, 4); n > 0; n--) {
    const size_t at = (size_t)fx_next(x) % x->in_n[o->slot];
    gb_element_set(x->in[o->slot], at, o->dtype, odd[fx_below(x, 5)]);
  }
}

fx *random_kept (uint64_t seed) {
  fx *x = random_fold(seed);
  int kept = 0;
  for (int k = 0; k < x->f.nouts && x->f.compute != GB_I64; k++) {
    if (x->out[k].kind != GB_OUT_REDUCE) continue;
    keep(x, &x->out[k], fx_below(x, 6));
    kept++;
  }
  for (int k = 0; k < x->f.noperands; k++) spoil(x, k);
  if (kept > 0) return x;
  fx_free(x);
  free(x);
  return NULL;
}
