#include "digest.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 64 };

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void take_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], s[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = big_endian(block + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        uint32_t low = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t high = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    memcpy(s, state, sizeof s);
    for (size_t i = 0; i < 64; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t first = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice + ROUND[i] + w[i];
        uint32_t second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + second;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += s[i];
}

void digest_open(struct digest *digest)
{
    *digest = (struct digest){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                        0x1f83d9ab, 0x5be0cd19}};
}

void digest_add(struct digest *digest, const void *data, size_t size)
{
    const unsigned char *at = data;
    while (size) {
        size_t filled = digest->length % BLOCK;
        size_t taken = size < BLOCK - filled ? size : BLOCK - filled;
        memcpy(digest->block + filled, at, taken);
        digest->length += taken;
        at += taken;
        size -= taken;
        if (filled + taken == BLOCK)
            take_block(digest->state, digest->block);
    }
}

void digest_finish(struct digest *digest, unsigned char out[DIGEST_BYTES])
{
    static const unsigned char PADDING[BLOCK] = {0x80};
    unsigned char bits[8];
    for (size_t i = 0; i < sizeof bits; i++)
        bits[i] = (unsigned char)(digest->length * 8 >> (56 - 8 * i));
    size_t filled = digest->length % BLOCK;
    digest_add(digest, PADDING, filled < 56 ? 56 - filled : 120 - filled);
    digest_add(digest, bits, sizeof bits);
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        out[i] = (unsigned char)(digest->state[i / 4] >> (24 - 8 * (i % 4)));
}

void digest_text(const unsigned char bytes[DIGEST_BYTES], char out[DIGEST_HEX])
{
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}
