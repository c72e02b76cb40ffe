/* panel.c - views of panels. */
#include "device/panel.h"

gb_panel gb_panel_of (gb_device *dev, void *at, size_t n, size_t r) {
  return (gb_panel){.device = dev, .at = at, .n = n, .r = r, .stride = r};
}

void *gb_panel_address (void *at, size_t entries) { return (char *)at + entries * sizeof(double); }

gb_panel gb_panel_column (gb_panel x, size_t k) {
  x.at = gb_panel_address(x.at, x.column != NULL ? x.column[k] : k);
  x.column = NULL;
  x.r = 1;
  return x;
}

gb_panel gb_panel_columns (gb_panel x, size_t r, const size_t *column) {
  x.r = r;
  x.column = column;
  return x;
}

gb_panel gb_panel_rows (gb_panel x, size_t n, const size_t *row) {
  x.n = n;
  x.row = row;
  return x;
}

gb_panel gb_panel_diagonal (gb_panel x, size_t n) {
  return (gb_panel){.device = x.device, .at = x.at, .n = n, .r = 1, .stride = x.stride + 1};
}

size_t gb_panel_sums (size_t n, size_t w) { return (n + GB_PANEL_BLOCK - 1) / GB_PANEL_BLOCK * w; }

size_t gb_panel_elimination_sums (size_t n) { return (n + GB_PANEL_LONG - 1) / GB_PANEL_LONG * GB_PIVOTS; }
