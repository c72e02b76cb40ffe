/* read.cpp - the declarations of a module: variables, functions and their parameters. */
#include "ptx/read.h"

#include <stdlib.h>

#include "cuda_emulation/internal.h"

namespace ptx {

void reader::refuse(const char *what) const {
  const size_t n = (size_t)line() - 1;
  emu::stop("PTX, line %d, '%s': %s at '%s'", line(), n < m.lines.size() ? m.lines[n].c_str() : "", what,
            now().c_str());
}
void reader::expect(const char *text) {
  if (!take_if(text)) refuse((std::string("no '") + text + "'").c_str());
}

int64_t number (reader &r) {
  const bool minus = r.take_if("-");
  char *end;
  const std::string text = r.now();
  const uint64_t n = strtoull(text.c_str(), &end, 0);
  if (end == text.c_str() || (*end != '\0' && strcmp(end, "U") != 0)) r.refuse("no number");
  r.take();
  return (int64_t)(minus ? 0 - n : n);
}

size_t aligned (size_t n, size_t to) { return (n + to - 1) / to * to; }

static size_t bytes_of_type (reader &r) {
  const std::string type = r.take();
  const int bits = type.size() > 2 ? atoi(type.c_str() + 2) : 0;
  if (type[0] != '.' || bits % 8 != 0 || bits == 0) r.refuse("no type before this");
  return (size_t)bits / 8;
}

declared declaration (reader &r) {
  declared d = {"", 0, 0};
  if (r.take_if(".align")) d.align = (size_t)number(r);
  const size_t element = bytes_of_type(r);
  if (r.take_if(".ptr"))
    while (r.now()[0] == '.' || isdigit((unsigned char)r.now()[0])) r.take();
  d.name = r.take();
  if (d.align == 0) d.align = element;
  d.bytes = element;
  if (r.take_if("[")) {
    d.bytes = element * (size_t)number(r);
    r.expect("]");
  }
  return d;
}

/* -- variables */

static void initialize (reader &r, char *to, size_t element) {
  r.expect("{");
  while (!r.take_if("}")) {
    const int64_t v = number(r);
    memcpy(to, &v, element);
    to += element;
    r.take_if(",");
  }
}

static void read_variable (reader &r) {
  const size_t at = aligned(r.m.data.size(), 64);
  const size_t before = r.at;
  if (r.take_if(".align")) number(r);
  const size_t element = bytes_of_type(r);
  r.at = before;
  const declared d = declaration(r);
  if (at + d.bytes > r.m.data.capacity()) r.refuse("too many variables");
  r.m.data.resize(at + d.bytes);
  r.variables[d.name] = {base::value, (uint64_t)(uintptr_t)(r.m.data.data() + at)};
  if (r.take_if("=")) initialize(r, r.m.data.data() + at, element);
  r.expect(";");
}

/* -- functions */

/* A list of parameters: those of a kernel lie in its argument, others in the frame. */
static std::vector<parameter> parameters (reader &r, function &f, std::map<std::string, symbol> &names) {
  std::vector<parameter> all;
  r.expect("(");
  while (!r.take_if(")")) {
    r.expect(".param");
    const declared d = declaration(r);
    size_t &end = f.kernel ? f.argument : f.frame;
    const size_t at = aligned(end, d.align);
    end = at + d.bytes;
    names[d.name] = {f.kernel ? base::argument : base::frame, at};
    all.push_back({at, d.bytes});
    r.take_if(",");
  }
  return all;
}

/* A function may be declared before its body comes, and be called before. */
static function &function_of (reader &r, const std::string &name, bool kernel) {
  std::unique_ptr<function> &f = r.m.functions[name];
  if (f == nullptr) f = std::make_unique<function>();
  f->name = name;
  f->kernel = kernel;
  f->frame = f->argument = 0;
  return *f;
}

static void read_function (reader &r, bool kernel) {
  std::map<std::string, symbol> names;
  function head;
  head.kernel = kernel;
  if (!kernel && r.now() == "(") head.out = parameters(r, head, names);
  function &f = function_of(r, r.take(), kernel);
  f.out = head.out, f.frame = head.frame;
  if (r.now() == "(") f.in = parameters(r, f, names);
  while (r.now() != "{" && r.now() != ";") { /* .maxntid 64, 1, 1 and the like */
    if (r.now().empty()) r.refuse("no body");
    r.take();
  }
  if (!r.take_if(";")) read_body(r, f, names);
}

static void skip_line (reader &r) {
  for (const int line = r.line(); r.line() == line && !r.now().empty();) r.take();
}

static void read_directive (reader &r) {
  const std::string d = r.take();
  if (d == ".visible" || d == ".extern" || d == ".weak" || d == ".common") return; /* of what comes next */
  if (d == ".version" || d == ".target" || d == ".address_size" || d == ".file") {
    r.at--;
    skip_line(r);
  } else if (d == ".global" || d == ".const") read_variable(r);
  else if (d == ".entry" || d == ".func") read_function(r, d == ".entry");
  else {
    r.at--;
    r.refuse("a directive that is not known");
  }
}

std::unique_ptr<module> read (const char *text) {
  enum { DATA = 1 << 20 };
  auto m = std::make_unique<module>();
  m->lines = lines_of(text);
  m->data.reserve(DATA);
  reader r = {*m, split(text), 0, {}};
  while (!r.now().empty()) read_directive(r);
  for (auto &f :
       m->functions) { /* a kernel, and all functions, each once: they call each other in no circle */
    if (f.second->kernel) continue;
    m->most_slots += (size_t)f.second->nslots, m->most_frame += f.second->frame;
  }
  size_t slots = 0, frame = 0;
  for (auto &f : m->functions) {
    if (!f.second->kernel) continue;
    slots = std::max(slots, (size_t)f.second->nslots), frame = std::max(frame, f.second->frame);
  }
  m->most_slots += slots, m->most_frame += frame;
  return m;
}

}   // namespace ptx
