#include "decode.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

uint32_t decode_mask(uint64_t returned)
{
    return (uint32_t)(returned & 0xFFFF);
}

const struct error_row *decode_row(uint32_t code)
{
    for (size_t i = 0; i < ERROR_ROW_COUNT; i++)
        if (ERROR_ROWS[i].code == code)
            return &ERROR_ROWS[i];
    return NULL;
}

const struct error_range *decode_range(uint32_t code)
{
    for (size_t i = 0; i < ERROR_RANGE_COUNT; i++)
        if (code >= ERROR_RANGES[i].first && code <= ERROR_RANGES[i].last)
            return &ERROR_RANGES[i];
    return NULL;
}

const struct error_row *decode_line(const char *line)
{
    for (const char *at = strstr(line, "0x8000"); at; at = strstr(at + 1, "0x8000")) {
        char *end;
        unsigned long code = strtoul(at, &end, 16);
        if (end == at + 10 && !isalnum((unsigned char)*end)) {
            const struct error_row *row = decode_row((uint32_t)code);
            if (row)
                return row;
        }
    }
    return NULL;
}
