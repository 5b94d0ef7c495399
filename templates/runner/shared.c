#include "shared.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "platform.h"
#include "status.h"

/* The system heap, with FastRPC's default flags: cached, as every public user of rpcmem asks for. */
enum { HEAP_SYSTEM = 25, DEFAULT_FLAGS = 1 };

bool shared_open(struct shared_memory *out, char reason[SHARED_REASON])
{
    static const char *const NAMES[] = {PLATFORM_FASTRPC};
    const char *name = NULL;
    char problem[FAULT_TEXT] = "";
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof NAMES / sizeof *NAMES; i++) {
        name = NAMES[i];
        library = platform_load_system(name, problem);
    }
    *out = (struct shared_memory){0};
    if (!library) {
        snprintf(reason, SHARED_REASON, "this system has no %s: %.400s", name, problem);
        return false;
    }
    out->allocate = (void *(*)(int, uint32_t, int))(uintptr_t)platform_symbol(library, "rpcmem_alloc");
    out->release = (void (*)(void *))(uintptr_t)platform_symbol(library, "rpcmem_free");
    out->descriptor = (int (*)(void *))(uintptr_t)platform_symbol(library, "rpcmem_to_fd");
    bool whole = out->allocate && out->release && out->descriptor;
    if (!whole)
        snprintf(reason, SHARED_REASON, "%s has no rpcmem functions", name);
    return whole;
}

void *shared_allocate(const struct shared_memory *memory, size_t bytes)
{
    void *data = bytes <= INT_MAX ? memory->allocate(HEAP_SYSTEM, DEFAULT_FLAGS, (int)bytes) : NULL;
    if (data)
        memset(data, 0, bytes);
    return data;
}
