/* test_report.c - the reports of a plan on the naive device, whose scratch is known: texts compared whole. */
#include "support/plan/plan_fixture.h"

#include "plan/choose/text.h"

#define LIMIT ((size_t)1 << 20)

static gb_plan *plan_of (gb_node *y, size_t budget) {
  gb_plan *p = NULL;
  OK(gb_plan_new(fx.g, 1, &y, &(gb_plan_options){.budget = budget}, &p, &fx.err));
  return p;
}

static void at_line (const char *where) { fx.g->where = gb_graph_intern(fx.g, where); }

static void assert_explains (const gb_plan *p, const char *want) {
  char *text = gb_plan_explain(p);
  assert_string_equal(text, want);
  free(text);
}

/* sin(atan(sin(exp(x)))), of which the exp is kept as a cache */
static gb_node *example (gb_node **cache) {
  at_line("data.lua:3");
  gb_node *x = named(data_leaf(1000), "x");
  at_line("a/long/way/to/the/folder/of/script.lua:7");
  *cache = named(map1(GB_OP_EXP, x), "cache");
  gb_node *y = named(map1(GB_OP_SIN, map1(GB_OP_ATAN, map1(GB_OP_SIN, *cache))), "y");
  fx.g->where = "";
  return y;
}

static void a_screen_says_what_runs_and_what_else_there_is (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *cache;
  gb_plan *p = plan_of(example(&cache), 64000);
  assert_explains(
      p,
      "plan    y 1000 f64   4 steps, exact=bits   script.lua:7\n"
      "naive   budget 62.5 KiB = 19.56 KiB arena + 7.812 KiB outputs + 7.812 KiB caches + 27.31 KiB unused\n"
      "peak    35.19 KiB at step 3 \"atan\", lower bound 35.19 KiB, fragmentation 0.00 %\n"
      "buffers\n"
      "   7.812 KiB  cache      cache 1000 f64                          from step 1     script.lua:7\n"
      "   7.812 KiB  temp       sin 1000 f64                            steps 2..3      script.lua:7\n"
      "   7.812 KiB  temp       atan 1000 f64                           steps 3..4      script.lua:7\n"
      "   7.812 KiB  output     y 1000 f64                              from step 4     script.lua:7\n"
      "    3.93 KiB  workspace  scratch of step 1                       step 1          script.lua:7\n"
      "    3.93 KiB  workspace  scratch of step 2                       step 2          script.lua:7\n"
      "    3.93 KiB  workspace  scratch of step 3                       step 3          script.lua:7\n"
      "    3.93 KiB  workspace  scratch of step 4                       step 4          script.lua:7\n"
      "inputs  they exist already, pinned or cached: not part of the peak\n"
      "   7.812 KiB  input      x 1000 f64                              step 1          data.lua:3\n"
      "memory held over time, by step; # up to 35.19 KiB\n"
      "          1  |###########.........|  19.56 KiB  exp                              script.lua:7\n"
      "          2  |################....|  27.38 KiB  sin                              script.lua:7\n"
      "          3  |####################|  35.19 KiB  atan                             script.lua:7\n"
      "          4  |################....|  27.38 KiB  sin                              script.lua:7\n"
      "realisations, all of the same bits\n"
      "  chosen  whole, caches kept                             35.19 KiB\n"
      "   also   whole, caches as temporaries                   27.38 KiB\n"
      "smallest budget 27.38 KiB\n"
      "sweep   32 KiB: whole, caches as temporaries   64 KiB: whole, caches kept\n");
  gb_plan_free(p);
  plan_end();
}

static void with_less_the_cache_is_a_temporary (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *cache;
  gb_plan *p = plan_of(example(&cache), 31999);
  assert_explains(
      p, "plan    y 1000 f64   4 steps, exact=bits   script.lua:7\n"
         "naive   budget 31.25 KiB = 19.56 KiB arena + 7.812 KiB outputs + 0 B caches + 3.874 KiB unused\n"
         "peak    27.38 KiB at step 2 \"sin\", lower bound 27.38 KiB, fragmentation 0.00 %\n"
         "buffers\n"
         "   7.812 KiB  temp       cache 1000 f64                          steps 1..2      script.lua:7\n"
         "   7.812 KiB  temp       sin 1000 f64                            steps 2..3      script.lua:7\n"
         "   7.812 KiB  temp       atan 1000 f64                           steps 3..4      script.lua:7\n"
         "   7.812 KiB  output     y 1000 f64                              from step 4     script.lua:7\n"
         "    3.93 KiB  workspace  scratch of step 1                       step 1          script.lua:7\n"
         "    3.93 KiB  workspace  scratch of step 2                       step 2          script.lua:7\n"
         "    3.93 KiB  workspace  scratch of step 3                       step 3          script.lua:7\n"
         "    3.93 KiB  workspace  scratch of step 4                       step 4          script.lua:7\n"
         "inputs  they exist already, pinned or cached: not part of the peak\n"
         "   7.812 KiB  input      x 1000 f64                              step 1          data.lua:3\n"
         "memory held over time, by step; # up to 27.38 KiB\n"
         "          1  |##############......|  19.56 KiB  exp                              script.lua:7\n"
         "          2  |####################|  27.38 KiB  sin                              script.lua:7\n"
         "          3  |####################|  27.38 KiB  atan                             script.lua:7\n"
         "          4  |##############......|  19.56 KiB  sin                              script.lua:7\n"
         "realisations, all of the same bits\n"
         "  chosen  whole, caches as temporaries                   27.38 KiB\n"
         "   no     whole, caches kept                             35.19 KiB   over by 3.938 KiB\n"
         "smallest budget 27.38 KiB\n"
         "sweep   32 KiB: whole, caches as temporaries   64 KiB: whole, caches kept\n");
  gb_plan_free(p);
  plan_end();
}

static void caches_that_exist_count_against_the_budget_and_a_run_is_compared (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *cache;
  gb_node *y = example(&cache), *other = map1(GB_OP_ATAN, cache);
  OK(gb_eval(fx.g, 1, &other, &fx.err));
  gb_plan *p = plan_of(y, 64000);
  OK(gb_plan_run(p, &fx.err));
  assert_explains(
      p, "plan    y 1000 f64   3 steps, exact=bits   script.lua:7\n"
         "naive   budget 62.5 KiB = 19.56 KiB arena + 7.812 KiB outputs + 0 B caches\n"
         "        + 7.812 KiB in existing caches + 27.31 KiB unused\n"
         "peak    27.38 KiB at step 2 \"atan\", lower bound 27.38 KiB, fragmentation 0.00 %\n"
         "buffers\n"
         "   7.812 KiB  temp       sin 1000 f64                            steps 1..2      script.lua:7\n"
         "   7.812 KiB  temp       atan 1000 f64                           steps 2..3      script.lua:7\n"
         "   7.812 KiB  output     y 1000 f64                              from step 3     script.lua:7\n"
         "    3.93 KiB  workspace  scratch of step 1                       step 1          script.lua:7\n"
         "    3.93 KiB  workspace  scratch of step 2                       step 2          script.lua:7\n"
         "    3.93 KiB  workspace  scratch of step 3                       step 3          script.lua:7\n"
         "inputs  they exist already, pinned or cached: not part of the peak\n"
         "   7.812 KiB  input      cache 1000 f64                          step 1          script.lua:7\n"
         "memory held over time, by step; # up to 27.38 KiB\n"
         "          1  |##############......|  19.56 KiB  sin                              script.lua:7\n"
         "          2  |####################|  27.38 KiB  atan                             script.lua:7\n"
         "          3  |##############......|  19.56 KiB  sin                              script.lua:7\n"
         "realisations, all of the same bits\n"
         "  chosen  whole                                          35.19 KiB\n"
         "   also   whole, existing caches dropped                 27.38 KiB\n"
         "smallest budget 27.38 KiB\n"
         "sweep   32 KiB: whole, existing caches dropped   64 KiB: whole\n"
         "after run: predicted 28032 B, measured 28032 B, difference 0\n");
  gb_plan_free(p);
  plan_end();
}

static void a_plan_of_many_steps_stays_one_screen (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *y = data_leaf(100);
  for (int i = 0; i < 1000; i++) y = map1(i % 2 ? GB_OP_SIN : GB_OP_ATAN, y);
  gb_plan *p = plan_of(y, 0);
  char *text = gb_plan_explain(p);
  int lines = 0, bars = 0;
  for (const char *c = text; *c != '\0'; c++) {
    lines += *c == '\n';
    bars += strncmp(c, "  |", 3) == 0;
  }
  assert_int_equal(bars, 12);
  assert_true(lines <= 40);
  assert_non_null(strstr(text, "    1..84  |"));
  assert_non_null(strstr(text, " 925..1000  |"));
  free(text);
  gb_plan_free(p);
  plan_end();
}

/* Bytes live at each place by looking at every buffer at every place. */
static void the_timeline_adds_up_what_is_live (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *x = data_leaf(300), *a = map1(GB_OP_EXP, x), *b = map1(GB_OP_SIN, a);
  gb_node *y = add(mul(map1(GB_OP_ATAN, b), a), named(map1(GB_OP_EXP, b), "cache"));
  gb_plan *p = plan_of(y, 0);
  const gb_placement *pl = p->choice.place;
  size_t *live = gb_timeline(p, 0), most = 0;
  for (int t = 0; t < pl->nsteps; t++) {
    size_t want = gb_round_size(pl->scratch[t].bytes);
    for (int i = 0; i < pl->nbufs; i++) {
      const gb_life *l = &pl->life[i];
      if (pl->write[i] == GB_HOME_ARENA && t >= l->first && t <= l->last) want += gb_round_size(l->bytes);
      if (pl->write[i] == GB_HOME_OUTPUT || pl->write[i] == GB_HOME_CACHE) want += 300 * 8;
    }
    assert_int_equal(live[t], want);
    if (want > most) most = want;
  }
  assert_int_equal(most, p->report.lower_bound);
  assert_true(pl->nsteps >= 6 && most > 3 * 2400);
  free(live);
  gb_plan_free(p);
  plan_end();
}

static void rows_say_where_and_when (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *cache;
  gb_plan_report r;
  gb_plan *p = plan_of(example(&cache), 64000);
  gb_plan_report_get(p, &r);
  int inputs = 0;
  size_t kept = 0;
  for (int i = 0; i < r.nrows; i++) {
    const gb_plan_row *row = &r.row[i];
    assert_true(row->first >= 0 && row->first <= row->last && row->last < r.nsteps);
    inputs += row->cls == GB_ROW_INPUT;
    if (row->cls == GB_ROW_OUTPUT || row->cls == GB_ROW_CACHE) kept += row->bytes;
    assert_true((row->offset == SIZE_MAX) == (row->cls <= GB_ROW_CACHE));
    assert_true(row->offset == SIZE_MAX || row->offset + row->bytes <= r.arena);
  }
  assert_int_equal(inputs, 1);
  assert_string_equal(r.row[0].what, "x");
  assert_int_equal(kept, r.outputs + r.caches);
  gb_plan_free(p);
  plan_end();
}

/* A plan under a budget chooses the candidate that the report names for that budget. */
static void a_sweep_tells_what_would_be_chosen (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *cache, *y = example(&cache);
  gb_plan *p = plan_of(y, 0);
  const gb_plan_report r = p->report;
  assert_int_equal(r.ncandidates, 2);
  assert_null(gb_offer_at(&r, r.minimum - 1));
  int points = 0;
  for (size_t budget = 0; gb_sweep_next(&r, &budget); points++) {
    gb_plan *q = plan_of(y, budget);
    assert_int_equal(gb_offer_at(&r, budget)->need, q->report.peak);
    for (int i = 0; i < q->report.ncandidates; i++)
      assert_true(q->report.candidate[i].chosen ==
                  (strcmp(q->report.candidate[i].name, gb_offer_at(&r, budget)->name) == 0));
    gb_plan_free(q);
  }
  assert_int_equal(points, 2);
  gb_plan_free(p);
  plan_end();
}

static void a_refusal_lists_its_ways_out (void **unused) {
  (void)unused;
  plan_begin(LIMIT);
  gb_node *cache, *y = example(&cache);
  gb_plan *p = NULL;
  assert_int_equal(gb_plan_new(fx.g, 1, &y, &(gb_plan_options){.budget = 1000}, &p, &fx.err), GB_EREFUSED);
  assert_string_equal(fx.err.options, "smallest budget that works: 27.38 KiB (28032 bytes)\n"
                                      "with 35.19 KiB (36032 bytes) it runs as a whole\n");
  assert_null(p);
  plan_end();
}

static void letters_are_told_from_what_is_none (void **unused) {
  (void)unused;
  const struct {
    const char *s;
    size_t n;
  } cases[] = {{"a", 1},
               {"~", 1},
               {"\x7f", 0},
               {"\n", 0},
               {"", 0},
               {"\xc3\xa4", 2},
               {"\xe2\x82\xac", 3},
               {"\xf0\x9f\x98\x80", 4},
               {"\xc3", 0},
               {"\x80", 0},
               {"\xc0\xaf", 0},
               {"\xe0\x80\xaf", 0},
               {"\xed\xa0\x80", 0},
               {"\xf4\x90\x80\x80", 0},
               {"\xf0\x9f\x98", 0},
               {"\xff", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_int_equal(gb_letter(cases[i].s), cases[i].n);
  assert_int_equal(gb_width("\xc3\xa4\xff"
                            "b",
                            10),
                   3);
  assert_int_equal(gb_width("abcdef", 4), 4);
}

static void a_long_way_keeps_its_line (void **unused) {
  (void)unused;
  assert_string_equal(gb_short_where("a/b.lua:12", 30), "a/b.lua:12");
  assert_string_equal(gb_short_where("some/folder/b.lua:12", 12), "b.lua:12");
  assert_string_equal(gb_short_where("some/folder/experiment.lua:12", 12), "iment.lua:12");
  assert_string_equal(gb_short_where("\xc3\xa4\xc3\xa4\xc3\xa4:12", 6), "\xc3\xa4:12");
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_screen_says_what_runs_and_what_else_there_is),
      cmocka_unit_test(with_less_the_cache_is_a_temporary),
      cmocka_unit_test(caches_that_exist_count_against_the_budget_and_a_run_is_compared),
      cmocka_unit_test(a_plan_of_many_steps_stays_one_screen),
      cmocka_unit_test(the_timeline_adds_up_what_is_live),
      cmocka_unit_test(rows_say_where_and_when),
      cmocka_unit_test(a_sweep_tells_what_would_be_chosen),
      cmocka_unit_test(a_refusal_lists_its_ways_out),
      cmocka_unit_test(letters_are_told_from_what_is_none),
      cmocka_unit_test(a_long_way_keeps_its_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
