/* device.h - what a device can do: a table of functions behind checked wrappers.
** Shapes are validated above; a device trusts them. Execution allocates nothing: all memory comes bound. */
#ifndef GB_DEVICE_DEVICE_H
#define GB_DEVICE_DEVICE_H

#include "base/pool.h"
#include "device/ledger.h"

typedef struct gb_device gb_device;

/* Programs, program/fold.h, and opaque ops, program/library.h: a device is below both. */
typedef struct gb_fold gb_fold;
typedef struct gb_carry gb_carry;
typedef struct gb_fold_stats gb_fold_stats;
typedef struct gb_opaque gb_opaque;
typedef struct gb_schedule gb_schedule; /* program/schedule.h */
typedef union gb_number gb_number;
typedef struct gb_panel_ops gb_panel_ops;     /* device/panel.h */
typedef struct gb_price_ops gb_price_ops;     /* device/price.h */
typedef struct gb_clock_ops gb_clock_ops;     /* device/clock.h */
typedef struct gb_cluster_ops gb_cluster_ops; /* program/cluster.h */

/* A fold that a device has compiled. It is constant, so that launches in several threads share it. Devices keep
** their own behind it. */
typedef struct gb_kernel {
  const struct gb_device_ops *ops; /* of the device that compiled it */
  size_t bytes;                    /* of host memory that it takes */
} gb_kernel;

/* One launch. */
typedef struct gb_fold_args {
  const gb_fold *part;        /* the fold that was compiled, or a part of it */
  const void *const *operand; /* [slots] base addresses */
  void *const *out;           /* [slots] */
  const gb_number *constant;  /* the numbers of BIND */
  const gb_carry *carry;      /* NULL: nothing is carried from part to part */
  void *scratch;              /* aligned to GB_ALIGN */
  gb_fold_stats *stats;       /* NULL: nobody asks */
} gb_fold_args;

/* Why a device does not run something: a clause, "it has no f64", of static storage; and the instruction of the
** fold, -1 = all of it. */
typedef struct gb_lack {
  const char *why;
  int ins;
} gb_lack;

/* What a device is made of. Slots marked optional may be NULL; everything above calls the wrappers below. */
typedef struct gb_device_ops {
  const char *name; /* "cpu" */

  gb_memory (*memory)(const gb_device *dev); /* for one more simulated device */
  gb_status (*set_threads)(gb_device *dev, int threads, gb_error *err);
  void (*close)(gb_device *dev); /* releases what the device holds beside memory; simulated ones share it */

  /* How a fold is walked, which fixes the order of its sums; optional: NULL = gb_schedule_default. Side of the
  ** blocks in which dense ops work, a power of two: windows of their results begin at multiples of it; 0 =
  ** GB_BLOCK. */
  void (*schedule)(const gb_device *dev, const gb_fold *f, gb_schedule *out);
  size_t block;

  /* Folds (program/fold.h). Compile makes a kernel of a fold, which it copies as far as it needs it; the
  ** maker fills in 'bytes'. A kernel serves the fold and all its parts (gb_fold_serves): extents, strides,
  ** offsets and carried axes come with each launch. Scratch and state: the bytes that a launch of 'part' takes
  ** with the threads that the device has now; state: of the totals that parts of a fold keep between them. They
  ** allocate nothing, and neither does a launch. Errors: of compile ENOMEM, EINTERNAL; of launch EINTR. */
  gb_status (*compile)(gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err);
  void (*release)(gb_kernel *k);
  size_t (*kernel_scratch)(const gb_device *dev, const gb_kernel *k, const gb_fold *part);
  /* optional: NULL = folds run whole only */
  size_t (*kernel_state)(const gb_device *dev, const gb_kernel *k, const gb_fold *part);
  gb_status (*launch)(gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err);

  /* Opaque ops (program/library.h): bytes of scratch and library workspace; and a run. Inputs arrive
  ** contiguous, row-major, but for those of GEMM that lie as 'row' and 'matrix' say; outputs are contiguous.
  ** CHOLESKY may find its matrix, TRISOLVE and SOLVE_CHOL their right-hand sides, and CHOL_INVERSE with a
  ** packed result its factor, where the result goes: they then work in place. Errors: ENOTPD, ENAN, EINTR,
  ** EINDEX (a position out of range). */
  size_t (*opaque_scratch)(const gb_device *dev, const gb_opaque *o);
  gb_status (*opaque)(gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                      void *scratch, gb_error *err);

  /* Optional: NULL = the device runs every fold and every opaque op. Whether it runs a fold or an opaque op, one
  ** of the two is NULL; else 'lack' says why not. Asked when a plan is made. */
  bool (*supports)(const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack);

  gb_status (*wait)(gb_device *dev, gb_error *err); /* optional: NULL = calls return when they are complete */
  /* Of a device that has 'wait'; optional: NULL = steps are timed by the host's clock. */
  const gb_clock_ops *clock;
  /* Optional: NULL = launches run as fast from the first on. Returns when kernels that are being compiled are there;
  ** 'more': launches that follow may run faster than those before. */
  gb_status (*settle)(gb_device *dev, bool *more, gb_error *err);
  const gb_panel_ops *panel;     /* the vector work of solvers */
  const gb_cluster_ops *cluster; /* passes over points; optional: NULL = points are taken home */

  /* Optional: classes of arithmetic that folds can be compiled in, by name, NULL after the last; NULL = one class.
  ** Within a class no bit depends on how, or on what device of the kind, a fold is run. */
  const char *const *arithmetics;

  const char *(*isa)(const gb_device *dev);
  const char *(*library)(const gb_device *dev);
  const char *(*kernels)(const gb_device *dev); /* optional: NULL = it has none of its own */
  const gb_price_ops *price;                    /* optional: NULL = nothing is known of its speed */
} gb_device_ops;

struct gb_device {
  const gb_device_ops *ops;
  gb_memory memory;
  gb_ledger ledger;
  gb_pool *pool; /* threads of the host that work for it; shared by simulated devices */
  void *priv;
  struct gb_device *home;       /* the CPU of the program, for what it does not run; NULL: it is the CPU */
  bool (*interrupted)(void);    /* by Ctrl-C: of the program, for libraries with a flag of their own */
  char name[24];                /* "cpu", "cpu:2", ... */
  int arithmetic;               /* the class, of ops->arithmetics, that kernels are compiled in from now on */
  struct gb_profiles *profiles; /* what is known of its speed; owned by plan/price/ */
  void (*free_profiles)(struct gb_profiles *);
  size_t compiled; /* kernels, since it was opened */
  char lost[512];  /* why no call works any more, and which values are gone; "": it works */
  gb_device *next; /* simulated devices: memory of their own, the first one's code and threads */
};

/* device.c */

/* Fills in a device that its maker has allocated: name, memory, ledger of 'limit' bytes. */
void gb_device_init (gb_device *dev, const gb_device_ops *ops, gb_memory memory, size_t limit);
void gb_device_free (gb_device *dev); /* with its simulated devices; NULL is fine */
/* One more simulated device, "cpu:2" after "cpu", with a ledger of 'limit' bytes. What it computes has the
** bits of 'first'. Errors: ENOMEM; EOPTION past GB_DEVICES. */
#define GB_DEVICES 16
gb_status gb_device_add_simulated (gb_device *first, size_t limit, gb_error *err);
/* A call that works on the bytes of a device (not one that compiles) and returns EDEVICE loses the device: from then on every call fails, with the name of the device,
** the reason and the values that lay there. Copies of values that the host has made stay readable. 'checked'
** passes on what a call returned; 'alive' is the check before one; NULL, a memory of no device, is alive. The
** vector work of solvers (device/panel.h) returns no status: where it fails, the next wait, copy, load or store
** says so, and no result leaves a device in another way. */
gb_status gb_device_checked (gb_device *dev, gb_status st, gb_error *err);
gb_status gb_device_alive (const gb_device *dev, gb_error *err);
/* Errors: EOPTION where threads < 1; ENOMEM. */
gb_status gb_device_set_threads (gb_device *dev, int threads, gb_error *err);
/* The class of a device and of its simulated ones, for kernels that are compiled from now on. Errors: EOPTION, no class
** of the device has that name. */
gb_status gb_device_set_arithmetic (gb_device *dev, const char *name, gb_error *err);
const char *gb_device_arithmetic (const gb_device *dev); /* ""; the device has one class */
/* As the slots of the same names. Wait returns when all that was started on the device is complete. */
gb_status gb_device_compile (gb_device *dev, const gb_fold *f, gb_kernel **out, gb_error *err);
void gb_kernel_release (gb_kernel *k); /* NULL is fine */
size_t gb_device_kernel_scratch (const gb_device *dev, const gb_kernel *k, const gb_fold *part);
size_t gb_device_kernel_state (const gb_device *dev, const gb_kernel *k, const gb_fold *part);
/* EINTERNAL too: the kernel of another device. */
gb_status gb_device_launch (gb_device *dev, const gb_kernel *k, const gb_fold_args *args, gb_error *err);
size_t gb_device_opaque_scratch (const gb_device *dev, const gb_opaque *o);
gb_status gb_device_opaque (gb_device *dev, const gb_opaque *o, const void *const *in, void *const *out,
                            void *scratch, gb_error *err);
/* lack->why is never NULL if the result is false. */
bool gb_device_supports (const gb_device *dev, const gb_fold *f, const gb_opaque *o, gb_lack *lack);
gb_status gb_device_wait (gb_device *dev, gb_error *err);
gb_status gb_device_settle (gb_device *dev, bool *more, gb_error *err);
bool gb_device_has_parts (const gb_device *dev);      /* a fold can run in parts */
const char *gb_device_isa (const gb_device *dev);     /* "avx512", ... */
const char *gb_device_library (const gb_device *dev); /* of dense algebra, how it was built, its kernels */
/* One line on kernels that it compiles while programs run, and why it does not; NULL: it compiles none. */
const char *gb_device_kernels (const gb_device *dev);

/* cpu/device/device_cpu.c. Pre-touches BLAS, pins it to one thread, picks the ISA
** (GIBBOUS_ISA=avx512|avx2|portable overrides; an ISA the machine lacks is EOPTION). 'limit' bytes. */
gb_status gb_device_cpu_new (int threads, size_t limit, gb_device **out, gb_error *err);

#endif
