/* Two loops of which LLVM has made one, and one of which it has made two: how many there are once they are read, what scalar evolution says
 * of them, and whose place is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joulec/module/loops.h"
#include "support/module_text.h"

struct subject {
    struct module module;
    struct arena arena;
    struct loops loops;
};

/* Lines of places: !outer spans 2 to 9, !inner 4 to 6. */
#define PLACES(loop)                                                                                         \
    "!llvm.module.flags = !{!0}\n!llvm.dbg.cu = !{!1}\n"                                                     \
    "!0 = !{i32 2, !\"Debug Info Version\", i32 3}\n"                                                        \
    "!1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: LineTablesOnly)\n"          \
    "!2 = !DIFile(filename: \"a.c\", directory: \"/\")\n"                                                    \
    "!3 = distinct !DISubprogram(name: \"f\", file: !2, line: 1, type: !4, unit: !1, "                       \
    "spFlags: DISPFlagDefinition)\n"                                                                         \
    "!4 = !DISubroutineType(types: !{})\n"                                                                   \
    "!10 = !DILocation(line: 2, column: 1, scope: !3)\n"                                                     \
    "!11 = !DILocation(line: 9, column: 1, scope: !3)\n"                                                     \
    "!12 = !DILocation(line: 4, column: 1, scope: !3)\n"                                                     \
    "!13 = !DILocation(line: 6, column: 1, scope: !3)\n"                                                     \
    "!14 = !DILocation(line: 5, column: 1, scope: !3)\n"                                                     \
    "!15 = !DILocation(line: 8, column: 1, scope: !3)\n"                                                     \
    "!20 = distinct !{!20, " loop "}\n"                                                                      \
    "!21 = distinct !{!21}\n"
#define OUTER "!10, !11"
#define INNER "!12, !13"

static struct subject read_text(const char *body, const char *places)
{
    static const char before[] =
        "declare i1 @asks()\ndeclare void @does()\ndefine i64 @f(i64 %n) !dbg !3 {\n";
    struct subject s = {.loops = {.count = 0}};
    module_text_read((const char *const[]){before, body, "}\n", places}, 4, &s.module);
    assert_int_equal(loops_find(&s.arena, &s.module.functions[0], &s.loops), JOULE_OK);
    return s;
}

static void end(struct subject *s)
{
    arena_free(&s->arena);
    module_free(&s->module);
}

/* LLVM 19 writes the type of a number, too. */
static bool runs(const struct subject *s, const char *loop, unsigned count)
{
    char plain[100], typed[100];
    snprintf(plain, sizeof plain, "Loop %%%s: backedge-taken count is %u\n", loop, count - 1);
    snprintf(typed, sizeof typed, "Loop %%%s: backedge-taken count is i64 %u\n", loop, count - 1);
    return strstr(s->module.loop_text, plain) || strstr(s->module.loop_text, typed);
}

/* %i goes from 0 to 7; then, or at `leave` in between, something is asked, and all begins anew. */
#define HEAD                                                                                                 \
    "entry:\n  br label %b, !dbg !10\n"                                                                      \
    "b:\n"
#define ROUND                                                                                                \
    "  call void @does(), !dbg !14\n"                                                                        \
    "  %next = add i64 %i, 1\n"                                                                              \
    "  %done = icmp eq i64 %next, 8\n"
#define END "end:\n  ret i64 %next\n"

/* By a block that brings both ways back together, as LLVM's loops have it. */
static const char by_one_block[] = HEAD "  %i = phi i64 [ 0, %entry ], [ %again, %back ]\n"
                                        "  %sum = phi i64 [ %n, %entry ], [ %sums, %back ]\n" ROUND
                                        "  br i1 %done, label %asking, label %back, !dbg !12\n"
                                        "asking:\n"
                                        "  %more = call i1 @asks(), !dbg !15\n"
                                        "  br i1 %more, label %back, label %end, !dbg !15\n"
                                        "back:\n"
                                        "  %again = phi i64 [ %next, %b ], [ 0, %asking ]\n"
                                        "  %sums = phi i64 [ %sum, %b ], [ %next, %asking ]\n"
                                        "  br label %b, !llvm.loop !20\n" END;
static const char by_itself[] = HEAD "  %i = phi i64 [ 0, %entry ], [ %next, %b ], [ 0, %asking ]\n" ROUND
                                     "  br i1 %done, label %asking, label %b, !dbg !12, !llvm.loop !20\n"
                                     "asking:\n"
                                     "  %more = call i1 @asks(), !dbg !15\n"
                                     "  br i1 %more, label %b, label %end, !llvm.loop !20\n" END;

/* As LLVM 19 has it: one branch for both questions, and a choice of what comes in. */
#define CHOICES(question)                                                                                    \
    HEAD "  %i = phi i64 [ 0, %entry ], [ %chosen, %b ]\n"                                                   \
         "  %sum = phi i64 [ %n, %entry ], [ %sums, %b ]\n"                                                  \
         "  %more = call i1 @asks(), !dbg !15\n"                                                             \
         "  %next = add i64 %i, 1\n" question END
static const char by_or[] = CHOICES("  %on = icmp ne i64 %next, 8\n"
                                    "  %either = select i1 %on, i1 true, i1 %more\n"
                                    "  %chosen = select i1 %on, i64 %next, i64 0\n"
                                    "  %sums = select i1 %on, i64 %sum, i64 %next\n"
                                    "  br i1 %either, label %b, label %end, !dbg !14, !llvm.loop !20\n");
static const char by_and[] = CHOICES("  %done = icmp eq i64 %next, 8\n"
                                     "  %both = and i1 %more, %done\n"
                                     "  %chosen = select i1 %done, i64 0, i64 %next\n"
                                     "  %sums = select i1 %done, i64 %next, i64 %sum\n"
                                     "  br i1 %both, label %end, label %b, !dbg !14, !llvm.loop !20\n");

static void check_parted(const char *body, const char *places, unsigned outer_line, unsigned inner_line,
                         enum parted parted)
{
    struct subject s = read_text(body, places);
    assert_int_equal(s.loops.count, 2);
    assert_int_equal(s.loops.list[1].parent, 0);
    assert_true(runs(&s, "b", 8));
    assert_int_equal(s.loops.list[0].has_own_place ? s.loops.list[0].place.line : 0, outer_line);
    assert_int_equal(s.loops.list[1].has_own_place ? s.loops.list[1].place.line : 0, inner_line);
    assert_int_equal(s.loops.list[inner_line ? 1 : 0].parted, parted);
    end(&s);
}

static void test_two_loops_are_two_again(void **state)
{
    (void)state;
    check_parted(by_one_block, PLACES(OUTER), 2, 0, PARTED_OUTER);
    check_parted(by_itself, PLACES(OUTER), 2, 0, PARTED_OUTER);
    check_parted(by_one_block, PLACES(INNER), 0, 4, PARTED_NOT);
    check_parted(by_itself, PLACES(INNER), 0, 4, PARTED_NOT);
}

static void test_a_place_in_doubt(void **state)
{
    (void)state;
    /* It begins where the inner one is asked to end: that one's, unless both are one. */
    check_parted(by_one_block, PLACES("!12, !11"), 0, 4, PARTED_INNER);
    /* Nobody's. */
    check_parted(by_one_block, PLACES("!12"), 0, 0, PARTED_LOST);
    check_parted(by_one_block, PLACES("!14, !13"), 0, 0, PARTED_LOST);
}

static void test_one_branch_for_both(void **state)
{
    (void)state;
    check_parted(by_or, PLACES("!14, !13"), 0, 5, PARTED_INNER);
    check_parted(by_and, PLACES("!14, !13"), 0, 5, PARTED_INNER);
}

static void test_three_loops(void **state)
{
    (void)state;
    struct subject s = read_text("entry:\n  br label %b, !dbg !10\n"
                                 "b:\n"
                                 "  %i = phi i64 [ 0, %entry ], [ %i.be, %back ]\n"
                                 "  %k = phi i64 [ 0, %entry ], [ %k.be, %back ]\n" ROUND
                                 "  br i1 %done, label %outer, label %back, !dbg !12\n"
                                 "outer:\n"
                                 "  %k.next = add i64 %k, 1\n"
                                 "  %k.done = icmp eq i64 %k.next, 5\n"
                                 "  br i1 %k.done, label %asking, label %back, !dbg !15\n"
                                 "asking:\n"
                                 "  %more = call i1 @asks(), !dbg !15\n"
                                 "  br i1 %more, label %back, label %end, !dbg !15\n"
                                 "back:\n"
                                 "  %i.be = phi i64 [ %next, %b ], [ 0, %outer ], [ 0, %asking ]\n"
                                 "  %k.be = phi i64 [ %k, %b ], [ %k.next, %outer ], [ 0, %asking ]\n"
                                 "  br label %b, !llvm.loop !20\n" END,
                                 PLACES(OUTER));
    assert_int_equal(s.loops.count, 3);
    assert_int_equal(s.loops.list[2].depth, 3);
    assert_true(runs(&s, "b", 8));
    assert_non_null(strstr(s.module.loop_text, "backedge-taken count is 4")
                        ? s.module.loop_text
                        : strstr(s.module.loop_text, "is i64 4"));
    end(&s);
}

/* A count is set back where something is asked; what then leaves the loop is `leaving`. */
#define SET_BACK(leaving)                                                                                    \
    HEAD "  %i = phi i64 [ 0, %entry ], [ %next, %on ], [ 0, %b ]\n" ROUND                                   \
         "  %back = call i1 @asks(), !dbg !15\n"                                                             \
         "  br i1 %back, label %b, label %on, !llvm.loop !20\n"                                              \
         "on:\n" leaving END

static void check_whole(const char *body, enum parted parted)
{
    struct subject s = read_text(body, PLACES(OUTER));
    assert_int_equal(s.loops.count, 1);
    assert_int_equal(s.loops.list[0].parted, parted);
    assert_int_equal(s.loops.list[0].place.line, 2);
    end(&s);
}

/* A count that is set back before its end, and one that nothing ends: they may be one loop in the source. */
static void test_what_is_set_back_stays(void **state)
{
    (void)state;
    check_whole(SET_BACK("  br i1 %done, label %end, label %b, !llvm.loop !20\n"), PARTED_UNSURE);
    check_whole(SET_BACK("  %more = call i1 @asks(), !dbg !15\n"
                         "  br i1 %more, label %end, label %b, !llvm.loop !20\n"),
                PARTED_NOT);
}

/* Of a nest whose loops have no common place nothing is said. */
static const char nest[] =
    "entry:\n  br label %outer, !dbg !10\n"
    "outer:\n"
    "  %k = phi i64 [ 0, %entry ], [ %k.next, %latch ]\n"
    "  %far = phi i64 [ %n, %entry ], [ %i, %latch ]\n"
    "  br label %b\n"
    "b:\n"
    "  %i = phi i64 [ %k, %outer ], [ %next, %b ]\n" ROUND "  %on = call i1 @asks(), !dbg !15\n"
    "  br i1 %on, label %b, label %latch, !llvm.loop !20\n"
    "latch:\n"
    "  %k.next = add i64 %k, %far\n"
    "  %more = call i1 @asks(), !dbg !15\n"
    "  br i1 %more, label %outer, label %end, !llvm.loop !%s\n" END;

static void check_nest(const char *node, size_t count)
{
    char body[2000];
    snprintf(body, sizeof body, "%.*s%s%s", (int)(strstr(nest, "!%s") + 1 - nest), nest, node,
             strstr(nest, "!%s") + 3);
    struct subject s = read_text(body, PLACES(OUTER));
    assert_int_equal(s.loops.count, count);
    assert_int_equal(s.loops.list[count - 1].place.line, 2);
    end(&s);
}

static void test_one_loop_is_one_again(void **state)
{
    (void)state;
    check_nest("20", 1);
    check_nest("21", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_loops_are_two_again), cmocka_unit_test(test_a_place_in_doubt),
        cmocka_unit_test(test_one_branch_for_both),     cmocka_unit_test(test_three_loops),
        cmocka_unit_test(test_what_is_set_back_stays),  cmocka_unit_test(test_one_loop_is_one_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
