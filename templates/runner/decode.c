#include "decode.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

uint32_t decode_mask(uint64_t returned)
{
    return (uint32_t)(returned & 0xFFFF);
}

static const char *next_word(const char *word)
{
    return word + strlen(word) + 1;
}

bool decode_row(uint32_t code, struct decoded *out)
{
    const char *name = ERROR_WORDS;
    for (size_t i = 0; i < ERROR_CODE_COUNT; i++) {
        const char *sentence = next_word(name);
        const char *look_first = next_word(sentence);
        if (ERROR_CODES[i] == code) {
            *out = (struct decoded){code, name, sentence, look_first};
            return true;
        }
        name = next_word(look_first);
    }
    return false;
}

struct decoded decode_code(uint32_t code)
{
    struct decoded out = {.code = code};
    if (decode_row(code, &out))
        return out;
    for (size_t i = 0; i < ERROR_RANGE_COUNT; i++)
        if (code >= ERROR_RANGES[i].first && code <= ERROR_RANGES[i].last) {
            out.name = ERROR_RANGES[i].name;
            out.sentence = ERROR_RANGES[i].sentence;
            return out;
        }
    return out;
}

const char *decode_name(uint32_t code)
{
    struct decoded row;
    return decode_row(code, &row) ? row.name : "";
}

bool decode_line(const char *line, struct decoded *out)
{
    for (const char *at = strstr(line, "0x8000"); at; at = strstr(at + 1, "0x8000")) {
        char *end;
        unsigned long code = strtoul(at, &end, 16);
        if (end == at + 10 && !isalnum((unsigned char)*end) && decode_row((uint32_t)code, out))
            return true;
    }
    return false;
}
