// gibbous.h as C++: its functions link, and its types are complete where they are passed by value.
#include <gibbous.h>

#include <cstdio>

int main () {
  gb_error err;
  gb_session *session = nullptr;
  gb_node *two = nullptr, *four = nullptr;
  double value = 0;
  if (gibbous_open(nullptr, &session, &err) != GB_OK) return 1;
  if (gibbous_number(session, 2, &two, &err) != GB_OK) return 2;
  if (gibbous_map("square", 1, &two, &four, &err) != GB_OK) return 3;
  if (gibbous_shape(four).ndim != 0 || gibbous_read(four, GB_F64, &value, 1, &err) != GB_OK) return 4;
  gibbous_unref(two);
  gibbous_unref(four);
  if (gibbous_close(session, &err) != GB_OK) return 5;
  std::printf("%g\n", value);
  return value == 4 ? 0 : 6;
}
