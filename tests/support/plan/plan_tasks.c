/* plan_tasks.c - the tasks. */
#include "support/plan/plan_tasks.h"

static gb_node *rbf (gb_node *x, gb_node *y, gb_node *scale) {
  return BUILD(gb_radial, GB_RBF, dist(x, y, NULL), scale, NULL);
}

static gb_node *with_noise (gb_node *k, gb_node *noise) {
  return add(k, mul(eye(gb_node_shape(k)->dim[0]), noise));
}

static size_t gradients (gb_node *y, size_t n, gb_node *const *xs, gb_node **out) {
  gb_node *bar[TASK_RESULTS];
  OK(gb_grad(y, NULL, n, xs, false, bar, &fx.err));
  out[0] = y;
  for (size_t i = 0; i < n; i++) out[i + 1] = hold(GB_OK, bar[i]);
  return n + 1;
}

/* K(x, y) v, and the sums of the rows of K */
static size_t kernel_product (size_t n, gb_node **out) {
  gb_node *k = rbf(in2(n, 3, -1, 1), in2(n + 7, 3, -1, 1), in0(0.5, 2));
  out[0] = mm(k, in2(n + 7, 2, -1, 1));
  out[1] = sum_axis(k, 1);
  return 2;
}

static size_t gram_matrix (size_t n, gb_node **out) {
  gb_node *x = in2(n, 3, -1, 1), *k = rbf(x, x, in0(0.5, 2));
  out[0] = with_noise(k, num(0.1));
  return 1;
}

/* Log marginal likelihood and its gradient in scale, noise, variance and inputs. */
static size_t gp_objective (size_t n, gb_node **out) {
  gb_node *x = in2(n, 2, -1, 1), *scale = in0(0.5, 2), *noise = in0(0.1, 0.5), *variance = in0(0.5, 2);
  gb_node *y = in1(n, -1, 1), *k = with_noise(mul(rbf(x, x, scale), variance), noise);
  gb_node *fit = BUILD(gb_inv_quad, k, y), *volume = BUILD(gb_logdet, k);
  gb_node *objective = BUILD(gb_scale, add(fit, volume), -0.5);
  return gradients(objective, 4, (gb_node *[]){scale, noise, variance, x}, out);
}

/* Mean and variance at new inputs. */
static size_t gp_prediction (size_t n, gb_node **out) {
  gb_node *x = in2(n, 2, -1, 1), *z = in2(n / 2 + 1, 2, -1, 1), *scale = in0(0.5, 2);
  gb_node *l = BUILD(gb_cholesky, with_noise(rbf(x, x, scale), in0(0.1, 0.5)), 0), *cross = rbf(x, z, scale);
  gb_node *alpha = attr_node(GB_OP_SOLVE_CHOL, 2, ((gb_node *[]){l, in1(n, -1, 1)}), (gb_attr){0});
  gb_node *half = attr_node(GB_OP_TRISOLVE, 2, ((gb_node *[]){l, cross}), (gb_attr){0});
  out[0] = mm(tr(cross), alpha);
  out[1] = sub(num(1), sum_axis(square(half), 0));
  return 2;
}

static size_t nearest_neighbours (size_t n, gb_node **out) {
  gb_node *d = dist(in2(n, 4, -1, 1), in2(2 * n, 4, -1, 1), NULL);
  gb_node *k = attr_node(GB_OP_KMIN, 1, &d, (gb_attr){.i = {0, 5}});
  out[0] = BUILD(gb_pick, k, 0);
  out[1] = BUILD(gb_pick, k, 1);
  return 2;
}

/* Two layers, cross entropy of the log softmax, and the gradient in the weights. */
static size_t network_loss (size_t n, gb_node **out) {
  gb_node *x = in2(n, 5, -1, 1), *w1 = in2(5, 33, -1, 1), *b1 = in1(33, -1, 1), *w2 = in2(33, 4, -1, 1),
          *b2 = in1(4, -1, 1);
  gb_node *classes = in2(n, 4, 0, 1), *hidden = map1(GB_OP_RELU, add(mm(x, w1), unsq(b1, 0)));
  gb_node *logits = add(mm(hidden, w2), unsq(b2, 0)), *p = BUILD(gb_log_softmax, logits, 1);
  gb_node *loss = BUILD(gb_scale, sum_all(mul(p, classes)), -1 / (double)n);
  return gradients(loss, 4, (gb_node *[]){w1, b1, w2, b2}, out);
}

/* Three outputs that share a kernel: the covariance of all of them is the Kronecker product of B and K. */
static size_t three_outputs (size_t n, gb_node **out) {
  gb_node *x = in2(n, 2, -1, 1), *k = rbf(x, x, in0(0.5, 2)), *mix = in2(3, 3, -1, 1);
  gb_node *b = add(mm(mix, tr(mix)), eye(3)), *wide = unsq(unsq(b, 1), 3),
          *four = mul(wide, unsq(unsq(k, 0), 2));
  gb_node *all = with_noise(BUILD(gb_reshape, four, &(gb_shape){.ndim = 2, .dim = {3 * n, 3 * n}}), num(0.5));
  gb_node *l = BUILD(gb_cholesky, all, 0);
  out[0] = mm(all, in1(3 * n, -1, 1));
  out[1] = attr_node(GB_OP_SOLVE_CHOL, 2, ((gb_node *[]){l, in1(3 * n, -1, 1)}), (gb_attr){0});
  out[2] = map1(GB_OP_LOGDET, l);
  return 3;
}

const task tasks[] = {{"kernel product", kernel_product},
                      {"gram matrix", gram_matrix},
                      {"gp objective and gradient", gp_objective},
                      {"gp prediction", gp_prediction},
                      {"nearest neighbours", nearest_neighbours},
                      {"network loss and gradient", network_loss},
                      {"covariance of three outputs", three_outputs}};

const size_t ntasks = sizeof tasks / sizeof tasks[0];
