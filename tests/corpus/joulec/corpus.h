/* tests/corpus/joulec/corpus.h - interface of the programs whose time joulec predicts.
 *
 * A group is one file of programs that do the same work in different ways. The return value and the output of
 * each program must equal those of the group's first program. Trip counts are constants, except for a few
 * that JOULE_LOOP bounds. The programs of a group were chosen only by their measured times, which differ by
 * at most a factor of 4.
 *
 * Note: SETS in compare_times.py divides the groups into a tuning set, a validation set and test sets. No
 * constant of the model may be chosen with a group outside the tuning set.
 */
#ifndef TESTS_CORPUS_JOULEC_CORPUS_H
#define TESTS_CORPUS_JOULEC_CORPUS_H

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
