/* Fuzz target: texts, as tokens of small fixed vocabularies of each kind. Checks that text becomes the same
 * text again, that a stream gives valid UTF-8, and that numbers of tokens agree. The first byte chooses
 * vocabulary and flags. */
#include <string.h>
#include "base/string.h"
#include "forge/infer/tokenizer/tokenizer.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MARK SPACE_MARK
enum { WORDS = 16, COUNT = 256 + WORDS };
static struct bytes tokens[3][COUNT];
static char byte_names[2][256][8];
static float scores[COUNT];
static uint8_t types[COUNT];
static const char *const words[2][WORDS] = {{MARK, "a", "b", "ab", "ba", MARK "a", "aba", "<x>", "<xy>",
                                             "<end>", "<unk>", "bb", MARK MARK, "b" MARK, "\xc3\xa9", "aa"},
                                            {"ab", "ba", "aba",
                                             "\xc4\xa0"
                                             "a",
                                             "\xc4\xa0\xc4\xa0", "bb", "aa", "<x>", "<xy>", "<end>", "<unk>",
                                             "aaaa", "abab", "1a", "\xc3\x83\xc2\xa9", "zz"}};
static struct bytes merges[] = {
    {"a b", 3}, {"b a", 3}, {"ab a", 4},  {"\xc4\xa0 a", 4}, {"\xc4\xa0 \xc4\xa0", 5},
    {"b b", 3}, {"a a", 3}, {"aa aa", 5}, {"ab ab", 5},      {"\xc3\x83 \xc2\xa9", 5}};

static struct bytes bytes_of(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

/* Writes the character that stands for a byte in byte-level BPE. */
static void write_character(int byte, char *out)
{
    int other = byte < 33 ? byte : byte < 161 ? byte - 127 + 33 : 67;
    bool is_self = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    int character = is_self ? byte : 256 + other;
    if (character < 128)
        *out++ = (char)character;
    else {
        *out++ = (char)(0xc0 | character >> 6);
        *out++ = (char)(0x80 | (character & 63));
    }
    *out = '\0';
}

static void fill(void)
{
    for (int i = 0; i < 256; i++) {
        static const char digits[] = "0123456789ABCDEF";
        memcpy(byte_names[0][i], "<0x00>", 7);
        byte_names[0][i][3] = digits[i / 16];
        byte_names[0][i][4] = digits[i % 16];
        write_character(i, byte_names[1][i]);
        tokens[0][i] = tokens[2][i] = bytes_of(byte_names[0][i]);
        tokens[1][i] = bytes_of(byte_names[1][i]);
    }
    for (int i = 0; i < WORDS; i++) {
        tokens[0][256 + i] = tokens[2][256 + i] = bytes_of(words[0][i]);
        tokens[1][256 + i] = bytes_of(words[1][i]);
        scores[256 + i] = -(float)(i * 7 % 5) - 1;
    }
}

static forge_tokenizer *open_kind(enum vocabulary_kind kind)
{
    static struct vocabulary vocabularies[3];
    static uint8_t own_types[3][COUNT];
    struct vocabulary *v = &vocabularies[kind];
    forge_tokenizer *tokenizer = NULL;
    bool is_bpe = kind == VOCABULARY_BPE;
    fill();
    for (int i = 0; i < COUNT; i++) {
        struct bytes token = tokens[kind][i];
        types[i] = i < 256 ? (is_bpe ? TOKEN_NORMAL : TOKEN_BYTE) : TOKEN_NORMAL;
        if (i >= 256 && token.data[0] == '<')
            types[i] = strcmp(token.data, "<unk>") == 0   ? TOKEN_UNKNOWN
                       : strcmp(token.data, "<end>") == 0 ? TOKEN_CONTROL
                                                          : TOKEN_USER_DEFINED;
    }
    memcpy(own_types[kind], types, sizeof types);
    *v = (struct vocabulary){.kind = kind,
                             .count = COUNT,
                             .tokens = tokens[kind],
                             .scores = scores,
                             .types = own_types[kind],
                             .merges = is_bpe ? merges : NULL,
                             .merge_count = is_bpe ? sizeof merges / sizeof *merges : 0,
                             .pre = is_bpe ? "llama-bpe" : NULL,
                             .bos = -1,
                             .eos = -1,
                             .eot = -1,
                             .unknown = 266,
                             .padding = -1,
                             .adds_space_prefix = true};
    joule_error error = {0};
    joule_status status = tokenizer_new(v, &tokenizer, &error);
    require(status == JOULE_OK || strstr(error.message, "libpcre2-dev"));
    return tokenizer;
}

/* Checks that the tokens, one by one, give valid UTF-8, which is the text if that is valid. */
static void check_stream(const forge_tokenizer *tokenizer, const int32_t *ids, size_t count, const char *text,
                         size_t size)
{
    forge_text_stream stream = {0};
    char *out = malloc(3 * size + 3 + forge_tokenizer_max_text(tokenizer));
    size_t written = 0, valid = 0, length;
    for (size_t i = 0; i < count; i++) {
        size_t added = forge_text_stream_add(&stream, tokenizer, ids[i], out + written);
        require(added <= forge_tokenizer_max_text(tokenizer));
        written += added;
    }
    written += forge_text_stream_end(&stream, out + written);
    for (size_t i = 0; i < written; i += length)
        require((length = string_utf8_length(out + i, written - i)) > 0);
    while (valid < size && (length = string_utf8_length(text + valid, size - valid)) > 0)
        valid += length;
    require(valid < size || (written == size && memcmp(out, text, size) == 0));
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static forge_tokenizer *tokenizers[3];
    static bool is_open;
    for (int i = 0; i < 3 && !is_open; i++)
        tokenizers[i] = open_kind((enum vocabulary_kind)i);
    is_open = true;
    const forge_tokenizer *tokenizer = size ? tokenizers[data[0] % 3] : NULL;
    if (!tokenizer)
        return 0;
    uint32_t flags = data[0] >> 6;
    const char *text = (const char *)data + 1;
    size_t count, again, max = 3 * size + 8;
    int32_t *ids = malloc(max * sizeof *ids);
    char *back = malloc(4 * size + 16);
    size--;
    require(forge_tokenize(tokenizer, text, size, flags, ids, max, &count, NULL) == JOULE_OK && count <= max);
    require(forge_tokenize(tokenizer, text, size, flags, NULL, 0, &again, NULL) == JOULE_OK &&
            count == again);
    for (size_t i = 0; i < count; i++)
        require(ids[i] >= 0 && (size_t)ids[i] < forge_tokenizer_count(tokenizer));
    bool is_changed = tokenizer->vocabulary->kind == VOCABULARY_UNIGRAM ||
                      memmem(text, size, MARK, strlen(MARK)) || (flags & FORGE_TOKENIZE_READ_CONTROL) ||
                      memmem(text, size, "<x", 2);
    /* U+2581 becomes a space, and a space is added after special tokens. */
    if (!is_changed) {
        require(forge_detokenize(tokenizer, ids, count, 0, back, 4 * size + 16) == size);
        require(memcmp(back, text, size) == 0);
        check_stream(tokenizer, ids, count, text, size);
    }
    free(ids);
    free(back);
    return 0;
}
