/* ptx.h - PTX that runs on the processor: what the real NVRTC made of a kernel, read once into an array of instructions. It shows what
** the front end and its optimizer did to a text, with the bits that PTX promises; it shows nothing of ptxas.
**
** A register, an immediate value, an address of a symbol and a special register are all *slots* of a function, so that operands of
** an instruction are numbers of slots and nothing else. A slot has a word, and says whether it is *wild*: made of a register, or of
** shared memory, that nothing was written to. What is wild may be computed with, but not decide, be an address, or leave the block.
** Addresses of all state spaces are addresses of the host; those of shared memory have 32 bits, as PTX may take them to have. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ptx {

struct thread;
struct ins;
struct function;
typedef void (*handler)(thread &, const ins &);

enum { MOST_TO = 4, MOST_FROM = 6 };

struct ins {
  handler run;
  int guard;       /* slot of a predicate, -1: none */
  bool guarded_by; /* the value of it for which the instruction runs */
  int line;        /* of the text */
  int to[MOST_TO], from[MOST_FROM];
  int nto, nfrom;
  int64_t offset;    /* beside an address, from[0] */
  size_t target;     /* of a branch */
  const function *f; /* of a call */
};

/* What is in a slot when a function begins. 'where' is the base of 'value'. */
enum class base {
  value,
  argument,
  frame,
  thread_x,
  thread_y,
  thread_z,
  block_x,
  block_y,
  block_z,
  threads_x,
  threads_y,
  threads_z,
  blocks_x,
  blocks_y,
  blocks_z,
  lane,
  lanes_below
};
struct constant {
  int slot;
  base where;
  uint64_t value;
};

struct parameter {
  size_t at, bytes; /* in the argument of a kernel, or in the frame of a function */
};

struct function {
  std::string name;
  bool kernel;
  int nslots = 0;
  std::vector<constant> constants;
  std::vector<parameter> in, out;
  size_t argument = 0; /* bytes of the parameters of a kernel */
  size_t frame = 0;    /* bytes of local memory, and of parameters of calls */
  size_t shared = 0;   /* bytes of shared memory, from its begin on */
  std::vector<ins> code;
};

struct module {
  std::map<std::string, std::unique_ptr<function>> functions;
  std::vector<std::string> lines;
  std::vector<char> data;                /* variables of state spaces global and const; never moves */
  size_t most_slots = 0, most_frame = 0; /* of a kernel and all that it may call */
};

/* The module of a text that ends with a zero; an instruction that is not known ends the process. */
std::unique_ptr<module> read (const char *text);
handler find_handler (const std::string &mnemonic); /* NULL: not known */

/* -- while it runs */

/* Shared memory of the block that runs, below 4 GB; and a byte for each of its bytes: 0xFF where nothing was written since the block
** began. */
enum { MOST_SHARED = 232448 };
extern char *const shared;
extern unsigned char *const unwritten;

struct call_record {
  const function *f;
  const ins *from; /* the call */
};

struct thread {
  const module *m;
  const function *f;
  const ins *next;
  uint64_t *word; /* slots of f */
  bool *wild;
  char *frame;
  const char *argument; /* of the kernel */
  size_t argument_bytes;
  const char *frames; /* of all calls, most_frame bytes */
  std::vector<call_record> calls;
  bool carry, wild_carry; /* of the last instruction with .cc */
  bool done;
};

void note_memory (const module &); /* of a grid that begins: what it may touch */
/* Ends the process with the place. */
[[noreturn]] void stop_at (const thread &, const ins &, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void begin_function (thread &, const function *, const ins *call); /* call: NULL for a kernel */
void end_function (thread &);
/* A kernel, as a thread of the emulation that runs now. */
void run_thread (const module &, const function &, const std::string &argument);

/* -- words and values */

template <class T> T get (const thread &t, int slot) {
  T v;
  memcpy(&v, &t.word[slot], sizeof v);
  return v;
}
template <class T> void put (thread &t, int slot, T v, bool wild) {
  uint64_t w = 0;
  memcpy(&w, &v, sizeof v);
  t.word[slot] = w;
  t.wild[slot] = wild;
}
/* What an operation makes: of NaN, the one that the device has. */
inline void put_result (thread &t, int slot, float v, bool wild) {
  if (v == v) put(t, slot, v, wild);
  else put(t, slot, 0x7fffffffu, wild);
}
inline void put_result (thread &t, int slot, double v, bool wild) {
  if (v == v) put(t, slot, v, wild);
  else put(t, slot, (uint64_t)0xfff8000000000000u, wild);
}
template <class T> void put_result (thread &t, int slot, T v, bool wild) { put(t, slot, v, wild); }

/* The handler of a function of values: its arguments are from[0], from[1], ... */
template <auto F> struct op;
template <class R, class... A, R (*F)(A...)> struct op<F> {
  template <size_t... I> static void apply (thread &t, const ins &i, std::index_sequence<I...>) {
    put_result(t, i.to[0], F(get<A>(t, i.from[I])...), (false | ... | t.wild[i.from[I]]));
  }
  static void run (thread &t, const ins &i) { apply(t, i, std::index_sequence_for<A...>()); }
};

/* What the files know of mnemonics. */
struct row {
  std::string mnemonic;
  handler run;
};
std::vector<row> arithmetic_rows (void); /* arithmetic.cpp */
std::vector<row> integer_rows (void);    /* integer.cpp */
std::vector<row> conversion_rows (void); /* conversion.cpp */
std::vector<row> memory_rows (void);     /* memory.cpp */
std::vector<row> control_rows (void);    /* control.cpp */

}   // namespace ptx
