/* world.h - the processes that a launcher of MPI started together, as ranks. The program links no MPI: a library does, which is opened
** when a process that has others first asks for them. */
#ifndef GB_CLUSTER_WORLD_H
#define GB_CLUSTER_WORLD_H

#include "cluster/comm.h"

/* What the library gives: a function of this name and type, which begins MPI on its first call. '*out': NULL where there is one rank. It
** ends MPI when the process exits; where that is with an error that the others do not have, too, it ends all. */
#define GB_WORLD_ABI 1
#define GB_WORLD_SYMBOL "gb_mpi_world"
typedef gb_status gb_world_function (unsigned abi, gb_comm **out, gb_error *err);

/* All ranks; NULL: no launcher started this process, or it started no other. Errors: EIO, with a remedy (no library, another
** version, MPI does not begin). */
gb_status gb_world (gb_comm **out, gb_error *err);

/* OK where the library can be opened, whether or not there are other ranks. Errors: as above. */
gb_status gb_world_check (gb_error *err);

#endif
