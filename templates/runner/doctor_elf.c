#include "doctor_elf.h"

#include <ctype.h>
#include <string.h>

#include "platform.h"
#include "status.h"

enum { DT_NULL_TAG = 0, DT_NEEDED_TAG = 1, DT_STRTAB_TAG = 5, PT_LOAD_TYPE = 1, PT_DYNAMIC_TYPE = 2, SEGMENTS = 64 };

/* Little endian, 32 or 64 bits; `size` bounds every read. */
struct image {
    const unsigned char *data;
    size_t size;
    bool wide;
};

static uint64_t number(const struct image *image, uint64_t at, size_t bytes)
{
    uint64_t value = 0;
    if (at > image->size || image->size - at < bytes)
        return 0;
    for (size_t i = bytes; i; i--)
        value = value << 8 | image->data[at + i - 1];
    return value;
}

static uint64_t word(const struct image *image, uint64_t at)
{
    return number(image, at, image->wide ? 8 : 4);
}

struct segment {
    uint64_t type, offset, address, size;
};

static bool segment_at(const struct image *image, size_t index, struct segment *out)
{
    uint64_t first = word(image, image->wide ? 32 : 28);
    uint64_t stride = number(image, image->wide ? 54 : 42, 2);
    uint64_t count = number(image, image->wide ? 56 : 44, 2);
    if (index >= count || index >= SEGMENTS || first > image->size)
        return false;
    uint64_t at = first + index * stride;
    out->type = number(image, at, 4);
    out->offset = word(image, at + (image->wide ? 8 : 4));
    out->address = word(image, at + (image->wide ? 16 : 8));
    out->size = word(image, at + (image->wide ? 32 : 16));
    return true;
}

static uint64_t offset_of(const struct image *image, uint64_t address)
{
    struct segment segment;
    for (size_t i = 0; segment_at(image, i, &segment); i++)
        if (segment.type == PT_LOAD_TYPE && address >= segment.address && address - segment.address < segment.size)
            return segment.offset + (address - segment.address);
    return image->size;
}

static void add_needed(const struct image *image, uint64_t at, struct elf_facts *out)
{
    char *name = out->needed[out->needed_count];
    size_t length = 0;
    while (length < ELF_NAME - 1 && at < image->size && isgraph(image->data[at]))
        name[length++] = (char)image->data[at++];
    name[length] = '\0';
    out->needed_count += length != 0;
}

static void read_needed(const struct image *image, const struct segment *dynamic, struct elf_facts *out)
{
    uint64_t strings = image->size;
    size_t step = image->wide ? 16 : 8;
    for (int pass = 0; pass < 2; pass++) /* the table of strings may come after the names */
        for (uint64_t at = 0; at + step <= dynamic->size && dynamic->offset <= image->size; at += step) {
            uint64_t tag = word(image, dynamic->offset + at);
            uint64_t value = word(image, dynamic->offset + at + step / 2);
            if (tag == DT_NULL_TAG)
                break;
            if (!pass && tag == DT_STRTAB_TAG)
                strings = offset_of(image, value);
            if (pass && tag == DT_NEEDED_TAG && out->needed_count < ELF_NEEDED && value < image->size)
                add_needed(image, strings + value, out);
        }
}

static void read_header(struct image *image, struct elf_facts *out)
{
    if (image->size < 64 || memcmp(image->data, "\177ELF", 4) != 0 || image->data[5] != 1)
        return;
    out->is_elf = true;
    image->wide = image->data[4] == 2;
    out->machine = (uint32_t)number(image, 18, 2);
    if (out->machine == ELF_HEXAGON) {
        uint32_t bits = (uint32_t)number(image, 36, 4) & 0x3FF; /* 0x73 stands for v73 */
        out->hexagon = (bits >> 8) * 100 + (bits >> 4 & 0xF) * 10 + (bits & 0xF);
    }
    struct segment segment;
    bool linked = false;
    for (size_t i = 0; segment_at(image, i, &segment); i++) {
        out->cut_short |= segment.offset > image->size || segment.size > image->size - segment.offset;
        if (segment.type == PT_DYNAMIC_TYPE && !linked) {
            read_needed(image, &segment, out);
            linked = true;
        }
    }
}

/* ---- strings ---- */

static size_t digits(const unsigned char *at, const unsigned char *end, size_t most)
{
    size_t count = 0;
    while (at + count < end && count <= most && isdigit(at[count]))
        count++;
    return count <= most ? count : 0;
}

/* The length of v<x>.<y>.<z>.<date and time>[_<number>] at `at`, or 0. */
static size_t build_length(const unsigned char *at, const unsigned char *end)
{
    const unsigned char *start = at++;
    for (int part = 0; part < 4; part++) {
        size_t count = digits(at, end, part == 3 ? 14 : 4);
        if (!count || (part == 3 && count < 10) || (part < 3 && (at + count >= end || at[count] != '.')))
            return 0;
        at += count + (part < 3);
    }
    if (at < end && *at == '_')
        at += 1 + digits(at + 1, end, 9);
    return at < end && isalnum(*at) ? 0 : (size_t)(at - start);
}

static void keep(const unsigned char *at, size_t length, char out[ELF_NAME])
{
    if (length && length < ELF_NAME) {
        memcpy(out, at, length);
        out[length] = '\0';
    }
}

/* Negative, zero or positive as numbers in `a` come before those in `b`. */
static int compare_builds(const char *a, const char *b)
{
    for (a++, b++; *a && *b; a++, b++) {
        size_t la = strspn(a, "0123456789"), lb = strspn(b, "0123456789");
        if (la != lb)
            return la < lb ? -1 : 1;
        int order = memcmp(a, b, la);
        if (order)
            return order;
        a += la;
        b += lb;
        if (!*a || !*b)
            break;
    }
    return 0;
}

/* A library may name an older build that it understands, never a later one: the latest is its own. */
static void read_strings(const struct image *image, struct elf_facts *out)
{
    const unsigned char *end = image->data + image->size;
    const unsigned char *at = image->data;
    while ((at = memchr(at, 'v', (size_t)(end - at))) != NULL) {
        char build[ELF_NAME] = "";
        if (at == image->data || !(isalnum(at[-1]) || at[-1] == '_'))
            keep(at, build_length(at, end), build);
        if (*build && (!*out->build || compare_builds(out->build, build) < 0))
            memcpy(out->build, build, sizeof build);
        at++;
    }
}

bool elf_read(const char *path, struct elf_facts *out, char *problem)
{
    struct mapped_file file = {0};
    *out = (struct elf_facts){0};
    if (!platform_map(path, &file, problem))
        return false;
    struct image image = {.data = file.data, .size = file.size};
    read_header(&image, out);
    read_strings(&image, out);
    platform_unmap(&file);
    return true;
}

bool elf_mentions(const char *path, const char *text)
{
    struct mapped_file file = {0};
    char problem[FAULT_TEXT];
    bool found = false;
    if (!platform_map(path, &file, problem))
        return false;
    const unsigned char *end = (const unsigned char *)file.data + file.size;
    size_t length = strlen(text);
    for (const unsigned char *at = file.data; !found && (at = memchr(at, text[0], (size_t)(end - at))) != NULL; at++)
        found = (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
    platform_unmap(&file);
    return found;
}
