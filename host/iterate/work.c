/* work.c - one block of each kind. */
#include "iterate/work.h"

gb_status gb_work_new (gb_device *dev, size_t entries, size_t numbers, const char *name, gb_work *w,
                       gb_error *err) {
  gb_ledger *l = &dev->ledger;
  *w = (gb_work){.at.device = dev};
  gb_status st = gb_ledger_alloc(l, GB_MEM_WORKSPACE, entries, "", name, &w->block[0], err);
  if (st == GB_OK) st = gb_ledger_alloc(l, GB_MEM_WORKSPACE, numbers, "", name, &w->block[1], err);
  if (st != GB_OK) {
    gb_work_free(w);
    return st;
  }
  w->at.entries = w->block[0].data;
  w->at.numbers = w->block[1].data;
  return GB_OK;
}

void gb_work_free (gb_work *w) {
  for (int i = 0; i < 2 && w->at.device != NULL; i++) gb_ledger_free(&w->at.device->ledger, &w->block[i]);
  *w = (gb_work){0};
}
