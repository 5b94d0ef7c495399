#include "npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_LIMIT = 65535 };

static enum status malformed(struct fault *fault, const char *path, const char *why)
{
    fault_set(fault, RUN_UNAVAILABLE, "%s is not a .npy file that hexrun can read", path);
    fault_evidence(fault, "%s", why);
    return RUN_UNAVAILABLE;
}

/* The text after `'key':` in the header's dictionary, blanks skipped, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':')
        at++;
    return at;
}

static bool parse_descr(const char *header, struct npy_header *out)
{
    const char *at = value_of(header, "'descr'");
    if (!at || *at != '\'')
        return false;
    size_t length = strcspn(++at, "'");
    if (at[length] != '\'' || length >= sizeof out->descr)
        return false;
    memcpy(out->descr, at, length);
    out->descr[length] = '\0';
    return true;
}

static bool parse_shape(const char *header, struct npy_header *out)
{
    const char *at = value_of(header, "'shape'");
    if (!at || *at++ != '(')
        return false;
    for (out->rank = 0;;) {
        at += strspn(at, " ,");
        if (*at == ')')
            return true;
        char *end;
        unsigned long long dimension = strtoull(at, &end, 10);
        if (end == at || *at == '-' || dimension > UINT32_MAX || out->rank == TENSOR_RANK)
            return false;
        out->shape[out->rank++] = (uint32_t)dimension;
        at = end;
    }
}

/* The header's dictionary as text; the caller frees. */
static char *read_dictionary(FILE *file)
{
    unsigned char head[12];
    if (fread(head, 1, 10, file) != 10 || memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 || head[6] > 3)
        return NULL;
    size_t length = head[8] | (size_t)head[9] << 8;
    if (head[6] > 1) {
        if (fread(head + 10, 1, 2, file) != 2)
            return NULL;
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    }
    char *text = length <= HEADER_LIMIT ? malloc(length + 1) : NULL;
    if (text && fread(text, 1, length, file) == length) {
        text[length] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

enum status npy_read_header(FILE *file, const char *path, struct npy_header *out, struct fault *fault)
{
    char *header = read_dictionary(file);
    if (!header)
        return malformed(fault, path, "its head is not that of NumPy format 1, 2 or 3");
    const char *order = value_of(header, "'fortran_order'");
    const char *problem = NULL;
    if (!parse_descr(header, out))
        problem = "its element type is not a plain one";
    else if (out->descr[0] == '>')
        problem = "it is big-endian; save it with .astype(a.dtype.newbyteorder('<'))";
    else if (!order || strncmp(order, "False", 5) != 0)
        problem = "it is in Fortran order; save it with numpy.ascontiguousarray(a)";
    else if (!parse_shape(header, out))
        problem = "its shape has more than 8 dimensions or is not understood";
    free(header);
    return problem ? malformed(fault, path, problem) : RUN_OK;
}

bool npy_write_header(FILE *file, const char *descr, const uint64_t *shape, uint32_t rank)
{
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%" PRIu64 "%s", shape[i],
                                 rank == 1 ? "," : i + 1 < rank ? ", " : "");
    used += (size_t)snprintf(text + used, sizeof text - used, "), }");
    /* The elements begin at a multiple of 64 bytes. */
    size_t total = (10 + used + 1 + 63) / 64 * 64;
    size_t length = total - 10;
    unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)length, (unsigned char)(length >> 8)};
    if (fwrite(head, 1, sizeof head, file) != sizeof head || fwrite(text, 1, used, file) != used)
        return false;
    for (size_t i = used; i + 1 < length; i++)
        if (fputc(' ', file) == EOF)
            return false;
    return fputc('\n', file) != EOF;
}
