/* test_supports.c - what a device does not run: every op runs, or a plan with it is an error that names the op, the
** device, the reason and the line. */
#include "plan/choose/plan_internal.h"
#include "support/plan/op_rows.h"

#define LIMIT ((size_t)1 << 28)
#define REASON "it was told not to"

static int problems;

#define COMPLAIN(...) (problems++ < 40 ? print_message(__VA_ARGS__) : (void)0)

/* A device that refuses one op, or packed triangles of one; everything else is as it was. */
static struct {
  gb_device_ops ops;
  const gb_device_ops *plain;
  gb_op refused;
  bool packed; /* refuses 'refused' where its triangle is packed, and nowhere else */
  const char *why;
  int asked, refusals;
} picky;

static gb_op op_of (const gb_ins *i) {
  switch (i->kind) {
    case GB_INS_MAP: return i->op;
    case GB_INS_RADIAL: return GB_OP_RADIAL;
    case GB_INS_SQDIST: return GB_OP_SQDIST;
    case GB_INS_RAND: return i->profile == 0 ? GB_OP_RAND : GB_OP_RANDN;
    default: return GB_NOPS;
  }
}

static bool picky_supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack) {
  bool refuses = o != NULL && o->op == picky.refused && o->packed >= picky.packed;
  assert_ptr_equal(dev->ops, &picky.ops);
  assert_true((f != NULL) != (o != NULL));
  picky.asked++;
  for (int i = 0; f != NULL && picky.refused != GB_NOPS && !refuses && i < f->nins; i++)
    if ((refuses = op_of(&f->ins[i]) == picky.refused)) lack->ins = i;
  if (refuses) lack->why = picky.why;
  picky.refusals += refuses;
  return !refuses;
}

static void become_picky (gb_device *dev) {
  picky.plain = dev->ops;
  picky.ops = *picky.plain;
  picky.ops.supports = picky_supports;
  picky.refused = GB_NOPS;
  picky.packed = false;
  picky.why = REASON;
  picky.asked = 0;
  dev->ops = &picky.ops;
  dev->home = NULL; /* nobody computes what it refuses */
}

static const row *row_of (gb_op op) {
  for (size_t i = 0; i < nrows; i++)
    if (strcmp(rows[i].id, gb_ops[op].id) == 0) return &rows[i];
  fail_msg("%s has no row in op_rows.c", gb_ops[op].id);
  return NULL;
}

static gb_node *case_of (const row *r, int v) {
  inputs_begin((uint64_t)(r - rows) * 100 + (uint64_t)v + 1, GB_F64, 0);
  return r->build(v);
}

static bool says (const char *text) { return strstr(fx.err.text, text) != NULL; }

/* The device of the suite, whatever it is. */
static void every_op_runs_or_the_device_says_why (void **unused) {
  (void)unused;
  problems = 0;
  eval_begin(2, LIMIT);
  int ran = 0;
  for (gb_op op = 0; op < GB_NOPS; op++)
    for (int v = 0; v < row_of(op)->cases; v++) {
      const int mark = fx.n;
      gb_node *y = case_of(row_of(op), v);
      const gb_status rc = gb_eval(fx.g, 1, &y, &fx.err);
      ran += rc == GB_OK;
      if (rc != GB_OK && (rc != GB_EDEVICE || !says(device->name) || says("it gives no reason")))
        COMPLAIN("%s case %d neither runs nor is refused with a reason: %s\n", gb_ops[op].id, v, fx.err.text);
      release_to(mark);
    }
  eval_end();
  assert_int_equal(problems, 0);
  assert_true(ran > GB_NOPS);
}

/* True: the case holds the op. */
static bool check_refusal (gb_op op, int v) {
  const int mark = fx.n;
  fx.g->where = gb_graph_intern(fx.g, "story.lua:7");
  gb_node *y = case_of(row_of(op), v);
  fx.g->where = "";
  picky.refused = op;
  picky.refusals = 0;
  const gb_status rc = gb_eval(fx.g, 1, &y, &fx.err);
  const bool refused = picky.refusals > 0;
  char name[64];
  snprintf(name, sizeof name, "device %s: %s", device->name, REASON);
  if (!refused && rc != GB_OK) COMPLAIN("%s case %d: %s\n", gb_ops[op].id, v, fx.err.text);
  if (refused && (rc != GB_EDEVICE || strncmp(fx.err.text, gb_ops[op].name, strlen(gb_ops[op].name)) != 0 ||
                  !says(name) || !says("story.lua:7") || gb_node_has_value(y)))
    COMPLAIN("%s case %d is refused: %s\n", gb_ops[op].id, v, rc == GB_OK ? "but it ran" : fx.err.text);
  picky.refused = GB_NOPS;
  if (refused && gb_eval(fx.g, 1, &y, &fx.err) != GB_OK)
    COMPLAIN("%s case %d does not run after a refusal: %s\n", gb_ops[op].id, v, fx.err.text);
  release_to(mark);
  return refused;
}

/* Lowering writes the first input of WITH_SLOPE in its place, and CALL and MOVE are no work of the device. */
static void a_refused_op_is_named (void **unused) {
  (void)unused;
  problems = 0;
  eval_begin(2, LIMIT);
  become_picky(device);
  for (gb_op op = 0; op < GB_NOPS; op++) {
    const gb_kind kind = gb_ops[op].kind;
    int met = 0;
    for (int v = 0; v < row_of(op)->cases; v++) met += check_refusal(op, v);
    if (met == 0 && (kind == GB_KIND_MAP || kind == GB_KIND_OPAQUE) && op != GB_OP_CALL && op != GB_OP_MOVE &&
        op != GB_OP_WITH_SLOPE && (row_of(op)->traits & REWRITTEN) == 0)
      COMPLAIN("no step of %s was refused\n", gb_ops[op].id);
  }
  device->ops = picky.plain;
  eval_end();
  assert_int_equal(problems, 0);
}

static void a_refusal_without_a_reason_says_so (void **unused) {
  (void)unused;
  eval_begin(1, LIMIT);
  become_picky(device);
  picky.refused = GB_OP_ERF;
  picky.why = NULL;
  inputs_begin(1, GB_F64, 0);
  gb_node *y = map1(GB_OP_ERF, in1(5, -1, 1));
  assert_int_equal(gb_eval(fx.g, 1, &y, &fx.err), GB_EDEVICE);
  assert_true(says("erf in ") && says("it gives no reason"));
  device->ops = picky.plain;
  eval_end();
}

/* packed factors */

static gb_node *factored (size_t n) {
  inputs_begin(3, GB_F64, 0);
  gb_node *x = in2(n, 2, 0, 1), *b = in1(n, -1, 1);
  gb_node *k = add(map1(GB_OP_EXP, map1(GB_OP_NEG, dist(x, x, NULL))), eye(n));
  gb_node *l = BUILD(gb_cholesky, k, 0);
  return add(sum_all(BUILD(gb_triangular_solve, l, b, false, false)),
             BUILD(gb_node_build, fx.g, GB_OP_LOGDET, 1, &l, NULL, NULL, GB_F64));
}

static int packed_factors (gb_op refused) {
  const int mark = fx.n;
  picky.refused = refused;
  picky.packed = true;
  gb_node *y = factored(600);
  gb_plan *p;
  OK(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err));
  const int n = p->prog->npacked_factors;
  gb_plan_free(p);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  release_to(mark);
  gb_cache_drop(fx.g, SIZE_MAX);
  return n;
}

static void factors_are_packed_where_all_that_read_them_can (void **unused) {
  (void)unused;
  for (int i = 0; i < 5; i++) {
    static const gb_op refused[] = {GB_NOPS, GB_OP_CHOLESKY, GB_OP_TRISOLVE, GB_OP_LOGDET, GB_OP_INV_QUAD};
    eval_begin(2, LIMIT);
    become_picky(device);
    assert_int_equal(packed_factors(refused[i]), i == 0 || i == 4);
    device->ops = picky.plain;
    eval_end();
  }
}

/* several devices */

static void every_device_of_a_plan_is_asked (void **unused) {
  (void)unused;
  eval_begin(2, LIMIT);
  OK(gb_device_add_simulated(device, LIMIT, &fx.err));
  inputs_begin(1, GB_F64, 0);
  gb_node *y = sum_axis(map1(GB_OP_ERF, in2(600, 3, -1, 1)), 1);
  const gb_plan_on on[] = {{.device = device}, {.device = device->next}};
  const gb_plan_options o = {.ndevices = 2, .on = on};
  gb_plan *p;
  become_picky(device->next);
  OK(gb_plan_new(fx.g, 1, &y, &o, &p, &fx.err));
  assert_true(picky.asked > 0);
  gb_plan_free(p);
  picky.refused = GB_OP_ERF;
  assert_int_equal(gb_plan_new(fx.g, 1, &y, &o, &p, &fx.err), GB_EDEVICE);
  assert_true(says("erf in ") && says(device->next->name) && says(REASON));
  OK(gb_eval(fx.g, 1, &y, &fx.err)); /* the first one runs it */
  device->next->ops = picky.plain;
  eval_end();
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_runs_or_the_device_says_why),
      cmocka_unit_test(a_refused_op_is_named),
      cmocka_unit_test(a_refusal_without_a_reason_says_so),
      cmocka_unit_test(factors_are_packed_where_all_that_read_them_can),
      cmocka_unit_test(every_device_of_a_plan_is_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
