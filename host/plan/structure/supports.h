/* supports.h - what a device runs of a lowered graph, asked before the graph is planned for it. */
#ifndef GB_PLAN_STRUCTURE_SUPPORTS_H
#define GB_PLAN_STRUCTURE_SUPPORTS_H

#include "plan/tile/packed_factor.h"

/* home.c: steps that their device does not run go to its home, if that runs them, with MOVEs around them. Errors:
** ENOMEM; EOPTION where the graph has no number left for the home. */
gb_status gb_lowered_bring_home (gb_graph *g, gb_lowered *low, gb_error *err);

/* "digamma in map elementwise: y", the op that the device lacks and the step. Returns 'buf'. */
#define GB_LACK_TEXT 200
char *gb_lack_text (const gb_step *st, gb_lack lack, char buf[GB_LACK_TEXT]);

/* Errors: EDEVICE, for the first step that the device does not run: the op, the step and its line, the device, and
** the device's reason. 'first' runs the steps of device 0. Registered ops and MOVEs are the host's and always run. */
gb_status gb_lowered_supported (const gb_graph *g, const gb_device *first, const gb_lowered *low,
                                gb_error *err);

/* Whether the device takes the factor packed: the factorisation and every op that reads the factor. */
bool gb_packed_factor_supported (const gb_graph *g, const gb_lowered *low, const gb_packed_factor *t);

#endif
