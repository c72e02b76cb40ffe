/* logbook.h - what a session writes into the history: its entries as they are typed, and how they ended. */
#ifndef GB_SHELL_LOGBOOK_H
#define GB_SHELL_LOGBOOK_H

#include <stdbool.h>

#include <lua.h>

#include "shell/history.h"

typedef struct gb_logbook {
  char file[4096];        /* "": nothing is kept */
  char id[GB_HISTORY_ID]; /* of the entry in progress, "": it is not in the file */
  bool told_unfit;        /* that some entry is not kept */
} gb_logbook;

/* Finds the file, whose directory it makes, and passes the texts of its entries, the oldest first. What is wrong with
** it is said on stderr. */
void gb_logbook_open (gb_logbook *b, void (*take)(void *ud, const char *text), void *ud);

/* False: the entry is not kept, which is said once, and should not be recalled. */
bool gb_logbook_begin (gb_logbook *b, const char *text);
void gb_logbook_finish (gb_logbook *b, double seconds, gb_history_end end);

/* history() -> the entries of the file, the oldest first: {text, directory, began, seconds, ended}, what is unknown
** being nil; and how many of its lines are damaged */
int lgb_history (lua_State *L);

#endif
