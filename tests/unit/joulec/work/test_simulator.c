/* Loops found in clang's assembly, and llvm-mca's question and answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/work/simulator.h"

/* As clang 14 writes them. In `chosen` there was no instruction for a choice; `other` has a block of the same name. */
static const char x86[] = "\t.text\n"
                          "\t.globl\tadd                             # -- Begin function add\n"
                          "add:                                    # @add\n"
                          "\t.cfi_startproc\n"
                          "# %bb.0:                                # %entry\n"
                          "\txorl\t%eax, %eax\n"
                          "\t.p2align\t4, 0x90\n"
                          ".LBB0_1:                                # %for.body\n"
                          "                                        # =>This Inner Loop Header: Depth=1\n"
                          "\taddl\t(%rdi,%rcx), %eax\n"
                          "\taddq\t$4, %rcx\n"
                          "\tjne\t.LBB0_1\n"
                          "# %bb.2:                                # %for.end\n"
                          "\tretq\n"
                          ".Lfunc_end0:\n"
                          "chosen:                                 # @chosen\n"
                          ".LBB1_1:                                # %for.body\n"
                          "\tcmpl\t%esi, %eax\n"
                          "\tjge\t.LBB1_3\n"
                          "# %bb.2:                                # %for.body\n"
                          "\tmovl\t%esi, %eax\n"
                          ".LBB1_3:                                # %for.body\n"
                          "\tdecl\t%ecx\n"
                          "\tjne\t.LBB1_1\n"
                          ".Lfunc_end1:\n"
                          "other:                                  # @other\n"
                          ".LBB2_10:                               # %for.body\n"
                          "\tpxor\t%xmm1, %xmm1\n"
                          ".Ltmp3:\n"
                          "\tmovups\t%xmm1, (%rdi)\n"
                          "                                        # kill: def $eax killed\n"
                          "\tjmp\t.LBB2_10\n"
                          ".Lfunc_end2:\n"
                          "\t.section\t\".note.GNU-stack\",\"\",@progbits\n";

static const char arm[] = "sum:                                    // @sum\n"
                          ".LBB0_2:                                // %body\n"
                          "                                        // =>This Inner Loop Header: Depth=1\n"
                          "\tldr\tw10, [x0], #4\n"
                          "\tadd\tw8, w10, w8\n"
                          "\tb.ne\t.LBB0_2\n"
                          "// %bb.3:                               // %end\n"
                          ".Lfunc_end0:\n";

struct trial {
    struct wide_loop wide[3];
    struct assembly_loop loops[3];
};

static void list(struct trial *t, const char *const *functions, const char *block, size_t count)
{
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < count; i++) {
        t->wide[i].only_block = block;
        t->loops[i] = (struct assembly_loop){.function = functions[i], .loop = &t->wide[i]};
    }
}

static const struct assembly_loop *loop_of(const struct trial *t, const char *function)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(t->loops[i].function, function) == 0)
            return &t->loops[i];
    return NULL;
}

static void test_bodies_are_found_by_names(void **state)
{
    (void)state;
    static const char *const functions[] = {"other", "add", "chosen"};
    struct trial t;
    list(&t, functions, "for.body", 3);
    assembly_find(x86, strlen(x86), t.loops, 3);
    const struct assembly_loop *add = loop_of(&t, "add"), *other = loop_of(&t, "other");
    assert_true(add->body && memmem(add->body, add->body_bytes, "addl\t(%rdi", 10));
    assert_memory_equal(add->body + add->body_bytes - strlen("\tjne\t.LBB0_1"), "\tjne\t.LBB0_1", 12);
    assert_true(add->loop->simulated.folds_loads);
    assert_false(add->loop->simulated.makes_zeros);
    assert_null(loop_of(&t, "chosen")->body);
    assert_true(other->body && other->loop->simulated.makes_zeros);
    assert_false(other->loop->simulated.folds_loads);
}

static void test_of_arm_too(void **state)
{
    (void)state;
    static const char *const functions[] = {"sum", "none", "nothing"};
    struct trial t;
    char text[400];
    struct text out;
    list(&t, functions, "body", 3);
    assembly_find(arm, strlen(arm), t.loops, 3);
    const struct assembly_loop *sum = loop_of(&t, "sum");
    assert_true(sum->body && !sum->loop->simulated.folds_loads && !sum->loop->simulated.makes_zeros);
    assert_null(loop_of(&t, "none")->body);
    text_init(&out, text, sizeof text);
    simulator_ask(t.loops, 3, "aarch64-unknown-linux-gnu", &out);
    assert_int_equal(strncmp(text, "// LLVM-MCA-BEGIN ", 18), 0);
    assert_true(string_ends(text, "\tb.ne\t.LBB0_2\n// LLVM-MCA-END\n"));
}

static void test_a_block_that_does_not_end(void **state)
{
    (void)state;
    static const char *const functions[] = {"add", "x", "y"};
    struct trial t;
    for (size_t size = 0; size < strlen(x86); size++) { /* cut anywhere: in a body of its own size */
        char *cut = malloc(size + 1);
        memcpy(cut, x86, size);
        list(&t, functions, "for.body", 3);
        assembly_find(cut, size, t.loops, 3);
        const struct assembly_loop *add = loop_of(&t, "add");
        if (add->body)
            assert_true(add->body >= cut && add->body + add->body_bytes <= cut + size);
        free(cut);
    }
}

static void test_cores_that_a_release_knows(void **state)
{
    (void)state;
    assert_string_equal(simulator_cpu("skylake", "x86_64-pc-linux-gnu", 14), "skylake");
    assert_null(simulator_cpu("golden-cove", "x86_64-pc-linux-gnu", 14));
    assert_string_equal(simulator_cpu("golden-cove", "x86_64-pc-linux-gnu", 17), "sapphirerapids");
    assert_null(simulator_cpu("zen3", "aarch64-linux-gnu", 19));
    assert_string_equal(simulator_cpu("neoverse-n1", NULL, 19), "neoverse-n1");
    assert_null(simulator_cpu("generic", "x86_64-pc-linux-gnu", 19));
    assert_int_equal(simulator_version("Debian LLVM version 14.0.6\n  Optimized build.\n"), 14);
    assert_int_equal(simulator_version("LLVM (http://llvm.org/):\n  LLVM version 19.1.7\n"), 19);
    assert_int_equal(simulator_version("no such thing"), 0);
}

static joule_status read_answer(const char *text, struct trial *t)
{
    char copy[1000];
    joule_error error;
    string_copy(copy, sizeof copy, text);
    return simulator_read(copy, strlen(copy), t->loops, 2, &error);
}

static void test_answers(void **state)
{
    (void)state;
    static const char *const functions[] = {"a", "b"};
    struct trial t;
    list(&t, functions, "body", 2);
    assert_int_equal(
        read_answer("{\"CodeRegions\": [{\"Name\": \"1\", \"SummaryView\": {\"BlockRThroughput\": 2.5, "
                    "\"Iterations\": 100, \"TotalCycles\": 812}}, {\"Name\": \"7\"}, {\"Name\": \"0\", "
                    "\"SummaryView\": {\"BlockRThroughput\": 1, \"Iterations\": 0, \"TotalCycles\": 5}}]}",
                    &t),
        JOULE_OK);
    assert_true(t.wide[1].simulated.cycles == 8.12 && t.wide[1].simulated.unit_cycles == 2.5);
    assert_true(t.wide[0].simulated.cycles == 0);
    assert_int_equal(
        read_answer("{\"CodeRegions\": [{\"Name\": \"0\", \"SummaryView\": {\"BlockRThroughput\": 1, "
                    "\"Iterations\": 100, \"TotalCycles\": 408}}], "
                    "\"TargetInfo\": {\"Resources\": [\"SBPort23.\\u0000\"]}}",
                    &t),
        JOULE_OK);
    assert_true(t.wide[0].simulated.cycles == 4.08);
    assert_int_equal(read_answer("error: no such CPU", &t), JOULE_INVALID);
    assert_int_equal(read_answer("[1, 2]", &t), JOULE_OK);
    assert_true(t.wide[1].simulated.cycles == 8.12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_are_found_by_names),
        cmocka_unit_test(test_of_arm_too),
        cmocka_unit_test(test_a_block_that_does_not_end),
        cmocka_unit_test(test_cores_that_a_release_knows),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
