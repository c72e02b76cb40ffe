/* busy.h - which step the core is in, for a line at the terminal that another thread draws while Lua waits. */
#ifndef GB_PLAN_RUN_BUSY_H
#define GB_PLAN_RUN_BUSY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gb_busy {
  const char *what;   /* "fold sum", "eigh" */
  const char *where;  /* "script.lua:12", "" unknown */
  size_t done, total; /* steps, or windows of the loop that runs */
  double seconds;     /* since the outermost run began */
} gb_busy;

/* A run begins: true if no other is in progress, which those within it then are part of. */
bool gb_busy_begin (void);
/* The outermost run is at this step. The texts must live until the next step, or the end. */
void gb_busy_step (const char *what, const char *where, size_t done, size_t total);
/* 'outermost': what gb_busy_begin gave. Its step is forgotten. */
void gb_busy_end (bool outermost);

/* Calls 'draw' if a run has been in progress for 'seconds'; 'clear' will be called once it has ended. No run ends
** meanwhile. */
void gb_busy_look (double seconds, void (*draw)(const gb_busy *), void (*clear)(void));

/* The same without the lock, for a signal handler on the thread that runs: 'what' is "" or NULL if no run is in progress. */
gb_busy gb_busy_peek (void);

#endif
