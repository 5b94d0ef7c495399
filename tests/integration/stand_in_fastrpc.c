/* FastRPC's rpcmem functions on an ordinary Linux: memory that a file descriptor names, so that another
 * mapping of it sees the same bytes. STAND_IN_NO_RPCMEM=1: there is none to be had. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { LIMIT = 64 };

static struct {
    void *data;
    size_t size;
    int descriptor;
} held[LIMIT];

static void note(const char *what, int value)
{
    const char *path = getenv("STAND_IN_JOURNAL");
    FILE *journal = path ? fopen(path, "a") : NULL;
    if (!journal)
        return;
    fprintf(journal, "%s %d\n", what, value);
    fclose(journal);
}

static int slot_of(const void *data)
{
    int slot = 0;
    while (slot < LIMIT && held[slot].data != data)
        slot++;
    return slot;
}

EXPORT void *rpcmem_alloc(int heap, uint32_t flags, int size)
{
    int slot = slot_of(NULL);
    note(heap == 25 && flags == 1 ? "rpcmem_alloc" : "rpcmem_alloc of a strange heap", size);
    if (getenv("STAND_IN_NO_RPCMEM") || slot == LIMIT)
        return NULL;
    int descriptor = memfd_create("rpcmem", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, size) != 0)
        return NULL;
    void *data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED)
        return NULL;
    held[slot].data = data;
    held[slot].size = (size_t)size;
    held[slot].descriptor = descriptor;
    return data;
}

EXPORT void rpcmem_free(void *data)
{
    int slot = slot_of(data);
    note("rpcmem_free", slot < LIMIT);
    if (slot == LIMIT)
        abort();
    munmap(data, held[slot].size);
    close(held[slot].descriptor);
    held[slot].data = NULL;
}

EXPORT int rpcmem_to_fd(void *data)
{
    int slot = slot_of(data);
    return slot < LIMIT && !getenv("STAND_IN_NO_DESCRIPTOR") ? held[slot].descriptor : -1;
}
