/* joule/stats/generator.c - see generator.h. */
#include "joule/stats/generator.h"

uint64_t generator_bits(struct generator *generator)
{
    uint64_t x = generator->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

size_t generator_below(struct generator *generator, size_t count)
{
    /* The product of 32 random bits and count, divided by 2^32. Its bias is at most count / 2^32. */
    return (size_t)((generator_bits(generator) >> 32) * count >> 32);
}

void generator_order(struct generator *generator, size_t *out_order, size_t count)
{
    for (size_t i = 0; i < count; i++) { /* Fisher and Yates, built from the front */
        size_t place = generator_below(generator, i + 1);
        out_order[i] = i;
        out_order[i] = out_order[place];
        out_order[place] = i;
    }
}
