/* read.h - what reads a module: declarations (read.cpp) and the bodies of functions (body.cpp). */
#pragma once
#include "ptx/ptx.h"
#include "ptx/words.h"

namespace ptx {

struct symbol {
  base where;
  uint64_t value;
};

/* Words one after another; the end of the text is an empty one. */
struct reader {
  module &m;
  std::vector<word> words;
  size_t at = 0;
  std::map<std::string, symbol> variables; /* of the module */

  const std::string &now () const { return words[at].text; }
  int line () const { return words[at].line; }
  std::string take () { return at + 1 < words.size() ? words[at++].text : std::string(); }
  bool take_if (const char *text) {
    if (now() != text) return false;
    at++;
    return true;
  }
  void expect (const char *text);
  [[noreturn]] void refuse (const char *what) const;
};

int64_t number (reader &); /* with its sign */

struct declared { /* .align 8 .b8 name[16] */
  std::string name;
  size_t align, bytes;
};
declared declaration (reader &);
size_t aligned (size_t n, size_t to);

/* The body of a function whose parameters are known by name; at '{'. */
void read_body (reader &, function &, std::map<std::string, symbol> names);

}   // namespace ptx
