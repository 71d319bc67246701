/* support/vocabularies.h - a small vocabulary of each kind, for tests of tokenizers and of model files. */
#ifndef SUPPORT_VOCABULARIES_H
#define SUPPORT_VOCABULARIES_H

#include "forge/infer/model/vocabulary.h"

/* Initializer of a struct bytes with the bytes of a literal. */
#define BYTES(literal)                                                                                       \
    {                                                                                                        \
        literal, sizeof literal - 1                                                                          \
    }

enum { SMALL_SPM = 14, SMALL_BPE = 11, SMALL_UNIGRAM = 11 }; /* numbers of tokens */
/* SentencePiece BPE with scores. It has user-defined tokens, a control token and one byte token. */
extern const struct vocabulary small_spm;
/* Byte-level BPE with a list of merges. */
extern const struct vocabulary small_bpe;
/* SentencePiece unigram, which removes extra spaces. It has a user-defined and an unused token. */
extern const struct vocabulary small_unigram;

#endif
