/* gibbous.h - lazy tensors and planned memory for C and C++ programs, without Lua.
**
** Functions are gibbous_<verb>, types gb_<noun>. A node (gb_node) is a lazy tensor: building one checks
** shapes and dtypes and computes nothing. Its value is computed by gibbous_eval, gibbous_read, or the run of
** a plan.
**
** Ownership. Each function that fills a 'gb_node **out' gives the caller one count, which gibbous_unref
** drops. Inputs are borrowed: a node keeps what it is made of, so the caller may drop inputs at once. Buffers
** are copied in and out. Plans are freed by gibbous_plan_free, text by free(). A session is closed last.
**
** Errors. A function that returns gb_status returns GB_OK, or fills '*err' and changes nothing; '*out' is
** then NULL. 'err' must not be NULL, and 'out' is not one of the inputs' places. Pointers to nodes may be
** NULL where it says so; elsewhere NULL is GB_EOPTION. Texts count axes and positions from 1, arguments count
** them from 0.
**
** Threads. A session with all that belongs to it is used by one thread at a time; sessions share nothing but
** the interrupt flag. Bits of results depend on the expression and the instruction set, not on threads or
** budgets. */
#ifndef GIBBOUS_H
#define GIBBOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GIBBOUS_API __attribute__((visibility("default")))
#else
#define GIBBOUS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Types. The library's own sources have the same ones from its inner headers (GIBBOUS_OWN_TYPES). */

typedef struct gb_session gb_session; /* devices with their memory, and the graph of all nodes built in it */
typedef struct gb_node gb_node;       /* a counted lazy tensor */
typedef struct gb_plan gb_plan;       /* how some nodes are computed, in how many bytes */

#ifndef GIBBOUS_OWN_TYPES
typedef enum gb_status {
  GB_OK,
  GB_ESHAPE,    /* shapes do not match */
  GB_ENAN,      /* not a number */
  GB_EDTYPE,    /* dtypes do not match */
  GB_EDEVICE,   /* a device that does not open, or was lost; values of different devices */
  GB_EINDEX,    /* an axis or position out of range */
  GB_EOPTION,   /* a bad argument: NULL, an unknown name, another session's node */
  GB_ECLOSED,   /* not used by these functions */
  GB_ENOTPD,    /* a matrix is not positive definite: 'order' says from which leading minor on */
  GB_ENOTCONV,  /* a solver did not converge */
  GB_EREFUSED,  /* does not fit the budget: 'need', 'have', 'minimum' and 'options' say more */
  GB_ENOMEM,    /* the session's limit, or the system's */
  GB_ESPLIT,    /* an axis that cannot be split */
  GB_EIO,       /* files */
  GB_EFORMAT,   /* contents of files */
  GB_EINTR,     /* gibbous_interrupt */
  GB_ECALLBACK, /* an error in a callback */
  GB_EINTERNAL
} gb_status;

typedef struct gb_error {
  char text[2048];
  uint64_t need, have, minimum; /* bytes, of GB_EREFUSED and GB_ENOMEM; 0 = unknown */
  uint64_t order;               /* of GB_ENOTPD; 0 = unknown */
  char options[1024];           /* of GB_EREFUSED: the ways out, one a line */
} gb_error;

/* f64, f32 and i64 compute; f16, bf16 and i32 are storage; bool is one byte. */
typedef enum gb_dtype { GB_F64, GB_F32, GB_F16, GB_BF16, GB_I64, GB_BOOL, GB_I32, GB_NDTYPES } gb_dtype;

#define GB_MAXDIM 8
typedef struct gb_shape {
  int ndim; /* 0 = one element */
  size_t dim[GB_MAXDIM];
} gb_shape;
#endif

typedef struct gb_session_options {
  const char *device; /* "cpu", or the kind of libgibbous_<kind>.so; NULL = "cpu" */
  int threads;        /* of the CPU; 0 = 1 */
  size_t limit;       /* bytes that its tensors and plans may hold; 0 = what is available */
} gb_session_options;

typedef struct gb_memory_use {
  size_t limit, used, peak;
} gb_memory_use;

typedef struct gb_plan_summary {
  size_t peak;      /* bytes that a run takes beside values that exist: results, temporaries, caches */
  size_t minimum;   /* the smallest budget for which there is a plan */
  size_t predicted; /* of the last run: bytes it was to take, and bytes it took; 0 before the first run */
  size_t measured;
} gb_plan_summary;

/* Sessions */

GIBBOUS_API const char *gibbous_version (void);
GIBBOUS_API const char *gibbous_status_text (gb_status st);
GIBBOUS_API gb_status gibbous_open (const gb_session_options *o, gb_session **out,
                                    gb_error *err); /* o: or NULL */
/* GB_EOPTION, and it stays open, if nodes or plans of it are still held. NULL: nothing to do. */
GIBBOUS_API gb_status gibbous_close (gb_session *s, gb_error *err);
/* The number of a device of that kind, which is opened the first time, with 'limit' bytes (0 = what it has).
** The session's own is number 0. */
GIBBOUS_API gb_status gibbous_device (gb_session *s, const char *kind, size_t limit, int *number,
                                      gb_error *err);
GIBBOUS_API gb_status gibbous_memory (gb_session *s, int device, gb_memory_use *out, gb_error *err);
/* Nodes built from here on come from this place, "main.c:12": errors and plans name it. NULL: nowhere. */
GIBBOUS_API void gibbous_at (gb_session *s, const char *where);
/* true: all work of the process ends with GB_EINTR until it is false again. Safe in a signal handler. */
GIBBOUS_API void gibbous_interrupt (bool on);

/* Leaves. 'data' has the elements in row-major order, of dtype 't'. 'name' may be NULL. */

GIBBOUS_API gb_status gibbous_tensor (gb_session *s, gb_dtype t, const gb_shape *shape, const void *data,
                                      const char *name, gb_node **out, gb_error *err);
/* A float tensor that gradients are taken by: expressions of it keep what they are made of when computed. */
GIBBOUS_API gb_status gibbous_variable (gb_session *s, gb_dtype t, const gb_shape *shape, const void *data,
                                        const char *name, gb_node **out, gb_error *err);
/* A number adopts the dtype of what it meets. */
GIBBOUS_API gb_status gibbous_number (gb_session *s, double v, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_eye (gb_session *s, size_t n, gb_dtype t, gb_node **out, gb_error *err);

/* Nodes */

GIBBOUS_API gb_node *gibbous_ref (gb_node *x); /* takes one more count; returns x */
GIBBOUS_API void gibbous_unref (gb_node *x);   /* NULL: nothing to do */
GIBBOUS_API gb_shape gibbous_shape (const gb_node *x);
GIBBOUS_API gb_dtype gibbous_dtype (const gb_node *x);

/* Expressions. Shapes broadcast from the right; negative axes count from the end. */

/* The elementwise op of that name on its n inputs: exp, log, neg, add, sub, mul, div, pow, maximum, lt,
** where, ... (host/program/ops.def, the rows MAP). */
GIBBOUS_API gb_status gibbous_map (const char *op, int n, gb_node *const *in, gb_node **out, gb_error *err);
/* sum, mean, prod, min, max, logsumexp, argmin, argmax, any, all over the axes of the bit mask; 0 = all. */
GIBBOUS_API gb_status gibbous_reduce (const char *op, gb_node *x, unsigned axes, bool keepdim, gb_node **out,
                                      gb_error *err);
GIBBOUS_API gb_status gibbous_matmul (gb_node *x, gb_node *y, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_cast (gb_node *x, gb_dtype t, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_move (gb_node *x, int device, gb_node **out, gb_error *err);

GIBBOUS_API gb_status gibbous_reshape (gb_node *x, const gb_shape *s, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_expand (gb_node *x, const gb_shape *s, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_unsqueeze (gb_node *x, int axis, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_transpose (gb_node *x, gb_node **out, gb_error *err); /* the last two axes */
/* Axis a of the result is axis axes[a] of x, which has n. */
GIBBOUS_API gb_status gibbous_permute (gb_node *x, int n, const int *axes, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_slice (gb_node *x, int axis, size_t start, ptrdiff_t step, size_t extent,
                                     gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_cat (int n, gb_node *const *in, int axis, gb_node **out, gb_error *err);

/* x (n, d), y (m, d) -> (n, m): sum_k w_k (x_ik - y_jk)^2. w (d), or NULL for ones. */
GIBBOUS_API gb_status gibbous_sqdist (gb_node *x, gb_node *y, gb_node *w, gb_node **out, gb_error *err);
/* rbf, m12, m32, m52 or rq at u = c * s, of squared distances s and a scalar c = 1 / lengthscale^2:
** exp(-u / 2), the Matern profiles, and (1 + u / (2 alpha))^-alpha. alpha: a scalar for rq, else NULL. */
GIBBOUS_API gb_status gibbous_profile (const char *name, gb_node *s, gb_node *c, gb_node *alpha,
                                       gb_node **out, gb_error *err);

/* One factorisation a matrix is shared by all that needs it. cholesky: L with L L' = A + jitter I. */
GIBBOUS_API gb_status gibbous_cholesky (gb_node *a, double jitter, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_triangular_solve (gb_node *l, gb_node *b, bool upper, bool transposed,
                                                gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_solve (gb_node *a, gb_node *b, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_logdet (gb_node *a, gb_node **out, gb_error *err);
/* b' A^-1 b of a positive definite A */
GIBBOUS_API gb_status gibbous_inv_quad (gb_node *a, gb_node *b, gb_node **out, gb_error *err);

/* out[i] = dy / dxs[i], as an expression; y has one element and depends on each. */
GIBBOUS_API gb_status gibbous_grad (gb_node *y, int n, gb_node *const *xs, gb_node **out, gb_error *err);

/* Values */

/* Computes n nodes together. They keep their values, and what they were made of only below variables. */
GIBBOUS_API gb_status gibbous_eval (int n, gb_node *const *nodes, gb_error *err);
/* Copies all 'count' elements in row-major order to 'to', of dtype 't': GB_F64, or that of x. Computes x
** first. */
GIBBOUS_API gb_status gibbous_read (gb_node *x, gb_dtype t, void *to, size_t count, gb_error *err);

/* Exchange with other libraries by DLPack (its dlpack.h declares these structures), on the CPU.
**
** to: computes x and gives its value without a copy, only to be read (flag 1). It counts as a held node until the
** consumer calls the deleter, on the session's thread. 'legacy' is the structure before version 1.0, which cannot
** say that it is only read: it gives a copy, which the consumer may write.
** from: a leaf over the other's memory where that is row-major, aligned to 64 bytes and a multiple of them long;
** else of a copy. Its contents must not change. On success its deleter is called when the last use is gone; after
** an error the caller still has it. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;
GIBBOUS_API gb_status gibbous_to_dlpack (gb_node *x, struct DLManagedTensorVersioned **out, gb_error *err);
GIBBOUS_API gb_status gibbous_to_dlpack_legacy (gb_node *x, struct DLManagedTensor **out, gb_error *err);
GIBBOUS_API gb_status gibbous_from_dlpack (gb_session *s, struct DLManagedTensorVersioned *t,
                                           const char *name, gb_node **out, gb_error *err);
GIBBOUS_API gb_status gibbous_from_dlpack_legacy (gb_session *s, struct DLManagedTensor *t, const char *name,
                                                  gb_node **out, gb_error *err);

/* Plans */

/* How n nodes are computed together within 'budget' bytes (0 = what the session has). Nothing runs.
** GB_EREFUSED: there is no way, and err->minimum is the smallest budget that has one. The plan keeps the
** nodes. */
GIBBOUS_API gb_status gibbous_plan (int n, gb_node *const *nodes, size_t budget, gb_plan **out,
                                    gb_error *err);
GIBBOUS_API gb_status gibbous_plan_report (const gb_plan *p, gb_plan_summary *out, gb_error *err);
/* One readable screen, which the caller frees. */
GIBBOUS_API gb_status gibbous_plan_explain (const gb_plan *p, char **text, gb_error *err);
GIBBOUS_API gb_status gibbous_plan_run (gb_plan *p, gb_error *err); /* the nodes have their values then */
GIBBOUS_API void gibbous_plan_free (gb_plan *p);

/* With Lua: require "gibbous" of a Lua 5.4 that finds gibbous.so, or this function of it. */
struct lua_State;
GIBBOUS_API int luaopen_gibbous (struct lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
