/* profile.h - the device sheet: what a device can do in a second, so that a planner may compare candidates
** by predicted time.
**
** A sheet is measured once (about two seconds, at the first comparison, never at start) and remembered in
** a text file of wisdom, under all that it depends on: device, libraries, threads, version. One that was
** measured while the machine was busy is used, and measured again by a later process. */
#ifndef GB_PLAN_PRICE_PROFILE_H
#define GB_PLAN_PRICE_PROFILE_H

#include "device/device.h"
#include "program/fold.h"
#include "program/library.h"

/* Of one compute type (i64 is priced as f64), of one thread. Costs are seconds a value; a value is one
** element of a tile. */
typedef struct gb_type_profile {
  double map[GB_NOPS];            /* ops of kind MAP but RADIAL; 0 for the others */
  double radial[GB_NPROFILES][3]; /* by order of the derivative */
  double radial_alpha;            /* RQ, d/dalpha */
  double fused[GB_NPROFILES];     /* a template: seconds a pair beyond its bound (gb_device_profile_bound) */
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

typedef struct gb_device_profile {
  double threads; /* that 'scaling' and the _all figures were measured with */
  gb_device_rates device;
  double read, write;         /* bytes/s of one thread, far past every cache */
  double read_all, write_all; /* of all */
  double fresh, fresh_all;    /* bytes/s where memory is written for the first time: the system maps it */
  double near, middle;        /* bytes/s read by one thread from 256 KiB, from 8 MiB */
  double fold_s, opaque_s;    /* of a step that does nothing */
  double wake_s;              /* threads called together */
  double when;                /* it was measured: seconds since 1970 */
  /* processor seconds a second of the measuring; how far one figure, taken at its beginning, middle and
  ** end, went apart: largest over smallest, less 1 */
  double share, spread;
  double calm;             /* 1: nothing else kept the machine busy meanwhile; 0: figures may be off */
  gb_type_profile type[2]; /* f64, f32 */
} gb_device_profile;

/* The sheet of 'be': chosen as fixed, known, read from wisdom, or measured and written there; valid until
** another is asked for. A file that cannot be read, or written, is no error. A device without figures of
** its own, or without room to measure (GB_RATES_ROOM bytes of its ledger), has the fixed sheet. Errors:
** EINTR. */
#define GB_RATES_ROOM ((size_t)112 << 20)
gb_status gb_device_profile_get (gb_device *dev, const gb_device_profile **out, gb_error *err);
/* 'say' is called before the machine is measured, 'again': for the last time it was busy. NULL: nobody. */
void gb_device_profile_announce (gb_device *dev, void (*say)(bool again));
/* The same as far as it takes no measuring, else NULL. */
const gb_device_profile *gb_device_profile_known (gb_device *dev);

/* Round numbers of an imaginary machine, for texts that must not change: chosen by GIBBOUS_RATES=fixed, or
** here. */
const gb_device_profile *gb_device_profile_fixed (void);
void gb_device_profile_choose_fixed (gb_device *dev, bool fixed);

/* Pairs a second of one profile of a squared distance in d features contracted with 'columns' right-hand
** sides, by one thread that only multiplies, adds and issues. */
double gb_device_profile_bound (const gb_device_profile *r, gb_dtype compute, double d, double columns);

/* calibrate.c. Errors: EINTR; ENOMEM: no room. */
gb_status gb_device_profile_measure (gb_device *dev, gb_device_profile *out, gb_error *err);

/* Every figure in a fixed order, under a name without spaces. */
void gb_device_profile_walk (gb_device_profile *r, void (*visit)(void *ud, const char *name, double *value),
                             void *ud);

/* profile_store.c. The file: $GIBBOUS_WISDOM, $XDG_CACHE_HOME/gibbous/wisdom or ~/.cache/gibbous/wisdom;
** false: none of these is set, or the path is too long. A file holds one section a key. Reading fails on
** the least doubt; writing replaces the section of 'key' and keeps the GB_WISDOM_SHEETS - 1 youngest of
** the others, in one rename. */
#define GB_WISDOM_SHEETS 16
#define GB_WISDOM_PATH 1024
#define GB_WISDOM_KEY 512
bool gb_profile_store_path (char path[GB_WISDOM_PATH]);
void gb_profile_store_key (const gb_device *dev, char key[GB_WISDOM_KEY]);
bool gb_profile_store_read (const char *path, const char *key, gb_device_profile *out);
bool gb_profile_store_write (const char *path, const char *key, const gb_device_profile *r);

#endif
