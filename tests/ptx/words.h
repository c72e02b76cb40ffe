/* words.h - a text of PTX as words: names, numbers, directives and single characters, each with its line. */
#pragma once
#include <string>
#include <vector>

namespace ptx {

struct word {
  std::string text; /* empty: the end */
  int line;
};
std::vector<word> split (const char *text);
std::vector<std::string> lines_of (const char *text);

}   // namespace ptx
