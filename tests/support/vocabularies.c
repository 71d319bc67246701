/* support/vocabularies.c - see vocabularies.h. */
#include "support/vocabularies.h"

#define SPACE_MARK "\xe2\x96\x81" /* U+2581 */

static struct bytes spm_tokens[SMALL_SPM] = {
    BYTES("<unk>"),  BYTES("<s>"), BYTES("</s>"), BYTES(SPACE_MARK),     BYTES("a"),
    BYTES("b"),      BYTES("ab"),  BYTES("ba"),   BYTES(SPACE_MARK "a"), BYTES("<x>"),
    BYTES("<x><y>"), BYTES("<z>"), BYTES("aba"),  BYTES("<0x41>")};
static float spm_scores[SMALL_SPM] = {[6] = -1, [7] = -1, [8] = -3, [12] = -9};
static uint8_t spm_types[SMALL_SPM] = {2, 3, 3, 1, 1, 1, 1, 1, 1, 4, 4, 3, 1, 6};
const struct vocabulary small_spm = {.kind = VOCABULARY_SPM,
                                     .count = SMALL_SPM,
                                     .tokens = spm_tokens,
                                     .scores = spm_scores,
                                     .types = spm_types,
                                     .bos = 1,
                                     .eos = 2,
                                     .eot = -1,
                                     .unknown = 0,
                                     .padding = -1,
                                     .adds_bos = true,
                                     .adds_eos = true};

static struct bytes bpe_tokens[SMALL_BPE] = {BYTES("a"),
                                             BYTES("b"),
                                             BYTES("c"),
                                             BYTES("\xc4\xa0"), /* a space */
                                             BYTES("ab"),
                                             BYTES("bc"),
                                             BYTES("abc"),
                                             BYTES("\xc4\xa0"
                                                   "a"),
                                             BYTES("<x>"),
                                             BYTES("cab"),
                                             BYTES("\xc4\x80")};
static uint8_t bpe_types[SMALL_BPE] = {1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1};
static struct bytes bpe_merges[] = {BYTES("b c"), BYTES("a b"), BYTES("\xc4\xa0 a"), BYTES("a bc")};
const struct vocabulary small_bpe = {.kind = VOCABULARY_BPE,
                                     .count = SMALL_BPE,
                                     .tokens = bpe_tokens,
                                     .types = bpe_types,
                                     .merges = bpe_merges,
                                     .merge_count = sizeof bpe_merges / sizeof *bpe_merges,
                                     .bos = -1,
                                     .eos = 8,
                                     .eot = -1,
                                     .unknown = -1,
                                     .padding = -1};

static struct bytes unigram_tokens[SMALL_UNIGRAM] = {
    BYTES("<unk>"), BYTES("<s>"),           BYTES("</s>"), BYTES(SPACE_MARK), BYTES("a"),  BYTES("b"),
    BYTES("ab"),    BYTES(SPACE_MARK "ab"), BYTES("bb"),   BYTES("<x>"),      BYTES("aba")};
static float unigram_scores[SMALL_UNIGRAM] = {0, 0, 0, -2, -3, -3, -4, -5, -7, 0, -1};
static uint8_t unigram_types[SMALL_UNIGRAM] = {2, 3, 3, 1, 1, 1, 1, 1, 1, 4, 5};
const struct vocabulary small_unigram = {.kind = VOCABULARY_UNIGRAM,
                                         .count = SMALL_UNIGRAM,
                                         .tokens = unigram_tokens,
                                         .scores = unigram_scores,
                                         .types = unigram_types,
                                         .bos = 1,
                                         .eos = 2,
                                         .eot = -1,
                                         .unknown = 0,
                                         .padding = -1,
                                         .adds_eos = true,
                                         .adds_space_prefix = true,
                                         .removes_extra_spaces = true};
