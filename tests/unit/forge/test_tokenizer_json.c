/* Checks that a tokenizer.json is read as Hugging Face's library reads it. A file is refused if it has a step
 * that this version does not support. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "support/scratch.h"
#include "support/tokenizer_trial.h"

#define LLAMA3                                                                                               \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}|"                    \
    " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define SPLIT(pattern)                                                                                       \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" pattern        \
    "\"},\"behavior\":\"Isolated\",\"invert\":false},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"    \
    "\"use_regex\":false}]}"
#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"
#define ADDED                                                                                                \
    "[{\"id\":7,\"content\":\"<|end|>\",\"special\":true},{\"id\":8,\"content\":\"<t>\",\"special\":false}]"
#define BPE_MODEL(flags, merges)                                                                             \
    "{\"type\":\"BPE\"," flags "\"vocab\":{\"a\":0,\"b\":1,\"1\":2,\"2\":3,\"12\":4,\"\xc4\xa0\":5,"         \
    "\"ab1\":6,\"ab\":9},\"merges\":" merges "}"
#define BPE_FILE(pre, flags, merges)                                                                         \
    "{\"version\":\"1.0\",\"added_tokens\":" ADDED ",\"normalizer\":null,\"pre_tokenizer\":" pre             \
    ",\"post_processor\":null,\"model\":" BPE_MODEL(flags, merges) "}"

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static forge_tokenizer *open_text(const char *text)
{
    forge_tokenizer *tokenizer = NULL;
    write_text(scratch_path, text);
    if (forge_tokenizer_open(scratch_path, &tokenizer, &error) == JOULE_OK)
        return tokenizer;
    if (strstr(error.message, "libpcre2-dev")) {
        puts("this build has no PCRE2");
        skip();
    }
    fail_msg("%s", error.message);
    return NULL;
}

static void expect_status(const char *text, joule_status status, const char *part)
{
    forge_tokenizer *tokenizer = NULL;
    memset(&error, 0, sizeof error);
    write_text(scratch_path, text);
    joule_status is = forge_tokenizer_open(scratch_path, &tokenizer, &error);
    if (is != status)
        fail_msg("%s: status %d: %s", text, is, error.message);
    assert_null(tokenizer);
    assert_contains(error.message, part);
    assert_contains(error.message, scratch_path);
}

/* --- byte-level BPE ------------------------------------------------------------------------------------- */

static void test_merges_are_texts_or_pairs(void **state)
{
    (void)state;
    forge_tokenizer *texts = open_text(BPE_FILE(BYTE_LEVEL, "", "[\"a b\",\"1 2\"]"));
    forge_tokenizer *pairs = open_text(BPE_FILE(BYTE_LEVEL, "", "[[\"a\",\"b\"],[\"1\",\"2\"]]"));
    EXPECT(texts, "ab 12", 0, 9, 5, 4);
    EXPECT(pairs, "ab 12", 0, 9, 5, 4);
    EXPECT(pairs, "a<t>b<|end|>", FORGE_TOKENIZE_READ_CONTROL, 0, 8, 1, 7);
    assert_int_equal(forge_tokenizer_count(pairs), 10);
    assert_true(forge_token_is_end(pairs, 7));
    forge_tokenizer_free(texts);
    forge_tokenizer_free(pairs);
}

static void test_patterns_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *text, *pre;
        bool ignores_merges;
    } files[] = {{BPE_FILE(BYTE_LEVEL, "", "[]"), "gpt-2", false},
                 {BPE_FILE(SPLIT(LLAMA3), "\"ignore_merges\":true,", "[]"), "llama-bpe", true},
                 {BPE_FILE(SPLIT(LLAMA3), "\"ignore_merges\":false,", "[]"), "dbrx", false},
                 {BPE_FILE("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\","
                           "\"individual_digits\":true}," BYTE_LEVEL "]}",
                           "", "[]"),
                  "starcoder", false}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        forge_tokenizer *tokenizer = open_text(files[i].text);
        assert_string_equal(tokenizer->vocabulary->pre, files[i].pre);
        assert_int_equal(tokenizer->vocabulary->ignores_merges, files[i].ignores_merges);
        forge_tokenizer_free(tokenizer);
    }
}

static void test_other_steps_are_refused(void **state)
{
    (void)state;
    expect_status(BPE_FILE(SPLIT("\\\\w+"), "", "[]"), JOULE_UNSUPPORTED, "unknown pattern '\\w+'");
    expect_status(BPE_FILE("{\"type\":\"Whitespace\"}", "", "[]"), JOULE_UNSUPPORTED, "'Whitespace'");
    expect_status(BPE_FILE("null", "", "[]"), JOULE_UNSUPPORTED, "ByteLevel");
    expect_status(BPE_FILE("{\"type\":\"ByteLevel\",\"add_prefix_space\":true}", "", "[]"), JOULE_UNSUPPORTED,
                  "'ByteLevel'");
    expect_status(BPE_FILE(BYTE_LEVEL, "\"end_of_word_suffix\":\"</w>\",", "[]"), JOULE_UNSUPPORTED,
                  "end_of_word_suffix");
    expect_status("{\"normalizer\":{\"type\":\"Lowercase\"},\"pre_tokenizer\":" BYTE_LEVEL
                  ",\"model\":" BPE_MODEL("", "[]") "}",
                  JOULE_UNSUPPORTED, "normalizer 'Lowercase'");
    expect_status("{\"pre_tokenizer\":" BYTE_LEVEL
                  ",\"post_processor\":{\"type\":\"RobertaProcessing\"},\"model\":" BPE_MODEL("", "[]") "}",
                  JOULE_UNSUPPORTED, "'RobertaProcessing'");
    expect_status("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", JOULE_UNSUPPORTED, "'WordPiece'");
}

static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    expect_status("{\"a\":1", JOULE_INVALID, "byte");
    expect_status("{\"a\":1}", JOULE_INVALID, "model is missing");
    expect_status(BPE_FILE(BYTE_LEVEL, "", "[\"a b\",[\"a\"]]"), JOULE_INVALID, "merge 1");
    expect_status(BPE_FILE(BYTE_LEVEL, "", "[[\"a\",\"b\",\"b\"]]"), JOULE_INVALID, "merge 0");
    expect_status(BPE_FILE(BYTE_LEVEL, "", "[\"b a\"]"), JOULE_INVALID, "merge 0 (b a)");
    expect_status(BPE_FILE(BYTE_LEVEL, "", "{}"), JOULE_INVALID, "merges");
#define WITH(model) "{\"pre_tokenizer\":" BYTE_LEVEL ",\"model\":" model "}"
    expect_status(WITH("{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}"), JOULE_INVALID,
                  "two tokens have the number 0");
    expect_status(WITH("{\"type\":\"BPE\",\"vocab\":{\"a\":2000000000},\"merges\":[]}"), JOULE_INVALID,
                  "the highest id, 2000000000");
    expect_status(WITH("{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}"), JOULE_INVALID,
                  "'a' has no number");
    expect_status(WITH("{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}"), JOULE_INVALID, "0 tokens");
    expect_status("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0],[\"b\"]]}}", JOULE_INVALID,
                  "token 1");
    expect_status("{\"added_tokens\":[{\"id\":0,\"content\":\"x\"}],\"pre_tokenizer\":" BYTE_LEVEL
                  ",\"model\":" BPE_MODEL("", "[]") "}",
                  JOULE_INVALID, "token 0 is 'x' here, but 'a' in vocab");
}

/* --- SentencePiece -------------------------------------------------------------------------------------- */

#define MARK "\xe2\x96\x81"
#define SPM_FILE(normalizer, pre)                                                                            \
    "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\",\"special\":true},{\"id\":1,\"content\":\"<s>\","    \
    "\"special\":true}],\"normalizer\":" normalizer ",\"pre_tokenizer\":" pre                                \
    ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},"  \
    "{\"Sequence\":{\"id\":\"A\"}}]},\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"unk_token\":"      \
    "\"<unk>\",\"vocab\":{\"<unk>\":0,\"<s>\":1,\"<0x41>\":2,\"" MARK "\":3,\"a\":4,\"b\":5,\"" MARK         \
    "a\":6,\"ab\":7},\"merges\":[[\"a\",\"b\"],[\"" MARK "\",\"a\"]]}}"
#define LLAMA2_NORMALIZER                                                                                    \
    "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"" MARK                      \
    "\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" MARK "\"}]}"
#define METASPACE(scheme)                                                                                    \
    "{\"type\":\"Metaspace\",\"replacement\":\"" MARK "\",\"prepend_scheme\":\"" scheme "\"}"

static void test_merges_of_sentencepiece_are_ordered(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = open_text(SPM_FILE(LLAMA2_NORMALIZER, "null"));
    EXPECT(tokenizer, "ab", FORGE_TOKENIZE_ADD_ENDS, 1, 3, 7); /* "ab" has a lower rank than " a" */
    EXPECT(tokenizer, " aAz", 0, 3, 6, 2, 0);
    EXPECT(tokenizer, "a<s>a", FORGE_TOKENIZE_READ_CONTROL, 6, 1, 6);
    assert_int_equal(forge_tokenizer_bos(tokenizer), 1);
    assert_int_equal(forge_tokenizer_eos(tokenizer), -1);
    forge_tokenizer_free(tokenizer);
}

static void test_space_is_added_as_the_file_states(void **state)
{
    (void)state;
    forge_tokenizer *first = open_text(SPM_FILE("null", METASPACE("first")));
    forge_tokenizer *always = open_text(SPM_FILE("null", METASPACE("always")));
    forge_tokenizer *never = open_text(SPM_FILE("null", METASPACE("never")));
    EXPECT(first, "a<s>a", FORGE_TOKENIZE_READ_CONTROL, 6, 1, 4);
    EXPECT(always, "a<s>a", FORGE_TOKENIZE_READ_CONTROL, 6, 1, 6);
    EXPECT(always, " a", 0, 6);
    EXPECT(never, "a a", 0, 4, 6);
    forge_tokenizer_free(first);
    forge_tokenizer_free(always);
    forge_tokenizer_free(never);
    expect_status(SPM_FILE("{\"type\":\"NFKC\"}", "null"), JOULE_UNSUPPORTED, "'NFKC'");
}

static void test_unigram_is_read(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = open_text(
        "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"}"
        "," METASPACE(
            "always") "]},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"" MARK
                      "\",-2.5],[\"a\",-3e0],[\"" MARK "a\",-4]]}}");
    EXPECT(tokenizer, "  a  az", 0, 3, 3, 0);
    forge_tokenizer_free(tokenizer);
    expect_status("{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AA*A\"},\"model\":{"
                  "\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]}}",
                  JOULE_INVALID, "base 64");
    expect_status(
        "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/wAAAA==\"},\"model\":{"
        "\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]}}",
        JOULE_INVALID, "precompiled_charsmap of 4 bytes");
}

/* --- tokenizer_config.json ------------------------------------------------------------------------------ */

static void test_config_in_the_folder_is_read(void **state)
{
    (void)state;
    char path[200];
    forge_tokenizer *tokenizer = NULL;
    snprintf(path, sizeof path, "%s/tokenizer_config.json", scratch_folder);
    write_text(path, "{\"add_bos_token\":false,\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":\"<unk>\","
                     "\"chat_template\":[{\"name\":\"tool\",\"template\":\"x\"},{\"name\":\"default\","
                     "\"template\":\"{{ y }}\"}]}");
    write_text(scratch_path, SPM_FILE(LLAMA2_NORMALIZER, "null"));
    joule_status status = forge_tokenizer_open(scratch_path, &tokenizer, &error);
    unlink(path);
    assert_int_equal(status, JOULE_OK);
    EXPECT(tokenizer, "a", FORGE_TOKENIZE_ADD_ENDS, 6);
    assert_int_equal(forge_tokenizer_bos(tokenizer), 1);
    assert_int_equal(forge_tokenizer_eos(tokenizer), 0);
    assert_string_equal(forge_tokenizer_chat_template(tokenizer), "{{ y }}");
    forge_tokenizer_free(tokenizer);
    write_text(path, "{\"eos_token\":\"<none>\"}");
    tokenizer = NULL;
    status = forge_tokenizer_open(scratch_path, &tokenizer, &error);
    unlink(path);
    assert_int_equal(status, JOULE_INVALID);
    assert_contains(error.message, "eos_token is '<none>'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merges_are_texts_or_pairs),
        cmocka_unit_test(test_patterns_are_recognised),
        cmocka_unit_test(test_other_steps_are_refused),
        cmocka_unit_test(test_damaged_files_are_refused),
        cmocka_unit_test(test_merges_of_sentencepiece_are_ordered),
        cmocka_unit_test(test_space_is_added_as_the_file_states),
        cmocka_unit_test(test_unigram_is_read),
        cmocka_unit_test(test_config_in_the_folder_is_read),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
