/* Fuzz target: JSON. Checks that any bytes give either a tree or one error message. If a tree is written as
 * text and read again, the result must be the same tree. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "base/json.h"
#include "base/json_writer.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes a value with the library's writer. Note: the recursion is limited, because the reader refuses values
 * that are nested too deeply. */
static void write(struct text *out, const struct json_value *value)
{
    static const char *const words[] = {"null", "false", "true"};
    bool is_object = value->kind == JSON_OBJECT;
    if (value->kind <= JSON_TRUE) {
        text_add(out, words[value->kind]);
    } else if (value->kind == JSON_NUMBER) {
        text_add(out, value->text);
    } else if (value->kind == JSON_STRING) {
        json_quote(out, value->text, strlen(value->text));
    } else {
        text_add(out, is_object ? "{" : "[");
        for (const struct json_value *item = value->first; item; item = item->next) {
            if (item->name) {
                json_quote(out, item->name, strlen(item->name));
                text_add(out, ":");
            }
            write(out, item);
            text_add(out, item->next ? "," : "");
        }
        text_add(out, is_object ? "}" : "]");
    }
}

static char *written(const struct json_value *value, size_t *out_size)
{
    struct text text;
    text_init(&text, NULL, 0);
    write(&text, value);
    char *bytes = malloc(text.length + 1);
    require(bytes != NULL);
    *out_size = text.length;
    text_init(&text, bytes, *out_size + 1);
    write(&text, value);
    return bytes;
}

/* Checks that every query returns a valid result, and that the kinds of items match their brackets. */
static void check(const struct json_value *value)
{
    uint64_t whole;
    double number = json_double_of(value);
    require(!isinf(number));
    require(!json_u64_of(value, &whole) || (double)whole == number);
    require((json_text_of(value) != NULL) == (value->kind == JSON_STRING));
    for (const struct json_value *item = value->first; item; item = item->next) {
        require((item->name != NULL) == (value->kind == JSON_OBJECT));
        const struct json_value *found = item->name ? json_member(value, item->name) : NULL;
        require(!found || found == item);
        check(item);
    }
}

static const struct json_value *parse(struct arena *arena, char *bytes, size_t size)
{
    joule_error error = {0};
    const struct json_value *root = json_parse(arena, bytes, size, "fuzz", &error);
    require((root != NULL) == (error.status == JOULE_OK));
    require(root || error.status == JOULE_INVALID);
    return root;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    char *bytes = malloc(size ? size : 1); /* exact size, so that sanitizers detect reads beyond the end */
    require(bytes != NULL);
    memcpy(bytes, data, size);
    const struct json_value *root = parse(&arena, bytes, size);
    if (root) {
        size_t first_size, second_size;
        check(root);
        char *first = written(root, &first_size), *copy = malloc(first_size);
        require(copy != NULL);
        memcpy(copy, first, first_size);
        const struct json_value *again = parse(&arena, copy, first_size);
        require(again != NULL);
        char *second = written(again, &second_size);
        require(second_size == first_size && memcmp(first, second, first_size) == 0);
        free(first);
        free(copy);
        free(second);
    }
    arena_free(&arena);
    free(bytes);
    return 0;
}
