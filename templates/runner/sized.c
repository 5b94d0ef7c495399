#include "sized.h"

#include <string.h>

static size_t size_of(const void *given)
{
    size_t size = 0;
    if (given)
        memcpy(&size, given, sizeof size);
    return size;
}

bool sized_read(void *known, size_t capacity, const void *given)
{
    const unsigned char *bytes = given;
    size_t size = size_of(given);
    if (size < sizeof size)
        return false;
    for (size_t i = capacity; i < size; i++)
        if (bytes[i])
            return false;
    memset(known, 0, capacity);
    memcpy(known, given, size < capacity ? size : capacity);
    return true;
}

bool sized_write(void *given, const void *known, size_t capacity)
{
    size_t size = size_of(given);
    if (size < sizeof size)
        return false;
    size_t end = size < capacity ? size : capacity;
    memcpy((char *)given + sizeof size, (const char *)known + sizeof size, end - sizeof size);
    return true;
}
