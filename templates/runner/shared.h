/* Memory that CPU and DSP both see (rpcmem of FastRPC's library), so that no call copies a tensor. */
#ifndef HEXRUN_SHARED_H
#define HEXRUN_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARED_REASON = 512 };

struct shared_memory {
    void *(*allocate)(int heap, uint32_t flags, int bytes);
    void (*release)(void *data);
    int (*descriptor)(void *data);
};

/* Loads the system's own FastRPC library, which no package carries. False with the reason where there is
 * none. */
bool shared_open(struct shared_memory *out, char reason[SHARED_REASON]);

/* Zeroed, or NULL. */
void *shared_allocate(const struct shared_memory *memory, size_t bytes);

#endif
