/* Checks how joulec reads compile_commands.json: the words of a shell command, and which of them are compiler
 * options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/string.h"
#include "joulec/source/database.h"
#include "support/check.h"

/* Splits a shell command and compares its words. words: separated by bars; "!": the command must be
 * refused. */
static void expect_split(const char *command, const char *words)
{
    struct arena arena = {0};
    char buffer[256];
    struct text text;
    size_t count;
    const char **list = database_split(&arena, command, &count);
    text_init(&text, buffer, sizeof buffer);
    text_add(&text, list ? "" : "!");
    for (size_t i = 0; list && i < count; i++)
        text_printf(&text, i ? "|%s" : "%s", list[i]);
    assert_string_equal(buffer, words);
    if (list)
        assert_null(list[count]);
    arena_free(&arena);
}

static void commands_are_split_as_by_a_shell(void **state)
{
    (void)state;
    expect_split("", "");
    expect_split("  cc \t -c\na.c ", "cc|-c|a.c");
    expect_split("cc '-DA=\"b\\c\"' x", "cc|-DA=\"b\\c\"|x");
    expect_split("cc \"-DA=\\\"b c\\\"\" \"\\x\\$\\\\\"", "cc|-DA=\"b c\"|\\x$\\");
    expect_split("cc -DA=\\\"b\\ c\\\" a\"b\"'c'd ''", "cc|-DA=\"b c\"|abcd|");
    expect_split("cc \\\n -c \"a\\\nb\" a\\\nb", "cc|-c|ab|ab");
    expect_split("cc 'a", "!");
    expect_split("cc \"a\\\"", "!");
    expect_split("cc a\\", "cc|a");
}

/* Returns the first entry of a database in the folder "/db". Writes the entry's words to `words`, separated
 * by bars. */
static struct database_entry read_one(struct arena *arena, const char *json, char *words, size_t size)
{
    struct database database;
    struct text text;
    joule_error error;
    char *copy = arena_copy(arena, json, strlen(json));
    assert_int_equal(database_read(arena, copy, strlen(copy), "x.json", "/db", &database, &error), JOULE_OK);
    assert_int_equal(database.count, 1);
    text_init(&text, words, size);
    for (size_t i = 0; i < database.entries[0].word_count; i++)
        text_printf(&text, i ? "|%s" : "%s", database.entries[0].words[i]);
    return database.entries[0];
}

static void options_are_kept_and_files_removed(void **state)
{
    static const struct {
        const char *entry, *words, *path, *output;
        bool is_c;
    } rows[] = {
        {"{\"directory\":\"b\",\"file\":\"../a.c\",\"command\":\"ccache /usr/bin/cc -O2 -o a.o -c ../a.c\"}",
         "-O2", "/db/a.c", "a.o", true},
        {"{\"directory\":\"/b\",\"file\":\"/b/s/a.c\",\"arguments\":[\"cc\",\"s/../s/a.c\",\"-DX=a b\"]}",
         "-DX=a b", "/b/s/a.c", NULL, true},
        {"{\"directory\":\"/b\",\"file\":\"a.c\",\"output\":\"o/"
         "a.o\",\"arguments\":[\"cc\",\"-Wall\",\"-o\",\"a.o\",\"--\",\"a.c\"]}",
         "-Wall", "/b/a.c", "o/a.o", true},
        {"{\"directory\":\"/b\",\"file\":\"a.inc\",\"command\":\"cc -x c a.inc\"}", "-x|c", "/b/a.inc", NULL,
         true},
        {"{\"directory\":\"/b\",\"file\":\"a.c\",\"command\":\"cc -xc++ a.c\"}", "-xc++", "/b/a.c", NULL,
         false},
        {"{\"directory\":\"/b\",\"file\":\"a.cc\",\"command\":\"c++ @flags a.cc\"}", "@flags", "/b/a.cc",
         NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        char json[512], words[256];
        string_print(json, sizeof json, "[%s]", rows[i].entry);
        struct database_entry e = read_one(&arena, json, words, sizeof words);
        assert_null(e.problem);
        assert_string_equal(words, rows[i].words);
        assert_string_equal(e.path, rows[i].path);
        assert_int_equal(e.is_c, rows[i].is_c);
        if (rows[i].output)
            assert_string_equal(e.output, rows[i].output);
        arena_free(&arena);
    }
}

static void other_values_than_a_list_are_refused(void **state)
{
    struct arena arena = {0};
    struct database database;
    joule_error error;
    (void)state;
    char object[] = "{}", broken[] = "[{";
    assert_int_equal(database_read(&arena, object, 2, "x.json", "/", &database, &error), JOULE_INVALID);
    assert_contains(error.message, "x.json is not a compilation database: expected a list");
    assert_int_equal(database_read(&arena, broken, 2, "x.json", "/", &database, &error), JOULE_INVALID);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_split_as_by_a_shell),
        cmocka_unit_test(options_are_kept_and_files_removed),
        cmocka_unit_test(other_values_than_a_list_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
