/* emulation.h - what a test asks of the emulated CUDA beyond CUDA itself. README.md lists the settings. */
#ifndef EMULATION_H
#define EMULATION_H
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes a setting while the process runs: 'name' without EMU_, e.g. ("SCHEDULE", "lazy"). NULL: its default. All
** work that was queued before has run. False where the name or the value is unknown. */
bool emu_set (const char *name, const char *value);

/* Calls of a function of the API so far ("*": of all of them; "kernel:name": launches). */
long emu_calls (const char *api);

/* Counts of calls are 0, and lost devices live: for the next case of a test in one process. Memory stays as it is. */
void emu_begin (void);

/* True where a real GPU stands behind the tests (tests/gpu/real.c). */
bool emu_is_real (void);

/* Bytes that a device has given out, the most at any time since emu_begin, and the number of pieces of memory of all
** kinds that are held now, pinned ones included. */
size_t emu_bytes (int device);
size_t emu_most_bytes (int device);
size_t emu_pieces (void);

/* Whether this thread is in a call of CUDA, where what is allocated is the emulation's own. */
int emu_inside (void);

#ifdef __cplusplus
}
#endif
#endif
