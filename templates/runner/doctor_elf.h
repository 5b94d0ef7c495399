/* What a stub or a skel tells without being loaded. */
#ifndef HEXRUN_DOCTOR_ELF_H
#define HEXRUN_DOCTOR_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_NEEDED = 16, ELF_NAME = 64, ELF_AARCH64 = 183, ELF_X86_64 = 62, ELF_HEXAGON = 164 };

struct elf_facts {
    bool is_elf, cut_short; /* cut_short: less of it is there than its segments say */
    uint32_t machine, hexagon; /* hexagon: 73 for v73, 0 when it is for another processor */
    char needed[ELF_NEEDED][ELF_NAME];
    size_t needed_count;
    char build[ELF_NAME]; /* v2.51.0.260929181845, or "" */
};

/* False with `problem` (FAULT_TEXT) when the file cannot be read. A file that is no ELF still has its
 * strings read. */
bool elf_read(const char *path, struct elf_facts *out, char *problem);

/* Whether a file holds a string. */
bool elf_mentions(const char *path, const char *text);

#endif
