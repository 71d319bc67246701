/* Checks byte-level BPE: the pieces of each pre-tokenizer, the order of merges, and texts whose tokens other
 * programs computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "forge/infer/tokenizer/pretokenizer.h"
#include "support/tokenizer_trial.h"
#include "support/vocabularies.h" /* small_bpe */

/* --- pre-tokenizers ------------------------------------------------------------------------------------- */

static joule_status add_piece(void *context, const char *text, size_t size)
{
    struct text *joined = context;
    text_printf(joined, "[%.*s]", (int)size, text);
    return JOULE_OK;
}

/* Checks the pieces of a text: "[a][ b]". */
static void expect_pieces(const char *name, const char *text, const char *pieces)
{
    struct pretokenizer *pretokenizer = NULL;
    char buffer[400];
    struct text joined;
    joule_status status = pretokenizer_new(name, &pretokenizer, &error);
    if (status == JOULE_UNSUPPORTED && strstr(error.message, "libpcre2-dev")) {
        puts("this build has no PCRE2");
        skip();
    }
    assert_int_equal(status, JOULE_OK);
    struct pretokenizer_work *work = pretokenizer_work_new(pretokenizer);
    text_init(&joined, buffer, sizeof buffer);
    buffer[0] = '\0';
    assert_int_equal(pretokenizer_split(pretokenizer, work, text, strlen(text), add_piece, &joined, &error),
                     JOULE_OK);
    assert_string_equal(buffer, pieces);
    pretokenizer_work_free(work);
    pretokenizer_free(pretokenizer);
}

static void test_pieces_of_gpt2(void **state)
{
    (void)state;
    expect_pieces("gpt-2", "Hello, it's 1234  x\n\n y", "[Hello][,][ it]['s][ 1234][ ][ x][\n\n][ y]");
    expect_pieces(NULL, "IT'S   ", "[IT]['][S][   ]");
    expect_pieces("gpt-2", "a\xc2\xa0  b\xe3\x80\x80", "[a][\xc2\xa0 ][ b][\xe3\x80\x80]");
    expect_pieces("gpt-2", "", "");
}

static void test_pieces_of_llama3(void **state)
{
    (void)state;
    expect_pieces("llama-bpe", "IT'S 12345!\r\n x", "[IT]['S][ ][123][45][!\r\n][ x]");
    expect_pieces("llama-bpe", "(a  \n\n  b)", "[(a][  \n\n][ ][ b][)]");
    expect_pieces("llama-bpe", "x   ", "[x][   ]");
}

static void test_pieces_of_qwen2(void **state)
{
    (void)state;
    expect_pieces("qwen2", "a 123\xd9\xa3", "[a][ ][1][2][3][\xd9\xa3]");
}

static void test_pieces_of_starcoder(void **state)
{
    (void)state;
    expect_pieces("starcoder", "a  123 b's", "[a][  ][1][2][3][ b]['s]");
    expect_pieces("smollm", "x = 10", "[x][ =][ ][1][0]");
}

/* U+180E is not white space since Unicode 6.3, although PCRE2's \s contains it. U+0085 is white space. */
static void test_white_space_is_that_of_unicode(void **state)
{
    (void)state;
    expect_pieces("gpt-2", "\xe1\xa0\x8e!", "[\xe1\xa0\x8e!]");
    expect_pieces("gpt-2", "a\xc2\x85!", "[a][\xc2\x85][!]");
}

static void test_invalid_bytes_are_pieces(void **state)
{
    (void)state;
    expect_pieces("llama-bpe", "a\xff\xfe b\xc3", "[a][\xff\xfe][ b][\xc3]");
    expect_pieces("starcoder", "\xed\xa0\x80", "[\xed\xa0\x80]");
}

static void test_unknown_pretokenizer_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    struct pretokenizer *pretokenizer = NULL;
    assert_int_equal(pretokenizer_new("tekken", &pretokenizer, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "'tekken'");
    assert_contains(error.message, "gpt-2, llama-bpe, qwen2");
    assert_null(pretokenizer);
    assert_true(pretokenizer_ignores_merges("llama-bpe"));
    assert_false(pretokenizer_ignores_merges("qwen2") || pretokenizer_ignores_merges(NULL));
}

/* Long runs of one kind of character must not take quadratic time, or exhaust a stack of PCRE2. */
static void test_long_runs_are_split(void **state)
{
    (void)state;
    enum { LENGTH = 4000000 };
    static const char *const units[] = {"a", " ", "\n", "\xc3\xa9", "1", "!", "\xe3\x80\x80", " \n ", "'"};
    static const char *const pre[] = {"gpt-2", "llama-bpe", "qwen2", "starcoder"};
    char *text = malloc(LENGTH + 4);
    for (size_t k = 0; k < sizeof pre / sizeof *pre; k++) {
        struct pretokenizer *pretokenizer = NULL;
        if (pretokenizer_new(pre[k], &pretokenizer, &error) != JOULE_OK)
            skip();
        struct pretokenizer_work *work = pretokenizer_work_new(pretokenizer);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            size_t size = 0, length = strlen(units[i]);
            for (; size + length <= LENGTH; size += length)
                memcpy(text + size, units[i], length);
            struct text counted = {0};
            if (pretokenizer_split(pretokenizer, work, text, size, add_piece, &counted, &error) != JOULE_OK)
                fail_msg("%s, unit %zu: %s", pre[k], i, error.message);
            assert_true(counted.length > size);
        }
        pretokenizer_work_free(work);
        pretokenizer_free(pretokenizer);
    }
    free(text);
}

/* --- a small vocabulary --------------------------------------------------------------------------------- */

static forge_tokenizer *make_or_skip(const struct vocabulary *vocabulary)
{
    forge_tokenizer *tokenizer = NULL;
    if (tokenizer_new(vocabulary, &tokenizer, &error) != JOULE_OK) {
        puts(error.message);
        if (strstr(error.message, "libpcre2-dev"))
            skip();
        fail();
    }
    return tokenizer;
}

static void test_merge_of_lowest_rank_is_first(void **state)
{
    (void)state;
    struct vocabulary v = small_bpe;
    forge_tokenizer *tokenizer = make_or_skip(&small_bpe);
    EXPECT(tokenizer, "ab", 0, 4);
    EXPECT(tokenizer, "abc", 0, 6);
    EXPECT(tokenizer, "cabab", 0, 2, 4, 4);
    EXPECT(tokenizer, "a abc", 0, 0, 7, 5);
    EXPECT(tokenizer, "cab", 0, 2, 4);
    EXPECT(tokenizer, "a<x>", FORGE_TOKENIZE_READ_CONTROL, 0, 8);
    forge_tokenizer_free(tokenizer);
    v.ignores_merges = true;
    tokenizer = make_or_skip(&v);
    EXPECT(tokenizer, "cab", 0, 9);
    EXPECT(tokenizer, "cabc", 0, 2, 6);
    forge_tokenizer_free(tokenizer);
}

/* Some vocabularies contain U+200D both as a character and as three bytes. Merges result in the token of
 * bytes. */
static void test_merges_result_in_tokens_of_bytes(void **state)
{
    (void)state;
    static struct bytes zwj_tokens[] = {BYTES("\xe2\x80\x8d"),     BYTES("\xc3\xa2"),
                                        BYTES("\xc4\xa2"),         BYTES("\xc4\xaf"),
                                        BYTES("\xc3\xa2\xc4\xa2"), BYTES("\xc3\xa2\xc4\xa2\xc4\xaf")};
    static uint8_t zwj_types[] = {1, 1, 1, 1, 1, 1};
    static struct bytes zwj_merges[] = {BYTES("\xc3\xa2 \xc4\xa2"), BYTES("\xc3\xa2\xc4\xa2 \xc4\xaf"),
                                        BYTES("\xe2\x80\x8d \xc4\xaf")};
    struct vocabulary v = small_bpe;
    v.tokens = zwj_tokens;
    v.types = zwj_types;
    v.count = sizeof zwj_tokens / sizeof *zwj_tokens;
    v.merges = zwj_merges;
    v.merge_count = sizeof zwj_merges / sizeof *zwj_merges;
    v.eos = -1;
    forge_tokenizer *tokenizer = make_or_skip(&v);
    EXPECT(tokenizer, "\xe2\x80\x8d", 0, 5);
    forge_tokenizer_free(tokenizer);
}

static void test_tokens_stand_for_bytes(void **state)
{
    (void)state;
    char text[8];
    const int32_t ids[] = {7, 10, 8};
    forge_tokenizer *tokenizer = make_or_skip(&small_bpe);
    assert_int_equal(forge_detokenize(tokenizer, ids, 3, 0, text, sizeof text), 3);
    assert_memory_equal(text, " a\0", 3);
    assert_int_equal(forge_token_find(tokenizer, "\xc4\xa0"
                                                 "a"),
                     7);
    forge_tokenizer_free(tokenizer);
}

static void test_wrong_merges_are_refused(void **state)
{
    (void)state;
    static struct bytes wrong[] = {BYTES("ab"), BYTES("a d"), BYTES("c c"), BYTES(""), BYTES(" ")};
    forge_tokenizer *tokenizer = NULL;
    forge_tokenizer_free(make_or_skip(&small_bpe));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct vocabulary v = small_bpe;
        v.merges = &wrong[i];
        v.merge_count = 1;
        assert_int_equal(tokenizer_new(&v, &tokenizer, &error), JOULE_INVALID);
        assert_contains(error.message, "merge 0");
    }
    assert_null(tokenizer);
}

/* --- files ---------------------------------------------------------------------------------------------- */

static void test_gpt2_gives_the_tokens_of_llama_cpp(void **state)
{
    (void)state;
    struct arena arena = {.block_size = 1 << 20};
    struct vocabulary v;
    if (!read_gpt2(&arena, &v))
        skip();
    assert_int_equal(v.count, 50257);
    assert_int_equal(v.merge_count, 50000);
    forge_tokenizer *tokenizer = make_or_skip(&v);
    check_vectors(tokenizer, "ggml-vocab-gpt-2.gguf");
    check_round_trips(tokenizer);
    forge_tokenizer_free(tokenizer);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_of_gpt2),
        cmocka_unit_test(test_pieces_of_llama3),
        cmocka_unit_test(test_pieces_of_qwen2),
        cmocka_unit_test(test_pieces_of_starcoder),
        cmocka_unit_test(test_white_space_is_that_of_unicode),
        cmocka_unit_test(test_invalid_bytes_are_pieces),
        cmocka_unit_test(test_unknown_pretokenizer_is_refused_with_the_known_ones),
        cmocka_unit_test(test_long_runs_are_split),
        cmocka_unit_test(test_merge_of_lowest_rank_is_first),
        cmocka_unit_test(test_merges_result_in_tokens_of_bytes),
        cmocka_unit_test(test_tokens_stand_for_bytes),
        cmocka_unit_test(test_wrong_merges_are_refused),
        cmocka_unit_test(test_gpt2_gives_the_tokens_of_llama_cpp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
