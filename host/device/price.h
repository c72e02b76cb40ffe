/* price.h - what a device says of its speed: figures, and the predicted seconds that follow from them. Plans compare
** candidates by these alone. */
#ifndef GB_DEVICE_PRICE_H
#define GB_DEVICE_PRICE_H

#include "device/device.h"

/* The figures of a device, which are its own business but for these, its first ones. */
typedef struct gb_device_profile {
  double when; /* they were measured: seconds since 1970 */
  /* processor seconds a second of the measuring; how far one figure, taken at its beginning, middle and
  ** end, went apart: largest over smallest, less 1 */
  double share, spread;
  double calm; /* 1: nothing else kept the machine busy meanwhile; 0: figures may be off */
} gb_device_profile;

/* What a device reaches at most, the denominators of claimed rates: 64-byte vectors of fused multiply-adds a second
** of all threads together; of one thread the same with additions in the best mix, and f32 values of exp2. */
typedef struct gb_device_peak {
  double fma, issue, exp2;
} gb_device_peak;

typedef struct gb_work gb_work; /* program/work.h */

typedef void gb_figure_visitor (void *ud, const char *name, double *value);

struct gb_price_ops {
  size_t bytes; /* of its figures, gb_device_profile included */
  const gb_device_profile *(*fixed)(
      void); /* round numbers of an imaginary device, for texts that must not change */
  /* Visits every figure in a fixed order, under a name without spaces. */
  void (*walk)(gb_device_profile *p, gb_figure_visitor *visit, void *ud);

  /* Predicted seconds of one launch on so many threads. 'fraction' in [0, 1] scales what it does, not what it
  ** takes to call it. Finite, positive, and no smaller where an extent grows. */
  double (*fold)(const gb_device_profile *p, int threads, const gb_fold *f, double fraction);
  double (*opaque)(const gb_device_profile *p, int threads, const gb_opaque *o, double fraction);

  /* Optional: NULL = not known. The least seconds of so much work: its operations at the rate of fused multiply-adds,
  ** or its bytes at that of memory, whichever takes longer. */
  double (*bound)(const gb_device_profile *p, int threads, const gb_work *w);

  /* Optional, both or none: NULL = the fixed figures. Identity: one line that names all that its speed depends
  ** on but the number of threads: processor, instruction set, libraries. Measuring takes 'room' bytes of the
  ** device's ledger. Errors: EINTR; ENOMEM: no room. */
  void (*identity)(const gb_device *dev, char *text, size_t size);
  size_t room;
  gb_status (*measure)(gb_device *dev, gb_device_profile *out, gb_error *err);
  /* Optional: NULL = it knows no bounds. Measured in about three times 'seconds'. Errors: ENOMEM. */
  gb_status (*peak)(int threads, double seconds, gb_device_peak *out, gb_error *err);
};

#endif
