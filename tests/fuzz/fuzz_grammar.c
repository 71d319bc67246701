/* Fuzz target: JSON schemas as grammars. A schema is compiled, or rejected with one message. Checks that a
 * text that the grammar allows is JSON and has no dead end, and that masks agree with the grammar. */
#include <stdint.h>
#include <string.h>
#include "base/json.h"
#include "forge/infer/grammar/grammar.h"
#include "require.h"

enum { MAX_STEPS = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {"{\"", "\":",  "\",",  "\"}", "}}",  "]}", "[]", "{}",
                                    "[[",  "true", "null", "12",  "a\"", " ",  "\n "};
enum { WORDS = sizeof words / sizeof *words, TOKENS = 256 + WORDS };
static char bytes[256];
static struct bytes tokens[TOKENS];

static struct token_trie *make_trie(void)
{
    struct token_trie *trie = NULL;
    for (size_t i = 0; i < 256; i++) {
        bytes[i] = (char)i;
        tokens[i] = (struct bytes){&bytes[i], 1};
    }
    for (size_t i = 0; i < WORDS; i++)
        tokens[256 + i] = (struct bytes){words[i], strlen(words[i])};
    require(token_trie_new(tokens, TOKENS, &trie, NULL) == JOULE_OK);
    return trie;
}

static bool has_bit(const uint32_t *mask, size_t i)
{
    return mask[i / 32] >> i % 32 & 1;
}

/* Requires that the mask has exactly the tokens that the state accepts. */
static void check_mask(const struct grammar *grammar, const struct grammar_state *state, const uint32_t *mask)
{
    static struct grammar_state after;
    if (state->thread_count > GRAMMAR_MAX_THREADS / 8)
        return; /* threads may be dropped */
    for (size_t i = 0; i < TOKENS; i++) {
        after = *state;
        bool is_allowed = grammar_accept(grammar, &after, tokens[i].data, tokens[i].size);
        require(is_allowed == has_bit(mask, i) || after.thread_count > GRAMMAR_MAX_THREADS / 8);
    }
}

/* Returns an allowed token, chosen by a byte of the input. The order makes texts end early. */
static size_t choose(const uint32_t *mask, uint8_t choice)
{
    static const char ends[] = "\"}]1ntf";
    if (choice < 128)
        for (const char *end = ends; *end; end++)
            if (has_bit(mask, (uint8_t)*end))
                return (uint8_t)*end;
    for (size_t i = 0; i < TOKENS; i++)
        if (has_bit(mask, (i + choice) % TOKENS))
            return (i + choice) % TOKENS;
    return 0;
}

static void check_text(char *text, size_t size)
{
    struct arena arena = {0};
    require(json_parse(&arena, text, size, "text", NULL) != NULL);
    arena_free(&arena);
}

static void generate(const struct grammar *grammar, const struct token_trie *trie, const uint8_t *data,
                     size_t size)
{
    static struct grammar_state state;
    static char text[MAX_STEPS * 8];
    size_t length = 0;
    struct grammar_cache *cache = NULL;
    uint32_t mask[(TOKENS + 31) / 32];
    require(grammar_cache_new(grammar, trie, &cache, NULL) == JOULE_OK);
    grammar_begin(grammar, &state);
    for (size_t step = 0; step < MAX_STEPS; step++) {
        bool is_any = grammar_mask(cache, &state, mask);
        require(is_any || grammar_is_complete(&state));
        if (step < 20)
            check_mask(grammar, &state, mask);
        if (grammar_is_complete(&state)) {
            check_text(text, length);
            break;
        }
        size_t token = choose(mask, data[step % size]);
        if (!grammar_accept(grammar, &state, tokens[token].data, tokens[token].size))
            break; /* threads were dropped */
        memcpy(text + length, tokens[token].data, tokens[token].size);
        length += tokens[token].size;
    }
    grammar_cache_free(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct token_trie *trie;
    struct grammar *grammar = NULL;
    joule_error error = {0};
    if (!trie)
        trie = make_trie();
    joule_status status = grammar_new((const char *)data, size, &grammar, &error);
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    require(error.status == status && (status == JOULE_OK) == (grammar != NULL));
    require((status == JOULE_OK) == (error.message[0] == '\0'));
    if (grammar)
        generate(grammar, trie, data, size);
    grammar_free(grammar);
    return 0;
}
