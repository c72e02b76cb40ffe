/* prelude.h - what the host's headers give to generated kernels, where NVRTC compiles them and no header of a host is. */
#ifndef GB_CUDA_EMIT_PRELUDE_H
#define GB_CUDA_EMIT_PRELUDE_H

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;

#define INT32_MAX 0x7fffffff
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MAX 0x7fffffffffffffffll
#define INT64_MIN (-INT64_MAX - 1)
#define UINT64_MAX 0xffffffffffffffffull
#define SIZE_MAX 0xffffffffffffffffull
#define FLT_MAX 0x1.fffffep+127f
#define DBL_MAX 0x1.fffffffffffffp+1023
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)

#endif
