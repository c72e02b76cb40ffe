/* reference.h - the oracle: any expression, evaluated densely in double from the definitions in ops.def. No
** tiles, no fusion, no rounding to the dtype (bool is 0 or 1, positions are doubles). Links with
** fold_reference.c, which defines the elementwise ops and profiles. */
#ifndef GB_TESTS_REFERENCE_H
#define GB_TESTS_REFERENCE_H

#include "graph/node.h"

/* Values that stand in for leaves, e.g. perturbed ones or those of placeholders: leaf[i] has value[i],
** row-major. */
typedef struct reference_bindings {
  size_t n;
  gb_node *const *leaf;
  const double *const *value;
} reference_bindings;

/* Output 'output' of n, row-major, malloc'ed; *shape may be NULL; 'with' may be NULL. Evaluates from the
** leaves, ignoring memoised values, except for nodes whose inputs were dropped. Errors: ENOTPD, EINDEX, ENAN
** (singular), EOPTION (CALL and the sequences SOBOL and RANDPERM, which are the device's own; a leaf without
** value or binding). */
gb_status reference_eval (gb_node *n, int output, const reference_bindings *with, double **values,
                          gb_shape *shape, gb_error *err);
/* The only element of a one-element node; NaN if evaluation fails. */
double reference_scalar (gb_node *n, const reference_bindings *with);

/* |got - want| <= atol + rtol |want|, infinities equal, NaN with NaN only. */
bool reference_close (double got, double want, double rtol, double atol);
/* Compares all elements; on failure prints the first difference and returns false. */
bool reference_all_close (const double *got, const double *want, size_t n, double rtol, double atol);

/* -- reference_linalg.c: textbook loops on row-major matrices */
/* 0, or the order of the bad minor */
size_t reference_cholesky (const double *a, double jitter, size_t n, double *l);
/* in place */
void reference_trisolve (const double *l, size_t n, bool upper, bool transposed, size_t r, double *b);
void reference_solve_chol (const double *l, size_t n, size_t r, double *b);                    /* in place */
bool reference_lu_solve (const double *a, size_t n, size_t r, double *b, double *log_abs_det); /* in place */
void reference_qr (const double *a, size_t n, size_t m, double *q, double *r);
/* Largest component of each vector positive. */
void reference_eigh (const double *a, size_t n, double *w, double *v);
void reference_svd (const double *a, size_t n, size_t m, double *u, double *s, double *v);

#endif
