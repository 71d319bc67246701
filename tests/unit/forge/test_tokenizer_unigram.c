/* Checks SentencePiece unigram: the best path, unknown characters, normalisation, and the tokens that the
 * original program gives for a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "forge/infer/tokenizer/tokenizer_read.h"
#include "support/scratch.h"
#include "support/tokenizer_trial.h"
#include "support/vocabularies.h" /* small_unigram */

static void test_sum_of_scores_is_highest(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = make(&small_unigram);
    EXPECT(tokenizer, "ab", 0, 7);
    EXPECT(tokenizer, "abb", 0, 7, 5);
    /* Two tokens with the sum -3 - 3 are better than one token with -7. */
    EXPECT(tokenizer, "bb", 0, 3, 5, 5);
    EXPECT(tokenizer, "aba", 0, 7, 4); /* an unused token is never used for a text */
    EXPECT(tokenizer, "aqqb", FORGE_TOKENIZE_ADD_ENDS, 3, 4, 0, 5, 2);
    EXPECT(tokenizer, "\xff", 0, 3, 0);
    EXPECT(tokenizer, "a<x>b", 0, 3, 4, 9, 3, 5);
    forge_tokenizer_free(tokenizer);
}

static void test_extra_spaces_are_removed(void **state)
{
    (void)state;
    struct vocabulary v = small_unigram;
    forge_tokenizer *tokenizer = make(&small_unigram);
    EXPECT(tokenizer, "  ab   ab ", 0, 7, 7);
    expect(tokenizer, "", 0, 0, NULL, 0);
    expect(tokenizer, "   ", 3, 0, NULL, 0);
    forge_tokenizer_free(tokenizer);
    v.removes_extra_spaces = false;
    tokenizer = make(&v);
    EXPECT(tokenizer, " a ", 0, 3, 3, 4, 3);
    forge_tokenizer_free(tokenizer);
}

static void test_damaged_charsmaps_are_refused_or_have_no_effect(void **state)
{
    (void)state;
    static const struct bytes wrong[] = {BYTES("\x01"), BYTES("\x08\0\0\0\0\0\0\0"),
                                         BYTES("\x03\0\0\0\0\0\0")};
    forge_tokenizer *tokenizer = NULL;
    struct vocabulary v = small_unigram;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        v.charsmap = wrong[i];
        assert_int_equal(tokenizer_new(&v, &tokenizer, &error), JOULE_INVALID);
        assert_contains(error.message, "precompiled_charsmap");
    }
    char map[4 + 4000 + 20] = {(char)0xa0, 0x0f};
    chance_state = CHANCE_SEED;
    for (int round = 0; round < 200; round++) {
        for (size_t i = 4; i < sizeof map; i++)
            map[i] = (char)(chance_bits() >> 20);
        for (size_t i = 4; i < 4004; i += 4) /* bytes that make units match the text often */
            map[i] = (char)(chance_bits() >> 20 & 3), map[i + 3] = 0;
        v.charsmap = (struct bytes){map, sizeof map};
        tokenizer = make(&v);
        encode(tokenizer, "\1\2\3\1\2 \1\1\1", 9, 0);
        forge_tokenizer_free(tokenizer);
    }
}

/* --- SentencePiece's test model ------------------------------------------------------------------------- */

static struct arena arena;

static forge_tokenizer *open_test_model(struct vocabulary *v)
{
    const char *path = test_data("tokenizers/sentencepiece/test_model.model");
    if (!path)
        skip();
    if (sentencepiece_read(&arena, v, path, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return make(v);
}

static void test_model_of_sentencepiece_is_read(void **state)
{
    (void)state;
    struct vocabulary v;
    forge_tokenizer *tokenizer = open_test_model(&v);
    assert_int_equal(v.kind, VOCABULARY_UNIGRAM);
    assert_true(v.count == 1000 && v.unknown == 0 && v.bos == 1 && v.eos == 2 && v.padding == -1);
    assert_true(v.adds_space_prefix && v.removes_extra_spaces && v.charsmap.size > 0);
    forge_tokenizer_free(tokenizer);
    arena_free(&arena);
}

/* Recorded with the Python package sentencepiece 0.2.3. */
static void test_texts_have_the_tokens_of_sentencepiece(void **state)
{
    (void)state;
    struct vocabulary v;
    forge_tokenizer *tokenizer = open_test_model(&v);
    EXPECT(tokenizer, "  a  b  ", 0, 11, 80);
    EXPECT(tokenizer, "Hello world", 0, 151, 88, 21, 887);
    EXPECT(tokenizer, "I saw a girl with a telescope.", 0, 9, 459, 11, 939, 44, 11, 4, 142, 82, 8, 28, 21,
           132, 6);
    EXPECT(tokenizer, "\xef\xbc\xa1\xef\xbc\xa2\xef\xbc\xa3\xe3\x80\x80\xef\xbc\x91\xef\xbc\x92\xef\xbc\x93",
           0, 104, 540, 381, 4, 357, 596, 0);
    EXPECT(tokenizer, "\xef\xac\x81ne \xc2\xbd \xef\xb7\xba", 0, 706, 4, 357, 0, 596, 4, 0, 4, 0, 4, 0, 4, 0);
    EXPECT(tokenizer, "\xe6\x9d\xb1\xe4\xba\xac \xe3\x82\xbf\xe3\x83\xaf\xe3\x83\xbc", 0, 4, 0, 4, 0);
    EXPECT(tokenizer,
           "a\x09"
           "b\x0a"
           "c",
           0, 11, 0, 66, 0, 28);
    EXPECT(tokenizer,
           "x\xcc\x81"
           "e\xcc\x81 \xc3\xa9",
           0, 4, 297, 0, 4, 0);
    EXPECT(tokenizer, "\xf0\x9f\x9a\x80\xf0\x9f\x9a\x80 rocket", 0, 4, 0, 4, 30, 797, 16, 15);
    EXPECT(tokenizer,
           "\xe2\x96\x81"
           "a\xe2\x96\x81 b",
           0, 4, 11, 4, 80);
    EXPECT(tokenizer,
           "abc\xe2\x80\x8b"
           "def",
           0, 11, 66, 28, 0, 17, 16, 57);
    EXPECT(tokenizer, "\xe2\x85\xa7 \xe3\x8c\x94 \xe3\x8e\x8f", 0, 4, 0, 100, 100, 100, 4, 0, 4, 46, 37);
    forge_tokenizer_free(tokenizer);
    arena_free(&arena);
}

/* Checks lines of botchan.txt: the number of the line, from 0, and its tokens. Recorded like the texts
 * above. */
static void test_lines_have_the_tokens_of_sentencepiece(void **state)
{
    (void)state;
    static const struct {
        size_t line, count;
        int32_t tokens[64];
    } lines[] = {
        {0, 32, {4,   0,   422, 131, 999, 16, 28, 15,  191, 32, 8,   296, 227, 92,  84,  420,
                 431, 648, 717, 394, 5,   75, 4,  401, 55,  35, 272, 8,   53,  206, 987, 3}},
        {211, 23, {59,  72, 42,  16, 610, 141, 22, 20,  999, 111, 12, 11,
                   544, 80, 114, 13, 80,  332, 6,  151, 271, 90,  3}},
        {418, 29, {43, 208, 311, 176, 920, 115, 25, 37,  60, 12,  176, 4,  15, 73, 117,
                   14, 51,  170, 57,  35,  55,  17, 229, 37, 256, 59,  33, 6,  3}},
        {624, 30, {86, 87,  128, 289, 68, 83,  400, 8, 118, 246, 7,  4, 120, 25, 997,
                   84, 880, 74,  19,  26, 196, 6,   9, 366, 12,  89, 7, 43,  16, 3}},
        {839, 19, {855, 17, 33, 518, 37, 30, 55, 5, 52, 20, 106, 445, 163, 470, 677, 67, 622, 99, 3}},
        {1047, 18, {50, 724, 17, 42, 7, 207, 5, 13, 784, 12, 45, 925, 6, 69, 33, 73, 22, 3}},
        {1256, 28, {242, 248, 321, 251, 16,  35, 16, 16,  237, 69, 4,   131, 48, 64,
                    455, 41,  792, 8,   140, 12, 5,  137, 5,   50, 324, 5,   7,  3}},
        {1469, 29, {23, 321, 185, 24, 32, 15,  27, 413, 412, 147, 9,  32,  26, 315, 27,
                    22, 11,  623, 81, 6,  159, 49, 402, 8,   8,   36, 184, 5,  3}},
        {1686, 20, {67, 20, 28, 382, 7, 207, 5, 4, 73, 95, 290, 39, 234, 93, 633, 375, 39, 651, 117, 3}},
        {1898, 23, {126, 124, 275, 53, 16, 10,  7, 893, 14,  4,   87, 158,
                    15,  53,  117, 20, 45, 410, 5, 13,  137, 363, 3}},
        {2107, 19, {324, 5, 13, 105, 22, 79, 567, 20, 511, 18, 27, 99, 6, 9, 930, 12, 61, 7, 3}},
        {2321, 21, {965, 5,  385, 448, 99,  213, 390, 63,  936, 101, 7,
                    583, 40, 14,  45,  727, 5,   80,  131, 206, 3}},
        {2531, 21, {9,  110, 17, 7,  407, 481, 148, 6,   151, 108, 115,
                    67, 121, 10, 37, 16,  335, 42,  367, 18,  3}},
        {2591, 22, {10, 38,  14,  7,   353, 843, 6,   269, 9,  261, 49,
                    10, 121, 485, 100, 259, 11,  610, 44,  36, 20,  3}}, /* several paths have equal sums */
        {2753, 26, {9,  22,  518, 88, 16, 179, 12, 20, 65, 986, 35, 21,  57,
                    35, 194, 30,  15, 8,  933, 5,  27, 22, 11,  80, 114, 3}},
        {2966, 23, {75, 65, 353, 943, 6,  520, 97, 96, 22, 4, 166, 190,
                    18, 72, 656, 378, 24, 28,  21, 26, 66, 5, 3}},
        {3182, 23, {68, 48,  218, 18,  7,  934, 8,  86, 26,  253, 18, 216,
                    6,  300, 103, 931, 51, 18,  79, 30, 822, 5,   3}},
        {3392, 37, {45,  230, 5,  460, 16, 19,  26, 8,   14, 169, 156, 55, 196, 347, 16,  98,  51, 26, 21,
                    206, 390, 24, 245, 20, 163, 4,  156, 66, 56,  88,  19, 35,  8,   414, 132, 5,  3}},
        {3607, 23, {508, 249, 56, 146, 347, 238, 37,  16, 629, 7,  126, 13,
                    805, 41,  68, 53,  66,  31,  289, 12, 161, 11, 3}},
        {3830, 22, {330, 6,   344, 11,  29,  29,  131, 19,  92, 12, 71,
                    647, 115, 155, 150, 205, 345, 17,  127, 8,  6,  3}},
        {4067, 23, {191, 35, 319, 216, 6, 69, 557, 188, 8,  79, 70, 29,
                    56,  8,  109, 149, 8, 4,  837, 40,  24, 18, 3}},
    };
    struct vocabulary v;
    forge_tokenizer *tokenizer = open_test_model(&v);
    const char *path = test_data("tokenizers/sentencepiece/botchan.txt");
    if (!path)
        skip();
    char *all = test_read_file(path, NULL), *rest = all, *line;
    size_t number = 0, found = 0, count = sizeof lines / sizeof *lines;
    for (; (line = strsep(&rest, "\n")) && found < count; number++)
        if (number == lines[found].line) {
            expect(tokenizer, line, strlen(line), 0, lines[found].tokens, lines[found].count);
            found++;
        }
    assert_int_equal(found, count);
    free(all);
    forge_tokenizer_free(tokenizer);
    arena_free(&arena);
}

static void test_damaged_models_are_refused(void **state)
{
    (void)state;
    static const struct bytes wrong[] = {BYTES(""),
                                         BYTES("\x0a\x7f"),
                                         BYTES("\x0a"),
                                         BYTES("\x0b\x01"),
                                         BYTES("\x0a\x03\x0a\x05"
                                               "a"),
                                         BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
                                         BYTES("\x0a\x03\x0a\x01"
                                               "a\x12\x01\x18")};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct vocabulary v;
        FILE *file = fopen(scratch_path, "wb");
        fwrite(wrong[i].data, 1, wrong[i].size, file);
        fclose(file);
        assert_int_equal(sentencepiece_read(&arena, &v, scratch_path, &error), JOULE_INVALID);
        assert_contains(error.message, scratch_path);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_of_scores_is_highest),
        cmocka_unit_test(test_extra_spaces_are_removed),
        cmocka_unit_test(test_damaged_charsmaps_are_refused_or_have_no_effect),
        cmocka_unit_test(test_model_of_sentencepiece_is_read),
        cmocka_unit_test(test_texts_have_the_tokens_of_sentencepiece),
        cmocka_unit_test(test_lines_have_the_tokens_of_sentencepiece),
        cmocka_unit_test(test_damaged_models_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
