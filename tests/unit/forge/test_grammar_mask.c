/* Checks the masks of grammars. A mask allows exactly the tokens that the grammar accepts. Texts that are
 * generated with masks satisfy the schemas. */
#include <time.h>
#include "grammar_trial.h"

/* --- masks ---------------------------------------------------------------------------------------------- */

/* A vocabulary of all single bytes and of typical tokens. Token 0 has no bytes. */
enum { MAX_WORDS = 400 };
static struct bytes words[MAX_WORDS];
static size_t word_count;

static void make_words(void)
{
    static char bytes[256];
    static const char *const more[] = {"{\"",       "\":",
                                       "\": ",      "\",",
                                       "\", \"",    "\"}",
                                       "\"}]",      "}}",
                                       "]}",        "[]",
                                       "{}",        "[{",
                                       "},",        "},{",
                                       "true",      "false",
                                       "null",      "tr",
                                       "ue",        "\n",
                                       "\n  ",      "  ",
                                       "   ",       "12",
                                       "123",       "1.",
                                       ".5",        "e5",
                                       "1,",        "2]",
                                       "0}",        "\"a",
                                       "\"a\"",     "ab",
                                       "abc",       "bc\"",
                                       "a\":",      "\\u",
                                       "\\u00",     "\\n",
                                       "\\\"",      "00e9",
                                       "\xc3\xa9",  "\xe2\x82",
                                       "\xac",      "\xf0\x9f\x98\x80",
                                       "\"b\":",    "\"c\": [",
                                       "name",      "value",
                                       "\"x\"",     ", \"",
                                       ",\n ",      " \"",
                                       " {",        " [",
                                       " 1",        " true",
                                       "x\",\"y",   "\"\"",
                                       "\"\",",     "null,",
                                       "ll}",       "a",
                                       "a\"}",      "-1",
                                       "-",         "1e",
                                       "e+1",       "[[",
                                       "]]",        "]]]",
                                       "[[]",       "[1,2]",
                                       "{\"a\":1}", ":1,\""};
    word_count = 1;
    words[0] = (struct bytes){NULL, 0};
    for (size_t i = 0; i < 256; i++) {
        bytes[i] = (char)i;
        words[word_count++] = (struct bytes){&bytes[i], 1};
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        words[word_count++] = (struct bytes){more[i], strlen(more[i])};
    words[word_count++] = (struct bytes){"", 0};
}

static bool has_bit(const uint32_t *mask, size_t i)
{
    return mask[i / 32] >> i % 32 & 1;
}

/* Checks that the mask allows exactly the tokens that the state accepts. */
static void expect_mask(const struct grammar *grammar, const struct grammar_state *s, const uint32_t *mask,
                        const char *schema, const char *text)
{
    static struct grammar_state after;
    for (size_t i = 0; i < word_count; i++) {
        after = *s;
        bool is_allowed = words[i].size > 0 && grammar_accept(grammar, &after, words[i].data, words[i].size);
        if (is_allowed != has_bit(mask, i))
            fail_msg("%s: after %s: token %zu '%.*s': mask %d", schema, text, i, (int)words[i].size,
                     words[i].data, !is_allowed);
    }
}

/* Returns a random allowed token. After a while, prefers tokens that end the text. */
static size_t choose_token(const uint32_t *mask, size_t step)
{
    size_t allowed[MAX_WORDS], count = 0;
    static const char ends[] = "\"}]1ntf"; /* '}' may be within a string */
    if (step > 60 || chance() < .25)
        for (const char *end = ends; *end; end++)
            if (has_bit(mask, 1 + (size_t)*end))
                return 1 + (size_t)*end;
    for (size_t i = 0; i < word_count; i++)
        if (has_bit(mask, i) && (words[i].size > 1 || chance() < .2))
            allowed[count++] = i;
    if (count == 0)
        for (size_t i = 0; i < word_count; i++)
            if (has_bit(mask, i))
                allowed[count++] = i;
    return allowed[(size_t)(chance() * (double)count)];
}

/* Generates a text of random tokens that the masks allow. Returns its size; 0: the text became too long. */
static size_t generate(struct grammar_cache *cache, const struct grammar *grammar, const char *schema,
                       char *out, size_t size)
{
    static struct grammar_state s, copy;
    uint32_t mask[(MAX_WORDS + 31) / 32];
    size_t length = 0;
    grammar_begin(grammar, &s);
    for (size_t step = 0;; step++) {
        out[length] = '\0';
        bool is_any = grammar_mask(cache, &s, mask);
        if (step < 40)
            expect_mask(grammar, &s, mask, schema, out);
        if (grammar_is_complete(&s) && (!is_any || chance() < .7))
            return length;
        if (!is_any)
            fail_msg("%s: no token after %s", schema, out);
        size_t token = choose_token(mask, step);
        if (length + words[token].size + 1 > size)
            return 0;
        copy = s;
        assert_true(grammar_accept(grammar, &s, words[token].data, words[token].size));
        if (chance() < .2) { /* tests a rejected draft: the state is restored */
            s = copy;
            assert_true(grammar_accept(grammar, &s, words[token].data, words[token].size));
        }
        memcpy(out + length, words[token].data, words[token].size);
        length += words[token].size;
    }
}

/* Generates `count` texts from a schema, and checks that they are valid. Returns how many were complete. */
static size_t expect_generated(const char *schema, size_t count)
{
    static char text[6000];
    struct grammar *grammar = compile(schema);
    struct token_trie *trie = NULL;
    struct grammar_cache *cache = NULL;
    size_t complete = 0;
    assert_ok(token_trie_new(words, word_count, &trie, &error), &error);
    assert_ok(grammar_cache_new(grammar, trie, &cache, &error), &error);
    for (size_t i = 0; i < count; i++) {
        struct arena arena = {0};
        size_t size = generate(cache, grammar, schema, text, sizeof text);
        if (size > 0) {
            const struct json_value *root = parse(&arena, schema, strlen(schema)),
                                    *value = parse(&arena, text, size);
            if (!is_valid(root, root, value))
                fail_msg("%s: is not satisfied by %.*s", schema, (int)size, text);
            complete++;
        }
        arena_free(&arena);
    }
    grammar_cache_free(cache);
    token_trie_free(trie);
    grammar_free(grammar);
    return complete;
}

static void test_generated_texts_satisfy_their_schemas(void **state)
{
    (void)state;
    static const char *const schemas[] = {
        "{}",
        "{\"type\":\"object\"}",
        "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}",
        "{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"string\"},\"c\":{\"type\":\"array\","
        "\"items\":"
        "{\"type\":\"string\",\"maxLength\":3},\"minItems\":1,\"maxItems\":3}},\"required\":[\"b\"]}",
        "{\"anyOf\":[{\"type\":\"null\"},{\"properties\":{\"a\":{\"$ref\":\"#\"},\"b\":{\"$ref\":\"#\"}},"
        "\"required\":"
        "[\"a\"]},{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}]}",
        "{\"properties\":{\"a\":{\"enum\":[\"a\",\"ab\",1,12,true]},\"ab\":{\"type\":[\"null\",\"boolean\","
        "\"string\"],"
        "\"minLength\":2}},\"additionalProperties\":{\"type\":\"integer\"},\"required\":[\"ab\"]}",
        "{\"anyOf\":[{\"properties\":{\"a\":{\"const\":1},\"x\":{}},\"required\":[\"x\"]},{\"properties\":{"
        "\"a\":{\"const\":"
        "12},\"abc\":{\"type\":\"integer\"}},\"required\":[\"a\",\"abc\"]}]}"};
    chance_state = CHANCE_SEED;
    make_words();
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        assert_true(expect_generated(schemas[i], 60) >= 50);
}

/* --- random schemas ------------------------------------------------------------------------------------- */

enum { TEXT_SIZE = 100000 };

static char *allocate_text(void)
{
    char *text = calloc(TEXT_SIZE, 1);
    assert_non_null(text);
    return text;
}

static void add(char *text, const char *part)
{
    assert_true(strlen(text) + strlen(part) < TEXT_SIZE);
    strcat(text, part);
}

/* Appends optional white space. */
static void add_space(char *text)
{
    static const char *const spaces[] = {"", "", " ", "\n", "\n    "};
    add(text, spaces[(size_t)(chance() * 5)]);
}

static void add_schema(char *schema, char *document, int depth);

static void add_array(char *schema, char *document, int depth)
{
    size_t min = (size_t)(chance() * 4), count = min + (size_t)(chance() * 3);
    char limits[100], *item = allocate_text();
    snprintf(limits, sizeof limits, "{\"type\":\"array\",\"minItems\":%zu,\"maxItems\":%zu,\"items\":", min,
             min + 2);
    add(schema, limits);
    add_schema(schema, item, depth - 1);
    add(schema, "}");
    add(document, "[");
    for (size_t i = 0; i < count; i++) {
        add_space(document);
        add(document, item);
        add(document, i + 1 < count ? "," : "");
    }
    add_space(document);
    add(document, "]");
    free(item);
}

static void add_alternatives(char *schema, char *document, int depth)
{
    size_t count = (size_t)(chance() * 4), chosen = (size_t)(chance() * (double)(count + 1));
    add(schema, "{\"anyOf\":[{\"type\":\"null\"}");
    if (chosen == count)
        add(document, "null");
    for (size_t i = 0; i < count; i++) {
        char *other = allocate_text();
        add(schema, ",");
        add_schema(schema, i == chosen ? document : other, depth - 1);
        free(other);
    }
    add(schema, "]}");
}

/* Appends a member to a document. */
static void add_member(char *document, bool *is_first, const char *name, const char *value)
{
    add(document, *is_first ? "" : ",");
    add_space(document);
    add(document, "\"");
    add(document, name);
    add(document, "\":");
    add_space(document);
    add(document, value);
    *is_first = false;
}

static void add_object(char *schema, char *document, int depth)
{
    static const char *const names[] = {"a", "ab", "abc", "\xc3\xa9"};
    size_t count = (size_t)(chance() * 5);
    bool is_first = true;
    char *value = allocate_text();
    add(schema, "{\"type\":\"object\",\"properties\":{");
    add(document, "{");
    for (size_t i = 0; i < count; i++) {
        add(schema, i ? ",\"" : "\"");
        add(schema, names[i]);
        add(schema, "\":");
        value[0] = '\0';
        add_schema(schema, value, depth - 1);
        if (i == 1 || chance() < .5)
            add_member(document, &is_first, names[i], value);
    }
    add(schema, "},\"required\":[");
    add(schema, count > 1 ? "\"ab\"]" : "]");
    if (chance() < .5) {
        add(schema, ",\"additionalProperties\":");
        value[0] = '\0';
        add_schema(schema, value, depth - 1);
        add_member(document, &is_first, "abcd", value);
        add_member(document, &is_first, "\xc3\xa8", value);
    }
    add(schema, "}");
    add_space(document);
    add(document, "}");
    free(value);
}

/* Appends a random schema, and a document that satisfies it. */
static void add_schema(char *schema, char *document, int depth)
{
    static const struct {
        const char *schema, *document;
    } simple[] = {{"{\"type\":\"integer\"}", "-12"},
                  {"{\"type\":\"string\"}", "\"a\\n\xe2\x82\xac\""},
                  {"{\"type\":[\"null\",\"boolean\"]}", "true"},
                  {"{\"enum\":[\"a\",\"abc\",5,null]}", "\"abc\""},
                  {"{\"type\":\"string\",\"minLength\":1,\"maxLength\":4}", "\"\\u00e9\xc3\xa9\""},
                  {"true", "[{\"x\": [\"\"]}, 1.5e3]"},
                  {"{\"const\":{\"a\":[1]}}", "{\"a\":[1]}"},
                  {"{\"type\":\"number\"}", "0.25"}};
    size_t i = (size_t)(chance() * 8);
    double kind = chance();
    if (depth == 0 || kind < .2) {
        add(schema, simple[i].schema);
        add(document, simple[i].document);
    } else if (kind < .4) {
        add_array(schema, document, depth);
    } else if (kind < .6) {
        add_alternatives(schema, document, depth);
    } else {
        add_object(schema, document, depth);
    }
}

/* Changes one byte of the document at a time. If the grammar accepts the changed document, it must satisfy
 * the schema. Returns the number of changed documents that were accepted. */
static size_t expect_sound(const struct grammar *grammar, const char *schema, const char *document)
{
    size_t size = strlen(document), accepted = 0;
    char *changed = allocate_text();
    for (int trial = 0; trial < 50; trial++) {
        struct arena arena = {0};
        size_t at = (size_t)(chance() * (double)size), other = (size_t)(chance() * (double)size);
        memcpy(changed, document, size + 1);
        changed[at] = chance() < .5 ? document[other] : "{}[]\",:1a n"[(size_t)(chance() * 11)];
        if (accepts(grammar, changed, size)) {
            const struct json_value *root = parse(&arena, schema, strlen(schema));
            if (!is_valid(root, root, parse(&arena, changed, size)))
                fail_msg("%s accepts %s", schema, changed);
            accepted++;
        }
        arena_free(&arena);
    }
    free(changed);
    return accepted;
}

static void test_random_documents_are_accepted(void **state)
{
    (void)state;
    size_t accepted = 0;
    chance_state = CHANCE_SEED + 2;
    for (int trial = 0; trial < 400; trial++) {
        char *schema = allocate_text(), *document = allocate_text();
        struct arena arena = {0};
        add_schema(schema, document, 4);
        struct grammar *grammar = compile(schema);
        const struct json_value *root = parse(&arena, schema, strlen(schema));
        assert_true(is_valid(root, root, parse(&arena, document, strlen(document))));
        if (!accepts(grammar, document, strlen(document)))
            fail_msg("%s does not accept %s", schema, document);
        accepted += expect_sound(grammar, schema, document);
        grammar_free(grammar);
        arena_free(&arena);
        free(schema);
        free(document);
    }
    assert_true(accepted > 1000); /* enough changed documents were checked */
}

static void test_random_schemas_give_valid_texts(void **state)
{
    (void)state;
    char *schema = allocate_text(), *document = allocate_text();
    size_t complete = 0;
    chance_state = CHANCE_SEED + 1;
    make_words();
    for (int trial = 0; trial < 100; trial++) {
        schema[0] = document[0] = '\0';
        add_schema(schema, document, 4);
        complete += expect_generated(schema, 5);
    }
    free(schema);
    free(document);
    assert_true(complete > 400);
}

/* --- speed ---------------------------------------------------------------------------------------------- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Prints the time per mask with a vocabulary of 32000 tokens. The test does not check the time. */
static void test_large_vocabulary_is_handled(void **state)
{
    (void)state;
    enum { COUNT = 32000 };
    static struct bytes tokens[COUNT];
    static char storage[COUNT][12];
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
                                 "\"age\":{\"type\":\"integer\"},\"tags\":"
                                 "{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"note\":{\"type\":"
                                 "\"string\",\"maxLength\":100},\"any\":{}}}";
    static const char text[] =
        "{\"name\": \"Ada Lovelace, \\\"countess\\\"\", \"age\": 36, \"tags\": [\"one\", \"two\"], "
        "\"note\": \"a text of some length\", \"any\": {\"x\": [1, 2.5, {\"y\": null}]}}";
    static struct grammar_state s;
    uint32_t mask[COUNT / 32];
    chance_state = CHANCE_SEED;
    make_words();
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = 0, letters = 1 + (size_t)(chance() * 9);
        if (chance() < .4)
            storage[i][size++] = ' ';
        while (size < letters)
            storage[i][size++] = (char)(chance() < .02 ? "\",:}]{[\n"[(size_t)(chance() * 8)]
                                                       : 'a' + (int)(26 * chance() * chance()));
        tokens[i] = i < word_count ? words[i] : (struct bytes){storage[i], size};
    }
    struct grammar *grammar = compile(schema);
    struct token_trie *trie = NULL;
    struct grammar_cache *cache = NULL;
    double begin = now_ms();
    assert_ok(token_trie_new(tokens, COUNT, &trie, &error), &error);
    assert_ok(grammar_cache_new(grammar, trie, &cache, &error), &error);
    print_message("trie: %.2f ms\n", now_ms() - begin);
    for (int round = 0; round < 2; round++) {
        double worst = 0, total = 0;
        grammar_begin(grammar, &s);
        for (size_t i = 0; i < sizeof text - 1; i++) {
            begin = now_ms();
            assert_true(grammar_mask(cache, &s, mask));
            double elapsed = now_ms() - begin;
            worst = fmax(worst, elapsed);
            total += elapsed;
            assert_true(has_bit(mask, 1 + (size_t)(unsigned char)text[i]));
            assert_true(grammar_accept_byte(grammar, &s, (uint8_t)text[i]));
        }
        print_message("round %d: mean %.4f ms, worst %.3f ms\n", round, total / (double)(sizeof text - 1),
                      worst);
    }
    assert_true(grammar_is_complete(&s));
    grammar_cache_free(cache);
    token_trie_free(trie);
    grammar_free(grammar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated_texts_satisfy_their_schemas),
        cmocka_unit_test(test_random_documents_are_accepted),
        cmocka_unit_test(test_random_schemas_give_valid_texts),
        cmocka_unit_test(test_large_vocabulary_is_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
