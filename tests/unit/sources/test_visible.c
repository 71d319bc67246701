/* Tests which boards the environment hides, by the rules of each runtime. In results, each board is a
 * character: '+' visible to programs, '-' hidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/visible.h"

#define MAX_BOARDS 4

struct setting {
    const char *variable, *value; /* variable NULL means that no variable is set */
};

/* Adds the files of these boards; all boards can be opened. */
static void put_boards(struct joule_host *host, const struct visible_board *boards, size_t count)
{
    char path[128];
    host_script_text(host, "/sys/class/kfd/kfd/topology/nodes/0/properties",
                     "cpu_cores_count 64\nsimd_count 0\n");
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/drm/renderD%zu/dev", boards[i].pci_address,
                 128 + i);
        host_script_text(host, path, "226:128\n");
        snprintf(path, sizeof path, "/dev/dri/renderD%zu", 128 + i);
        host_script_text(host, path, "");
        snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%zu/properties", i + 1);
        if (strcmp(boards[i].vendor, "amd") == 0)
            host_script_text(host, path, "cpu_cores_count 0\nsimd_count 304\n");
    }
}

static void expect(struct visible_board *boards, size_t count, const struct setting *settings,
                   const char *wanted, const char *variable)
{
    char got[MAX_BOARDS + 1] = "";
    struct joule_host *host = host_script_open();
    for (int i = 0; i < 2 && settings[i].variable; i++)
        host_script_env(host, settings[i].variable, settings[i].value);
    put_boards(host, boards, count);
    visible_mark(host, boards, count);
    for (size_t i = 0; i < count; i++) {
        got[i] = boards[i].hidden_by ? '-' : '+';
        if (boards[i].hidden_by && variable)
            assert_string_equal(boards[i].hidden_by, variable);
    }
    if (strcmp(got, wanted) != 0)
        fail_msg("%s=%s shows %s instead of %s", settings[0].variable, settings[0].value, got, wanted);
    host->ops->close(host);
}

struct expectation {
    struct setting settings[2];
    const char *wanted;
};

static void expect_all(struct visible_board *boards, size_t count, const struct expectation *list,
                       size_t expectations)
{
    for (size_t i = 0; i < expectations; i++)
        expect(boards, count, list[i].settings, list[i].wanted, NULL);
}

#define EXPECT(boards, ...)                                                                                  \
    do {                                                                                                     \
        const struct expectation list[] = {__VA_ARGS__};                                                     \
        expect_all(boards, sizeof boards / sizeof boards[0], list, sizeof list / sizeof list[0]);            \
    } while (0)

/* --- NVIDIA --------------------------------------------------------------------------------------------- */

#define NVIDIA(bus, model, uuid)                                                                             \
    {                                                                                                        \
        "nvidia", model, uuid, "0000:" bus ":00.0", NULL                                                     \
    }

static void test_cuda_variable_selects_boards(void **state)
{
    struct visible_board boards[] = {NVIDIA("65", "NVIDIA H200", "GPU-1234aaaa-00"),
                                     NVIDIA("66", "NVIDIA H200", "GPU-1234bbbb-00"),
                                     NVIDIA("67", "NVIDIA H200", "GPU-5678cccc-00")};
    (void)state;
    EXPECT(boards, {{{NULL, NULL}}, "+++"}, {{{"CUDA_VISIBLE_DEVICES", "0,1,2"}}, "+++"},
           {{{"CUDA_VISIBLE_DEVICES", ""}}, "---"}, {{{"CUDA_VISIBLE_DEVICES", "-1"}}, "---"},
           {{{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}, "---"}, {{{"CUDA_VISIBLE_DEVICES", "1"}}, "-+-"},
           {{{"CUDA_VISIBLE_DEVICES", "2, 0"}}, "+-+"}, {{{"CUDA_VISIBLE_DEVICES", "0,-1,2"}}, "+--"},
           {{{"CUDA_VISIBLE_DEVICES", "1,7,0"}}, "-+-"}, {{{"CUDA_VISIBLE_DEVICES", "0x1"}}, "---"},
           {{{"CUDA_VISIBLE_DEVICES", "GPU-5678"}}, "--+"},
           {{{"CUDA_VISIBLE_DEVICES", "GPU-1234BBBB-00,0"}}, "++-"},
           /* two boards begin with this id, so none is selected */
           {{{"CUDA_VISIBLE_DEVICES", "GPU-1234"}}, "---"}, {{{"CUDA_VISIBLE_DEVICES", "GPU-9"}}, "---"},
           {{{"CUDA_VISIBLE_DEVICES", "MIG-GPU-5678cccc-00/1/0"}}, "--+"},
           /* the board of this MIG instance is unknown */
           {{{"CUDA_VISIBLE_DEVICES", "MIG-aaaa-bbbb"}}, "+++"}, {{{"NVIDIA_VISIBLE_DEVICES", "1"}}, "+++"},
           {{{"NVIDIA_VISIBLE_DEVICES", "void"}}, "+++"});
    expect(boards, 3, (const struct setting[2]){{"CUDA_VISIBLE_DEVICES", "1"}}, "-+-",
           "CUDA_VISIBLE_DEVICES");
}

/* By default, CUDA gives number 0 to the fastest board. If boards are of different models, a number alone
 * therefore does not identify a board. */
static void test_cuda_numbers_of_unlike_boards_are_ambiguous(void **state)
{
    struct visible_board boards[] = {NVIDIA("65", "NVIDIA T4", "GPU-1"),
                                     NVIDIA("66", "NVIDIA H200", "GPU-2")};
    (void)state;
    EXPECT(boards, {{{"CUDA_VISIBLE_DEVICES", "0"}}, "++"}, {{{"CUDA_VISIBLE_DEVICES", "GPU-2"}}, "-+"},
           {{{"CUDA_VISIBLE_DEVICES", "GPU-2,0"}}, "++"}, {{{"CUDA_VISIBLE_DEVICES", ""}}, "--"},
           {{{"CUDA_VISIBLE_DEVICES", "5"}}, "--"},
           {{{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}, "+-"},
           {{{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}}, "++"});
}

static void test_boards_without_id(void **state)
{
    struct visible_board boards[] = {NVIDIA("65", "NVIDIA H200", ""), NVIDIA("66", "NVIDIA H200", "GPU-2")};
    (void)state;
    EXPECT(boards, {{{"CUDA_VISIBLE_DEVICES", "GPU-2"}}, "++"}, {{{"CUDA_VISIBLE_DEVICES", "1"}}, "-+"});
}

/* --- AMD ------------------------------------------------------------------------------------------------ */

#define AMD(bus, uuid)                                                                                       \
    {                                                                                                        \
        "amd", "", uuid, "0000:" bus ":00.0", NULL                                                           \
    }

static void test_rocm_variables_select_boards(void **state)
{
    /* In the order of bus addresses, boards[0] is last, boards[1] is first, boards[2] is in the middle. */
    struct visible_board boards[] = {AMD("83", "GPU-aaaa000000000003"), AMD("03", "GPU-aaaa000000000001"),
                                     AMD("43", "GPU-bbbb000000000002")};
    (void)state;
    EXPECT(boards, {{{"ROCR_VISIBLE_DEVICES", "0"}}, "-+-"}, {{{"ROCR_VISIBLE_DEVICES", ""}}, "---"},
           {{{"ROCR_VISIBLE_DEVICES", "0x2"}}, "+--"}, {{{"ROCR_VISIBLE_DEVICES", "GPU-BBBB"}}, "--+"},
           {{{"ROCR_VISIBLE_DEVICES", "GPU-aaaa"}}, "---"}, {{{"ROCR_VISIBLE_DEVICES", "GPU-"}}, "---"},
           {{{"ROCR_VISIBLE_DEVICES", "0,0,1"}}, "-+-"}, /* the list ends at a repeated board */
           {{{"ROCR_VISIBLE_DEVICES", "1,9,0"}}, "--+"}, {{{"HIP_VISIBLE_DEVICES", "1"}}, "--+"},
           {{{"CUDA_VISIBLE_DEVICES", "2"}}, "+--"}, {{{"GPU_DEVICE_ORDINAL", "0"}}, "-+-"},
           {{{"HIP_VISIBLE_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "2"}}, "-+-"},
           /* 0 selects the first of the boards that the other variable leaves visible */
           {{{"ROCR_VISIBLE_DEVICES", "2,1"}, {"HIP_VISIBLE_DEVICES", "0"}}, "+--"},
           {{{"ROCR_VISIBLE_DEVICES", "2"}, {"HIP_VISIBLE_DEVICES", "1"}}, "---"});
}

static void test_variables_of_one_vendor_hide_no_other(void **state)
{
    struct visible_board boards[] = {NVIDIA("65", "NVIDIA H200", "GPU-1"), AMD("03", ""), AMD("04", "")};
    (void)state;
    EXPECT(boards, {{{"CUDA_VISIBLE_DEVICES", "GPU-1"}}, "+++"}, {{{"CUDA_VISIBLE_DEVICES", ""}}, "-++"},
           {{{"HIP_VISIBLE_DEVICES", "0"}}, "++-"}, {{{"ROCR_VISIBLE_DEVICES", "GPU-12"}}, "+++"});
}

/* --- Intel ---------------------------------------------------------------------------------------------- */

#define INTEL(bus, model)                                                                                    \
    {                                                                                                        \
        "intel", model, "", "0000:" bus ":00.0", NULL                                                        \
    }

static void test_level_zero_variable_selects_boards(void **state)
{
    struct visible_board alike[] = {INTEL("03", "Intel(R) Arc(TM) A770"),
                                    INTEL("04", "Intel(R) Arc(TM) A770")},
                         tiles[] = {INTEL("03", "Intel(R) Data Center GPU Max 1550"),
                                    INTEL("04", "Intel(R) Data Center GPU Max 1550")},
                         others[] = {INTEL("00", "Intel(R) UHD Graphics"),
                                     INTEL("03", "Intel(R) Arc(TM) A770")};
    (void)state;
    EXPECT(alike, {{{"ZE_AFFINITY_MASK", "1"}}, "-+"}, {{{"ZE_AFFINITY_MASK", ""}}, "++"},
           {{{"ZE_AFFINITY_MASK", "0.0"}}, "+-"}, {{{"ZE_AFFINITY_MASK", "0,1"}}, "++"},
           {{{"ZE_AFFINITY_MASK", "3"}}, "++"}, {{{"ZE_AFFINITY_MASK", "all"}}, "++"});
    EXPECT(tiles, {{{"ZE_AFFINITY_MASK", "1"}}, "++"},
           {{{"ZE_AFFINITY_MASK", "1.1"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}, "-+"});
    EXPECT(others, {{{"ZE_AFFINITY_MASK", "0"}}, "++"},
           {{{"ZE_AFFINITY_MASK", "0"}, {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"}}, "+-"});
}

/* In a container or job, numbers count only the boards that are visible there. It is unknown which boards
 * these are. */
static void test_boards_that_may_not_be_opened(void **state)
{
    struct visible_board amd[] = {AMD("03", "GPU-1"), AMD("04", "GPU-2")},
                         intel[] = {INTEL("03", ""), INTEL("04", "")};
    struct joule_host *host = host_script_open();
    (void)state;
    host_script_env(host, "ROCR_VISIBLE_DEVICES", "0");
    host_script_env(host, "ZE_AFFINITY_MASK", "0");
    put_boards(host, amd, 2);
    visible_mark(host, intel, 2);
    assert_non_null(intel[1].hidden_by);
    host_script_error(host, "/sys/class/kfd/kfd/topology/nodes/1/properties", EPERM);
    visible_mark(host, amd, 2);
    assert_null(amd[1].hidden_by);
    host_script_error(host, "/dev/dri/renderD128", EPERM);
    visible_mark(host, intel, 2);
    assert_null(intel[1].hidden_by);
    host->ops->close(host);
}

static void test_variables_without_board_names_hide_nothing(void **state)
{
    struct visible_board boards[] = {{"google", "TPU v4", "", "0000:00:04.0", NULL},
                                     {"amazon", "Trainium2", "", "", NULL},
                                     {"groq", "GroqChip", "", "0000:21:00.0", NULL}};
    (void)state;
    EXPECT(boards, {{{"TPU_NAME", "other"}}, "+++"}, {{{"NEURON_RT_NUM_CORES", "1"}}, "+++"},
           {{{"NEURON_RT_VISIBLE_CORES", "0-1"}}, "+++"}, {{{"GROQ_DEVICE_ID", "3"}}, "+++"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_variable_selects_boards),
        cmocka_unit_test(test_cuda_numbers_of_unlike_boards_are_ambiguous),
        cmocka_unit_test(test_boards_without_id),
        cmocka_unit_test(test_rocm_variables_select_boards),
        cmocka_unit_test(test_variables_of_one_vendor_hide_no_other),
        cmocka_unit_test(test_level_zero_variable_selects_boards),
        cmocka_unit_test(test_boards_that_may_not_be_opened),
        cmocka_unit_test(test_variables_without_board_names_hide_nothing),
    };
    return cmocka_run_group_tests_name("visible", tests, NULL, NULL);
}
