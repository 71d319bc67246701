/* Checks that text becomes the tokens that the reference programs give, and becomes the same text again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "support/tokenizer_trial.h"
#include "support/vocabularies.h" /* small_spm */

/* --- SentencePiece BPE ---------------------------------------------------------------------------------- */

static void test_pair_with_highest_score_is_merged_first(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = make(&small_spm);
    EXPECT(tokenizer, "ab", 0, 6);
    EXPECT(tokenizer, "bab", 0, 7, 5); /* of pairs with equal scores, the leftmost is merged first */
    EXPECT(tokenizer, "aba", 0, 12);
    EXPECT(tokenizer, " ab", 0, 3, 6);
    EXPECT(tokenizer, " aa", 0, 8, 4);
    EXPECT(tokenizer, SPACE_MARK "aa", 0, 8, 4);
    forge_tokenizer_free(tokenizer);
}

static void test_special_tokens_are_read_longest_first(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = make(&small_spm);
    EXPECT(tokenizer, "a<x>b", 0, 4, 9, 5);
    EXPECT(tokenizer, "a<x><y><x>", 0, 4, 10, 9);
    EXPECT(tokenizer, "a<z>b", 0, 4, 0, 5);
    EXPECT(tokenizer, "a<z>b", FORGE_TOKENIZE_READ_CONTROL, 4, 11, 5);
    EXPECT(tokenizer, "</s>", FORGE_TOKENIZE_ADD_ENDS, 1, 0, 2);
    EXPECT(tokenizer, "", FORGE_TOKENIZE_ADD_ENDS, 1, 2);
    forge_tokenizer_free(tokenizer);
}

static void test_bytes_without_a_token_become_one_unknown_token(void **state)
{
    (void)state;
    struct vocabulary without = small_spm;
    size_t count;
    without.unknown = -1;
    forge_tokenizer *tokenizer = make(&small_spm), *strict = make(&without);
    EXPECT(tokenizer, "A", 0, 13);
    EXPECT(tokenizer, "aQ\xffQb", 0, 4, 0, 5);
    assert_int_equal(forge_tokenize(strict, "Q", 1, 0, NULL, 0, &count, &error), JOULE_INVALID);
    assert_contains(error.message, "0x51");
    forge_tokenizer_free(strict);
    forge_tokenizer_free(tokenizer);
}

static void test_wrong_vocabularies_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        const char *part;
    } ids[] = {{offsetof(struct vocabulary, bos), "BOS"},
               {offsetof(struct vocabulary, eos), "EOS"},
               {offsetof(struct vocabulary, eot), "EOT"},
               {offsetof(struct vocabulary, unknown), "unknown"},
               {offsetof(struct vocabulary, padding), "padding"}};
    forge_tokenizer *tokenizer = NULL;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct vocabulary wrong = small_spm;
        memcpy((char *)&wrong + ids[i].offset, &(int32_t){SMALL_SPM}, sizeof(int32_t));
        assert_int_equal(tokenizer_new(&wrong, &tokenizer, &error), JOULE_INVALID);
        assert_contains(error.message, ids[i].part);
    }
    struct vocabulary wrong = small_spm;
    wrong.scores = NULL;
    assert_int_equal(tokenizer_new(&wrong, &tokenizer, &error), JOULE_INVALID);
    wrong = small_spm;
    wrong.count = 0;
    assert_int_equal(tokenizer_new(&wrong, &tokenizer, &error), JOULE_INVALID);
    struct bytes long_tokens[SMALL_SPM];
    static char long_text[TOKENIZER_MAX_TOKEN + 1];
    memcpy(long_tokens, small_spm.tokens, sizeof long_tokens);
    long_tokens[5] = (struct bytes){long_text, sizeof long_text};
    wrong = small_spm;
    wrong.tokens = long_tokens;
    assert_int_equal(tokenizer_new(&wrong, &tokenizer, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "token 5");
    assert_null(tokenizer);
}

static void test_wrong_arguments_are_refused(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = make(&small_spm);
    size_t count;
    assert_int_equal(forge_tokenize(NULL, "", 0, 0, NULL, 0, &count, &error), JOULE_INVALID);
    assert_int_equal(forge_tokenize(tokenizer, NULL, 1, 0, NULL, 0, &count, &error), JOULE_INVALID);
    assert_int_equal(forge_tokenize(tokenizer, "", 0, 0, NULL, 1, &count, &error), JOULE_INVALID);
    assert_int_equal(forge_tokenize(tokenizer, "", 0, 0, NULL, 0, NULL, &error), JOULE_INVALID);
    assert_int_equal(forge_tokenize(tokenizer, "", 0, 4, NULL, 0, &count, &error), JOULE_UNSUPPORTED);
    assert_int_equal(
        forge_tokenize(tokenizer, "", (size_t)TOKENIZER_MAX_TEXT + 1, 0, NULL, 0, &count, &error),
        JOULE_INVALID);
    assert_int_equal(forge_tokenize(tokenizer, "abab", 4, 0, tokens, 1, &count, &error), JOULE_OK);
    assert_int_equal(count, 2);
    forge_tokenizer_free(tokenizer);
    forge_tokenizer_free(NULL);
}

static void test_queries_state_the_vocabulary(void **state)
{
    (void)state;
    struct vocabulary v = small_spm;
    v.eot = 11;
    v.chat_template = "{{x}}";
    forge_tokenizer *tokenizer = make(&v);
    assert_int_equal(forge_tokenizer_count(tokenizer), SMALL_SPM);
    assert_int_equal(forge_tokenizer_bos(tokenizer), 1);
    assert_int_equal(forge_tokenizer_eos(tokenizer), 2);
    assert_true(forge_token_is_end(tokenizer, 2) && forge_token_is_end(tokenizer, 11));
    assert_false(forge_token_is_end(tokenizer, 1) || forge_token_is_end(tokenizer, -1));
    assert_int_equal(forge_token_find(tokenizer, "<x><y>"), 10);
    assert_int_equal(forge_token_find(tokenizer, SPACE_MARK "a"), 8);
    assert_int_equal(forge_token_find(tokenizer, "<x"), -1);
    assert_string_equal(forge_tokenizer_chat_template(tokenizer), "{{x}}");
    forge_tokenizer_free(tokenizer);
}

/* --- decoding ------------------------------------------------------------------------------------------- */

static void test_added_space_and_control_tokens_are_left_out(void **state)
{
    (void)state;
    struct vocabulary v = small_spm;
    char text[64];
    v.adds_space_prefix = true;
    forge_tokenizer *tokenizer = make(&v);
    const int32_t ids[] = {1, 8, 8, 11, -5, 13, SMALL_SPM, 0, 2};
    size_t count = sizeof ids / sizeof *ids;
    EXPECT(tokenizer, "a<x>a", 0, 8, 9, 8);
    assert_int_equal(forge_detokenize(tokenizer, ids, count, 0, text, sizeof text), 4);
    assert_memory_equal(text, "a aA", 4);
    assert_int_equal(forge_detokenize(tokenizer, ids, count, FORGE_DETOKENIZE_CONTINUE, text, sizeof text),
                     5);
    assert_memory_equal(text, " a aA", 5);
    size_t size = forge_detokenize(tokenizer, ids, count, FORGE_DETOKENIZE_CONTROL, text, sizeof text);
    assert_int_equal(size, strlen("<s> a a<z>A<unk></s>"));
    assert_memory_equal(text, "<s> a a<z>A<unk></s>", size);
    assert_int_equal(forge_detokenize(tokenizer, ids, count, 0, NULL, 0), 4);
    assert_int_equal(forge_detokenize(tokenizer, ids, count, 0, text, 2), 4);
    forge_tokenizer_free(tokenizer);
}

static void test_stream_replaces_invalid_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"a\xc3", "a\xef\xbf\xbd"},
                 {"\xc3\xa9", "\xc3\xa9"},
                 {"\xc3z", "\xef\xbf\xbdz"},
                 {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xe0\x9f\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xe2\x82\xe2\x82\xac", "\xef\xbf\xbd\xe2\x82\xac"},
                 {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                 {"\xf0\x9f\x98", "\xef\xbf\xbd"},
                 {"\xf4\x90", "\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}};
    static char names[256][8], out[400];
    struct bytes bytes[257] = {[256] = BYTES(SPACE_MARK)};
    float scores[257] = {0};
    uint8_t types[257] = {[256] = TOKEN_NORMAL};
    for (int i = 0; i < 256; i++) {
        snprintf(names[i], sizeof names[i], "<0x%02X>", i);
        bytes[i] = (struct bytes){names[i], 6};
        types[i] = TOKEN_BYTE;
    }
    struct vocabulary v = small_spm;
    v.count = 257;
    v.adds_bos = v.adds_eos = false;
    v.tokens = bytes;
    v.scores = scores;
    v.types = types;
    forge_tokenizer *tokenizer = make(&v);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count = encode(tokenizer, cases[i].bytes, strlen(cases[i].bytes), 0);
        size_t size = decode_stream(tokenizer, tokens, count, out);
        assert_int_equal(size, strlen(cases[i].text));
        assert_memory_equal(out, cases[i].text, size);
    }
    check_round_trips(tokenizer);
    forge_tokenizer_free(tokenizer);
}

/* --- stories260K's tokenizer ---------------------------------------------------------------------------- */

static struct arena arena;

static forge_tokenizer *open_tok512(struct vocabulary *out)
{
    const char *path = test_data("llm/tok512.bin");
    if (!path)
        skip();
    *out = read_tokenizer_bin(&arena, path);
    assert_int_equal(out->count, 512);
    return make(out);
}

/* Reads a line 'prompt N "TEXT" tokens ID ID ...'. Returns false for other lines. */
static bool parse_prompt(char *line, const char **out_text, int32_t *ids, size_t *out_count)
{
    char *begin = strchr(line, '"'), *end = strstr(line, "\" tokens ");
    if (strncmp(line, "prompt ", 7) != 0 || !begin || !end)
        return false;
    *end = '\0';
    *out_text = begin + 1;
    *out_count = 0;
    for (char *next, *at = end + strlen("\" tokens ");; at = next) {
        long id = strtol(at, &next, 10);
        if (next == at)
            return true;
        ids[(*out_count)++] = (int32_t)id;
    }
}

static void test_prompts_have_the_tokens_of_llama2c(void **state)
{
    (void)state;
    struct vocabulary v;
    forge_tokenizer *tokenizer = open_tok512(&v);
    const char *path = test_data("llm/reference_runs.txt"), *text;
    size_t prompts = 0, count;
    int32_t ids[256];
    if (!path)
        skip();
    char *all = test_read_file(path, NULL), *rest = all;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (parse_prompt(line, &text, ids, &count)) {
            expect(tokenizer, text, strlen(text), FORGE_TOKENIZE_ADD_ENDS, ids, count);
            prompts++;
        }
    assert_true(prompts >= 5);
    free(all);
    check_round_trips(tokenizer);
    forge_tokenizer_free(tokenizer);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair_with_highest_score_is_merged_first),
        cmocka_unit_test(test_special_tokens_are_read_longest_first),
        cmocka_unit_test(test_bytes_without_a_token_become_one_unknown_token),
        cmocka_unit_test(test_wrong_vocabularies_are_refused),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test(test_queries_state_the_vocabulary),
        cmocka_unit_test(test_added_space_and_control_tokens_are_left_out),
        cmocka_unit_test(test_stream_replaces_invalid_bytes),
        cmocka_unit_test(test_prompts_have_the_tokens_of_llama2c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
