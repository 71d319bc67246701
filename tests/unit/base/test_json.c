/* Tests JSON trees: which texts are valid, and the results of queries. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"

struct parsed {
    struct arena arena;
    char text[8192];
    joule_error error;
    const struct json_value *root;
};

static const struct json_value *parse_bytes(struct parsed *p, const char *bytes, size_t size)
{
    *p = (struct parsed){.root = NULL};
    assert_true(size < sizeof p->text);
    memcpy(p->text, bytes, size);
    p->text[size] = 'x'; /* the parser must stop at `size` */
    p->root = json_parse(&p->arena, p->text, size, "tool", &p->error);
    assert_int_equal(p->root == NULL, p->error.status != JOULE_OK);
    return p->root;
}

static const struct json_value *parse(struct parsed *p, const char *text)
{
    return parse_bytes(p, text, strlen(text));
}

static void expect_broken(const char *text, const char *message)
{
    struct parsed p;
    if (parse(&p, text))
        fail_msg("taken: %s", text);
    assert_int_equal(p.error.status, JOULE_INVALID);
    if (!strstr(p.error.message, message))
        fail_msg("%s: says '%s', not '%s'", text, p.error.message, message);
    arena_free(&p.arena);
}

static void expect_number(const char *text, double number)
{
    struct parsed p;
    double value = json_double_of(parse(&p, text));
    if (isnan(number) ? !isnan(value) : value != number)
        fail_msg("%s: %g, not %g", text, value, number);
    arena_free(&p.arena);
}

static void test_tree_is_read(void **state)
{
    struct parsed p;
    (void)state;
    const struct json_value *root = parse(
        &p,
        " {\"card0\" : {\"power\":[1, -2.5e1,\"3\"],\"on\":true,\"off\":false,\"none\":null},\n\"empty\":{},"
        "\"list\":[]}\t");
    assert_int_equal(root->kind, JSON_OBJECT);
    const struct json_value *card = json_member(root, "card0"), *power = json_member(card, "power");
    assert_int_equal(power->kind, JSON_ARRAY);
    assert_string_equal(power->name, "power");
    assert_true(json_double_of(power->first) == 1);
    assert_true(json_double_of(power->first->next) == -25);
    assert_true(json_double_of(power->first->next->next) == 3);
    assert_null(power->first->next->next->next);
    assert_null(power->first->name);
    assert_int_equal(json_member(card, "on")->kind, JSON_TRUE);
    assert_int_equal(json_member(card, "off")->kind, JSON_FALSE);
    assert_int_equal(json_member(card, "none")->kind, JSON_NULL);
    assert_null(json_member(root, "empty")->first);
    assert_null(json_member(root, "list")->first);
    assert_null(json_member(root, "card1"));
    arena_free(&p.arena);
}

static void test_scalars_are_texts(void **state)
{
    struct parsed p;
    (void)state;
    assert_int_equal(parse(&p, "null")->kind, JSON_NULL);
    arena_free(&p.arena);
    assert_string_equal(json_text_of(parse(&p, " \"a\" ")), "a");
    arena_free(&p.arena);
    assert_string_equal(json_text_of(parse(&p, "\"\"")), "");
    arena_free(&p.arena);
}

static void test_escapes_of_strings_are_decoded(void **state)
{
    struct parsed p;
    (void)state;
    assert_string_equal(
        json_text_of(parse(&p, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\"")),
        "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    arena_free(&p.arena);
    assert_string_equal(json_text_of(parse(&p, "\"\xc2\xb0\x43 \xe2\x82\xac\"")),
                        "\xc2\xb0\x43 \xe2\x82\xac");
    arena_free(&p.arena);
    static const char *const broken[] = {"\"\\ud800\"",  "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\u12g4\"",
                                         "\"\\x\"",      "\"\\u0000\"",        "\"a\nb\"",    "\"\xff\"",
                                         "\"\xc0\x80\"", "\"\xed\xa0\x80\"",   "\"\\u123\"",  "\"\x01\""};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        expect_broken(broken[i], "invalid character in a string");
    expect_broken("\"no end", "unterminated string");
    expect_broken("\"no end\\", "invalid character");
    assert_null(parse_bytes(&p, "\"a\0b\"", 5));
    arena_free(&p.arena);
}

static void test_numbers_are_read_and_checked(void **state)
{
    (void)state;
    static const char *const broken[] = {"-", "1.", "1.e5", "1e", "1e+", "--1", "-a"};
    expect_number("0", 0);
    expect_number("-0.0", 0);
    expect_number("49.5", 49.5);
    expect_number("1E+3", 1000);
    expect_number("25e-1", 2.5);
    expect_number("1e999", NAN); /* the number is valid JSON, but out of the range of double */
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        expect_broken(broken[i], "invalid number");
    expect_broken("01", "where the end is expected");
    expect_broken("0x10", "where the end is expected");
    expect_broken("+1", "where a value is expected");
    expect_broken(".5", "where a value is expected");
    expect_broken("NaN", "where a value is expected");
}

/* The locale has a decimal comma. If it is not installed, setlocale() has no effect. */
static void test_numbers_in_another_locale(void **state)
{
    (void)state;
    setlocale(LC_ALL, "de_DE.UTF-8");
    expect_number("[1,5]", NAN);
    expect_number("1.5", 1.5);
    setlocale(LC_ALL, "C");
}

static void test_numbers_in_strings_are_read(void **state)
{
    struct parsed p;
    uint64_t whole = 7;
    (void)state;
    expect_number("\"49.0\"", 49);
    expect_number("\" 12 \"", 12);
    expect_number("{\"value\":10,\"unit\":\"W\"}", 10);
    expect_number("{\"value\":\"10.5\",\"unit\":\"W\"}", 10.5);
    static const char *const none[] = {"\"N/A\"",
                                       "\"\"",
                                       "\"1 W\"",
                                       "\"nan\"",
                                       "\"inf\"",
                                       "\"0x10\"",
                                       "null",
                                       "true",
                                       "[1]",
                                       "{\"unit\":\"W\"}",
                                       "{\"value\":\"N/A\"}",
                                       "{\"value\":{\"value\":1}}"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        expect_number(none[i], NAN);

    assert_true(json_u64_of(parse(&p, "18446744073709551615"), &whole) && whole == UINT64_MAX);
    arena_free(&p.arena);
    static const char *const not_whole[] = {"18446744073709551616", "-1", "1.0", "1e3", "\"N/A\"", "null"};
    for (size_t i = 0; i < sizeof not_whole / sizeof not_whole[0]; i++) {
        assert_false(json_u64_of(parse(&p, not_whole[i]), &whole));
        arena_free(&p.arena);
    }
    assert_true(whole == UINT64_MAX);
}

static void test_broken_texts_are_refused_with_their_byte(void **state)
{
    (void)state;
    expect_broken("", "tool: byte 0: the text ends where a value is expected");
    expect_broken("  ", "byte 2");
    expect_broken("{", "ends where");
    expect_broken("[1,]", "']' where a value is expected");
    expect_broken("{\"a\":1,}", "'}' where a string is expected");
    expect_broken("{a:1}", "'a' where a string is expected");
    expect_broken("{\"a\" 1}", "'1' where ':' is expected");
    expect_broken("{\"a\":}", "'}' where a value is expected");
    expect_broken("[1 2]", "',' or ']'");
    expect_broken("[1}", "',' or ']'");
    expect_broken("tru", "where a value is expected");
    expect_broken("truer", "where the end is expected");
    expect_broken("{} {}", "where the end is expected");
    expect_broken("WARNING: x\n{}", "byte 0: 'W' where a value is expected");
}

static void test_names_given_twice(void **state)
{
    struct parsed p;
    (void)state;
    const struct json_value *root = parse(&p, "{\"a\":1,\"b\":2,\"a\":3}");
    assert_null(json_member(root, "a"));
    assert_true(json_double_of(json_member(root, "b")) == 2);
    arena_free(&p.arena);
}

static void test_depth_is_limited(void **state)
{
    char text[4 * JSON_MAX_DEPTH] = "";
    struct parsed p;
    (void)state;
    memset(text, '[', JSON_MAX_DEPTH);
    memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    assert_non_null(parse(&p, text));
    arena_free(&p.arena);
    memset(text, '[', JSON_MAX_DEPTH + 1);
    expect_broken(text, "deeper than 64");
}

static void test_queries_of_missing_values_are_harmless(void **state)
{
    struct parsed p;
    uint64_t whole;
    (void)state;
    assert_null(json_member(NULL, "a"));
    assert_null(json_text_of(NULL));
    assert_true(isnan(json_double_of(NULL)));
    assert_false(json_u64_of(NULL, &whole));
    const struct json_value *list = parse(&p, "[{\"a\":1}]");
    assert_null(json_member(list, "a"));
    assert_null(json_text_of(list));
    assert_true(isnan(json_double_of(json_member(json_member(list, "x"), "y"))));
    arena_free(&p.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_is_read),
        cmocka_unit_test(test_scalars_are_texts),
        cmocka_unit_test(test_escapes_of_strings_are_decoded),
        cmocka_unit_test(test_numbers_are_read_and_checked),
        cmocka_unit_test(test_numbers_in_another_locale),
        cmocka_unit_test(test_numbers_in_strings_are_read),
        cmocka_unit_test(test_broken_texts_are_refused_with_their_byte),
        cmocka_unit_test(test_names_given_twice),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_queries_of_missing_values_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
