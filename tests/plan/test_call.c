/* test_call.c - ops registered from above: how long they live, the memory they are lent, what a plan says
** of them. */
#include "graph/call.h"
#include "support/memory.h"
#include "support/plan/eval_fixture.h"
#include "tensor/host.h"

#define LIMIT ((size_t)1 << 26)
#define SCRATCH ((size_t)1 << 20)

static int released;

static void release (void *ud) {
  (void)ud;
  released++;
}

static gb_status run_nothing (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                              void *scratch, gb_error *err) {
  (void)ud, (void)g, (void)o, (void)in, (void)out, (void)scratch, (void)err;
  return GB_OK;
}

/* -- the registry */

static void numbers_are_never_used_again (void **unused) {
  (void)unused;
  static char data[300];
  int number[300];
  released = 0;
  for (int i = 0; i < 300; i++) {
    number[i] =
        gb_call_register(&(gb_call){.name = "x", .run = run_nothing, .release = release, .ud = &data[i]});
    assert_true(number[i] >= 0 && (i == 0 || number[i] > number[i - 1]));
  }
  assert_int_equal(gb_call_register(&(gb_call){.run = run_nothing, .release = release, .ud = &data[7]}),
                   number[7]);
  gb_call_unref(number[7]);
  assert_int_equal(released, 0); /* it was counted twice */
  for (int i = 0; i < 300; i++) assert_ptr_equal(gb_call_get(number[i])->ud, &data[i]);
  for (int i = 0; i < 300; i += 2) gb_call_unref(number[i]);
  assert_int_equal(released, 150);
  for (int i = 0; i < 300; i++) assert_true((gb_call_get(number[i]) == NULL) == (i % 2 == 0));
  assert_true(gb_call_register(&(gb_call){.run = run_nothing, .release = release, .ud = &data[0]}) >
              number[299]);
  gb_call_unref(number[299] + 1);
  for (int i = 1; i < 300; i += 2) gb_call_unref(number[i]);
  assert_int_equal(released, 301);
  gb_call_unref(number[0]); /* unknown: nothing happens */
  assert_null(gb_call_get(-1));
}

static gb_node *call_node (int number, gb_node *x) {
  return BUILD(gb_node_build, fx.g, GB_OP_CALL, 1, &x, &(gb_attr){.i = {number}}, gb_node_shape(x),
               gb_node_dtype(x));
}

static void nodes_keep_their_op (void **unused) {
  (void)unused;
  fixture_begin();
  released = 0;
  const int number = gb_call_register(&(gb_call){.name = "x", .run = run_nothing, .release = release});
  gb_node *x = leaf1(3), *y = call_node(number, x);
  assert_ptr_equal(call_node(number, x), y);
  gb_call_unref(number);
  assert_int_equal(released, 0);
  assert_non_null(gb_call_get(number));
  fixture_end();
  assert_int_equal(released, 1);
  assert_null(gb_call_get(number));
}

/* -- lent memory */

/* To lend: of the ledger's memory, outside its account. */
#define MEMORY 8192

static char *take_memory (gb_ledger *l) {
  gb_ledger_init(l, test_memory(), 100000);
  return l->memory->ops->take(l->memory, MEMORY);
}

static void give_memory (gb_ledger *l, char *memory) { l->memory->ops->give(l->memory, memory, MEMORY); }

static gb_status block (gb_ledger *l, size_t bytes, gb_block *out) {
  return gb_ledger_alloc(l, GB_MEM_TENSOR, bytes, "", "", out, NULL);
}

static void lent_memory_is_filled_from_the_front_and_not_beyond (void **unused) {
  (void)unused;
  gb_ledger l, outer;
  gb_block before, a, b, c, d;
  char *memory = take_memory(&l);
  assert_int_equal(block(&l, 1000, &before), GB_OK);
  gb_ledger_lend(&l, &outer, memory, MEMORY, 1000);
  assert_int_equal(l.used, 0);
  assert_int_equal(block(&l, 300, &a), GB_OK);
  assert_int_equal(block(&l, 300, &b), GB_OK);
  assert_int_equal(block(&l, 400, &c), GB_OK);
  assert_int_equal(block(&l, 1, &d), GB_ENOMEM); /* 1000 are held */
  assert_ptr_equal(a.data, memory);
  assert_ptr_equal(b.data, memory + 320);
  gb_ledger_free(&l, &b);
  assert_int_equal(block(&l, 310, &d), GB_ENOMEM);
  assert_int_equal(block(&l, 280, &d), GB_OK);
  assert_ptr_equal(d.data, memory + 320); /* the gap */
  gb_ledger_free(&l, &before);            /* from outside, meanwhile */
  assert_int_equal(outer.used, 0);
  assert_int_equal(l.used, 980);
  gb_ledger_retag(&l, &c, GB_MEM_CACHE);
  assert_int_equal(l.by_purpose[GB_MEM_CACHE], 400);
  assert_true(gb_ledger_owns(&l, &a));
  assert_false(gb_ledger_owns(&l, &(gb_block){.data = &outer}));
  gb_ledger_free(&l, &a);
  gb_ledger_free(&l, &c);
  gb_ledger_free(&l, &d);
  gb_ledger_return(&l);
  assert_int_equal(l.used, 0);
  assert_int_equal(l.limit, 100000);
  assert_int_equal(l.allocations, 7);
  give_memory(&l, memory);
}

static void blocks_of_lent_memory_are_aligned (void **unused) {
  (void)unused;
  gb_ledger l, outer;
  gb_block p[64];
  int n = 0;
  char *memory = take_memory(&l);
  gb_ledger_lend(&l, &outer, memory, 1024, 100000);
  while (n < 64 && block(&l, 1, &p[n]) == GB_OK) n++;
  assert_int_equal(n, 16); /* 1 rounded up to 64 */
  for (int i = 1; i < n; i++) assert_ptr_equal(p[i].data, (char *)p[0].data + 64 * i);
  while (n > 0) gb_ledger_free(&l, &p[--n]);
  gb_ledger_return(&l);
  give_memory(&l, memory);
}

static void what_still_lives_moves_out (void **unused) {
  (void)unused;
  gb_ledger l, outer, inmost;
  gb_tensor t[3];
  const gb_shape s = gb_shape_of(1, (size_t[]){10});
  char *memory = take_memory(&l);
  l.limit = 200; /* moving goes past it */
  gb_ledger_lend(&l, &outer, memory, 4096, 4096);
  assert_int_equal(gb_tensor_new(&l, GB_F64, &s, GB_MEM_TENSOR, "", "", &t[0], &fx.err), GB_OK);
  gb_ledger_lend(&l, &inmost, memory + 4096, 4096, 4096);
  for (int i = 1; i < 3; i++)
    assert_int_equal(gb_tensor_new(&l, GB_F64, &s, GB_MEM_CACHE, "", "", &t[i], &fx.err), GB_OK);
  for (size_t i = 0; i < 30; i++) set_handed_element(&t[i / 10], i % 10, (double)i);
  assert_int_equal(l.used, 160);
  gb_ledger_return(&l);
  assert_int_equal(l.used, 240);
  assert_true(gb_ledger_owns(&l, &t[2].storage->block));
  gb_ledger_return(&l);
  assert_int_equal(gb_memory_fill(l.memory, memory, 0xff, MEMORY, NULL), GB_OK);
  assert_int_equal(l.used, 240);
  assert_int_equal(l.by_purpose[GB_MEM_CACHE], 160);
  assert_int_equal(l.limit, 200);
  for (size_t i = 0; i < 30; i++) assert_true(element_at(&t[i / 10], &(size_t){i % 10}) == (double)i);
  for (int i = 0; i < 3; i++) gb_tensor_clear(&t[i]);
  assert_int_equal(l.used, 0);
  assert_int_equal(l.blocks, 0);
}

/* -- in plans */

static size_t scratch_bytes (void *ud, const gb_opaque *o) {
  (void)ud, (void)o;
  return SCRATCH;
}

static gb_shape seen;

/* y = cumsum(sin x) along the last axis by evaluations of its own, in lent memory; 'ud': where to leave
** nodes for the caller to find. */
static gb_status run_cumsum (void *ud, gb_graph *g, const gb_opaque *o, const gb_tensor *in, gb_tensor *out,
                             void *scratch, gb_error *err) {
  (void)ud, (void)o;
  gb_ledger outer;
  gb_node *x = NULL, *s = NULL, *y = NULL;
  seen = in[0].shape;
  gb_ledger_lend(&g->device->ledger, &outer, scratch, SCRATCH, SCRATCH / 2);
  gb_status st = gb_node_leaf(g, &in[0], GB_NODE_LENT, "x", &x, err);
  if (st == GB_OK) st = gb_map1(GB_OP_SIN, x, &s, err);
  if (st == GB_OK)
    st =
        gb_node_build(g, GB_OP_CUMSUM, 1, &s, &(gb_attr){.i = {in[0].shape.ndim - 1}}, NULL, GB_F64, &y, err);
  if (st == GB_OK) st = gb_eval(g, 1, &y, err);
  if (st == GB_OK) st = gb_tensor_copy(out, &y->out[0].tensor, err);
  if (x != NULL) gb_tensor_clear(&x->out[0].tensor);
  if (ud != NULL) ((gb_node **)ud)[0] = gb_node_ref(y), ((gb_node **)ud)[1] = gb_node_ref(s);
  gb_node_unref(y);
  gb_node_unref(s);
  gb_node_unref(x);
  gb_cache_drop(g, SIZE_MAX);
  gb_ledger_return(&g->device->ledger);
  return st;
}

static void check_cumsum (const gb_node *y, const gb_node *x, size_t rows, size_t n, double add_after) {
  for (size_t r = 0; r < rows; r++) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
      sum += sin(element(x, 0, r * n + i) * 2);
      assert_true(fabs(element(y, 0, r * n + i) - (sum + add_after)) < 1e-12);
    }
  }
}

static void a_call_works_in_its_scratch_alone (void **unused) {
  (void)unused;
  for (int poison = 0x55; poison <= 0xaa; poison += 0x55) {
    eval_begin(2, LIMIT);
    const int number =
        gb_call_register(&(gb_call){.name = "sums", .scratch_bytes = scratch_bytes, .run = run_cumsum});
    gb_node *x = leaf2(6, 50), *y = add(call_node(number, mul(x, num(2))), num(1));
    gb_plan *p;
    gb_plan_report r;
    gb_run_stats s;
    OK(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err));
    *gb_plan_memcheck(fx.g) = (gb_memcheck_watch){.on = true, .poison = (unsigned char)poison};
    OK(gb_plan_run(p, &fx.err));
    gb_plan_memcheck(fx.g)->on = false;
    if (gb_plan_memcheck(fx.g)->strays > 0 || gb_plan_memcheck(fx.g)->unwritten >= 64)
      fail_msg("%s", gb_plan_memcheck(fx.g)->first);
    gb_plan_report_get(p, &r);
    gb_plan_stats(p, &s);
    assert_int_equal(s.measured, r.peak);
    assert_true(r.arena >= SCRATCH);
    gb_plan_free(p);
    check_cumsum(y, x, 6, 50, 1);
    eval_end();
    gb_call_unref(number);
  }
}

static void inputs_have_the_shape_of_the_op_not_of_what_is_read (void **unused) {
  (void)unused;
  eval_begin(1, LIMIT);
  const int number =
      gb_call_register(&(gb_call){.name = "sums", .scratch_bytes = scratch_bytes, .run = run_cumsum});
  gb_node *x = leaf2(4, 8), *flat = BUILD(gb_reshape, mul(x, num(2)), &(gb_shape){.ndim = 1, .dim = {32}});
  gb_node *y = call_node(number, flat);
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  assert_int_equal(seen.ndim, 1);
  assert_int_equal(seen.dim[0], 32);
  check_cumsum(y, x, 1, 32, 0);
  eval_end();
  gb_call_unref(number);
}

static void what_a_call_leaves_behind_is_whole (void **unused) {
  (void)unused;
  eval_begin(1, LIMIT);
  gb_node *kept[2], *left;
  const int number = gb_call_register(
      &(gb_call){.name = "sums", .scratch_bytes = scratch_bytes, .run = run_cumsum, .ud = kept});
  gb_node *x = leaf2(3, 5), *y = call_node(number, mul(x, num(2)));
  OK(gb_eval(fx.g, 1, &y, &fx.err));
  left = kept[0];
  check_cumsum(left, x, 3, 5, 0);
  gb_node *late = add(left, num(1)); /* its value is there, what it was made of is not */
  OK(gb_eval(fx.g, 1, &late, &fx.err));
  check_cumsum(late, x, 3, 5, 1);
  assert_int_equal(gb_eval(fx.g, 1, &kept[1], &fx.err), GB_ECLOSED);
  assert_non_null(strstr(fx.err.text, "that has ended"));
  gb_node_unref(kept[0]);
  gb_node_unref(kept[1]);
  eval_end();
  gb_call_unref(number);
}

static void without_a_contract_no_plan_takes_it (void **unused) {
  (void)unused;
  eval_begin(1, LIMIT);
  const int number = gb_call_register(&(gb_call){.name = "secret", .run = run_cumsum});
  gb_node *y = call_node(number, mul(leaf1(4), num(2)));
  gb_plan *p;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(gb_plan_new(fx.g, 1, &y, NULL, &p, &fx.err), GB_EREFUSED);
    assert_non_null(strstr(fx.err.text, "secret does not declare its bytes"));
  }
  eval_end();
  gb_call_unref(number);
}

/* -- vmap */

static gb_status batch (void *ud, int nin, gb_node *const *in, const gb_shape *shape, gb_attr *attr,
                        gb_error *err) {
  if (ud != NULL) return gb_fail(err, GB_ECALLBACK, "no");
  for (int i = 0; i < nin; i++) assert_int_equal(gb_node_shape(in[i])->dim[0], shape->dim[0]);
  attr->i[1] = 77;
  return GB_OK;
}

static gb_node *mapped (int number, gb_status want) {
  gb_node *full = leaf2(3, 5), *slice = NULL, *y = NULL;
  const gb_tensor one = {.dtype = GB_F64, .shape = gb_shape_of(1, (size_t[]){5})};
  const int axis = 0;
  OK(gb_node_leaf(fx.g, &one, GB_NODE_TRACED, "", &slice, &fx.err));
  hold(GB_OK, slice);
  gb_node *f = call_node(number, slice);
  const gb_status st = gb_vmap(1, &slice, &full, &axis, false, 1, &f, &y, &fx.err);
  assert_int_equal(st, want);
  return st == GB_OK ? hold(st, y) : NULL;
}

static void vmap_batches_where_it_may (void **unused) {
  (void)unused;
  fixture_begin();
  static char fails;
  const gb_call plain = {.name = "x", .run = run_nothing},
                broken = {.name = "x", .run = run_nothing, .batch = batch, .ud = &fails};
  const int one = gb_call_register(&plain), bad = gb_call_register(&broken);
  assert_int_equal(mapped(one, GB_OK)->op, GB_OP_CAT);
  mapped(bad, GB_ECALLBACK);
  gb_call_unref(one);
  fixture_end();
  fixture_begin();
  const int all = gb_call_register(&(gb_call){.name = "x", .run = run_nothing, .batch = batch});
  const gb_node *y = mapped(all, GB_OK);
  assert_int_equal(y->op, GB_OP_CALL);
  assert_int_equal(y->attr.i[1], 77);
  assert_int_equal(gb_node_shape(y)->ndim, 2);
  fixture_end();
  gb_call_unref(all);
  gb_call_unref(bad);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_never_used_again),
      cmocka_unit_test(nodes_keep_their_op),
      cmocka_unit_test(lent_memory_is_filled_from_the_front_and_not_beyond),
      cmocka_unit_test(blocks_of_lent_memory_are_aligned),
      cmocka_unit_test(what_still_lives_moves_out),
      cmocka_unit_test(a_call_works_in_its_scratch_alone),
      cmocka_unit_test(inputs_have_the_shape_of_the_op_not_of_what_is_read),
      cmocka_unit_test(what_a_call_leaves_behind_is_whole),
      cmocka_unit_test(without_a_contract_no_plan_takes_it),
      cmocka_unit_test(vmap_batches_where_it_may),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
