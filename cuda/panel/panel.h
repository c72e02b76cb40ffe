/* panel.h - the vector work of solvers on a GPU (device/panel.h says what it is), with the bits of the
** CPU's. */
#ifndef GB_CUDA_PANEL_PANEL_H
#define GB_CUDA_PANEL_PANEL_H

#include "device/panel.h"

extern const gb_panel_ops gb_cuda_panel_ops;

#endif
