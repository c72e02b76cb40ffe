// program.cpp - the same in C++: c++ program.cpp $(pkg-config --cflags --libs gibbous)
#include <gibbous.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

static gb_error err;

static void check(gb_status st) {
  if (st != GB_OK) throw std::runtime_error(err.text);
}

struct unref {
  void operator()(gb_node *node) const { gibbous_unref(node); }
};
using node = std::unique_ptr<gb_node, unref>;

// Calls a function whose last arguments are the node that it gives, and the error.
template <class... Expected, class... Given> node made(gb_status (*f)(Expected...), Given... given) {
  gb_node *out = nullptr;
  check(f(given..., &out, &err));
  return node(out);
}

static void run(gb_session *session) {
  const std::vector<double> points = {0, 0, 1, 0, 0, 1, 1, 1};
  const gb_shape shape = {2, {4, 2}};
  const node x = made(gibbous_variable, session, GB_F64, &shape, points.data(), "x");
  const node c = made(gibbous_number, session, 1.0);
  const node s = made(gibbous_sqdist, x.get(), x.get(), nullptr);
  const node k = made(gibbous_profile, "rbf", s.get(), c.get(), nullptr);
  const node y = made(gibbous_reduce, "sum", k.get(), 0u, false);  // over all axes
  gb_node *of = x.get();
  const node dx = made(gibbous_grad, y.get(), std::size_t{1}, &of);
  double sum;
  std::vector<double> slope(points.size());
  check(gibbous_read(y.get(), GB_F64, &sum, 1, &err));
  check(gibbous_read(dx.get(), GB_F64, slope.data(), slope.size(), &err));
  std::printf("sum %.6f, first slope %.6f\n", sum, slope[0]);
}

int main() {
  gb_session *session = nullptr;
  try {
    gb_session_options options = {};
    options.threads = 1;
    options.limit = 64 << 20;
    check(gibbous_open(&options, &session, &err));
    run(session);
    check(gibbous_close(session, &err));
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
