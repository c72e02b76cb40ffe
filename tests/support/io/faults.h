/* faults.h - injects system failures: link with
** --wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=read,--wrap=write,
** --wrap=fsync,--wrap=fdatasync,--wrap=rename. The limits below are per program. */
#ifndef GB_TESTS_FAULTS_H
#define GB_TESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

extern long permitted;     /* allocations until all fail; -1: none fails */
extern size_t short_write; /* most bytes that one write accepts; 0: all */
extern long writes_left;   /* writes until the disk is full */
extern bool fsync_fails, rename_fails;
extern long interrupt_at;      /* reads until a Ctrl-C; -1: never */
extern long reads_since;       /* reads after it */
extern size_t longest_read;    /* bytes asked for at once */
extern bool renamed_unflushed; /* a file was renamed that was not flushed */
extern int flushes;

#endif
