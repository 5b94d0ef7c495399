#ifndef HEXRUN_SYS_MMAN_H
#define HEXRUN_SYS_MMAN_H

#include <sys/types.h>

#define MAP_FAILED ((void *)-1)

void *mmap(void *wish, size_t size, int protection, int flags, int descriptor, off_t offset);
int munmap(void *memory, size_t size);

#endif
