/* test_spellings.c - every spelling of a kernel product is lowered to one program, with the same bits. */
#include "base/hash.h"
#include "support/graph/reference.h"
#include "support/plan/lower_fixture.h"

/* One product, many spellings */

/* exp(-|x_i - y_j|^2 / (2 l^2)) v_j, summed over j. */
typedef struct product {
  gb_node *x, *y, *l, *v;
  size_t n, m, d;
} product;
typedef gb_node *spelling (const product *p);

static gb_node *pow_ (gb_node *a, double p) { return map2(GB_OP_POW, a, num(p)); }
static gb_node *norms (gb_node *x) { return sum_axis(square(x), 1); }
static gb_node *expand (gb_node *a, int ndim, const size_t *dim) {
  const gb_shape s = gb_shape_of(ndim, dim);
  return BUILD(gb_expand, a, &s);
}
static gb_node *half_exp (gb_node *scaled) { return map1(GB_OP_EXP, mul(scaled, num(-0.5))); }
static gb_node *after (const product *p, gb_node *d2) { return half_exp(dvd(d2, square(p->l))); }
static gb_node *difference (const product *p) { return sub(unsq(p->x, 1), unsq(p->y, 0)); }
static gb_node *plain (const product *p) { return after(p, sum_axis(square(difference(p)), 2)); }
static gb_node *dots (const product *p) { return mm(p->x, tr(p->y)); }

static gb_node *s_plain (const product *p) { return mm(plain(p), p->v); }
static gb_node *s_power (const product *p) { return mm(after(p, sum_axis(pow_(difference(p), 2), 2)), p->v); }
static gb_node *s_times (const product *p) {
  return mm(after(p, sum_axis(mul(difference(p), difference(p)), 2)), p->v);
}
static gb_node *s_sign (const product *p) {
  return mm(after(p, sum_axis(square(sub(unsq(p->y, 0), unsq(p->x, 1))), 2)), p->v);
}
static gb_node *s_negated (const product *p) {
  gb_node *d2 = sum_axis(square(difference(p)), 2);
  return mm(map1(GB_OP_EXP, dvd(map1(GB_OP_NEG, d2), mul(num(2), mul(p->l, p->l)))), p->v);
}
static gb_node *s_scaled (const product *p) {
  return mm(half_exp(sum_axis(square(sub(unsq(dvd(p->x, p->l), 1), unsq(dvd(p->y, p->l), 0))), 2)), p->v);
}
static gb_node *s_reciprocal (const product *p) {
  gb_node *r = dvd(num(1), p->l);
  return mm(half_exp(sum_axis(square(sub(unsq(mul(p->x, r), 1), unsq(mul(r, p->y), 0))), 2)), p->v);
}
static gb_node *s_expanded (const product *p) {
  const size_t dim[] = {p->n, p->m, p->d};
  gb_node *d = sub(expand(unsq(p->x, 1), 3, dim), expand(unsq(p->y, 0), 3, dim));
  return mm(after(p, sum_axis(square(d), 2)), p->v);
}
static gb_node *s_reshaped (const product *p) {
  gb_node *x = reshape(p->x, 3, (size_t[]){p->n, 1, p->d}), *y = reshape(p->y, 3, (size_t[]){1, p->m, p->d});
  return mm(after(p, sum_axis(square(sub(x, y)), 2)), p->v);
}
static gb_node *s_norm (const product *p) {
  return mm(after(p, square(BUILD(gb_norm, difference(p), 1u << 2, false, 2))), p->v);
}
static gb_node *s_norm_kept (const product *p) {
  return mm(half_exp(square(dvd(sq(BUILD(gb_norm, difference(p), 1u << 2, true, 2), 2), p->l))), p->v);
}
static gb_node *s_quadratic (const product *p) {
  return mm(after(p, sub(add(unsq(norms(p->x), 1), unsq(norms(p->y), 0)), mul(num(2), dots(p)))), p->v);
}
static gb_node *s_quadratic_turned (const product *p) {
  gb_node *s = sub(sub(mul(num(2), tr(mm(p->y, tr(p->x)))), unsq(norms(p->x), 1)), norms(p->y));
  return mm(map1(GB_OP_EXP, mul(s, dvd(num(0.5), square(p->l)))), p->v);
}
static gb_node *s_quadratic_scaled (const product *p) {
  const product q = {
      .x = dvd(p->x, p->l), .y = dvd(p->y, p->l), .l = num(1), .v = p->v, .n = p->n, .m = p->m, .d = p->d};
  return s_quadratic(&q);
}
static gb_node *s_transposed (const product *p) {
  gb_node *d2 = sum_axis(square(sub(unsq(p->y, 1), unsq(p->x, 0))), 2);
  return mm(tr(after(p, d2)), p->v);
}
static gb_node *s_features_first (const product *p) {
  return mm(after(p, sum_axis(square(sub(unsq(tr(p->x), 2), unsq(tr(p->y), 1))), 0)), p->v);
}
static gb_node *s_unrolled (const product *p) {
  gb_node *s = NULL;
  for (size_t k = 0; k < p->d; k++) {
    gb_node *t = square(sub(unsq(BUILD(gb_select, p->x, 1, k), 1), unsq(BUILD(gb_select, p->y, 1, k), 0)));
    s = s == NULL ? t : add(s, t);
  }
  return mm(after(p, s), p->v);
}
static gb_node *s_unrolled_scaled (const product *p) {
  gb_node *s = num(0);
  for (size_t k = p->d; k-- > 0;) {
    gb_node *a = BUILD(gb_slice, dvd(p->x, p->l), 1, k, 1, 1),
            *b = tr(BUILD(gb_slice, dvd(p->y, p->l), 1, k, 1, 1));
    s = add(square(sub(a, b)), s);
  }
  return mm(half_exp(s), p->v);
}
static gb_node *s_mapped (const product *p) {
  const gb_tensor one = {.dtype = inputs.dtype, .shape = gb_shape_of(1, &p->d)};
  gb_node *xi = BUILD(gb_node_leaf, fx.g, &one, GB_NODE_TRACED, ""),
          *yj = BUILD(gb_node_leaf, fx.g, &one, GB_NODE_TRACED, "");
  gb_node *k = half_exp(dvd(sum_all(square(sub(xi, yj))), square(p->l))), *row, *all;
  const int first = 0;
  OK(gb_vmap(1, &yj, &p->y, &first, false, 1, &k, &row, &fx.err));
  hold(GB_OK, row);
  OK(gb_vmap(1, &xi, &p->x, &first, false, 1, &row, &all, &fx.err));
  return mm(hold(GB_OK, all), p->v);
}
/* vmap of a whole row of the product. */
static gb_node *s_mapped_row (const product *p) {
  const gb_tensor one = {.dtype = inputs.dtype, .shape = gb_shape_of(1, &p->d)};
  gb_node *xi = BUILD(gb_node_leaf, fx.g, &one, GB_NODE_TRACED, ""), *all;
  gb_node *z = sum_all(mul(half_exp(dvd(sum_axis(square(sub(xi, p->y)), 1), square(p->l))), p->v));
  const int first = 0;
  OK(gb_vmap(1, &xi, &p->x, &first, false, 1, &z, &all, &fx.err));
  return hold(GB_OK, all);
}
static gb_node *s_object (const product *p) {
  return mm(radial(GB_RBF, dist(p->x, p->y, NULL), map1(GB_OP_RECIP, square(p->l)), NULL), p->v);
}
static gb_node *s_object_scaled (const product *p) {
  return mm(radial(GB_RBF, dist(dvd(p->x, p->l), dvd(p->y, p->l), NULL), num(1), NULL), p->v);
}
static gb_node *s_sum (const product *p) { return sum_axis(mul(plain(p), unsq(p->v, 0)), 1); }
static gb_node *s_sum_first (const product *p) { /* features before points, weights before the sum */
  gb_node *k = after(p, sum_axis(square(sub(unsq(p->y, 1), unsq(p->x, 0))), 2));
  return sum_axis(mul(unsq(p->v, 1), k), 0);
}
static gb_node *s_column (const product *p) { return sq(mm(plain(p), unsq(p->v, 1)), 1); }
static gb_node *s_row (const product *p) { return mm(p->v, tr(plain(p))); }
static gb_node *s_row_of_matrix (const product *p) { return sq(tr(mm(unsq(p->v, 0), tr(plain(p)))), 1); }
static gb_node *s_einsum (const product *p) {
  return BUILD(gb_einsum, fx.g, "ij,j->i", 2, ((gb_node *const[]){plain(p), p->v}));
}
static gb_node *s_einsum_all (const product *p) {
  gb_node *xy = BUILD(gb_einsum, fx.g, "ik,jk->ij", 2, ((gb_node *const[]){p->x, p->y}));
  gb_node *k = after(p, sub(add(unsq(norms(p->x), 1), unsq(norms(p->y), 0)), add(xy, xy)));
  return BUILD(gb_einsum, fx.g, "ji,j->i", 2, ((gb_node *const[]){tr(k), p->v}));
}

static const struct {
  const char *name;
  spelling *f;
} spellings[] = {
    {"square", s_plain},
    {"power", s_power},
    {"product", s_times},
    {"other sign", s_sign},
    {"negated", s_negated},
    {"points / l", s_scaled},
    {"points * (1 / l)", s_reciprocal},
    {"expand", s_expanded},
    {"reshape", s_reshaped},
    {"norm ^ 2", s_norm},
    {"norm kept / l", s_norm_kept},
    {"x^2 + y^2 - 2 x y'", s_quadratic},
    {"-(2 x y' - x^2 - y^2)", s_quadratic_turned},
    {"quadratic of points / l", s_quadratic_scaled},
    {"transposed", s_transposed},
    {"features first", s_features_first},
    {"unrolled", s_unrolled},
    {"unrolled by slices", s_unrolled_scaled},
    {"vmap of a pair", s_mapped},
    {"vmap of a row", s_mapped_row},
    {"kernel object", s_object},
    {"kernel object of points / l", s_object_scaled},
    {"sum of products", s_sum},
    {"sum of products, turned", s_sum_first},
    {"one column", s_column},
    {"from the left", s_row},
    {"a row from the left", s_row_of_matrix},
    {"einsum", s_einsum},
    {"einsum throughout", s_einsum_all},
};
#define NSPELLINGS ((int)(sizeof spellings / sizeof spellings[0]))

typedef struct program {
  uint64_t identity;
  kept_bits value;
  uint64_t pairs;
  char *text;
} program;

/* m = 0: the same points twice. */
static product product_of (gb_dtype t, size_t n, size_t m, size_t d) {
  inputs_begin(3, t, 0);
  product p = {.x = in2(n, d, -1, 1), .n = n, .m = m > 0 ? m : n, .d = d};
  p.y = m > 0 ? in2(m, d, -1, 1) : p.x;
  p.l = in0(0.6, 0.7);
  p.v = in1(p.m, -1, 1);
  return p;
}

/* Lowered and run in a separate graph. */
static program program_of (spelling *f, gb_dtype t, size_t n, size_t m, size_t d) {
  program r = {0};
  eval_begin(1, (size_t)1 << 28);
  const product p = product_of(t, n, m, d);
  gb_node *z = f(&p);
  gb_lowered *low = lowered(1, &z);
  for (int s = 0; s < low->nsteps; s++) {
    if (!visits_pairs(&low->step[s])) continue;
    r.identity = gb_hash_u64(r.identity, gb_fold_identity(&low->step[s].fold));
    if (r.text == NULL) r.text = gb_fold_dump(&low->step[s].fold);
  }
  gb_lowered_free(low);
  eval1(z);
  r.pairs = gb_last_eval(fx.g).pairs;
  r.value = keep_bits(z);
  eval_end();
  return r;
}

static void free_program (program *p) {
  free(p->text);
  free(p->value.at);
}

static void compare_spellings (gb_dtype t, size_t n, size_t m, size_t d) {
  program want = program_of(spellings[0].f, t, n, m, d);
  int different = 0;
  assert_non_null(want.text);
  assert_true(want.pairs >= (m > 0 ? n * m : n * n / 2));
  for (int i = 1; i < NSPELLINGS; i++) {
    program got = program_of(spellings[i].f, t, n, m, d);
    const bool same = got.identity == want.identity && got.pairs == want.pairs &&
                      got.value.bytes == want.value.bytes &&
                      memcmp(got.value.at, want.value.at, want.value.bytes) == 0;
    if (!same) {
      different++;
      print_message("%s, %zu x %zu x %zu: identity %s, %llu pairs, value %s\n%s", spellings[i].name, n, m, d,
                    got.identity == want.identity ? "same" : "other", (unsigned long long)got.pairs,
                    memcmp(got.value.at, want.value.at, want.value.bytes) == 0 ? "same" : "other",
                    got.text ? got.text : "");
    }
    free_program(&got);
  }
  if (different > 0) print_message("wanted\n%s", want.text);
  free_program(&want);
  assert_int_equal(different, 0);
}

static void every_spelling_of_a_product_is_one_program (void **unused) {
  (void)unused;
  compare_spellings(GB_F64, 130, 77, 3);
  compare_spellings(GB_F32, 70, 300, 5);
  compare_spellings(GB_F64, 90, 133, 11);
  compare_spellings(GB_F64, 41, 52, 1);
  compare_spellings(GB_F64, 150, 0, 3);
  compare_spellings(GB_F32, 90, 0, 2);
}

static gb_node *random_distance (const product *p, int depth) {
  product twice = *p, turned = {.x = p->y, .y = p->x, .l = p->l, .v = p->v, .n = p->m, .m = p->n, .d = p->d};
  if (depth > 0) switch (pick(7)) {
      case 0:
        twice.x = mul(p->x, num(2));
        twice.y = mul(num(2), p->y);
        return mul(random_distance(&twice, depth - 1), num(0.25));
      case 1: return tr(random_distance(&turned, depth - 1));
      case 2: return square(map1(GB_OP_SQRT, random_distance(p, depth - 1)));
      case 3: return map1(GB_OP_NEG, sub(num(0), random_distance(p, depth - 1)));
      case 4: return dvd(mul(random_distance(p, depth - 1), num(8)), num(8));
      case 5: return sq(unsq(random_distance(p, depth - 1), 1), 1);
      default: return expand(random_distance(p, depth - 1), 2, (size_t[]){p->n, p->m});
    }
  switch (pick(5)) {
    case 0: return sum_axis(mul(difference(p), difference(p)), 2);
    case 1: return sq(BUILD(gb_reduce, GB_OP_SUM, pow_(difference(p), 2), 1u << 2, true), 2);
    case 2: return sub(unsq(norms(p->y), 0), sub(mul(dots(p), num(2)), unsq(norms(p->x), 1)));
    case 3: return square(BUILD(gb_norm, sub(unsq(p->y, 0), unsq(p->x, 1)), 1u << 2, false, 2));
    default: return sum_axis(square(sub(unsq(tr(p->x), 2), unsq(tr(p->y), 1))), 0);
  }
}

static gb_node *s_random (const product *p) {
  product scaled = *p;
  const bool first = pick(2);
  if (first) {
    scaled.x = dvd(p->x, p->l);
    scaled.y = dvd(p->y, p->l);
  }
  gb_node *d2 = random_distance(&scaled, (int)pick(6)), *k = first ? half_exp(d2) : after(p, d2);
  switch (pick(4)) {
    case 0: return mm(k, p->v);
    case 1: return sum_axis(mul(unsq(p->v, 0), k), 1);
    case 2: return mm(p->v, tr(k));
    default: return sq(mm(k, unsq(p->v, 1)), 1);
  }
}

static void random_rewrites_of_a_product_are_one_program (void **unused) {
  (void)unused;
  program want = program_of(s_plain, GB_F64, 71, 64, 3);
  assert_non_null(want.text);
  for (unsigned seed = 0; seed < 200; seed++) {
    fixture_seed = seed * 2654435761u + 1;
    program got = program_of(s_random, GB_F64, 71, 64, 3);
    if (got.identity != want.identity || memcmp(got.value.at, want.value.at, want.value.bytes) != 0)
      fail_msg("seed %u: identity %s, value %s\n%s", seed, got.identity == want.identity ? "same" : "other",
               memcmp(got.value.at, want.value.at, want.value.bytes) == 0 ? "same" : "other", got.text);
    free_program(&got);
  }
  free_program(&want);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_spelling_of_a_product_is_one_program),
      cmocka_unit_test(random_rewrites_of_a_product_are_one_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
