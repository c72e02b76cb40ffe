/* work.c - one block of each kind. */
#include "iterate/work.h"

/* Numbers are the host's: in the account of the device where that is the host's too. */
static gb_ledger *numbers_of (gb_device *dev) {
  return dev->memory.home != NULL ? dev->memory.home : &dev->ledger;
}

gb_status gb_work_new (gb_device *dev, size_t entries, size_t numbers, const char *name, gb_work *w,
                       gb_error *err) {
  *w = (gb_work){.at.device = dev};
  gb_status st = gb_ledger_alloc(&dev->ledger, GB_MEM_WORKSPACE, entries, "", name, &w->block[0], err);
  if (st == GB_OK)
    st = gb_ledger_alloc(numbers_of(dev), GB_MEM_WORKSPACE, numbers, "", name, &w->block[1], err);
  if (st != GB_OK) {
    gb_work_free(w);
    return st;
  }
  w->at.entries = w->block[0].data;
  w->at.numbers = w->block[1].data;
  return GB_OK;
}

void gb_work_free (gb_work *w) {
  if (w->at.device != NULL) {
    gb_ledger_free(&w->at.device->ledger, &w->block[0]);
    gb_ledger_free(numbers_of(w->at.device), &w->block[1]);
  }
  *w = (gb_work){0};
}
