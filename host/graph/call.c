/* call.c - the table of registered ops. */
#include "graph/call.h"

static gb_call calls[GB_MAX_CALLS];
static int ncalls;

int gb_call_register (const gb_call *c) {
  for (int i = 0; i < ncalls; i++)               /* registering twice (two Lua states) is one entry */
    if (calls[i].run == c->run && calls[i].ud == c->ud) return i;
  if (ncalls == GB_MAX_CALLS) return -1;
  calls[ncalls] = *c;
  return ncalls++;
}

const gb_call *gb_call_get (int number) {
  return number >= 0 && number < ncalls ? &calls[number] : NULL;
}
