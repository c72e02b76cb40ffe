/* body.cpp - the body of a function: registers, variables, labels, and instructions, whose operands become slots. */
#include <stdlib.h>

#include <set>

#include "cuda_emulation/internal.h"
#include "ptx/read.h"

namespace ptx {

handler find_handler (const std::string &mnemonic) {
  static const std::map<std::string, handler> known = [] {
    std::map<std::string, handler> all;
    for (const auto &rows :
         {arithmetic_rows(), integer_rows(), conversion_rows(), memory_rows(), control_rows()})
      for (const row &r : rows) all[r.mnemonic] = r.run;
    return all;
  }();
  auto it = known.find(mnemonic);
  return it == known.end() ? nullptr : it->second;
}

static const struct {
  const char *name;
  base where;
} special[] = {
    {"%tid.x", base::thread_x},    {"%tid.y", base::thread_y},          {"%tid.z", base::thread_z},
    {"%ctaid.x", base::block_x},   {"%ctaid.y", base::block_y},         {"%ctaid.z", base::block_z},
    {"%ntid.x", base::threads_x},  {"%ntid.y", base::threads_y},        {"%ntid.z", base::threads_z},
    {"%nctaid.x", base::blocks_x}, {"%nctaid.y", base::blocks_y},       {"%nctaid.z", base::blocks_z},
    {"%laneid", base::lane},       {"%lanemask_lt", base::lanes_below},
};

/* An operand: slots in braces or joined by '|', or an address in brackets. */
struct operand {
  std::vector<int> slots;
  int64_t offset = 0;
  bool braced = false, is_address = false;
};

struct body {
  reader &r;
  function &f;
  std::map<std::string, symbol> names;               /* parameters, variables */
  std::vector<std::map<std::string, int>> registers; /* by name, of each block that is open */
  std::map<std::pair<int, uint64_t>, int> constants; /* base and value, to slot */
  std::map<std::string, size_t> labels;
  std::vector<std::pair<size_t, std::string>> branches; /* instruction, label */

  int slot_of_constant (base where, uint64_t value) {
    auto found = constants.find({(int)where, value});
    if (found != constants.end()) return found->second;
    f.constants.push_back({f.nslots, where, value});
    return constants[{(int)where, value}] = f.nslots++;
  }
  void declare_registers ();
  void declare_variable (const std::string &space);
  int slot ();
  operand next_operand ();
  void instruction ();
  void call (ins &);
  void statement ();
};

/* .reg .b32 %r<52>; or .reg .b32 %low, %high; for the block, where they hide those of the same name outside. */
void body::declare_registers() {
  r.take(); /* the type */
  do {
    const std::string name = r.take();
    int count = -1;
    if (r.take_if("<")) {
      count = (int)number(r);
      r.expect(">");
    }
    if (count < 0) registers.back()[name] = f.nslots++;
    for (int k = 0; k < count; k++) registers.back()[name + std::to_string(k)] = f.nslots++;
  } while (r.take_if(","));
  r.expect(";");
}

/* Variables of state spaces local and shared, and parameters of calls. */
void body::declare_variable(const std::string &space) {
  const declared d = declaration(r);
  size_t &end = space == ".shared" ? f.shared : f.frame;
  const size_t at = aligned(end, d.align);
  end = at + d.bytes;
  if (f.shared > MOST_SHARED) r.refuse("too much shared memory");
  names[d.name] = space == ".shared" ? symbol{base::value, (uint64_t)(uintptr_t)(shared + at)}
                                     : symbol{base::frame, at};
  r.expect(";");
}

/* -- operands */

static bool is_number (const std::string &text) { return isdigit((unsigned char)text[0]) != 0; }

/* 0f3F800000 and 0d3FF0000000000000 are bits. */
static uint64_t literal (reader &r) {
  const std::string &text = r.now();
  if (text.size() < 10 || text[0] != '0' || (text[1] != 'f' && text[1] != 'd')) return (uint64_t)number(r);
  return strtoull(r.take().c_str() + 2, nullptr, 16);
}

int body::slot() {
  if (r.now() == "-" || is_number(r.now())) return slot_of_constant(base::value, literal(r));
  const std::string name = r.take();
  for (size_t k = registers.size(); k-- > 0;) {
    auto known = registers[k].find(name);
    if (known != registers[k].end()) return known->second;
  }
  auto local = names.find(name), global = r.variables.find(name);
  const symbol *s = local != names.end()          ? &local->second
                    : global != r.variables.end() ? &global->second
                                                  : nullptr;
  if (s != nullptr) return slot_of_constant(s->where, s->value);
  for (auto &x : special)
    if (name == x.name) return slot_of_constant(x.where, 0);
  if (name == "_") return f.nslots++;
  r.at--;
  r.refuse("a name that is not known");
}

operand body::next_operand() {
  operand o;
  if (r.take_if("{")) {
    o.braced = true;
    do o.slots.push_back(slot());
    while (r.take_if(","));
    r.expect("}");
  } else if (r.take_if("[")) {
    o.is_address = true;
    o.slots.push_back(slot());
    if (r.take_if("+")) o.offset = number(r);
    r.expect("]");
  } else {
    if (r.now() == "!") r.refuse("a negated operand");
    o.slots.push_back(slot());
    if (r.take_if("|")) o.slots.push_back(slot());
  }
  return o;
}

/* -- instructions */

static bool has_result (const std::string &mnemonic) {
  static const std::set<std::string> without = {"st", "bar", "barrier", "membar", "fence", "trap"};
  return without.count(mnemonic.substr(0, mnemonic.find('.'))) == 0;
}

/* call.uni (result), name, (arguments); slots are addresses. */
void body::call(ins &i) {
  auto list = [&] (int *to, int most) {
    int n = 0;
    r.expect("(");
    while (!r.take_if(")")) {
      if (n == most) r.refuse("too many arguments");
      to[n++] = slot();
      r.take_if(",");
    }
    return n;
  };
  if (r.now() == "(") {
    i.nto = list(i.to, MOST_TO);
    r.expect(",");
  }
  auto callee = r.m.functions.find(r.now());
  if (callee == r.m.functions.end()) r.refuse("a function that is not known");
  i.f = callee->second.get();
  r.take();
  if (r.take_if(",")) i.nfrom = list(i.from, MOST_FROM);
}

void body::instruction() {
  ins i = {};
  i.guard = -1;
  i.line = r.line();
  if (r.take_if("@")) {
    i.guarded_by = !r.take_if("!");
    i.guard = slot();
  }
  std::string mnemonic = r.take();
  const size_t dot = mnemonic.find('.');
  const std::string verb = mnemonic.substr(0, dot);
  if (verb == "bra") {
    branches.push_back({f.code.size(), r.take()});
  } else if (verb == "call") {
    call(i);
  } else if (r.now() != ";") {
    bool first = has_result(mnemonic);
    do {
      const operand o = next_operand();
      if (o.braced && verb == "mov") mnemonic += first ? ".unpack" : ".pack";
      if (o.is_address) i.offset = o.offset;
      for (const int s : o.slots) {
        int &n = first ? i.nto : i.nfrom;
        if (n == (first ? (int)MOST_TO : (int)MOST_FROM)) r.refuse("too many operands");
        (first ? i.to : i.from)[n++] = s;
      }
      first = false;
    } while (r.take_if(","));
  }
  i.run = find_handler(mnemonic);
  if (i.run == nullptr) r.refuse(("the instruction '" + mnemonic + "' is not known").c_str());
  r.expect(";");
  f.code.push_back(i);
}

void body::statement() {
  const std::string word = r.now();
  if (word.empty()) r.refuse("a body without an end");
  if (word == "{") {
    registers.push_back({});
    r.take();
  } else if (word == "}") {
    registers.pop_back();
    r.take();
  } else if (word[0] == '.') {
    r.take();
    if (word == ".reg") declare_registers();
    else if (word == ".param" || word == ".local" || word == ".shared") declare_variable(word);
    else if (word == ".pragma") r.take(), r.expect(";");
    else r.refuse("a directive that is not known");
  } else if (r.words[r.at + 1].text == ":") {
    labels[word] = f.code.size();
    r.at += 2;
  } else instruction();
}

void read_body (reader &r, function &f, std::map<std::string, symbol> names) {
  body b = {r, f, std::move(names), {}, {}, {}, {}};
  do b.statement();
  while (!b.registers.empty());
  f.frame = aligned(f.frame, 16);
  ins end = {};
  end.guard = -1, end.line = r.line(), end.run = find_handler("ret");
  f.code.push_back(end);
  for (auto &branch : b.branches) {
    auto to = b.labels.find(branch.second);
    if (to == b.labels.end()) r.refuse(("no label " + branch.second).c_str());
    f.code[branch.first].target = to->second;
  }
}

}   // namespace ptx
