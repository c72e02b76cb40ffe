/* profile.h - the figures of the CPU: what it does in a second, by instruction of a fold and by library call. */
#ifndef GB_CPU_PRICE_PROFILE_H
#define GB_CPU_PRICE_PROFILE_H

#include "device/price.h"
#include "program/fold.h"
#include "program/library.h"

/* Of one compute type (i64 is priced as f64), of one thread. Costs are seconds a value; a value is one
** element of a tile. */
typedef struct gb_type_profile {
  double map[GB_NOPS];            /* ops of kind MAP but RADIAL; 0 for the others */
  double radial[GB_NPROFILES][3]; /* by order of the derivative */
  double radial_alpha;            /* RQ, d/dalpha */
  double fused[GB_NPROFILES];     /* a template: seconds a pair beyond its bound (gb_cpu_profile_bound) */
  double fused_symmetric; /* a symmetric template: seconds a visited pair over those of the plain one */
  double sqdist, sqdist_feature; /* + features times */
  double dot, dot_feature;
  double load, store; /* over both axes, in the second-level cache */
  double load_across; /* where lanes are not neighbours in memory */
  double rand, randn;
  double turn;                       /* of a loop over an INNER axis, beyond its instructions */
  double pass;                       /* an instruction more where no chain runs: strips; */
  double strip_load, strip_store;    /* there */
  double reduce[GB_NMONOIDS];        /* of the TILE axis */
  double reduce_col, reduce_all;     /* a sum over LANE; over both */
  double contract_row, column_row;   /* CONTRACT over TILE: + columns times */
  double contract_many, column_many; /* where a tile is kept for many columns */
  double contract_col, column_col;   /* over LANE */
  double diff_row, diff_col;         /* DIFF: features times */
  double gemm, potrf, trsm;          /* flop/s on a canonical block: 2 n^3, n^3 / 3, n^3 */
  double gemm_16, trsm_16;           /* of 16 columns */
  double gemv;                       /* bytes/s of a matrix times one column */
  double qr, lu, eigh, svd;          /* flop/s at n = 256: 2 n m^2, 2 n^3 / 3, 9 n^3, 20 n^3 */
  double sort;                       /* seconds an element and doubling */
} gb_type_profile;

/* Of the arithmetic of one thread, a second, and how threads add up. */
typedef struct gb_cpu_rates {
  double fma;     /* FMA vector instructions, a vector = 64 bytes */
  double issue;   /* the best mix of FMA and additions */
  double scaling; /* FMA of all threads together over FMA of one */
} gb_cpu_rates;

typedef struct gb_cpu_profile {
  gb_device_profile taken; /* when, and how calm the machine was */
  double threads;          /* that 'scaling' and the _all figures were measured with */
  gb_cpu_rates device;
  double read, write;         /* bytes/s of one thread, far past every cache */
  double read_all, write_all; /* of all */
  double fresh, fresh_all;    /* bytes/s where memory is written for the first time: the system maps it */
  double near, middle;        /* bytes/s read by one thread from 256 KiB, from 8 MiB */
  double fold_s, opaque_s;    /* of a step that does nothing */
  double wake_s;              /* threads called together */
  gb_type_profile type[2];    /* f64, f32 */
} gb_cpu_profile;

/* The table of the device, and its parts. Measuring takes GB_RATES_ROOM bytes of the ledger and about two seconds;
** errors: EINTR; ENOMEM: no room. Walk: every figure in a fixed order, under a name without spaces. */
extern const gb_price_ops gb_cpu_price_ops;
#define GB_RATES_ROOM ((size_t)112 << 20)
const gb_cpu_profile *gb_cpu_profile_fixed (void);
gb_status gb_cpu_profile_measure (gb_device *dev, gb_cpu_profile *out, gb_error *err); /* calibrate.c */
void gb_cpu_profile_walk (gb_cpu_profile *r, gb_figure_visitor *visit, void *ud);

/* Pairs a second of one profile of a squared distance in d features contracted with 'columns' right-hand
** sides, by one thread that only multiplies, adds and issues. */
double gb_cpu_profile_bound (const gb_cpu_profile *r, gb_dtype compute, double d, double columns);

/* rates.c */
void gb_cpu_measure_rates (gb_device *dev, double seconds, gb_cpu_rates *out);
gb_status gb_cpu_peak (int threads, double seconds, gb_device_peak *out, gb_error *err);
void gb_cpu_identity (const gb_device *dev, char *text, size_t size);

#endif
