/* bench/joulec/corpus.h - interface of the programs whose time joulec predicts.
 *
 * A group is one file of programs that do the same work in different ways. All must agree with the first one
 * in their return value and output. Trip counts are constants, except for a few that JOULE_LOOP bounds.
 *
 * Note: groups whose name has an even CRC-32 are for tuning; the others are held out, and no constant of the
 * model may be chosen by looking at them. LATER in run.py lists sets that were written without knowledge of
 * the model, and which of them were looked at since. Variants were chosen by measured time alone, within a
 * factor of 4.
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
    void (*prepare)(void); /* fills the inputs */
    void *output;          /* buffer that the programs write; NULL: only the return value counts */
    size_t output_bytes;
    struct program programs[8]; /* terminated by NULL */
};

#define PROGRAM(function)                                                                                    \
    {                                                                                                        \
#function, function                                                                                  \
    }

/* Returns the next number of a random sequence that is the same in every run. */
uint32_t corpus_random(void);

#endif
