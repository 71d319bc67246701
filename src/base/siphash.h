/* base/siphash.h - SipHash-2-4 with 128 bits of output (Aumasson and Bernstein): a keyed hash.
 *
 * Two messages with the same hash cannot be constructed without the key.
 * Threads: several threads may use different states.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of a message whose parts are added one after the other. */
struct siphash {
    uint64_t v[4];
    uint64_t tail; /* the last size % 8 bytes, the first in the low byte */
    uint64_t size; /* bytes so far */
};

/* Begins a message. */
void siphash_begin(struct siphash *hash, const uint8_t key[16]);
/* Adds `size` bytes to the message. */
void siphash_add(struct siphash *hash, const void *bytes, size_t size);
/* Writes the hash of the message. The hash's bytes are those of the two words in little-endian order. */
void siphash_end(struct siphash *hash, uint64_t out_words[2]);

#endif
