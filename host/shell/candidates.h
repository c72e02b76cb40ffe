/* candidates.h - what Tab does. */
#ifndef GB_SHELL_CANDIDATES_H
#define GB_SHELL_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

typedef struct gb_completion {
  const char *rest; /* of what all names begin with, on the Lua stack; NULL: it is typed */
  bool shown;       /* the names are listed below the line, which is to be drawn again */
} gb_completion;

/* Completes a line, of which 'size' bytes are before the cursor. before: the lines of the same entry, "" none. Leaves values
** on the stack. */
gb_completion gb_complete (lua_State *L, const char *before, const char *line, size_t size);

#endif
