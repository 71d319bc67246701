/* Checks grammars of JSON schemas: which texts they accept, and which schemas are rejected. */
#include "grammar_alternatives.h"
#include "grammar_trial.h"

/* Checks texts that a schema (NULL: any object) accepts and rejects; both lists end with NULL. */
static void expect_texts(const char *schema, const char *const *valid, const char *const *invalid)
{
    struct grammar *grammar = compile(schema);
    for (; *valid; valid++)
        if (!accepts(grammar, *valid, strlen(*valid)))
            fail_msg("%s does not accept %s", schema ? schema : "object", *valid);
    for (; *invalid; invalid++)
        if (accepts(grammar, *invalid, strlen(*invalid)))
            fail_msg("%s accepts %s", schema ? schema : "object", *invalid);
    grammar_free(grammar);
}
#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- texts ---------------------------------------------------------------------------------------------- */

static void test_any_value_is_accepted_by_an_empty_schema(void **state)
{
    (void)state;
    static const char *const valid[] = {"null",
                                        "true",
                                        "false",
                                        "0",
                                        "-0",
                                        "12.5",
                                        "-1e5",
                                        "1E+12",
                                        "9999999999999999",
                                        "\"\"",
                                        "\"a\\n\\u00e9\"",
                                        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
                                        "[]",
                                        "[ ]",
                                        "[1,2]",
                                        "[1, 2 ]",
                                        "[\n  1,\n  2\n]",
                                        "{}",
                                        "{\"a\":1}",
                                        "{\"a\": {\"b\":[true,{\"c\":null}]}, \"\":\"\"}",
                                        "{ \"a\": 1 }",
                                        "[[[[[[]]]]]]",
                                        NULL};
    static const char *const invalid[] = {"",
                                          " 1",
                                          "1 ",
                                          "nul",
                                          "nulll",
                                          "tru",
                                          "01",
                                          "1.",
                                          ".5",
                                          "-",
                                          "+1",
                                          "1e",
                                          "1e100",
                                          "12345678901234567",
                                          "\"",
                                          "\"a",
                                          "\"\n\"",
                                          "\"\\x\"",
                                          "\"\\u12\"",
                                          "\"\\u0000\"",
                                          "\"\\ud800\"",
                                          "\"\\udfff\"",
                                          "\"\xff\"",
                                          "\"\xc0\x80\"",
                                          "\"\xed\xa0\x80\"",
                                          "\"\xf4\x90\x80\x80\"",
                                          "\"\xe0\x80\x80\"",
                                          "[",
                                          "[,]",
                                          "[1,]",
                                          "[1 ,2]",
                                          "[  1]",
                                          "[\n\n1]",
                                          "{",
                                          "{,}",
                                          "{a:1}",
                                          "{\"a\"}",
                                          "{\"a\" :1}",
                                          "{\"a\":}",
                                          "{\"a\":1,}",
                                          "{\"a\":1}}",
                                          "{\"a\":1]",
                                          "'a'",
                                          "{1:2}",
                                          "[1 2]",
                                          NULL};
    expect_texts("{}", valid, invalid);
    expect_texts("true", valid, invalid);
    expect_texts("{\"title\":\"t\",\"description\":\"d\",\"default\":1,\"unknown\":[]}", valid, invalid);
}

static void test_any_object_is_accepted_without_a_schema(void **state)
{
    (void)state;
    expect_texts(NULL, TEXTS("{}", "{\"a\":[1,\"b\",{}]}", "{\"a\":1,\"a\":2}"),
                 TEXTS("[]", "1", "{\"a\":1", ""));
}

static void test_types_are_respected(void **state)
{
    (void)state;
    expect_texts("{\"type\":\"integer\"}", TEXTS("0", "-5", "1234567890123456"),
                 TEXTS("1.0", "1e3", "\"1\"", "01"));
    expect_texts("{\"type\":\"number\"}", TEXTS("0", "-5.25", "1e3"), TEXTS("null", "\"1\"", "[1]"));
    expect_texts("{\"type\":\"boolean\"}", TEXTS("true", "false"), TEXTS("null", "1", "truefalse"));
    expect_texts("{\"type\":\"null\"}", TEXTS("null"), TEXTS("true", "\"null\""));
    expect_texts("{\"type\":\"string\"}", TEXTS("\"\"", "\"x\\\"y\""), TEXTS("x", "null", "\"x\"y\""));
    expect_texts("{\"type\":\"array\"}", TEXTS("[]", "[1,\"a\",[{}]]"), TEXTS("{}", "1"));
    expect_texts("{\"type\":\"object\"}", TEXTS("{}", "{\"x\":1}"), TEXTS("[]", "1"));
    expect_texts("{\"type\":[\"string\",\"null\",\"integer\"]}", TEXTS("\"a\"", "null", "7"),
                 TEXTS("7.5", "true", "[]"));
}

static void test_lengths_of_strings_count_characters(void **state)
{
    (void)state;
    expect_texts("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
                 TEXTS("\"ab\"", "\"abc\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"", "\"\\n\\u20ac\\\\\""),
                 TEXTS("\"\"", "\"a\"", "\"abcd\"", "\"\xc3\xa9\"", "\"\\u20ac\""));
    expect_texts("{\"maxLength\":0}", TEXTS("\"\""), TEXTS("\"a\"", "1"));
    expect_texts("{\"minLength\":3}", TEXTS("\"abc\"", "\"abcdefgh\""), TEXTS("\"ab\"", "[]"));
}

static void test_enum_and_const_allow_only_their_values(void **state)
{
    (void)state;
    expect_texts("{\"enum\":[\"a\",\"ab\",\"b\\\"\",1,12,null,{\"x\":[1,true]},\"\"]}",
                 TEXTS("\"a\"", "\"ab\"", "\"b\\\"\"", "1", "12", "null", "{\"x\":[1,true]}", "\"\""),
                 TEXTS("\"abc\"", "\"b\"", "2", "123", "{\"x\":[1]}", "{}"));
    expect_texts("{\"type\":\"string\",\"enum\":[\"a\",1]}", TEXTS("\"a\""), TEXTS("1"));
    expect_texts("{\"type\":\"integer\",\"enum\":[1.5,2,true]}", TEXTS("2"), TEXTS("1.5", "true"));
    expect_texts("{\"const\":\"\xc3\xa9\\n\"}", TEXTS("\"\xc3\xa9\\n\""), TEXTS("\"\"", "\"\xc3\xa9\""));
    expect_texts("{\"const\":false}", TEXTS("false"), TEXTS("true"));
}

static void test_arrays_have_the_given_items(void **state)
{
    (void)state;
    expect_texts("{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", TEXTS("[]", "[1]", "[1,2,3,4]"),
                 TEXTS("[\"a\"]", "[1,null]", "[1.5]"));
    expect_texts("{\"items\":{\"type\":\"null\"},\"minItems\":2,\"maxItems\":3}",
                 TEXTS("[null,null]", "[ null, null,\n null\n]"),
                 TEXTS("[]", "[null]", "[null,null,null,null]"));
    expect_texts("{\"type\":\"array\",\"minItems\":2}", TEXTS("[1,2]", "[1,2,3,[]]"), TEXTS("[]", "[1]"));
    expect_texts("{\"type\":\"array\",\"maxItems\":0}", TEXTS("[]", "[ ]"), TEXTS("[1]"));
    expect_texts("{\"type\":\"array\",\"items\":false}", TEXTS("[]"), TEXTS("[1]", "[[]]"));
    expect_texts("{\"type\":\"array\",\"maxItems\":1,\"items\":{}}", TEXTS("[]", "[{}]"), TEXTS("[1,2]"));
}

static void test_members_have_the_order_of_the_schema(void **state)
{
    (void)state;
    const char *abc =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"null\"},"
        "\"c\":{\"type\":\"string\"}},\"required\":[\"b\"]}";
    expect_texts(abc,
                 TEXTS("{\"b\":null}", "{\"a\":1,\"b\":null}", "{\"b\":null,\"c\":\"\"}",
                       "{ \"a\": 1, \"b\": null,\n  \"c\":\"x\" }"),
                 TEXTS("{}", "{\"a\":1}", "{\"b\":null,\"a\":1}", "{\"a\":1,\"c\":\"\"}", "{\"b\":1}",
                       "{\"b\":null,\"d\":1}", "{\"b\":null,}", "{,\"b\":null}", "{\"b\":null,\"b\":null}"));
    expect_texts("{\"properties\":{\"a\":{}}}", TEXTS("{}", "{\"a\":[1]}"), TEXTS("{\"b\":1}", "1"));
    expect_texts("{\"properties\":{}}", TEXTS("{}", "{ }"), TEXTS("{\"a\":1}"));
    expect_texts("{\"type\":\"object\",\"additionalProperties\":false}", TEXTS("{}"), TEXTS("{\"a\":1}"));
    expect_texts("{\"type\":\"object\",\"required\":[\"x\",\"y\"]}",
                 TEXTS("{\"x\":1,\"y\":[]}", "{\"x\":1,\"y\":2,\"z\":3}"),
                 TEXTS("{}", "{\"x\":1}", "{\"z\":1}"));
    expect_texts("{\"properties\":{\"a\":false,\"b\":true}}", TEXTS("{\"b\":1}", "{}"), TEXTS("{\"a\":1}"));
    expect_texts("{\"properties\":{\"k\\\"\\n\":{\"type\":\"null\"}}}", TEXTS("{\"k\\\"\\n\":null}"),
                 TEXTS("{\"k\":null}"));
}

static void test_other_members_have_other_names(void **state)
{
    (void)state;
    const char *schema =
        "{\"properties\":{\"ab\":{\"type\":\"null\"},\"ac\":{\"type\":\"null\"},\"\xc3\xa9\":"
        "{\"type\":\"null\"},\"q\\\"r\":{\"type\":\"null\"}},"
        "\"additionalProperties\":{\"type\":\"integer\"}}";
    expect_texts(schema,
                 TEXTS("{}", "{\"ab\":null,\"x\":1,\"y\":2}", "{\"a\":1}", "{\"abc\":1}", "{\"\":1}",
                       "{\"\xc3\xa8\":1}", "{\"\xc3\xa9x\":1}", "{\"ad\\n\":1}", "{\"\xe2\x82\xac\":1}",
                       "{\"q\":1}", "{\"q\\\"s\":1}", "{\"q\\\"r\":null}"),
                 TEXTS("{\"ab\":1}", "{\"ac\":2}", "{\"x\":null}", "{\"\xc3\xa9\":1}",
                       "{\"x\":1,\"ab\":null}", "{\"\\u0061b\":1}", "{\"a\\u0062\":1}", "{\"q\\\"r\":1}",
                       "{\"\xc3\":1}", "{\"\xc3x\":1}", "{\"q\\u0022r\":1}", "{\"q\\\"r\\n\":1}"));
    expect_texts("{\"type\":\"object\",\"additionalProperties\":{\"type\":\"null\"}}",
                 TEXTS("{}", "{\"a\":null,\"b\":null}"), TEXTS("{\"a\":1}"));
    expect_texts("{\"properties\":{\"\":{}},\"additionalProperties\":true}",
                 TEXTS("{\"\":1,\"a\":2}", "{\"a\":2}"), TEXTS("{\"a\":2,\"\":1}"));
}

static void test_alternatives_are_all_possible(void **state)
{
    (void)state;
    expect_texts(
        "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"array\",\"items\":{\"oneOf\":[{\"type\":\"null\"},"
        "{\"const\":\"x\"}]}}]}",
        TEXTS("5", "[]", "[null,\"x\"]"), TEXTS("null", "[1]", "\"x\""));
    expect_texts("{\"anyOf\":[{\"properties\":{\"k\":{\"const\":\"a\"},\"v\":{\"type\":\"integer\"}},"
                 "\"required\":[\"k\","
                 "\"v\"]},{\"properties\":{\"k\":{\"const\":\"ab\"},\"w\":{}},\"required\":[\"k\"]}]}",
                 TEXTS("{\"k\":\"a\",\"v\":1}", "{\"k\":\"ab\"}", "{\"k\":\"ab\",\"w\":[]}"),
                 TEXTS("{\"k\":\"ab\",\"v\":1}", "{\"k\":\"a\"}", "{\"k\":\"a\",\"w\":1}"));
    expect_texts("{\"allOf\":[{\"type\":\"null\"}]}", TEXTS("null"), TEXTS("1"));
    expect_texts("{\"anyOf\":[{\"maxLength\":1},{\"enum\":[\"abc\",\"b\"]}]}",
                 TEXTS("\"a\"", "\"b\"", "\"abc\""), TEXTS("\"ab\"", "\"abcd\""));
}

static void test_references_may_be_recursive(void **state)
{
    (void)state;
    expect_texts(
        "{\"$ref\":\"#/$defs/tree\",\"$defs\":{\"tree\":{\"type\":\"object\",\"properties\":{\"v\":"
        "{\"type\":\"integer\"},\"next\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/tree\"}}},"
        "\"required\":[\"v\"]}}}",
        TEXTS("{\"v\":1}", "{\"v\":1,\"next\":[]}",
              "{\"v\":1,\"next\":[{\"v\":2,\"next\":[{\"v\":3}]},{\"v\":4}]}"),
        TEXTS("{}", "{\"v\":1,\"next\":[{}]}", "{\"v\":1,\"next\":{}}"));
    expect_texts("{\"definitions\":{\"a/b~c\":{\"type\":\"null\"}},\"type\":\"array\",\"items\":{\"$ref\":"
                 "\"#/definitions/a~1b~0c\"}}",
                 TEXTS("[]", "[null]"), TEXTS("[1]"));
    expect_texts("{\"anyOf\":[{\"type\":\"integer\"},{\"$ref\":\"#\"},{\"type\":\"array\",\"items\":{\"$"
                 "ref\":\"#\"}}]}",
                 TEXTS("1", "[1]", "[[],[[2]]]"), TEXTS("null", "[null]", "[[]"));
    expect_texts("{\"items\":{\"$ref\":\"#/x/1\"},\"x\":[{},{\"const\":1}]}", TEXTS("[1,1]"), TEXTS("[2]"));
}

static void test_depth_is_limited_without_dead_ends(void **state)
{
    (void)state;
    static struct grammar_state s;
    struct grammar *grammar = compile("{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}");
    size_t opened = 0;
    grammar_begin(grammar, &s);
    while (opened < 1000 && grammar_accept_byte(grammar, &s, '['))
        opened++;
    assert_true(opened > 50 && opened <= GRAMMAR_MAX_DEPTH + 1);
    for (size_t i = 0; i < opened; i++)
        assert_true(grammar_accept_byte(grammar, &s, ']'));
    assert_true(grammar_is_complete(&s));
    grammar_free(grammar);
    /* A level can be opened only if there is room for it and for the nested levels that it requires, here
     * [[1]]. */
    grammar = compile(
        "{\"anyOf\":[{\"type\":\"null\"},{\"properties\":{\"a\":{\"$ref\":\"#\"},\"b\":{\"const\":[[1]]}},"
        "\"required\":[\"a\",\"b\"]}]}");
    grammar_begin(grammar, &s);
    for (opened = 0; opened < 1000 && grammar_accept(grammar, &s, "{\"a\":", 5);)
        opened++;
    assert_true(opened > 50 && opened <= GRAMMAR_MAX_DEPTH + 1);
    assert_true(grammar_accept(grammar, &s, "null", 4));
    for (size_t i = 0; i < opened; i++)
        assert_true(grammar_accept(grammar, &s, ",\"b\":[[1]]}", 11));
    assert_true(grammar_is_complete(&s));
    grammar_free(grammar);
}

static void test_long_texts_are_accepted(void **state)
{
    (void)state;
    static struct grammar_state s;
    static const char item[] = "{\n  \"a\": [[ 1], {\"b\":\"x\"}] }";
    struct grammar *grammar = compile("{}");
    grammar_begin(grammar, &s);
    assert_true(grammar_accept(grammar, &s, "[[", 2));
    for (int i = 0; i < 3000; i++) { /* enough items that unused frames are removed many times */
        assert_true(grammar_accept(grammar, &s, item, sizeof item - 1));
        assert_false(grammar_accept(grammar, &s, "}", 1));
        assert_true(grammar_accept(grammar, &s, ",", 1));
    }
    assert_true(grammar_accept(grammar, &s, "0]]", 3) && grammar_is_complete(&s));
    grammar_free(grammar);
}

/* --- schemas that are rejected -------------------------------------------------------------------------- */

static void expect_error(const char *schema, joule_status status, const char *part)
{
    struct grammar *grammar = NULL;
    memset(&error, 0, sizeof error);
    if (grammar_new(schema, strlen(schema), &grammar, &error) != status)
        fail_msg("%s: status %d: %s", schema, (int)error.status, error.message);
    assert_null(grammar);
    assert_contains(error.message, part);
}

static void test_unsupported_keywords_are_named(void **state)
{
    (void)state;
    expect_error("{\"type\":\"string\",\"pattern\":\"a+\"}", JOULE_UNSUPPORTED, "'pattern'");
    expect_error("{\"items\":{\"type\":\"integer\",\"minimum\":1}}", JOULE_UNSUPPORTED, "'minimum'");
    expect_error("{\"not\":{}}", JOULE_UNSUPPORTED, "'not'");
    expect_error("{\"allOf\":[{},{}]}", JOULE_UNSUPPORTED, "allOf");
    expect_error("{\"anyOf\":[{}],\"type\":\"string\"}", JOULE_UNSUPPORTED, "'type' beside 'anyOf'");
    expect_error("{\"$ref\":\"#\",\"minItems\":1}", JOULE_UNSUPPORTED, "'minItems' beside '$ref'");
    expect_error("{\"$ref\":\"http://x/y\"}", JOULE_UNSUPPORTED, "http://x/y");
    expect_error("{\"const\":[[[[[[[[[]]]]]]]]]}", JOULE_UNSUPPORTED, "nested deeper than 8");
    expect_error("{\"items\":[{}]}", JOULE_UNSUPPORTED, "items");
    expect_error("{\"minLength\":1000000}", JOULE_UNSUPPORTED, "states");
    expect_error("{\"minItems\":18446744073709551615}", JOULE_UNSUPPORTED, "states");
}

static void test_invalid_schemas_are_rejected(void **state)
{
    (void)state;
    expect_error("", JOULE_INVALID, "JSON schema: byte 0");
    expect_error("{", JOULE_INVALID, "JSON schema: byte 1");
    expect_error("1", JOULE_INVALID, "neither an object nor a boolean");
    expect_error("{\"items\":3}", JOULE_INVALID, "'items'");
    expect_error("{\"type\":\"text\"}", JOULE_INVALID, "'text' is not a type");
    expect_error("{\"type\":[]}", JOULE_INVALID, "empty");
    expect_error("{\"type\":\"null\",\"type\":\"null\"}", JOULE_INVALID, "two members 'type'");
    expect_error("{\"properties\":{\"a\":{},\"a\":{}}}", JOULE_INVALID, "two properties 'a'");
    expect_error("{\"properties\":[]}", JOULE_INVALID, "properties");
    expect_error("{\"required\":\"a\"}", JOULE_INVALID, "required");
    expect_error("{\"required\":[1]}", JOULE_INVALID, "required");
    expect_error("{\"enum\":1}", JOULE_INVALID, "enum");
    expect_error("{\"anyOf\":{}}", JOULE_INVALID, "anyOf");
    expect_error("{\"anyOf\":[]}", JOULE_INVALID, "anyOf");
    expect_error("{\"minLength\":-1}", JOULE_INVALID, "minLength");
    expect_error("{\"$ref\":\"#/$defs/none\"}", JOULE_INVALID, "#/$defs/none");
}

static void test_schemas_with_too_many_alternatives_are_rejected(void **state)
{
    (void)state;
    static char schema[65536];
    print_alternatives(schema, sizeof schema, 10);
    expect_texts(schema, TEXTS("null"), TEXTS("1"));
    print_alternatives(schema, sizeof schema, 40);
    expect_error(schema, JOULE_UNSUPPORTED, "nested alternatives begin at one place");
}

static void test_schemas_without_values_are_rejected(void **state)
{
    (void)state;
    static const char *const schemas[] = {"false",
                                          "{\"enum\":[]}",
                                          "{\"$ref\":\"#\"}",
                                          "{\"type\":\"string\",\"const\":1}",
                                          "{\"type\":\"array\",\"minItems\":2,\"maxItems\":1}",
                                          "{\"minLength\":2,\"maxLength\":1}",
                                          "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}",
                                          "{\"anyOf\":[{\"$ref\":\"#\"},false]}"};
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        expect_error(schemas[i], JOULE_INVALID, "no value satisfies it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_value_is_accepted_by_an_empty_schema),
        cmocka_unit_test(test_any_object_is_accepted_without_a_schema),
        cmocka_unit_test(test_types_are_respected),
        cmocka_unit_test(test_lengths_of_strings_count_characters),
        cmocka_unit_test(test_enum_and_const_allow_only_their_values),
        cmocka_unit_test(test_arrays_have_the_given_items),
        cmocka_unit_test(test_members_have_the_order_of_the_schema),
        cmocka_unit_test(test_other_members_have_other_names),
        cmocka_unit_test(test_alternatives_are_all_possible),
        cmocka_unit_test(test_references_may_be_recursive),
        cmocka_unit_test(test_depth_is_limited_without_dead_ends),
        cmocka_unit_test(test_long_texts_are_accepted),
        cmocka_unit_test(test_unsupported_keywords_are_named),
        cmocka_unit_test(test_invalid_schemas_are_rejected),
        cmocka_unit_test(test_schemas_with_too_many_alternatives_are_rejected),
        cmocka_unit_test(test_schemas_without_values_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
