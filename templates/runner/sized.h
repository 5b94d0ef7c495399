/* Structs of hexrun.h begin with their size, so that a caller and a library of different releases agree on the part
 * that both know. */
#ifndef HEXRUN_SIZED_H
#define HEXRUN_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/* Fills `known` from the caller's struct; what that lacks is zero. False where its size is no size, or where it
 * asks for something, beyond what is known, that is not zero. */
bool sized_read(void *known, size_t capacity, const void *given);

/* Fills the caller's struct from `known`, as far as it goes; its size stays. False where that is no size. */
bool sized_write(void *given, const void *known, size_t capacity);

#endif
