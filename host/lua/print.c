/* print.c - tensors as text: a header line, then the edge items of each axis, aligned. A huge lazy tensor
** is never computed for this: only its corners are (preview.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lua/lgb.h"
#include "lua/preview.h"

#define SMALL 100               /* elements that are printed whole */
#define EAGER ((size_t)1 << 20) /* elements that are computed whole */
#define CELL 32

typedef union number {
  double f;
  int64_t i;
} number; /* i of i64 and i32, else f */

/* Which positions of each axis are shown: all, or 'edge' at either end. */
typedef struct sample {
  gb_shape shape;
  bool cut[GB_MAXDIM];
  size_t edge;
  size_t count[GB_MAXDIM];
  size_t numel;
  number *v; /* shown elements, row-major over count */
} sample;

static size_t columns (void) {
  const size_t wide = lgb_columns(STDOUT_FILENO);
  return wide < 20 ? 80 : wide;
}

static size_t position (const sample *p, int axis, size_t i) {
  return p->cut[axis] && i >= p->edge ? p->shape.dim[axis] - p->count[axis] + i : i;
}

static void choose (sample *p, const gb_shape *shape, size_t edge, bool whole) {
  *p = (sample){.shape = *shape, .edge = edge, .numel = 1};
  for (int a = 0; a < shape->ndim; a++) {
    p->cut[a] = !whole && shape->dim[a] > 2 * edge;
    p->count[a] = p->cut[a] ? 2 * edge : shape->dim[a];
    p->numel *= p->count[a];
  }
}

static number number_at (const gb_tensor *t, const size_t *index) {
  if (gb_dtype_is_whole(t->dtype)) return (number){.i = gb_tensor_integer_at(t, index)};
  return (number){.f = gb_tensor_at(t, index)};
}

static bool step (size_t *index, int ndim, const size_t *count) {
  for (int a = ndim - 1; a >= 0; a--) {
    if (++index[a] < count[a]) return true;
    index[a] = 0;
  }
  return false;
}

static void read_value (sample *p, const gb_tensor *t) {
  if (p->numel == 0) return;
  size_t index[GB_MAXDIM] = {0}, at[GB_MAXDIM], k = 0;
  do {
    for (int a = 0; a < p->shape.ndim; a++) at[a] = position(p, a, index[a]);
    p->v[k++] = number_at(t, at);
  } while (step(index, p->shape.ndim, p->count));
}

/* -- corners of a lazy tensor */

/* Corner 'c': on the j-th cut axis the last 'edge' positions if bit j is set, else the first. Pushes it. */
static gb_node *push_corner (lua_State *L, const sample *p, gb_node *x, unsigned c) {
  gb_box box = {.start = {0}};
  int cut = 0;
  for (int a = 0; a < p->shape.ndim; a++) {
    box.extent[a] = p->cut[a] ? p->edge : p->shape.dim[a];
    if (p->cut[a] && (c >> cut++ & 1)) box.start[a] = p->shape.dim[a] - p->edge;
  }
  lgb_tensor *y = lgb_newtensor(L);
  gb_error err;
  lgb_result(L, lgb_restrict(x, &box, &y->node, &err), &err);
  return y->node;
}

static void read_corner (sample *p, const gb_tensor *t, unsigned c) {
  size_t index[GB_MAXDIM] = {0};
  do {
    size_t k = 0;
    int cut = 0;
    for (int a = 0; a < p->shape.ndim; a++) {
      const size_t half = p->cut[a] && (c >> cut & 1) ? p->edge : 0;
      cut += p->cut[a];
      k = k * p->count[a] + half + index[a];
    }
    p->v[k] = number_at(t, index);
  } while (step(index, p->shape.ndim, t->shape.dim));
}

/* False: the corners cannot be had; err says why. */
static bool read_corners (lua_State *L, lgb_session *s, sample *p, gb_node *x, gb_error *err) {
  int cuts = 0;
  for (int a = 0; a < p->shape.ndim; a++) cuts += p->cut[a];
  const unsigned n = 1u << cuts;
  luaL_checkstack(L, (int)n + 4, "corners");
  gb_node **corner = lgb_scratch(L, n, sizeof *corner);
  for (unsigned c = 0; c < n; c++) corner[c] = push_corner(L, p, x, c);
  corner = lgb_redeemed(L, s, n, corner, GB_WALK_READ, true);
  gb_status st = LGB_CORE(s, gb_eval(s->graph, n, corner, err));
  if (st == GB_EINTR) lgb_raise(L, st, err);
  for (unsigned c = 0; st == GB_OK && c < n; c++) {
    gb_tensor t;
    st = gb_host_of(&corner[c]->out[0].tensor, &t, err);
    if (st == GB_OK) read_corner(p, &t, c);
  }
  return st == GB_OK;
}

/* -- cells */

typedef struct style {
  gb_dtype dtype;
  int decimals; /* -1: whole numbers */
  int exponent; /* values are shown divided by 10^exponent */
  int width;
} style;

static void cell (const style *f, number shown, char text[CELL]) {
  const double v = shown.f;
  if (gb_dtype_is_whole(f->dtype)) snprintf(text, CELL, "%lld", (long long)shown.i);
  else if (f->dtype == GB_BOOL) snprintf(text, CELL, "%s", v != 0 ? "true" : "false");
  else if (isnan(v)) snprintf(text, CELL, "nan");
  else if (isinf(v)) snprintf(text, CELL, v > 0 ? "inf" : "-inf");
  else if (f->decimals < 0) snprintf(text, CELL, "%.0f", v);
  else snprintf(text, CELL, "%.*f", f->decimals, v / pow(10, f->exponent));
}

/* One format for all shown values: whole numbers, fixed decimals, or fixed decimals times a power of ten. */
static style choose_style (const sample *p, gb_dtype t, int digits) {
  style f = {.dtype = t, .decimals = -1};
  double largest = 0;
  bool whole = true;
  for (size_t i = 0; gb_dtype_is_float(t) && i < p->numel; i++) {
    if (!isfinite(p->v[i].f)) continue;
    largest = fmax(largest, fabs(p->v[i].f));
    whole = whole && p->v[i].f == floor(p->v[i].f);
  }
  if (!(gb_dtype_is_float(t)) || (whole && largest < 1e9)) {
    f.decimals = -1;
  } else {
    f.decimals = digits;
    if (largest >= 1e5 || largest < 1e-2) f.exponent = (int)floor(log10(largest));
  }
  for (size_t i = 0; i < p->numel; i++) {
    char text[CELL];
    cell(&f, p->v[i], text);
    const int w = (int)strlen(text);
    if (w > f.width) f.width = w;
  }
  return f;
}

/* -- lines */

static void add_text (luaL_Buffer *b, const char *text, int width) {
  for (int pad = width - (int)strlen(text); pad > 0; pad--) luaL_addchar(b, ' ');
  luaL_addstring(b, text);
}

/* One row of cells; wraps where it is wider than the terminal. */
static void add_row (luaL_Buffer *b, const sample *p, const style *f, const number *row, size_t width) {
  const int axis = p->shape.ndim - 1;
  size_t used = 0;
  for (size_t i = 0; i < p->count[axis]; i++) {
    if (used > 0 && used + (size_t)f->width + 2 > width) {
      luaL_addstring(b, "\n");
      used = 0;
    }
    if (p->cut[axis] && i == p->edge) luaL_addstring(b, "  …");
    char text[CELL];
    cell(f, row[i], text);
    luaL_addstring(b, "  ");
    add_text(b, text, f->width);
    used += (size_t)f->width + 2;
  }
}

static void add_matrix (luaL_Buffer *b, const sample *p, const style *f, const number *v, size_t width) {
  const int axis = p->shape.ndim - 2;
  for (size_t i = 0; i < p->count[axis]; i++) {
    if (p->cut[axis] && i == p->edge) luaL_addstring(b, "\n  …");
    luaL_addchar(b, '\n');
    add_row(b, p, f, v + i * p->count[axis + 1], width);
  }
}

static void add_body (luaL_Buffer *b, const sample *p, const style *f) {
  const int ndim = p->shape.ndim;
  const size_t width = columns();
  if (ndim <= 1) {
    luaL_addchar(b, '\n');
    add_row(b, p, f, p->v, width);
    return;
  }
  if (ndim == 2) {
    add_matrix(b, p, f, p->v, width);
    return;
  }
  size_t index[GB_MAXDIM] = {0};
  const size_t block = p->count[ndim - 2] * p->count[ndim - 1];
  const number *v = p->v;
  do {
    luaL_addstring(b, "\n[");
    for (int a = 0; a < ndim - 2; a++) {
      char text[CELL];
      snprintf(text, sizeof text, "%zu, ", position(p, a, index[a]) + 1);
      luaL_addstring(b, text);
    }
    luaL_addstring(b, ":, :]");
    add_matrix(b, p, f, v, width);
    v += block;
  } while (step(index, ndim - 2, p->count));
}

/* Minimum, mean and maximum where the value is at hand and small enough to be read in a blink. */
static void add_statistics (luaL_Buffer *b, const gb_tensor *t) {
  const size_t n = gb_shape_numel(&t->shape);
  if (n == 0 || n > EAGER || !gb_dtype_is_float(t->dtype)) return;
  double low = INFINITY, high = -INFINITY, sum = 0;
  size_t index[GB_MAXDIM] = {0}, bad = 0, good = 0;
  do {
    const double v = gb_tensor_at(t, index);
    if (!isfinite(v)) {
      bad++;
      continue;
    }
    low = fmin(low, v), high = fmax(high, v), sum += v, good++;
  } while (step(index, t->shape.ndim, t->shape.dim));
  char text[160];
  if (good > 0) {
    snprintf(text, sizeof text, "  min %.4g  mean %.4g  max %.4g", low, sum / (double)good, high);
    luaL_addstring(b, text);
  }
  if (bad > 0) {
    snprintf(text, sizeof text, "  not finite %zu", bad);
    luaL_addstring(b, text);
  }
}

static void add_header (luaL_Buffer *b, const gb_node *x, const style *f, bool computed) {
  char shape[GB_SHAPE_TEXT], bytes[GB_BYTES_TEXT], text[256];
  gb_bytes_text(gb_shape_bytes(gb_node_shape(x), gb_node_dtype(x)), bytes);
  gb_shape_text(gb_node_shape(x), shape);
  snprintf(text, sizeof text,
           computed ? "tensor %s %s %s  %s" : "tensor %s %s %s  not materialised (dense would be %s)", shape,
           gb_dtype_name(gb_node_dtype(x)), gb_node_device(x)->name, bytes);
  luaL_addstring(b, text);
  if (x->flags & GB_NODE_GRAD) luaL_addstring(b, "  requires grad");
  if (f->exponent != 0) {
    snprintf(text, sizeof text, "  times 1e%+03d", f->exponent);
    luaL_addstring(b, text);
  }
}

static int push_placeholder (lua_State *L, const gb_node *x) {
  char shape[GB_SHAPE_TEXT];
  lua_pushfstring(L, "tensor %s %s %s  without a value", gb_shape_text(gb_node_shape(x), shape),
                  gb_dtype_name(gb_node_dtype(x)), gb_node_device(x)->name);
  return 1;
}

/* Edge items so few that a tensor of many dimensions still prints on a screen. */
static size_t edge_for (const gb_shape *s, size_t edge) {
  sample p;
  for (choose(&p, s, edge, false); p.numel > 2000 && edge > 1; choose(&p, s, edge, false)) edge--;
  return edge;
}

static int push_whole_or_corner (lua_State *L, lgb_session *s, gb_node *x) {
  const size_t numel = gb_shape_numel(gb_node_shape(x));
  const bool computed = gb_node_has_value(x) || numel <= EAGER;
  const bool whole = numel <= SMALL;
  gb_tensor t = {0};
  if (computed) t = lgb_host_value(L, s, x);
  sample p;
  choose(&p, gb_node_shape(x), edge_for(gb_node_shape(x), (size_t)s->edge), whole);
  p.v = lgb_scratch(L, p.numel, sizeof *p.v);
  gb_error err = {.text = ""};
  bool shown = true;
  if (computed) read_value(&p, &t);
  else shown = read_corners(L, s, &p, x, &err);
  const style f = shown ? choose_style(&p, gb_node_dtype(x), s->digits) : (style){0};
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  add_header(&b, x, &f, computed);
  if (computed && !whole) add_statistics(&b, &t);
  if (shown && p.numel > 0) add_body(&b, &p, &f);
  if (!shown) {
    luaL_addstring(&b, "\n  not shown: ");
    luaL_addstring(&b, err.text);
  }
  luaL_pushresult(&b);
  return 1;
}

/* tostring(x): the number of one element; header and body otherwise */
int lgb_tensor_tostring (lua_State *L) {
  const lgb_tensor *h = luaL_checkudata(L, 1, LGB_TENSOR);
  if (h->node == NULL) {
    lua_pushliteral(L, "tensor (closed)");
    return 1;
  }
  lgb_session *s = lgb_enter(L);
  gb_node *x = h->node;
  if (x->op == GB_OP_LEAF && (x->flags & (GB_NODE_PLACEHOLDER | GB_NODE_PROMISE)) == GB_NODE_PLACEHOLDER &&
      !gb_node_has_value(x))
    return push_placeholder(L, x);
  if (gb_shape_numel(gb_node_shape(x)) != 1) return push_whole_or_corner(L, s, x);
  const size_t origin[GB_MAXDIM] = {0};
  const gb_tensor t = lgb_host_value(L, s, x);
  lgb_pushelement(L, &t, origin);
  luaL_tolstring(L, -1, NULL);
  return 1;
}
