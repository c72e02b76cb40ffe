/* chain_coverage.c - the links of compiled programs, counted by kind, form and extent. */
#include "support/cpu/chain_coverage.h"

enum { NKINDS = GB_LINK_REDUCE_ALL + 1 };

static uint64_t kinds[NKINDS];   /* steps planned, in programs with whole blocks of lanes */
static bool maps[2][GB_NOPS][4]; /* value first or last; op; form of the argument */
static bool ones[GB_NOPS];       /* ops of one input */
static bool wheres[3][4][4];     /* which input the value is; forms of the other two */
static bool radials[GB_NPROFILES][3][2], pairs[2][GB_NPROFILES][GB_NPROFILES], with[2][GB_NPROFILES];
static bool reduced[2][GB_NMONOIDS], extents[NKINDS][10], mirrors[NKINDS], by_rows;
static int most_slots, partial;
static void note (const gb_link *l) {
  kinds[l->kind]++;
  mirrors[l->kind] |= l->mirror;
  if (l->n < 10) extents[l->kind][l->n] = true;
  switch (l->kind) {
    case GB_LINK_MAP:
    case GB_LINK_MAP_BACK:
      if (gb_ops[l->op].inputs == 1) ones[l->op] = true;
      else maps[l->kind == GB_LINK_MAP_BACK][l->op][l->arg[0].form] = true;
      break;
    case GB_LINK_WHERE: wheres[l->which][l->arg[0].form][l->arg[1].form] = true; break;
    case GB_LINK_RADIAL: radials[l->profile][l->order][l->dalpha] = true; break;
    case GB_LINK_RADIAL_PAIR: pairs[l->op == GB_OP_MUL][l->profile][l->second] = true; break;
    case GB_LINK_RADIAL_WITH: with[l->op == GB_OP_MUL][l->profile] = true; break;
    case GB_LINK_REDUCE_ROW:
    case GB_LINK_REDUCE_COL: reduced[l->kind == GB_LINK_REDUCE_COL][l->monoid] = true; break;
    default: break;
  }
}

int planned (fx *x) {
  gb_xprog p;
  void *room = aligned_alloc(64, (gb_exec_room(&x->f) + 127) / 64 * 64);
  assert_int_equal(gb_exec_compile(&x->f, room, &p, NULL), GB_OK);
  int n = p.nchains > 0 ? p.nlinks : 0;
  for (int q = 0; q < n && p.nlane >= GB_TI && p.ntile > 0; q++) note(&p.link[q].link);
  for (int q = 0; q < p.nchains; q++) by_rows |= p.chain[q].by_row;
  if (n > 0 && p.nslots > most_slots) most_slots = p.nslots;
  partial += p.nchains > 1;
  free(room);
  return n;
}

void assert_every_kind_of_step (void) {
  for (int k = 0; k < NKINDS; k++) {
    if (kinds[k] == 0) print_message("no step of kind %d\n", k);
    assert_true(kinds[k] > 0);
  }
  for (gb_form f = GB_FORM_LANE; f <= GB_FORM_FULL; f++) {
#define STEP2(OP, ...) assert_true(maps[0][GB_OP_##OP][f] && maps[1][GB_OP_##OP][f]);
#define STEP2_BACK STEP2
#include "cpu/isa/chain_ops.def"
  }
#define STEP1(OP, ...) assert_true(ones[GB_OP_##OP]);
#include "cpu/isa/chain_ops.def"
  for (int which = 0; which < 3; which++)
    for (gb_form f = GB_FORM_LANE; f <= GB_FORM_FULL; f++)
      for (gb_form g = GB_FORM_LANE; g <= GB_FORM_FULL; g++) assert_true(wheres[which][f][g]);
  for (int p = 0; p < GB_NPROFILES; p++)
    for (int order = 0; order < 3; order++)
      assert_true(radials[p][order][0] && (p != GB_RQ || radials[p][order][1]));
  for (int op = 0; op < 2; op++)
    for (int p = 0; p < GB_RQ; p++) {
      assert_true(with[op][p]);
      for (int r = p; r < GB_RQ; r++) assert_true(pairs[op][p][r]);
    }
  for (int col = 0; col < 2; col++)
    for (gb_monoid m = GB_SUM; m <= GB_MAXIMUM; m++) assert_true(reduced[col][m]);
  static const gb_link_kind wide[] = {GB_LINK_SQDIST,   GB_LINK_SQDIST_BY, GB_LINK_DOT,
                                      GB_LINK_DIFF_ROW, GB_LINK_DIFF_COL,  GB_LINK_DIFF_BOTH};
  for (int q = 0; q < 6; q++)
    for (int d = 1; d < 10; d++) assert_true(extents[wide[q]][d]);
  for (int r = 1; r < 5; r++)
    assert_true(extents[GB_LINK_CONTRACT_ROW][r] && extents[GB_LINK_CONTRACT_COL][r]);
  assert_true(extents[GB_LINK_LOOP][0] && extents[GB_LINK_LOOP][1] && extents[GB_LINK_LOOP][2]);
  assert_true(mirrors[GB_LINK_CONTRACT_COL] && mirrors[GB_LINK_DIFF_COL] && mirrors[GB_LINK_REDUCE_COL]);
  assert_true(by_rows && most_slots == GB_MOST_SLOTS && partial > 0);
}
