/* Checks that added tokens of a tokenizer.json are found as Hugging Face's library finds them: with the white
 * space around them (lstrip, rstrip), as whole words (single_word), and in normalized text (normalized).
 *
 * The expected tokens are in added_tokens_expected.h; make_added_tokens.py writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/string.h"
#include "forge/infer/tokenizer/characters.h"
#include "support/scratch.h"
#include "support/tokenizer_trial.h"
#include "unit/forge/added_tokens_expected.h" /* cases, TEXTS */

static forge_tokenizer *open_text(const char *text)
{
    forge_tokenizer *tokenizer = NULL;
    FILE *file = fopen(scratch_path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    if (forge_tokenizer_open(scratch_path, &tokenizer, &error) == JOULE_OK)
        return tokenizer;
    if (strstr(error.message, "libpcre2-dev"))
        return NULL;
    fail_msg("%s", error.message);
    return NULL;
}

static void test_added_tokens_are_found_as_in_hugging_face(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forge_tokenizer *tokenizer = open_text(cases[i].file);
        if (!tokenizer) {
            printf("skipped: %s: this build has no PCRE2\n", cases[i].name);
            continue;
        }
        print_message("%s\n", cases[i].name);
        for (size_t k = 0; k < TEXTS; k++)
            expect(tokenizer, cases[i].texts[k].text, strlen(cases[i].texts[k].text),
                   FORGE_TOKENIZE_READ_CONTROL, cases[i].texts[k].tokens, cases[i].texts[k].count);
        forge_tokenizer_free(tokenizer);
    }
}

/* Spaces that a control token would include remain, if control tokens are not read. */
static void test_control_tokens_that_are_not_read_include_no_space(void **state)
{
    (void)state;
    const size_t llama = 2;
    assert_string_equal(cases[llama].name, "Llama 2");
    forge_tokenizer *tokenizer = open_text(cases[llama].file);
    char text[64];
    size_t count = encode(tokenizer, "a  <l>  <r>  a", 14, 0);
    size_t size = forge_detokenize(tokenizer, tokens, count, 0, text, sizeof text);
    assert_int_equal(size, 14);
    assert_memory_equal(text, "a  <l>  <r>  a", 14);
    forge_tokenizer_free(tokenizer);
}

/* Searching takes linear time, also if each character of a long run is a token that includes the run. */
static void test_long_runs_of_white_space_are_measured_once(void **state)
{
    (void)state;
    enum { SIZE = 4000000 };
    static char text[SIZE];
    const size_t llama = 3;
    assert_string_equal(cases[llama].name, "Llama 2 with spaces as tokens");
    forge_tokenizer *tokenizer = open_text(cases[llama].file);
    memset(text, '\n', sizeof text);
    size_t count;
    assert_ok(forge_tokenize(tokenizer, text, SIZE, 0, NULL, 0, &count, &error), &error);
    assert_int_equal(count, 1);
    forge_tokenizer_free(tokenizer);
}

/* --- characters ----------------------------------------------------------------------------------------- */

static void test_characters_have_the_properties_of_unicode(void **state)
{
    (void)state;
    static const uint32_t words[] = {'0',   'Z',    '_',    'a',    0xaa,   0xe9,  0x300,
                                     0x660, 0x200c, 0x203f, 0x2160, 0x24b6, 0x4e2d};
    static const uint32_t others[] = {0,      ' ',    '-',    0xa0,    0xb2,     0xd7,      0x200b,
                                      0x2581, 0x3000, 0xfffd, 0x1f600, 0x10ffff, UINT32_MAX};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_true(character_is_word(words[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(character_is_word(others[i]));
    size_t count = 0;
    for (uint32_t i = 0; i < 0x110000; i++)
        count += character_is_white(i);
    assert_int_equal(count, 25);
    assert_true(character_is_white(0x85) && character_is_white(0x2009) && !character_is_white(0x180e));
}

static void test_characters_are_read_from_both_ends(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t character;
    } texts[] = {{"a", 'a'}, {"\xc3\xa9", 0xe9}, {"\xe4\xb8\xad", 0x4e2d}, {"\xf0\x9f\x98\x80", 0x1f600}};
    uint32_t character;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t size = strlen(texts[i].text);
        assert_int_equal(string_utf8_read(texts[i].text, size, &character), size);
        assert_int_equal(character, texts[i].character);
        assert_int_equal(character_read_last(texts[i].text, size, &character), size);
        assert_int_equal(character, texts[i].character);
        assert_int_equal(string_utf8_read(texts[i].text, size - 1, &character), 0);
    }
    assert_int_equal(character_read_last("\xa9", 1, &character), 0);
    assert_true(character == UINT32_MAX);
    assert_int_equal(character_read_last("", 0, &character), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_added_tokens_are_found_as_in_hugging_face),
        cmocka_unit_test(test_control_tokens_that_are_not_read_include_no_space),
        cmocka_unit_test(test_long_runs_of_white_space_are_measured_once),
        cmocka_unit_test(test_characters_have_the_properties_of_unicode),
        cmocka_unit_test(test_characters_are_read_from_both_ends),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
