/* embed.h - the Lua library as built in: one row a module. The table is generated from lualib/ at build
** time. */
#ifndef GB_LUA_LOAD_EMBED_H
#define GB_LUA_LOAD_EMBED_H

#include <stddef.h>

typedef struct gb_embedded {
  const char *module; /* "gibbous.kernels" */
  const char *chunk;  /* "=gibbous/kernels.lua" */
  const char *text;   /* "bytes" of it, and a NUL */
  size_t bytes;
} gb_embedded;

extern const gb_embedded gb_embedded_modules[]; /* ends with a null module */
/* Texts that are no modules, by their path in lualib/: "examples/first_model.lua". Ends as above. */
extern const gb_embedded gb_embedded_texts[];

#endif
