// Fixed-width and size types (LP64), as <stddef.h>, <stdint.h> and <sys/types.h> give them.
#pragma once
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef long intmax_t;
typedef unsigned long uintmax_t;
typedef signed char int_least8_t, int_fast8_t;
typedef short int_least16_t;
typedef int int_least32_t;
typedef long int_least64_t, int_fast16_t, int_fast32_t, int_fast64_t;
typedef unsigned char uint_least8_t, uint_fast8_t;
typedef unsigned short uint_least16_t;
typedef unsigned int uint_least32_t;
typedef unsigned long uint_least64_t, uint_fast16_t, uint_fast32_t, uint_fast64_t;
typedef unsigned char u_char, u_int8_t;
typedef unsigned short ushort, u_short, u_int16_t;
typedef unsigned int uint, u_int, u_int32_t;
typedef unsigned long ulong, u_long, u_int64_t;
typedef long ssize_t, clock_t, time_t;

#define NULL __null
#define offsetof(type, member) __builtin_offsetof(type, member)
#define INT8_C(c) c
#define UINT8_C(c) c
#define INT16_C(c) c
#define UINT16_C(c) c
#define INT64_C(c) c##L
#define UINT64_C(c) c##UL
#define INT32_C(c) c
#define UINT32_C(c) c##U
#define PRId32 "d"
#define PRIu32 "u"
#define PRId64 "ld"
#define PRIu64 "lu"
#define PRIx64 "lx"
