/* scalar.c - scalar algebra: a product as powers of atoms, rebuilt in one normal form.
**
** Only scales of squared distances are normalised (1 / l^2, (1 / l)^2 and l^-2 become one node); other
** divisions stay as written. An atom never cancels against its own reciprocal, because l / l is NaN at 0. */
#include <float.h>
#include <math.h>

#include "graph/canon/canon.h"

enum { DEEPEST_SIGN = 5 };

static bool nonnegative (const gb_node *n, int level) {
  if (level == DEEPEST_SIGN) return false;
  switch (n->nin || n->op == GB_OP_CONST ? n->op : GB_OP_LEAF) {
    case GB_OP_CONST: return n->attr.f[0] >= 0;
    case GB_OP_SQUARE:
    case GB_OP_ABS:
    case GB_OP_EXP:
    case GB_OP_SQRT:
    case GB_OP_RSQRT:
    case GB_OP_SIGMOID:
    case GB_OP_SOFTPLUS:
    case GB_OP_RELU:
    case GB_OP_NDTR: return true;
    case GB_OP_SQDIST: return n->nin == 2 || nonnegative(n->in[2], level + 1);
    case GB_OP_MUL:
    case GB_OP_DIV:
    case GB_OP_ADD: return nonnegative(n->in[0], level + 1) && nonnegative(n->in[1], level + 1);
    case GB_OP_SUM:
    case GB_OP_RECIP:
    case GB_OP_RESHAPE:
    case GB_OP_UNSQUEEZE:
    case GB_OP_SQUEEZE:
    case GB_OP_PERMUTE:
    case GB_OP_EXPAND:
    case GB_OP_SLICE:
    case GB_OP_DIAGONAL: return nonnegative(n->in[0], level + 1);
    default: return false;
  }
}

bool gb_is_nonnegative (const gb_node *n) { return nonnegative(n, 0); }

#define MAX_POWER 16
#define MAX_LEVELS 8

bool gb_is_const (const gb_node *n, double v) { return n->op == GB_OP_CONST && n->attr.f[0] == v; }

bool gb_is_scalar (const gb_node *n) {
  return gb_node_shape(n)->ndim == 0 && gb_dtype_is_float(gb_node_dtype(n));
}

/* Order of atoms: values before numbers; then by properties that do not depend on when a node was built; then
** by serial. */
bool gb_node_precedes (const gb_node *a, const gb_node *b) {
  if ((a->op == GB_OP_CONST) != (b->op == GB_OP_CONST)) return b->op == GB_OP_CONST;
  const int ra = gb_node_shape(a)->ndim, rb = gb_node_shape(b)->ndim;
  if (ra != rb) return ra > rb;
  if (a->op != b->op) return a->op < b->op;
  return a->serial <= b->serial;
}

static gb_mono mono_one (void) { return (gb_mono){.c = 1}; }

gb_factor gb_factor_one (void) { return (gb_factor){mono_one(), mono_one()}; }

static bool mono_constant (gb_mono *m, double c, int power) {
  double r = m->c;
  for (int i = 0; i < power; i++) r *= c;
  for (int i = 0; i > power; i--) r /= c;
  if (!(fabs(r) >= FLT_MIN && fabs(r) <= FLT_MAX)) return false;
  m->c = r;
  return true;
}

static bool mono_atom (gb_mono *m, gb_node *atom, int power) {
  int at = 0;
  while (at < m->n && m->atom[at] != atom) at++;
  if (at < m->n) {
    const int sum = m->power[at] + power;
    if ((m->power[at] < 0) != (power < 0) || sum > MAX_POWER || sum < -MAX_POWER) return false;
    m->power[at] = sum;
    return true;
  }
  if (m->n == GB_MONO_ATOMS) return false;
  for (at = m->n++; at > 0 && gb_node_precedes(atom, m->atom[at - 1]); at--) {
    m->atom[at] = m->atom[at - 1];
    m->power[at] = m->power[at - 1];
  }
  m->atom[at] = atom;
  m->power[at] = power;
  return true;
}

/* An atom of one element counts as a scalar whatever its rank, so a list of one lengthscale is a lengthscale.
** A number that is 0, infinite or NaN is not an atom: its powers would be infinities or zeros. */
static bool factor_atom (gb_formula *e, gb_factor *f, gb_node *n, int power) {
  const gb_shape *s = gb_node_shape(n);
  if (n->op == GB_OP_CONST) return false;
  if (s->ndim > 0 && gb_shape_numel(s) != 1) {
    while (n && gb_node_shape(n)->ndim > 1) n = gb_ex_squeeze(e, n, 0);
    return n && mono_atom(&f->vector, n, power);
  }
  while (n && gb_node_shape(n)->ndim > 0) n = gb_ex_squeeze(e, n, 0);
  return n && mono_atom(&f->scalar, n, power);
}

static int integer_power (const gb_node *exponent) {
  if (exponent->op != GB_OP_CONST) return 0;
  const double p = exponent->attr.f[0];
  return p == rint(p) && fabs(p) <= MAX_POWER ? (int)p : 0;
}

static bool factor_take (gb_formula *e, gb_factor *f, gb_node *n, int power, int level) {
  if (level == MAX_LEVELS || power > MAX_POWER || power < -MAX_POWER) return false;
  switch (n->nin ? n->op : n->op == GB_OP_CONST ? GB_OP_CONST : GB_OP_LEAF) {
    case GB_OP_CONST: return mono_constant(&f->scalar, n->attr.f[0], power);
    case GB_OP_NEG:
      if (power & 1) f->scalar.c = -f->scalar.c;
      return factor_take(e, f, n->in[0], power, level + 1);
    case GB_OP_SQUARE: return factor_take(e, f, n->in[0], 2 * power, level + 1);
    case GB_OP_RECIP: return factor_take(e, f, n->in[0], -power, level + 1);
    case GB_OP_MUL:
      return factor_take(e, f, n->in[0], power, level + 1) && factor_take(e, f, n->in[1], power, level + 1);
    case GB_OP_DIV:
      return factor_take(e, f, n->in[0], power, level + 1) && factor_take(e, f, n->in[1], -power, level + 1);
    case GB_OP_POW:
      if (integer_power(n->in[1]) == 0) return factor_atom(e, f, n, power);
      return factor_take(e, f, n->in[0], power * integer_power(n->in[1]), level + 1);
    case GB_OP_EXPAND:
    case GB_OP_UNSQUEEZE:
      if (gb_shape_numel(gb_node_shape(n->in[0])) == 1 || n->op == GB_OP_UNSQUEEZE)
        return factor_take(e, f, n->in[0], power, level + 1);
      return factor_atom(e, f, n, power);
    default: return factor_atom(e, f, n, power);
  }
}

bool gb_factor_mul (gb_formula *e, gb_factor *f, gb_node *n, int power) {
  gb_factor deep = *f;
  if (factor_take(e, &deep, n, power, 0)) {
    *f = deep;
    return true;
  }
  return e->status == GB_OK && factor_atom(e, f, n, power);
}

static bool mono_join (gb_mono *m, const gb_mono *by, int power) {
  bool ok = mono_constant(m, by->c, power);
  for (int i = 0; ok && i < by->n; i++) ok = mono_atom(m, by->atom[i], power * by->power[i]);
  return ok;
}

bool gb_factor_join (gb_factor *f, const gb_factor *by, int power) {
  return mono_join(&f->scalar, &by->scalar, power) && mono_join(&f->vector, &by->vector, power);
}

bool gb_mono_is_one (const gb_mono *m) { return m->n == 0 && m->c == 1; }

bool gb_factor_is_one (const gb_factor *f) {
  return gb_mono_is_one(&f->scalar) && gb_mono_is_one(&f->vector);
}

bool gb_mono_same_atoms (const gb_mono *a, const gb_mono *b) {
  if (a->n != b->n) return false;
  for (int i = 0; i < a->n; i++)
    if (a->atom[i] != b->atom[i] || a->power[i] != b->power[i]) return false;
  return true;
}

bool gb_factor_equal (const gb_factor *a, const gb_factor *b) {
  const double ca = a->scalar.c, cb = b->scalar.c;
  return fabs(ca - cb) <= 4 * DBL_EPSILON * fabs(ca) && gb_mono_same_atoms(&a->scalar, &b->scalar) &&
         gb_mono_same_atoms(&a->vector, &b->vector);
}

bool gb_mono_nonnegative (const gb_mono *m) {
  for (int i = 0; i < m->n; i++)
    if ((m->power[i] & 1) && !gb_is_nonnegative(m->atom[i])) return false;
  return m->c >= 0;
}

static gb_node *power_of (gb_formula *e, gb_node *atom, int p) {
  if (p == 1) return atom;
  return p & 1 ? gb_ex_mul(e, power_of(e, atom, p - 1), atom)
               : gb_ex_map1(e, GB_OP_SQUARE, power_of(e, atom, p / 2));
}

/* Product of the atoms whose power has the given sign; NULL if there are none. */
static gb_node *product_of (gb_formula *e, const gb_mono *m, int sign) {
  gb_node *r = NULL;
  for (int i = 0; i < m->n; i++) {
    if (m->power[i] * sign < 0) continue;
    gb_node *p = power_of(e, m->atom[i], sign * m->power[i]);
    r = r ? gb_ex_mul(e, r, p) : p;
  }
  return r;
}

gb_node *gb_mono_build (gb_formula *e, const gb_mono *m, gb_dtype t) {
  gb_node *r = product_of(e, m, 1), *below = product_of(e, m, -1);
  if (below) {
    below = gb_ex_map1(e, GB_OP_RECIP, below);
    r = r ? gb_ex_mul(e, r, below) : below;
  }
  if (!r) return gb_ex_const(e, m->c, t);
  return m->c == 1 ? r : gb_ex_mul(e, r, gb_ex_const(e, m->c, t));
}
