/* words.cpp - from characters to words. */
#include "ptx/words.h"

#include <ctype.h>
#include <string.h>

namespace ptx {

static bool is_of_name (char c) { return isalnum((unsigned char)c) || strchr("_$%.", c) != nullptr; }

std::vector<word> split (const char *text) {
  std::vector<word> all;
  int line = 1;
  for (const char *c = text; *c != '\0';) {
    const char *from = c;
    if (*c == '\n') line++, c++;
    else if (isspace((unsigned char)*c)) c++;
    else if (c[0] == '/' && c[1] == '/') c += strcspn(c, "\n");
    else if (*c == '"') {
      c++;
      c += strcspn(c, "\"\n");
      c += *c == '"';
      all.push_back({std::string(from, c), line});
    } else if (is_of_name(*c)) {
      while (*c != '\0' && is_of_name(*c)) c++;
      all.push_back({std::string(from, c), line});
    } else all.push_back({std::string(1, *c++), line});
  }
  all.push_back({"", line});
  return all;
}

std::vector<std::string> lines_of (const char *text) {
  std::vector<std::string> all;
  for (const char *c = text; *c != '\0'; c += *c == '\n') {
    const size_t n = strcspn(c, "\n");
    const size_t margin = strspn(c, " \t");
    all.push_back(std::string(c + (margin < n ? margin : n), c + n));
    c += n;
  }
  return all;
}

}   // namespace ptx
