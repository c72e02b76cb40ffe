/* active.c - lists of columns, and how they move together. */
#include "solve/frame/active.h"

#include <string.h>

gb_active gb_active_bind (size_t n, size_t r, size_t *lists, unsigned char *state) {
  memset(state, GB_COLUMN_ACTIVE, r);
  return (gb_active){.n = n, .r = r, .column = lists, .stay = lists + r, .state = state};
}

size_t gb_active_width (size_t r, size_t live) {
  while (r > 1 && (r + 1) / 2 >= live) r = (r + 1) / 2;
  return r;
}

void gb_active_list (gb_active *a, unsigned states) {
  a->live = 0;
  for (size_t c = 0; c < a->r; c++)
    if ((states >> a->state[c] & 1) != 0) a->column[a->live++] = c;
  a->width = gb_active_width(a->r, a->live);
}

void gb_active_drop (gb_active *a, int npanels, const gb_panel *panel, int narrays, double *const *array) {
  size_t stay = 0;
  for (size_t k = 0; k < a->live; k++)
    if (a->state[a->column[k]] == GB_COLUMN_ACTIVE) a->stay[stay++] = k;
  if (stay == a->live) return;
  const size_t width = gb_active_width(a->r, stay);
  for (int i = 0; i < npanels; i++) gb_panel_compact(gb_active_own_wide(a, panel[i]), width, stay, a->stay);
  for (size_t k = 0; k < stay; k++) {
    a->column[k] = a->column[a->stay[k]];
    for (int i = 0; i < narrays; i++) array[i][k] = array[i][a->stay[k]];
  }
  a->live = stay;
  a->width = width;
}

gb_panel gb_active_own (const gb_active *a, gb_panel v) {
  return (gb_panel){.device = v.device, .at = v.at, .n = a->n, .r = a->live, .stride = a->width};
}

gb_panel gb_active_own_wide (const gb_active *a, gb_panel v) {
  return gb_panel_of(v.device, v.at, a->n, a->width);
}

gb_panel gb_active_of_all (const gb_active *a, gb_panel v) {
  return gb_panel_columns(v, a->live, a->live < a->r ? a->column : NULL);
}

gb_status gb_active_multiply (const gb_active *a, gb_product *by, gb_panel x, gb_panel y, gb_error *err) {
  if (by->r != a->width) GB_TRY(gb_product_resize(by, a->width, err));
  return gb_product_run(by, gb_active_own_wide(a, x), gb_active_own_wide(a, y), err);
}
