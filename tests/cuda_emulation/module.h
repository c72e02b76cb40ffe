/* module.h - images of compiled kernels: a shared object with a mark and its size before it, as a cubin knows its own. */
#pragma once
#include <string>

#include "internal.h"

namespace emu {

std::string make_image (const std::string &shared_object);
void print_ptx (void); /* kernels that ran as PTX */

}   // namespace emu
