/* panel.c - the table of a GPU's panel operations. */
#include "cuda/panel/panel.h"

const gb_panel_ops gb_cuda_panel_ops = {.read = NULL};
