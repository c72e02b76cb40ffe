/* logdet.c - the mean of a quadrature over random probes, and its interval. */
#include "solve/logdet/logdet.h"

#include <math.h>

#include "iterate/work.h"

/* e1' log(T) e1 of the first four fifths of column c's steps. */
static gb_status shorter_log (const gb_trace *trace, size_t c, double *out, gb_error *err) {
  const int all = trace->steps[c];
  trace->steps[c] = all - (all + 4) / 5;
  const gb_status st = gb_trace_log(trace, c, out, err);
  trace->steps[c] = all;
  return st;
}

/* Sums over the probes of forms with log(A), and with that of fewer steps. */
typedef struct sample {
  double sum, squares, shorter;
} sample;

static void estimate (const gb_precond *p, sample s, size_t n, size_t probes, gb_logdet_info *info) {
  const double k = (double)probes, mean = s.sum / k, spread = fmax(s.squares / k - mean * mean, 0);
  info->value = (double)n * mean + (p != NULL ? p->logdet : 0);
  info->standard_error = probes < 2 ? INFINITY : (double)n * sqrt(spread / (k - 1));
  info->truncation = (double)n * fabs(mean - s.shorter / k);
}

gb_status gb_probes_logdet (const gb_precond *p, const gb_trace *trace, size_t n, size_t first, size_t probes,
                            gb_logdet_info *info, gb_error *err) {
  sample sums = {0};
  for (size_t c = first; c < first + probes; c++) {
    double q, s;
    GB_TRY(gb_trace_log(trace, c, &q, err));
    GB_TRY(shorter_log(trace, c, &s, err));
    sums.sum += q;
    sums.squares += q * q;
    sums.shorter += s;
  }
  estimate(p, sums, n, probes, info);
  return GB_OK;
}

gb_status gb_block_logdet (const gb_precond *p, const gb_block_trace *trace, size_t n, size_t first,
                           size_t probes, double *work, gb_logdet_info *info, gb_error *err) {
  sample sums = {0};
  gb_block_trace_log(trace, trace->steps - (trace->steps + 4) / 5, work);
  for (size_t c = first; c < first + probes; c++) sums.shorter += work[c];
  gb_block_trace_log(trace, trace->steps, work);
  for (size_t c = first; c < first + probes; c++) {
    sums.sum += work[c];
    sums.squares += work[c] * work[c];
  }
  if (!isfinite(sums.sum))
    return gb_fail(err, GB_ENOTPD, "the matrix has an eigenvalue that is not positive");
  estimate(p, sums, n, probes, info);
  return GB_OK;
}

/* Entries of probes, solutions and residuals; numbers of the trace. */
static gb_status logdet_in (gb_solve_matrix *m, const gb_logdet_options *o, gb_room work,
                            gb_logdet_info *info, gb_error *err) {
  const size_t n = m->a.n, r = m->a.r;
  gb_panel panel[3];
  for (size_t i = 0; i < 3; i++)
    panel[i] = gb_panel_of(work.device, gb_panel_address(work.entries, i * n * r), n, r);
  gb_trace trace = gb_trace_bind(o->solve.max_iter, r, work.numbers);
  gb_precond_sample(o->solve.precond, o->seed, 0, panel[0]);
  GB_TRY(gb_cg_panels(m, &o->solve, panel[0], panel[1], panel[2], &trace, &info->solve, err));
  return gb_probes_logdet(o->solve.precond, &trace, n, 0, r, info, err);
}

gb_status gb_logdet_slq (gb_node *a, const gb_logdet_options *o, gb_logdet_info *info, gb_error *err) {
  gb_solve_matrix m;
  *info = (gb_logdet_info){0};
  if (o->probes < 2) return gb_fail(err, GB_EOPTION, "probes: expected at least 2, got %zu", o->probes);
  GB_TRY(gb_solve_matrix_init(&m, a, o->probes, o->solve.mixed, err));
  const size_t entries = 3 * m.a.n * m.a.r * sizeof(double),
               numbers = gb_trace_bytes(o->solve.max_iter, m.a.r);
  gb_work work;
  gb_status st = gb_work_new(a->graph->device, entries, numbers, "log det by probes", &work, err);
  if (st == GB_OK) st = logdet_in(&m, o, work.at, info, err);
  info->solve.bytes += entries + numbers;
  gb_work_free(&work);
  gb_solve_matrix_clear(&m);
  return st;
}

/* -- intervals */

/* The p-quantile of the standard normal, p < 1 / 2, by Newton's method from its left. */
static double normal_deviate (double p) {
  double z = -sqrt(-2 * log(p));
  for (int i = 0; i < 50; i++) {
    const double step = (0.5 * erfc(-z * M_SQRT1_2) - p) / (exp(-z * z / 2) * 0.5 * M_SQRT1_2 * M_2_SQRTPI);
    z -= step;
    if (fabs(step) < 1e-15 * fabs(z)) break;
  }
  return z;
}

/* Hill's expansions: in the normal deviate and, far in the tails, in a power. */
double gb_student_quantile (double degrees, double level) {
  const double n = degrees, p = 1 - level;
  if (n < 1.5) return 1 / tan(p * M_PI_2);
  if (n < 2.5) return sqrt(2 / (p * (2 - p)) - 2);
  const double a = 1 / (n - 0.5), b = 48 / (a * a);
  double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
  const double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI_2) * n;
  double y = pow(d * p, 2 / n);
  if (y > 0.05 + a) {
    const double x = normal_deviate(p / 2);
    y = x * x;
    if (n < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y = expm1(a * y * y);
  } else {
    y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) /
            (n + 2) +
        1 / y;
  }
  return sqrt(n * y);
}
