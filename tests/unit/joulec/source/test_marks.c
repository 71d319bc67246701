/* Checks how JOULE_LOOP is read from the output of clang's preprocessor: its numbers and their errors, the
 * keyword after each mark, and the loop of the optimized code to which each mark belongs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/source/constant.h"
#include "joulec/source/marks.h"

#define MAX_LOOPS 8

/* --- numbers -------------------------------------------------------------------------------------------- */

static void check_number(const char *text, int64_t expected)
{
    int64_t value = -77;
    size_t end;
    joule_error error;
    assert_int_equal(constant_read(text, strlen(text), &value, &end, &error), JOULE_OK);
    assert_int_equal(value, expected);
}

static void check_no_number(const char *text, const char *words)
{
    int64_t value;
    size_t end;
    joule_error error = {0};
    assert_int_equal(constant_read(text, strlen(text), &value, &end, &error), JOULE_INVALID);
    assert_string_equal(error.message, words);
}

static void test_constant_expressions_are_evaluated(void **state)
{
    (void)state;
    check_number("0", 0);
    check_number("1000", 1000);
    check_number(" ( 64 ) ", 64);
    check_number("0x40u", 64);
    check_number("0b101UL", 5);
    check_number("010", 8);
    check_number("100ull", 100);
    check_number("2 + 3 * 4", 14);
    check_number("(2 + 3) * 4 % 7", 6);
    check_number("100 - 10 - 1", 89);
    check_number("1 << 4 << 1", 32);
    check_number("-(-5)", 5);
    check_number("9223372036854775807", INT64_MAX);
    check_number("7 / 2)", 3);
    check_number("5, 6", 5);
}

static void test_other_texts_are_no_numbers(void **state)
{
    (void)state;
    check_no_number("", "a number is missing");
    check_no_number("n", "'n' is not a whole number");
    check_no_number("1.5", "'1.5' is not a whole number");
    check_no_number("08", "'08' is not a whole number");
    check_no_number("0x", "'0x' is not a whole number");
    check_no_number("10kB", "'10kB' is not a whole number");
    check_no_number("sizeof(int)", "'sizeof' is not a whole number");
    check_no_number("3 4", "'4' is not a whole number");
    check_no_number("3 +", "a number is missing");
    check_no_number("(3", "a parenthesis is not closed");
    check_no_number("1 < 2", "'<' is not a whole number");
    check_no_number("1 <", "'<' is not a whole number");
    check_no_number("1 / 0", "division by 0");
    check_no_number("1 << 63", "a shift is out of range");
    check_no_number("9223372036854775808", "a number is too large");
    check_no_number("9223372036854775807 + 1", "a number is too large");
    check_no_number("((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))",
                    "parentheses and signs are nested too deep");
}

/* --- the text ------------------------------------------------------------------------------------------- */

static struct marks read_text(const char *text)
{
    struct marks marks;
    assert_true(marks_read(text, strlen(text), &marks));
    return marks;
}

/* Returns the keyword that has a mark. Fails unless exactly one keyword has a mark. */
static const struct marks_keyword *only_keyword(const struct marks *marks)
{
    const struct marks_keyword *found = NULL;
    for (size_t i = 0; i < marks->keyword_count; i++)
        if (marks->keywords[i].mark != MARK_NONE) {
            assert_null(found);
            found = &marks->keywords[i];
        }
    assert_non_null(found);
    return found;
}

/* Checks that the mark belongs to the loop in line `line`. behind: the text after the line with the mark. */
static void check_loop(const char *behind, unsigned line)
{
    char text[1024];
    strcpy(text, "# 1 \"a.c\"\nvoid f(void) {\n#pragma joule loop(1, 10)\n");
    strcat(text, behind);
    struct marks marks = read_text(text);
    assert_int_equal(marks.count, 1);
    assert_null(marks.list[0].fault);
    assert_int_equal(marks.list[0].low, 1);
    assert_int_equal(marks.list[0].high, 10);
    assert_string_equal(marks.list[0].words, "loop(1, 10)");
    assert_string_equal(marks.list[0].place.file, "a.c");
    assert_int_equal(marks.list[0].place.line, 2);
    assert_int_equal(only_keyword(&marks)->line, line);
    marks_free(&marks);
}

static void check_fault(const char *text, const char *fault)
{
    struct marks marks = read_text(text);
    assert_int_equal(marks.count, 1);
    assert_non_null(marks.list[0].fault);
    assert_string_equal(marks.list[0].fault, fault);
    marks_free(&marks);
}

static void test_marks_belong_to_the_next_loop(void **state)
{
    (void)state;
    check_loop("for (;;) ;\n}", 3);
    check_loop("\n\n  while (x) ;\n}", 5);
    check_loop("# 40 \"a.c\"\ndo x(); while (y);\n}", 40);
    check_loop("#pragma clang loop unroll(disable)\n for (;;) ;\n}", 4);
    check_loop("lab: for (;;) ;\n}", 3);
    check_loop("case 'a': default : for (;;) ;\n}", 3);
    check_loop("[[likely]] [[x::y(1, \"for\")]] for (;;) ;\n}", 3);
    check_loop("__attribute__((opencl_unroll_hint(2)))\nfor (;;) ;\n}", 4);
    check_loop("for (;;) { for (;;) ; }\n for (;;) ; }", 3);
}

static void test_a_mark_without_a_loop(void **state)
{
    (void)state;
    check_fault("#pragma joule loop(1, 2)\nint x;\n",
                "it is outside a function: write it directly before a loop");
    check_fault("f() {\n#pragma joule loop(1, 2)\nx(); for (;;) ; }\n",
                "it is before 'x': write it directly before for, while or do");
    check_fault("f() {\n#pragma joule loop(1, 2)\n; for (;;) ; }\n",
                "it is before ';': write it directly before for, while or do");
    check_fault("f() {\n#pragma joule loop(1, 2)\n}\nf() { for (;;) ; }\n",
                "it is before '}': write it directly before for, while or do");
    check_fault("f() {\n#pragma joule loop(1, 2)\n\"for\" }\n",
                "it is before a string: write it directly before for, while or do");
    check_fault("f() {\n#pragma joule loop(1, 2)\n",
                "it is before the end of the file: write it directly before for, while or do");
    check_fault("f() {\n#pragma joule loop(1, 2)\n[[x; for (;;) ; }\n",
                "it is before ';': write it directly before for, while or do");
    /* The `while` at the end of a `do` is not a loop's keyword. */
    check_fault("f() { do { x();\n#pragma joule loop(1, 2)\n} while (x); }\n",
                "it is before '}': write it directly before for, while or do");
    check_fault("f() { do { x(); }\n#pragma joule loop(1, 2)\n while (x); }\n",
                "it is before 'while': write it directly before for, while or do");
    check_fault("f() { do x();\n#pragma joule loop(1, 2)\n while (x()); }\n",
                "it is before 'while': write it directly before for, while or do");
}

/* Checks the number of keywords, which shows whether the last `while` begins a loop. last_line: line in which
 * the loop of the first keyword ends. */
static void check_do(const char *text, size_t keywords, unsigned last_line)
{
    char whole[256] = "f() {\n#pragma joule loop(1, 2)\n";
    struct marks marks = read_text(strcat(strcat(whole, text), "\nx(); }\n"));
    assert_int_equal(marks.keyword_count, keywords);
    assert_int_equal(marks.keywords[0].line, 3);
    assert_int_equal(marks.keywords[0].last_line, last_line);
    marks_free(&marks);
}

static void test_while_behind_do(void **state)
{
    (void)state;
    check_do("do { x(); }\nwhile (y)\n;", 1, 5);
    check_do("do x();\nwhile (y);", 1, 4);
    check_do("do if (x) y(); else z();\nwhile (y);", 1, 4);
    check_do("do if (x) { y(); }\nwhile (y);", 1, 4);
    check_do("do for (;;) if (x) { y(); }\nwhile (y);", 2, 4);
    check_do("do do x(); while (y);\nwhile (z);", 2, 4);
    check_do("do while (x) ;\nwhile (y);", 2, 4);
    check_do("do for (;;) while (x) ;\nwhile (y);", 3, 4);
    check_do("do if (x) y(); else while (y) z();\nwhile (z);", 2, 4);
    check_do("do { while (x) ; }\nwhile (y);", 2, 4);
    check_do("for (;;) do x();\nwhile (y);", 2, 4);
    check_do("for (;;) x();\nwhile (y) ;", 2, 3);
}

static void test_wrong_numbers_are_refused_with_a_reason(void **state)
{
    static const struct {
        const char *words, *fault;
    } cases[] = {
        {"loop(3, 2)", "min 3 is above max 2"},
        {"loop(-1, 2)", "min is -1, but must be at least 0"},
        {"loop(1, n)", "'n' is not a whole number: min and max must be numbers, or macros for numbers"},
        {"loop(1)", "it needs two values: min and max must be numbers, or macros for numbers"},
        {"loop(1, 2, 3)", "it needs two values: min and max must be numbers, or macros for numbers"},
        {"loop(1, 2) 3", "it needs two values: min and max must be numbers, or macros for numbers"},
        {"loop 1, 2", "(min, max) is missing: min and max must be numbers, or macros for numbers"},
        {"loop(", "a number is missing: min and max must be numbers, or macros for numbers"},
        {"unroll(2)", "unknown pragma; expected loop(min, max)"},
        {"", "unknown pragma; expected loop(min, max)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256] = "f() {\n#pragma joule ";
        strcat(strcat(text, cases[i].words), "\nfor (;;) ; }\n");
        check_fault(text, cases[i].fault);
    }
}

static void test_files_and_lines(void **state)
{
    (void)state;
    struct marks marks =
        read_text("# 1 \"a.c\"\n# 1 \"in \\\"c\\\\.h\" 1\n\nstatic f() {\n#pragma joule loop(1, 2)\n"
                  "for (;;) ; }\n# 7 \"a.c\" 2\ng() {\n#line 100 \"other.y\"\n"
                  "#pragma joule loop(3, 4)\nwhile (x) ; }\n");
    assert_int_equal(marks.count, 2);
    assert_int_equal(marks.keyword_count, 2);
    assert_string_equal(marks.list[0].place.file, "in \"c\\.h");
    assert_int_equal(marks.list[0].place.line, 3);
    assert_string_equal(marks.list[1].place.file, "other.y");
    assert_int_equal(marks.keywords[0].line, 4);
    assert_int_equal(marks.keywords[1].line, 101);
    marks_free(&marks);
    marks = read_text("f() { for (;;) ; }\n");
    assert_int_equal(marks.count + marks.keyword_count, 0);
    marks_free(&marks);
}

/* The text has ten megabytes, and each hundredth function has a mark. */
static void test_a_large_text(void **state)
{
    (void)state;
    static const char plain[] = "int f(int n) { for (int i = 0; i < n; i++) { do n--; while (n > 3); } }\n",
                      marked[] = "int g() {\n#pragma joule loop(1, 7)\nfor (;;) ; }\n";
    size_t count = 140000, size = 0;
    char *text = malloc(count * sizeof plain);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) {
        const char *one = i % 100 ? plain : marked;
        memcpy(text + size, one, strlen(one));
        size += strlen(one);
    }
    struct marks marks;
    assert_true(marks_read(text, size, &marks));
    assert_int_equal(marks.count, count / 100);
    assert_int_equal(marks.keyword_count, 2 * count - count / 100);
    for (size_t i = 0, seen = 0; i < marks.keyword_count; i++)
        if (marks.keywords[i].mark != MARK_NONE) {
            assert_int_equal(marks.keywords[i].mark, seen);
            assert_int_equal(marks.keywords[i].line, seen * 102 + 3);
            seen++;
        }
    marks_free(&marks);
    free(text);
}

/* A million nested loops end with one brace. The reader must not need more stack for them than for one
 * loop. */
static void test_many_loops_end_at_once(void **state)
{
    (void)state;
    static const char begin[] = "f() {\n"
                                "#pragma joule loop(1, 7)\nfor (;;) ; {\n",
                      one[] = "for ";
    size_t count = 1000000, length = strlen(begin);
    char *text = malloc(length + count * strlen(one) + 3);
    assert_non_null(text);
    memcpy(text, begin, length);
    for (size_t i = 0; i < count; i++, length += strlen(one))
        memcpy(text + length, one, strlen(one));
    memcpy(text + length, "}}", 3);
    struct marks marks;
    assert_true(marks_read(text, length + 2, &marks));
    assert_int_equal(marks.keyword_count, count + 1);
    assert_int_equal(marks.keywords[count].last_line, 4);
    marks_free(&marks);
    free(text);
}

/* --- loops of the code ---------------------------------------------------------------------------------- */

struct trial {
    struct marks marks;
    struct loops loops;
    struct loop list[MAX_LOOPS];
    uint32_t mark_of[MAX_LOOPS];
    bool is_unclear[MAX_LOOPS];
};

/* Finds the marks of loops. places: a "line:column" for each loop, separated by blanks. Prefixes, in this
 * order: '>': the loop is inside the previous loop; 'u': it may be two loops of the source; '-': it has no
 * source position of its own. */
static struct trial join(const char *text, const char *places)
{
    struct trial t = {.marks = read_text(text), .loops = {.count = 0}};
    for (const char *at = places; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        struct loop *loop = &t.list[t.loops.count++];
        loop->parent = *at == '>' ? (int32_t)t.loops.count - 2 : -1;
        at += *at == '>';
        loop->may_be_two = *at == 'u';
        at += loop->may_be_two;
        loop->has_own_place = *at != '-';
        loop->place.file = "a.c";
        assert_int_equal(sscanf(at + (*at == '-'), "%u:%u", &loop->place.line, &loop->place.column), 2);
    }
    t.loops.list = t.list;
    marks_join(&t.marks, &t.loops, t.mark_of, t.is_unclear);
    return t;
}

/* marks: for each loop the number of its mark, or '.' for none. unclear: numbers of the marks for which it is
 * ambiguous to which loop they belong. */
static void check_join(const char *text, const char *places, const char *marks, const char *unclear)
{
    struct trial t = join(text, places);
    assert_int_equal(strlen(marks), t.loops.count);
    for (size_t i = 0; i < t.loops.count; i++)
        assert_int_equal(t.mark_of[i], marks[i] == '.' ? MARK_NONE : (uint32_t)(marks[i] - '0'));
    for (uint32_t i = 0; i < t.marks.count; i++)
        assert_int_equal(t.is_unclear[i], strchr(unclear, (int)('0' + i)) != NULL);
    marks_free(&t.marks);
}

#define FILE_OF(body) "# 1 \"a.c\"\nf() {\n" body "}\n"
#define MARK          "#pragma joule loop(1, 9)\n"

static void test_loops_are_found_again(void **state)
{
    (void)state;
    check_join(FILE_OF(MARK "for (;;) ;\n"), "3:1", "0", "");
    check_join(FILE_OF(MARK "for (;;) ;\nfor (;;) ;\n"), "3:1 4:1", "0.", "");
    /* LLVM may have split the loop, so two loops have its position. */
    check_join(FILE_OF(MARK "for (;;) ;\n"), "3:1 3:1", "00", "");
    check_join(FILE_OF(MARK "for (;;) ;\n"), "3:1 >3:1", "00", "");
    /* An invalid mark sets no bound. */
    check_join(FILE_OF("#pragma joule loop(9, 1)\nfor (;;) ;\n"), "3:1", ".", "");
}

/* The place of a loop without source position is that of its first instruction. The loop belongs to a
 * statement that contains this instruction and that has no loop yet. */
static void test_loops_without_a_place(void **state)
{
    (void)state;
#define WALK MARK "while (x) {\nint y = 2;\nif (y)\nbreak;\n}\n" /* the loop consists of lines 3 to 7 */
    check_join(FILE_OF(WALK), "-4:1", "0", "");
    check_join(FILE_OF(WALK), "-7:1", "0", "");
    check_join(FILE_OF(WALK "x = 1;\n"), "-8:1", ".", "");
    check_join(FILE_OF(WALK), "3:1 -4:1", "0.", ""); /* the second loop may come from a goto */
    check_join(FILE_OF(MARK "for (;;)\nfor (;;)\nx++;\ny++;\n"), "-5:1", ".",
               "0"); /* the loop may be the outer or the inner loop of the source */
    check_join(FILE_OF(MARK "for (;;)\nfor (;;)\nx++;\ny++;\n"), "-5:1 >4:1", "0.", "");
    check_join(FILE_OF(MARK "for (;;)\nfor (;;)\nx++;\ny++;\n"), "4:1 -6:1", "..", "");
    check_join(FILE_OF(MARK "for (;;)\nfor (;;) {\nx++;\n}\ny++;\n"), "-6:1 >4:1", "0.", "");
    check_join(FILE_OF(MARK "do {\nx++;\n}\nwhile (\"}\"[0] == x);\ny++;\n"), "-6:1", "0", "");
    check_join(FILE_OF(MARK "do {\nx++;\n}\nwhile (\"}\"[0] == x);\ny++;\n"), "-7:1", ".", "");
    check_join(FILE_OF(MARK "for (;;)\nif (x) {\nx++;\n}\n"), "-5:1", "0", "");
    check_join(FILE_OF("{\n" MARK "for (;;)\nif (x) {\nx++;\n}\n}\ny++;\n"), "-9:1", ".", "");
    check_join(FILE_OF("{\n" MARK "for (;;)\ng((x, 1));\n}\ny++;\n"), "-5:1", "0", "");
#undef WALK
}

/* LLVM dropped the position of one loop and removed the other loop. It is then unknown to which loop the mark
 * belongs. */
static void test_loops_without_a_place_around_a_loop_that_is_gone(void **state)
{
    (void)state;
    check_join(FILE_OF("while (x)\n" MARK "for (;;)\nx++;\n"), "-4:1", ".", "0");
    check_join(FILE_OF("while (x)\n" MARK "for (;;)\nx++;\n"), "-5:1", ".", "0");
    check_join(FILE_OF("while (x) {\n" MARK "for (;;)\nx++;\ny++;\n}\n"), "-6:1", ".", "");
    check_join(FILE_OF("while (x)\n" MARK "for (;;)\nx++;\n"), "2:1 >-4:1", ".0", "");
    check_join(FILE_OF(MARK "while (x)\n" MARK "for (;;)\nx++;\n"), "-5:1", ".", "01");
    /* The inner loop exists twice, once without position. The outer loop was removed. */
    check_join(FILE_OF(MARK "for (;;)\nfor (;;)\nx++;\n"), "4:1 -5:1", "..", "0");
}

/* A merged loop may be two loops if the source has two keywords. If the source has only one keyword, the loop
 * gets the keyword's mark. */
static void test_a_loop_that_may_be_two(void **state)
{
    (void)state;
    check_join(FILE_OF(MARK "while (x) {\nx = 0;\ny++;\n}\n"), "u3:1", "0", "");
    check_join(FILE_OF(MARK "while (x) {\nx = 0;\nfor (;;)\ny++;\n}\n"), "u3:1", ".", "0");
    check_join(FILE_OF(MARK "while (x) {\nx = 0;\nfor (;;)\ny++;\n}\n"), "u5:1", ".", "0");
    check_join(FILE_OF(MARK "while (x) {\nx = 0;\nfor (;;)\ny++;\n}\n"), "u3:1 >5:1", "0.", "");
    check_join(FILE_OF(MARK "while (x) {\nx = 0;\ny++;\n}\nfor (;;)\ny++;\n"), "u3:1", "0", "");
    check_join(FILE_OF(MARK "while (x) {\nx = 0;\ny++;\n}\n"), "u-5:1", ".", "0");
}

/* A goto around a loop is a second loop. If LLVM has only one loop for both, at the keyword's position, the
 * mark is unclear. */
static void test_loops_by_goto(void **state)
{
    (void)state;
    /* the goto and its loop consist of lines 2 to 5 */
#define AGAIN "again:\n" MARK "while (x)\nif (y) { y--; goto again; }\n"
    check_join(FILE_OF(AGAIN), "4:1", ".", "0");
    check_join(FILE_OF(AGAIN), "-4:1 >4:1", ".0", "");
    check_join(FILE_OF("for (;;) {\nagain:\n" MARK "while (x)\nif (y) goto again;\n}\n"), "2:1 >5:1", "..",
               "0");
    check_join(FILE_OF("for (;;) {\nagain:\n" MARK "while (x)\nif (y) goto again;\n}\n"), "2:1 >-5:1 >5:1",
               "..0", "");
    check_join(FILE_OF("again:\nwhile (x) {\n" MARK "for (;;)\ny++;\nif (y) goto again;\n}\n"), "3:1 >5:1",
               ".0", "");
    /* These gotos do not repeat the loop: one is before the loop, one goes forward, one is in another
     * function, and one label is missing. */
    check_join(FILE_OF("again:\nif (y) { y--; goto again; }\n" MARK "while (x)\ny++;\n"), "5:1", "0", "");
    check_join(FILE_OF(MARK "while (x)\nif (y) goto behind;\nbehind:\ny = 3;\n"), "3:1", "0", "");
    check_join(FILE_OF("again:\n;\n}\ng() {\n" MARK "while (x)\nif (y) goto again;\n"), "7:1", "0", "");
    check_join(FILE_OF("x = y ? again : 3;\n" MARK "while (x)\nif (y) again(1);\n"), "4:1", "0", "");
    check_join(FILE_OF(MARK "while (x) { again: y++; if (y) goto again; }\n"), "3:1", ".",
               "0"); /* unclear, because only lines are known, not columns */
    check_join(FILE_OF(MARK "while (x) {\nagain: y++;\nif (y) goto again;\n}\n"), "3:1", "0", "");
#undef AGAIN
}

/* A macro's body is often written as do ... while (0), which is not a loop. */
static void test_do_while_0_is_no_loop(void **state)
{
    (void)state;
    check_join(FILE_OF(MARK "while (x) {\ndo {\ny++;\n} while (0);\n}\n"), "-5:1", "0", "");
    check_join(FILE_OF(MARK "while (x)\ndo y++; while ( (0) );\n"), "-4:1", "0", "");
    check_join(FILE_OF(MARK "while (x)\ndo { y++; } while (false);\n"), "-4:1", "0", "");
    check_join(FILE_OF(MARK "while (x) do { do y++; while (0); } while (0);\n"), "3:1", "0", "");
    check_join(FILE_OF(MARK "while (x) {\ndo { y++; } while (1);\n}\n"), "-4:1", ".", "0");
    check_join(FILE_OF(MARK "while (x) {\ndo { do y++; while (0); } while (y);\n}\n"), "-4:1", ".", "0");
    check_join(FILE_OF(MARK "while (x) {\ndo { y++; } while (0 || y);\n}\n"), "-4:1", ".", "0");
    check_join(FILE_OF("while (x) {\n" MARK "do { y++; } while (0);\n}\n"), "-4:1", ".", "0");
}

static void test_loops_of_one_line(void **state)
{
    (void)state;
    check_join(FILE_OF(MARK "for (;;) for (;;) ;\n"), "3:1 3:10", "0.", "");
    check_join(FILE_OF("for (;;)\n" MARK "# 2 \"a.c\"\n         for (;;) ;\n"), "2:1 2:10 2:10", ".00", "");
    /* All code of a macro has one position, so two loops may share it. */
    check_join(FILE_OF(MARK "for (;;) for (;;) ;\n"), "3:1 3:1", "0.", "");
    /* LLVM removed one of the two loops, or duplicated one of them. */
    check_join(FILE_OF(MARK "for (;;) for (;;) ;\n"), "3:1", ".", "0");
    check_join(FILE_OF(MARK "for (;;) for (;;) ;\n"), "3:1 3:1 3:1", "...", "0");
    check_join(FILE_OF(MARK "for (;;) for (;;) ;\n"), "3:1 3:10 3:10", "0..", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_expressions_are_evaluated),
        cmocka_unit_test(test_other_texts_are_no_numbers),
        cmocka_unit_test(test_marks_belong_to_the_next_loop),
        cmocka_unit_test(test_a_mark_without_a_loop),
        cmocka_unit_test(test_while_behind_do),
        cmocka_unit_test(test_wrong_numbers_are_refused_with_a_reason),
        cmocka_unit_test(test_files_and_lines),
        cmocka_unit_test(test_a_large_text),
        cmocka_unit_test(test_many_loops_end_at_once),
        cmocka_unit_test(test_loops_are_found_again),
        cmocka_unit_test(test_loops_without_a_place),
        cmocka_unit_test(test_loops_without_a_place_around_a_loop_that_is_gone),
        cmocka_unit_test(test_a_loop_that_may_be_two),
        cmocka_unit_test(test_loops_by_goto),
        cmocka_unit_test(test_do_while_0_is_no_loop),
        cmocka_unit_test(test_loops_of_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
