/* bench/joulec/corpus.h - programs whose time joulec predicts: groups of functions that do the same work in different ways.
 *
 * Owns what the groups and their driver (measure.c) share. A group is one file; its first program is the one that all others
 * must agree with, in what they return and in what they leave behind. Trip counts are constants, but
 * for a few that JOULE_LOOP bounds.
 * Newcomers: groups whose name has an even CRC-32 are for tuning, the others are held out: no constant of the model may be
 * chosen by looking at them. LATER in run.py names sets that were written without sight of the model, and says which of them
 * those who work on it have looked at since. Variants were chosen by measured time alone, to lie within 4 x of each
 * other.
 */
#ifndef BENCH_JOULEC_CORPUS_H
#define BENCH_JOULEC_CORPUS_H

#include <stddef.h>
#include <stdint.h>

struct program {
    const char *name;
    uint64_t (*run)(void);
};

struct group {
    void (*prepare)(void); /* makes the inputs */
    void *output;          /* that programs write; NULL: what they return is all */
    size_t output_bytes;
    struct program programs[8]; /* ended by NULL */
};

#define PROGRAM(function)                                                                                    \
    {                                                                                                        \
#function, function                                                                                  \
    }

/* The next of a sequence that is the same in every run. */
uint32_t corpus_random(void);

#endif
