/* Checks which phis of LLVM IR grow or shrink by a bounded step per iteration. The phi %c is an integer, and
 * the phi %p is a pointer. %bit depends on data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "support/module_text.h"

/* The test inserts text between `before` and `behind`. The inserted text defines %c1 and %p1, the next values
 * of %c and %p, and may end in another block. */
static const char before[] = "declare i64 @llvm.ctpop.i64(i64)\n"
                             "define i64 @f(i64 %n, POINTER %out) {\n"
                             "entry:\n"
                             "  br label %b\n"
                             "b:\n"
                             "  %i = phi i64 [ 0, %entry ], [ %i1, %e ]\n"
                             "  %c = phi i64 [ 7, %entry ], [ %c1, %e ]\n"
                             "  %p = phi POINTER [ %out, %entry ], [ %p1, %e ]\n"
                             "  %x = mul i64 %i, %n\n"
                             "  %bit = icmp ult i64 %x, 77\n"
                             "  %z = zext i1 %bit to i64\n";
static const char behind[] = "  br label %e\n"
                             "e:\n"
                             "  %i1 = add i64 %i, 1\n"
                             "  %done = icmp eq i64 %i1, %n\n"
                             "  br i1 %done, label %end, label %b\n"
                             "end:\n"
                             "  store i32 1, POINTER %p1\n"
                             "  ret i64 %c1\n"
                             "}\n";
#define SAME_POINTER "\n  %p1 = getelementptr i32, POINTER %p, i64 1\n"
#define SAME_COUNT   "\n  %c1 = add i64 %c, 1\n"

static void read_module(const char *way_back, const char *other, struct module *out)
{
    const char *const parts[] = {before, way_back, other, behind};
    module_text_read(parts, 4, out);
}

static const struct monotonic_phi *find(const struct module *module, const char *name)
{
    const struct function *f = &module->functions[0];
    for (size_t b = 0; b < f->block_count; b++)
        for (size_t i = 0; i < f->blocks[b].monotonic_phi_count; i++)
            if (strcmp(f->blocks[b].monotonic_phis[i]->name, name) == 0)
                return f->blocks[b].monotonic_phis[i];
    return NULL;
}

static void expect(const struct module *module, const char *name, double low, double high)
{
    const struct monotonic_phi *monotonic_phi = find(module, name);
    if (!monotonic_phi || monotonic_phi->low < low || monotonic_phi->low > low ||
        monotonic_phi->high < high || monotonic_phi->high > high)
        fail_msg("%s does not change by %g to %g", name, low, high);
}

struct creep_case {
    const char *text;
    double low, high; /* expected bounds of the step; equal bounds: %c must not be found to be monotonic */
};

static void test_numbers(void **state)
{
    (void)state;
    static const struct creep_case cases[] = {
        {"%c1 = add i64 %c, %z", 0, 1},
        {"%c1 = add i64 %z, %c", 0, 1},
        {"%c1 = sub i64 %c, %z", -1, 0},
        {"%s = sext i1 %bit to i64\n %c1 = add i64 %c, %s", -1, 0},
        {"%c2 = add i64 %c, 2\n %c1 = select i1 %bit, i64 %c2, i64 %c", 0, 2},
        {"%s = select i1 %bit, i64 3, i64 1\n %c1 = add i64 %c, %s", 1, 3},
        {"%c2 = add i64 %c, %z\n %y = icmp ult i64 %x, 5\n %y1 = zext i1 %y to i64\n %c1 = add i64 %c2, %y1",
         0, 2},
        {"%y = icmp ult i64 %x, 5\n %y1 = zext i1 %y to i64\n %y2 = add i64 %y1, %z\n %c1 = add i64 %c, %y2",
         0, 2},
        {"%m = and i64 %x, 7\n %c1 = add i64 %c, %m", 0, 7},
        {"%m = lshr i64 %x, 61\n %c1 = add i64 %c, %m", 0, 7},
        {"%m = call i64 @llvm.ctpop.i64(i64 %x)\n %c1 = add i64 %c, %m", 0, 64},
        {"%t = trunc i64 %c to i32\n %y = zext i1 %bit to i32\n %a = add i32 %t, %y\n %c1 = zext i32 %a to "
         "i64",
         0, 1},
        {"br i1 %bit, label %t, label %m\nt:\n %c2 = add i64 %c, 1\n br label %m\n"
         "m:\n %c1 = phi i64 [ %c, %b ], [ %c2, %t ]",
         0, 1},
        {"br i1 %bit, label %t, label %m\nt:\n br label %m\n"
         "m:\n %y = phi i64 [ 2, %b ], [ 5, %t ]\n %c1 = add i64 %c, %y",
         2, 5},
        {"%c1 = add i64 %c, 1", 0, 0}, /* scalar evolution has a formula for %c */
        {"%s = select i1 %bit, i64 1, i64 -1\n %c1 = add i64 %c, %s", 0, 0},
        {"%c2 = add i64 %c, 1\n %c1 = select i1 %bit, i64 %c2, i64 0", 0, 0},
        {"%c2 = add i64 %c, 1\n %c1 = select i1 %bit, i64 %c2, i64 %x", 0, 0},
        {"%c2 = add i64 %c, 1\n %c1 = select i1 %bit, i64 %c2, i64 %n", 0, 0},
        {"%c1 = add i64 %c, %x", 0, 0},
        {"%c1 = sub i64 %z, %c", 0, 0},
        {"%c1 = add i64 %c, %c", 0, 0},
        {"%m = and i64 %x, 65535\n %c1 = add i64 %c, %m", 0, 0},
        {"%a = add i64 %c, %z\n %c1 = and i64 %a, 255", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct module module;
        read_module(cases[i].text, SAME_POINTER, &module);
        if (cases[i].low < cases[i].high)
            expect(&module, "c", cases[i].low, cases[i].high);
        else if (find(&module, "c"))
            fail_msg("it is monotonic: %s", cases[i].text);
        assert_null(find(&module, "i"));
        assert_null(find(&module, "p"));
        module_free(&module);
    }
}

static void test_pointers(void **state)
{
    (void)state;
    static const struct creep_case cases[] = {
        {"%p1 = getelementptr i32, POINTER %p, i64 %z", 0, 4},
        {"%p2 = getelementptr i32, POINTER %p, i64 -2\n %p1 = select i1 %bit, POINTER %p2, POINTER %p", -8,
         0},
        {"br i1 %bit, label %t, label %o\nt:\n %p2 = getelementptr i32, POINTER %p, i64 1\n br label %m\n"
         "o:\n %p3 = getelementptr i32, POINTER %p, i64 3\n br label %m\n"
         "m:\n %p1 = phi POINTER [ %p2, %t ], [ %p3, %o ]",
         4, 12},
        {"%p1 = getelementptr i32, POINTER %p, i64 %x", 0, 0},
        {"%p1 = select i1 %bit, POINTER %p, POINTER %out", 0, 0},
        {"%p1 = getelementptr i32, POINTER %out, i64 %z", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct module module;
        read_module(cases[i].text, SAME_COUNT, &module);
        if (cases[i].low < cases[i].high)
            expect(&module, "p", cases[i].low, cases[i].high);
        else if (find(&module, "p"))
            fail_msg("it is monotonic: %s", cases[i].text);
        assert_null(find(&module, "c"));
        module_free(&module);
    }
}

static void test_where_it_begins(void **state)
{
    (void)state;
    struct module module;
    read_module("%c1 = add i64 %c, %z\n %p1 = getelementptr i32, POINTER %p, i64 %z\n", "", &module);
    assert_string_equal(find(&module, "c")->from, "");
    assert_true(find(&module, "c")->constant >= 7 && find(&module, "c")->constant <= 7);
    assert_string_equal(find(&module, "p")->from, "out");
    module_free(&module);
}

/* %c1 merges the values of both paths, so it equals %c or is slightly larger. Scalar evolution gives it a
 * name of its own. */
static void test_merged_values_follow_the_growing_one(void **state)
{
    (void)state;
    struct module module;
    read_module("br i1 %bit, label %t, label %m\nt:\n %c2 = add i64 %c, 1\n br label %m\n"
                "m:\n %c1 = phi i64 [ %c, %b ], [ %c2, %t ]",
                SAME_POINTER, &module);
    expect(&module, "c1", 0, 0);
    assert_string_equal(find(&module, "c1")->from, "c");
    assert_null(find(&module, "c2")); /* scalar evolution has a formula for %c2 */
    module_free(&module);
}

/* %d grows in the inner loop and starts at START. %c is not monotonic, because the inner loop may have any
 * number of iterations. */
static void test_nests(void **state)
{
    (void)state;
    static const char text[] = "br label %in\n"
                               "in:\n"
                               "  %k = phi i64 [ 0, %b ], [ %k1, %in ]\n"
                               "  %d = phi i64 [ START, %b ], [ %c1, %in ]\n"
                               "  %x2 = mul i64 %k, %x\n"
                               "  %bit2 = icmp ult i64 %x2, 5\n"
                               "  %z2 = zext i1 %bit2 to i64\n"
                               "  %c1 = add i64 %d, %z2\n"
                               "  %k1 = add i64 %k, 1\n"
                               "  %done2 = icmp eq i64 %k1, 100\n"
                               "  br i1 %done2, label %out2, label %in\n"
                               "out2:\n";
    static const char *const starts[] = {"%c", "%n", "0"}, *const from[] = {"c", "n", ""};
    for (size_t i = 0; i < 3; i++) {
        struct module module;
        char words[1000];
        const char *at = strstr(text, "START");
        snprintf(words, sizeof words, "%.*s%s%s", (int)(at - text), text, starts[i], at + strlen("START"));
        read_module(words, SAME_POINTER, &module);
        expect(&module, "d", 0, 1);
        assert_string_equal(find(&module, "d")->from, from[i]);
        assert_null(find(&module, "c"));
        module_free(&module);
    }
}

/* There are too many paths to follow each of them, so each value is visited only once. If there are more
 * values than a limit, %c is not found to be monotonic. */
static void test_many_ways(void **state)
{
    (void)state;
    for (int count = 20; count <= 200; count += 180) {
        static char text[20000];
        struct module module;
        int at = 0;
        for (int i = 0; i < count; i++) {
            const char *format = "%%a%d = add i64 %%s%d, 1\n%%s%d = select i1 %%bit, i64 %%a%d, i64 %%s%d\n";
            at += snprintf(text + at, sizeof text - (size_t)at, format, i, i - 1, i, i, i - 1);
        }
        snprintf(text + at, sizeof text - (size_t)at, "%%c1 = add i64 %%s%d, 0\n", count - 1);
        char *first;
        while ((first = strstr(text, "%s-1")))
            memcpy(first, "%c  ", 4);
        read_module(text, SAME_POINTER, &module);
        if (count == 20)
            expect(&module, "c", 0, 20);
        else
            assert_null(find(&module, "c"));
        module_free(&module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),         cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_where_it_begins), cmocka_unit_test(test_merged_values_follow_the_growing_one),
        cmocka_unit_test(test_nests),           cmocka_unit_test(test_many_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
