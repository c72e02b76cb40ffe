/* abi_rows.h - what a program and the library must agree on, as numbers. Each side includes it after its own
** headers, and defines ABI_ROWS, the name of the list, and ABI_STATUSES, the number of outcomes. */
typedef struct abi_row {
  const char *what;
  size_t value;
} abi_row;

#define ROW(e)                                                                                               \
  { #e, (size_t)(e) }
const abi_row ABI_ROWS[] = {ROW(GB_OK),
                            ROW(GB_ESHAPE),
                            ROW(GB_ENAN),
                            ROW(GB_EDTYPE),
                            ROW(GB_EDEVICE),
                            ROW(GB_EINDEX),
                            ROW(GB_EOPTION),
                            ROW(GB_ECLOSED),
                            ROW(GB_ENOTPD),
                            ROW(GB_ENOTCONV),
                            ROW(GB_EREFUSED),
                            ROW(GB_ENOMEM),
                            ROW(GB_ESPLIT),
                            ROW(GB_EIO),
                            ROW(GB_EFORMAT),
                            ROW(GB_EINTR),
                            ROW(GB_ECALLBACK),
                            ROW(GB_EINTERNAL),
                            {"number of outcomes", ABI_STATUSES},
                            ROW(sizeof(gb_status)),
                            ROW(GB_F64),
                            ROW(GB_F32),
                            ROW(GB_F16),
                            ROW(GB_BF16),
                            ROW(GB_I64),
                            ROW(GB_BOOL),
                            ROW(GB_I32),
                            ROW(GB_NDTYPES),
                            ROW(sizeof(gb_dtype)),
                            ROW(GB_MAXDIM),
                            ROW(sizeof(gb_shape)),
                            ROW(offsetof(gb_shape, ndim)),
                            ROW(offsetof(gb_shape, dim)),
                            ROW(sizeof(gb_error)),
                            ROW(offsetof(gb_error, text)),
                            ROW(offsetof(gb_error, need)),
                            ROW(offsetof(gb_error, have)),
                            ROW(offsetof(gb_error, minimum)),
                            ROW(offsetof(gb_error, order)),
                            ROW(offsetof(gb_error, options)),
                            {NULL, 0}};
