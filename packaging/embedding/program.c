/* program.c - the gradient of a kernel's sum, in C: cc program.c $(pkg-config --cflags --libs gibbous) */
#include <gibbous.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4, D = 2 };

static gb_error err;

static void check (gb_status st) {
  if (st == GB_OK) return;
  fprintf(stderr, "%s: %s\n", gibbous_status_text(st), err.text);
  exit(EXIT_FAILURE);
}

int main (void) {
  static const double points[N * D] = {0, 0, 1, 0, 0, 1, 1, 1};
  double sum, slope[N * D];
  gb_session *session;
  gb_node *x, *c, *s, *k, *y, *dx;

  check(gibbous_open(&(gb_session_options){.threads = 1, .limit = 64 << 20}, &session, &err));
  check(gibbous_variable(session, GB_F64, &(gb_shape){2, {N, D}}, points, "x", &x, &err));
  check(gibbous_number(session, 1, &c, &err)); /* 1 / lengthscale^2 */
  check(gibbous_sqdist(x, x, NULL, &s, &err));
  check(gibbous_profile("rbf", s, c, NULL, &k, &err));
  check(gibbous_reduce("sum", k, 0, false, &y, &err)); /* over all axes */
  check(gibbous_grad(y, 1, &x, &dx, &err));
  check(gibbous_read(y, GB_F64, &sum, 1, &err));
  check(gibbous_read(dx, GB_F64, slope, N * D, &err));
  printf("sum %.6f, first slope %.6f\n", sum, slope[0]);

  gb_node *all[] = {x, c, s, k, y, dx};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) gibbous_unref(all[i]);
  check(gibbous_close(session, &err));
}
