/* dump.c - a program as text. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "lower/internal.h"

static void print_set (FILE *f, const gb_fold *p, gb_axes set) {
  fputc('{', f);
  for (int a = 0; a < p->naxes; a++)
    if (set >> a & 1) fprintf(f, "%c", 'a' + a);
  fputc('}', f);
}

static void print_operand (FILE *f, const gb_fold *p, int x) {
  const gb_operand *o = &p->operand[x];
  fprintf(f, " #%d:%s", o->slot, gb_dtype_name(o->dtype));
  print_set(f, p, o->deps);
}

static void print_ins (FILE *f, const gb_fold *p, const gb_ins *i, int indent) {
  static const char *const kind[] = {"load", "const",  "bind", "iota", "rand", "map", "sqdist",
                                     "dot",  "radial", "loop", "end",  "acc",  "emit"};
  static const char *const profile[] = {"rbf", "m12", "m32", "m52", "rq"};
  fprintf(f, "%*s", 2 + 2 * indent, "");
  if (i->dst >= 0) fprintf(f, "v%d = ", i->dst);
  fputs(i->kind == GB_INS_MAP ? gb_ops[i->op].name : kind[i->kind], f);
  if (i->kind == GB_INS_RADIAL)
    fprintf(f, " %s/%d%s", profile[i->profile], i->order, i->dalpha ? "/alpha" : "");
  if (i->a >= 0) fprintf(f, " v%d", i->a);
  if (i->b >= 0) fprintf(f, " v%d", i->b);
  if (i->c >= 0) fprintf(f, " v%d", i->c);
  if (i->axis >= 0) fprintf(f, " over %c", 'a' + i->axis);
  if (i->kind == GB_INS_EMIT || i->kind == GB_INS_BIND) fprintf(f, " %d", i->x);
  else {
    if (i->x >= 0) print_operand(f, p, i->x);
    if (i->y >= 0) print_operand(f, p, i->y);
    if (i->w >= 0) print_operand(f, p, i->w);
  }
  if (i->kind == GB_INS_CONST || i->kind == GB_INS_IOTA) fprintf(f, " %g %g", i->f, i->g);
  if (i->dst >= 0) {
    fputs("  ", f);
    print_set(f, p, i->deps);
  }
  fputc('\n', f);
}

static void print_out (FILE *f, const gb_fold *p, int n) {
  static const char *const kind[] = {"store", "reduce", "contract", "diff"};
  static const char *const monoid[] = {"sum",    "prod",   "min", "max", "lse",
                                       "argmin", "argmax", "any", "all", "kmin"};
  const gb_out *o = &p->out[n];
  fprintf(f, "out %d: %s %s", n, kind[o->kind], o->kind == GB_OUT_STORE ? "" : monoid[o->monoid]);
  if (o->reduced != 0) {
    fputs(" over ", f);
    print_set(f, p, o->reduced);
  }
  if (o->x >= 0) print_operand(f, p, o->x);
  if (o->y >= 0) print_operand(f, p, o->y);
  if (o->axis >= 0) fprintf(f, " columns %c", 'a' + o->axis);
  fprintf(f, " -> #%d:%s\n", o->slot, gb_dtype_name(o->dtype));
}

char *gb_fold_dump (const gb_fold *p) {
  static const char *const role[] = {"lane", "tile", "outer", "inner"};
  char *text = NULL;
  size_t length;
  FILE *f = open_memstream(&text, &length);
  if (f == NULL) return NULL;
  fprintf(f, "fold %s%s", gb_dtype_name(p->compute), p->symmetric ? " symmetric" : "");
  for (int a = 0; a < p->naxes; a++)
    fprintf(f, "  %c=%zu %s", 'a' + a, p->axis[a].extent, role[p->axis[a].role]);
  fputc('\n', f);
  for (int i = 0, indent = 0; i < p->nins; i++) {
    if (p->ins[i].kind == GB_INS_ENDLOOP) indent--;
    print_ins(f, p, &p->ins[i], indent);
    if (p->ins[i].kind == GB_INS_LOOP) indent++;
  }
  for (int i = 0; i < p->nouts; i++) print_out(f, p, i);
  if (fclose(f) == 0) return text;
  free(text);
  return NULL;
}
