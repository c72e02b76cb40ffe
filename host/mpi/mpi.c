/* mpi.c - ranks over MPI: libgibbous_mpi.so, which cluster/world.c opens. Only the thread that began MPI calls it. */
#define _GNU_SOURCE /* on_exit */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "cluster/world.h"

#define MOST ((size_t)1 << 28)        /* numbers of a message: MPI counts in int */
enum { WAIT = 1000, STEP = 1000000 }; /* at the end: steps, and their nanoseconds */

static gb_comm world;
static MPI_Comm ours, farewell; /* of their own: no other message can meet ours */
static bool begun;

static gb_status result (const char *call, int code, gb_error *err) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) return GB_OK;
  MPI_Error_string(code, text, &length);
  return gb_fail(err, GB_EIO, "%s: %.*s", call, length, text);
}

static gb_status sum (gb_comm *c, int64_t *v, size_t n, gb_error *err) {
  (void)c;
  return result("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, v, (int)n, MPI_INT64_T, MPI_SUM, ours), err);
}

static gb_status greatest (gb_comm *c, double *v, size_t n, gb_error *err) {
  (void)c;
  return result("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, v, (int)n, MPI_DOUBLE, MPI_MAX, ours), err);
}

static gb_status broadcast (gb_comm *c, size_t from, void *at, size_t bytes, gb_error *err) {
  (void)c;
  return result("MPI_Bcast", MPI_Bcast(at, (int)bytes, MPI_BYTE, (int)from, ours), err);
}

/* -- the end */

/* Do all ranks end with an error, within a second? */
static bool all_end (void) {
  MPI_Request request;
  int done = 0;
  if (MPI_Ibarrier(farewell, &request) != MPI_SUCCESS) return false;
  for (int i = 0; i < WAIT && !done; i++) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    nanosleep(&(struct timespec){.tv_nsec = STEP}, NULL);
  }
  return done;
}

/* Ranks that wait for one that has ended would wait for ever: an error of one ends all. */
static void end (int status, void *ud) {
  int finalized;
  (void)ud;
  MPI_Finalized(&finalized);
  if (finalized) return;
  if (status != 0 && !all_end()) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
}

/* -- the beginning */

static gb_status duplicate (MPI_Comm *out, gb_error *err) {
  GB_TRY(result("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, out), err));
  return result("MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN), err);
}

static gb_status begin (gb_error *err) {
  static const gb_comm_ops ops = {sum, greatest, broadcast};
  int others, rank, ranks, level;
  MPI_Initialized(&others); /* a program around this one has begun it: it ends it, too */
  if (!others) {
    GB_TRY(result("MPI_Init_thread", MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), err));
    if (on_exit(end, NULL) != 0) return gb_fail(err, GB_ENOMEM, "MPI: no room for what ends it");
  }
  GB_TRY(duplicate(&ours, err));
  GB_TRY(duplicate(&farewell, err));
  MPI_Comm_rank(ours, &rank);
  MPI_Comm_size(ours, &ranks);
  world = (gb_comm){.ops = &ops, .rank = (size_t)rank, .ranks = (size_t)ranks, .most = MOST};
  begun = true;
  return GB_OK;
}

gb_status gb_mpi_world (unsigned abi, gb_comm **out, gb_error *err);
gb_status gb_mpi_world (unsigned abi, gb_comm **out, gb_error *err) {
  *out = NULL;
  if (abi != GB_WORLD_ABI)
    return gb_fail(err, GB_EIO,
                   "no MPI: libgibbous_mpi.so is of version %d, the program of %u: build both together",
                   GB_WORLD_ABI, abi);
  if (!begun) GB_TRY(begin(err));
  if (world.ranks > 1) *out = &world;
  return GB_OK;
}
