/* lines.h - what a kernel's text is made of. Names in it: p the program; T and A the type and its arithmetic; i<a> the index
** of axis a, held[q] and pass those of LANE and TILE; x<n> operand n at its OUTER indices, l<n>, t<n>, s<n>_<a> its
** strides; v<n> a value, w<n>[q] one of the held side, h<n>[i][q] held elements, u<n>[i] those of neither side, r[i] the
** staged row; c<k>[i] chains of output k, g<k>[i] elements that LSE takes at once. */
#ifndef GB_CUDA_EMIT_LINES_H
#define GB_CUDA_EMIT_LINES_H

#include "cuda/emit/emission.h"

enum { GB_EXPRESSION = 512 }; /* bytes that the longest expression has room in */

void gb_emit_loop (gb_emission *e, int axis); /* its head; the brace is open */

/* Pointers, strides and base numbers of what the walk reads: of what only staged rows are made of, or of the rest. */
void gb_emit_operands (gb_emission *e, bool staged);
/* The arrays of one side (form 0: neither), and what fills them. */
void gb_emit_arrays (gb_emission *e, int form);
void gb_emit_streams (gb_emission *e, int form);

/* Element of an operand at the present indices, as an expression of type T; and its number from the base. */
void gb_emit_element (const gb_emission *e, int level, int operand, char to[GB_EXPRESSION]);
void gb_emit_number (const gb_emission *e, int operand, char to[GB_EXPRESSION]);
void gb_emit_value (const gb_emission *e, int level, int v, char to[GB_EXPRESSION]);

/* The instructions of a level. */
void gb_emit_level (gb_emission *e, int level);
/* Constants of profiles that all pairs share. */
void gb_emit_profiles (gb_emission *e);

/* An element enters the chains of an output, or is stored. */
void gb_emit_output (gb_emission *e, int n);
void gb_emit_output_pointers (gb_emission *e);
void gb_emit_store (gb_emission *e, int k,
                    const char *value); /* of output k, element q, where it is not past the edge */
void gb_emit_begin_chains (gb_emission *e);
int gb_emit_monoid (const gb_cuda_out *o);
bool gb_emit_is_number (const gb_cuda_out *o); /* its chains are; else pairs of LSE, or lists */

/* What kernels have in common: their heads, the unit of 'unit', a loop over the elements of a thread, the held side from
** 'held[q]', chains, what fills the staged row 'to', row s of 'rows', words of output k, and chains of rows to them. */
void gb_emit_begin (gb_emission *e);
void gb_emit_begin_unit (gb_emission *e);
void gb_emit_begin_batch (gb_emission *e);
void gb_emit_hold (gb_emission *e);
void gb_emit_declare_chains (gb_emission *e);
void gb_emit_staged_row (gb_emission *e);
void gb_emit_read_row (gb_emission *e, const char *rows);
void gb_emit_begin_chain_words (gb_emission *e, int k, const char *part);
void gb_emit_write_rows (gb_emission *e);

/* The kernel of each reach; that of WAVE. */
void gb_emit_kernel (gb_emission *e);
void gb_emit_wave (gb_emission *e);

#endif
