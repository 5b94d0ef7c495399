/* SHA-256 (FIPS 180-4), to tell at a glance whether two runs computed the same. */
#ifndef HEXRUN_DIGEST_H
#define HEXRUN_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = 32, DIGEST_HEX = 2 * DIGEST_BYTES + 1 };

struct digest {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
};

void digest_open(struct digest *digest);
void digest_add(struct digest *digest, const void *data, size_t size);
void digest_finish(struct digest *digest, unsigned char out[DIGEST_BYTES]);
/* Lower-case hexadecimal digits and a NUL. */
void digest_text(const unsigned char bytes[DIGEST_BYTES], char out[DIGEST_HEX]);

#endif
