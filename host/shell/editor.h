/* editor.h - lines from the user: an editor on a terminal, plain reading otherwise. */
#ifndef GB_SHELL_EDITOR_H
#define GB_SHELL_EDITOR_H

#include <stdbool.h>

#include <lua.h>

#include "shell/history.h"

typedef enum gb_line { GB_LINE_READ, GB_LINE_END, GB_LINE_INTERRUPTED } gb_line;

typedef struct gb_editor gb_editor;

/* Pushes a userdata that owns the editor; its address stays valid while it is on the stack. */
gb_editor *gb_editor_push (lua_State *L);
bool gb_editor_is_terminal (const gb_editor *e);

/* Pushes a line without its newline (READ), or nothing. before: the lines of the same entry, "" none, for completion.
** Both texts must live until the call returns. Pasted lines are returned as one result, newlines included. */
gb_line gb_editor_read (gb_editor *e, lua_State *L, const char *prompt, const char *before);

/* Remembers an entry, several lines included, now and in the history file; and there how it ended. */
void gb_editor_remember (gb_editor *e, const char *entry);
void gb_editor_ended (gb_editor *e, double seconds, gb_history_end end);

#endif
