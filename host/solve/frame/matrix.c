/* matrix.c - a product with the matrix, or one of each precision. */
#include "solve/frame/matrix.h"

#include "iterate/boundary.h"

gb_status gb_solve_matrix_init (gb_solve_matrix *m, gb_node *a, size_t r, bool mixed, gb_error *err) {
  *m = (gb_solve_matrix){0};
  if (!mixed) return gb_product_init(&m->a, a, r, err);
  gb_node *other = NULL;
  const bool narrow = gb_node_dtype(a) == GB_F32;
  GB_TRY(gb_retype(a, narrow ? GB_F64 : GB_F32, &other, err));
  gb_status st = gb_product_init(&m->a, narrow ? other : a, r, err);
  if (st == GB_OK) st = gb_product_init(&m->low, narrow ? a : other, r, err);
  gb_node_unref(other);
  if (st != GB_OK) gb_solve_matrix_clear(m);
  return st;
}

void gb_solve_matrix_clear (gb_solve_matrix *m) {
  gb_product_clear(&m->low);
  gb_product_clear(&m->a);
}

static size_t bytes_of (const gb_solve_matrix *m) {
  return gb_product_bytes(&m->a) + gb_product_bytes(&m->low);
}

gb_status gb_solve_matrix_peak (gb_solve_matrix *m, size_t *bytes, gb_error *err) {
  *bytes = bytes_of(m);
  for (size_t r = m->a.r; r > 1;) {
    r = (r + 1) / 2;
    GB_TRY(gb_product_resize(&m->a, r, err));
    if (m->low.plan != NULL) GB_TRY(gb_product_resize(&m->low, r, err));
    const size_t now = bytes_of(m);
    if (now > *bytes) *bytes = now;
  }
  return GB_OK;
}
