#ifndef HEXRUN_INTTYPES_H
#define HEXRUN_INTTYPES_H

#include <stdint.h>

/* The 64 bit types of both systems are long. */
#define PRId64 "ld"
#define PRIu64 "lu"
#define PRIx64 "lx"

_Static_assert(sizeof(long) == 8, "PRIu64 prints a long");

#endif
