/* Tests the view without a terminal: order and filter of rows, keys, and contents of pages of every size. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "draw.h"
#include "support/check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct model model;
static struct ui ui;
static struct frame frame;

/* --- a machine ------------------------------------------------------------------------------------------ */

static joule_quantity known(double value, joule_class cls)
{
    return (joule_quantity){value, 0.9 * value, 1.1 * value, cls, 0};
}

static void add_device(const char *name, double watts, joule_class cls)
{
    struct device_row *row = model_add_device(&model, name);
    joule_quantity unknown = {NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    assert_non_null(row);
    row->watts = isnan(watts) ? unknown : known(watts, cls);
    row->joules = isnan(watts) ? unknown : known(10 * watts, cls);
    row->domain = isnan(watts) ? -1 : 0;
    row->busy = row->celsius = row->limit_watts = NAN;
    row->memory_used_bytes = row->memory_total_bytes = JOULE_BYTES_UNKNOWN;
    history_add(&row->history, 0, watts);
}

static void add_process(int pid, const char *user, const char *command, double watts, double joules)
{
    model.processes = realloc(model.processes, (model.process_count + 1) * sizeof *model.processes);
    struct process_row *row = &model.processes[model.process_count++];
    *row = (struct process_row){.pid = pid,
                                .watts = watts,
                                .joules = known(joules, JOULE_CLASS_DERIVED),
                                .cls = JOULE_CLASS_DERIVED,
                                .cpu_share = watts / 100,
                                .gpu_share = NAN,
                                .gpu_memory_bytes = JOULE_BYTES_UNKNOWN,
                                .uses_detail = true};
    snprintf(row->user, sizeof row->user, "%s", user);
    snprintf(row->command, sizeof row->command, "%s", command);
}

static int setup(void **state)
{
    (void)state;
    model = (struct model){.period_s = 1,
                           .watts = known(412, JOULE_CLASS_DERIVED),
                           .joules = known(4120, JOULE_CLASS_DERIVED),
                           .cpu_busy = 0.12,
                           .cpus = 64,
                           .memory_used_bytes = UINT64_C(12) << 30,
                           .memory_total_bytes = UINT64_C(64) << 30,
                           .sums = {4000, 3000, 500, 400, 100}};
    snprintf(model.host, sizeof model.host, "node7");
    snprintf(model.cover, sizeof model.cover, "package-0 + gpu-0");
    add_device("cpu:0", 100, JOULE_CLASS_MEASURED);
    add_device("gpu:10", 50, JOULE_CLASS_DERIVED);
    add_device("node", NAN, JOULE_CLASS_NONE);
    add_device("gpu:2", 312, JOULE_CLASS_DERIVED);
    model_sort_devices(&model);
    add_process(30, "ann", "python train.py", 80, 300);
    add_process(4, "root", "[kworker]", 0, 500);
    add_process(200, "bob", "Firefox", 20, 20);
    add_process(7, "bob", "(of another container)", NAN, NAN);
    assert_true(ui_refresh(&ui, &model));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    model_free(&model);
    ui_free(&ui);
    ui = (struct ui){0};
    frame_free(&frame);
    return 0;
}

/* --- reading a page ------------------------------------------------------------------------------------- */

static const char *page(int width, int height)
{
    static char text[64 * 1024];
    struct text out;
    text_init(&out, text, sizeof text);
    assert_true(frame_clear(&frame, width, height));
    draw(&frame, &ui, &model);
    for (int y = 0; y < height; y++) {
        frame_row(&frame, y, &out);
        text_add(&out, "\n");
    }
    return text;
}

static void shows_not(const char *text, const char *piece)
{
    if (strstr(text, piece))
        fail_msg("'%s' is on the page:\n%s", piece, text);
}

/* Returns the ids of the listed processes, in their order. */
static const char *order(void)
{
    static char text[100];
    *text = '\0';
    for (size_t i = 0; i < ui.shown_count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? " " : "",
                 model.processes[ui.shown[i]].pid);
    return text;
}

static enum ui_action press(int key)
{
    return ui_press(&ui, &model, key);
}

static void type(const char *keys)
{
    for (; *keys; keys++)
        press(*keys);
}

/* --- rows ----------------------------------------------------------------------------------------------- */

static void test_devices_have_an_order(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu:2", "gpu:10", "cpu:0", "node"};
    for (size_t i = 0; i < COUNT(names); i++)
        assert_string_equal(model.devices[i].name, names[i]);
}

static void test_processes_are_sorted(void **state)
{
    (void)state;
    static const struct {
        enum sort_key key;
        const char *order, *reversed;
    } cases[] = {{SORT_POWER, "30 200 4 7", "4 200 30 7"}, /* unknown values are last in both orders */
                 {SORT_ENERGY, "4 30 200 7", "200 30 4 7"}, {SORT_CPU, "30 200 4 7", "4 200 30 7"},
                 {SORT_GPU, "4 7 30 200", "4 7 30 200"},    {SORT_PID, "4 7 30 200", "200 30 7 4"},
                 {SORT_NAME, "7 200 4 30", "30 4 200 7"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        ui.sort = cases[i].key;
        ui.is_reversed = false;
        ui_refresh(&ui, &model);
        assert_string_equal(order(), cases[i].order);
        ui.is_reversed = true;
        ui_refresh(&ui, &model);
        assert_string_equal(order(), cases[i].reversed);
    }
}

static void test_filter_selects_processes(void **state)
{
    (void)state;
    type("/FIRE");
    assert_string_equal(order(), "200");
    assert_contains(page(80, 24), "filter: FIRE_");
    press(UI_BACKSPACE);
    type("zz");
    assert_string_equal(order(), "");
    assert_contains(page(80, 24), "no process matches");
    press(UI_ESCAPE); /* the key removes the filter */
    assert_string_equal(order(), "30 200 4 7");
    type("/bob");
    press(UI_ENTER);
    assert_string_equal(order(), "200 7");
    type("/q"); /* while a filter is typed, q is a letter of the filter and not a command */
    press(UI_ESCAPE);
    assert_string_equal(ui.filter, "bob");
    press(UI_ESCAPE);
    assert_string_equal(order(), "30 200 4 7");
    type("/\xc3\xa9");
    press(UI_BACKSPACE); /* Backspace removes a whole character, which has two bytes here */
    assert_string_equal(ui.filter, "");
    for (int i = 0; i < 200; i++)
        press('x');
    assert_true(strlen(ui.filter) < sizeof ui.filter);
}

/* --- keys ----------------------------------------------------------------------------------------------- */

static void test_a_selection_follows_its_process(void **state)
{
    (void)state;
    press(UI_DOWN);
    assert_int_equal(ui.pid, 200);
    type("j");
    press(UI_UP);
    model.processes[ui.shown[1]].watts = 500; /* the process moves up in the list */
    ui_refresh(&ui, &model);
    assert_int_equal(model.processes[ui.shown[ui.processes.selected]].pid, 200);
    assert_int_equal(ui.processes.selected, 0);
    press(UI_END);
    assert_int_equal(ui.pid, 7);
    model.process_count--; /* a process ends */
    ui_refresh(&ui, &model);
    assert_true(ui.processes.selected < ui.shown_count);
    press(UI_HOME);
    press(UI_UP);
    assert_int_equal(ui.processes.selected, 0);
}

static void test_detail_shows_one_device(void **state)
{
    (void)state;
    press(UI_TAB);
    assert_int_equal(ui.focus, FOCUS_DEVICES);
    press(UI_DOWN);
    assert_string_equal(ui.device, "gpu:10");
    assert_int_equal(press(UI_ENTER), UI_DETAIL);
    assert_string_equal(model.detail, "gpu:10");
    assert_contains(page(80, 24), "gpu:10");
    assert_contains(page(80, 24), "45.0 to 55.0 W");
    shows_not(page(80, 24), "cpu:0");
    model.processes[0].uses_detail = false;
    ui_refresh(&ui, &model);
    assert_int_equal(ui.shown_count, 3);
    assert_int_equal(press(UI_ESCAPE), UI_DETAIL);
    ui_refresh(&ui, &model);
    assert_string_equal(model.detail, "");
    assert_int_equal(ui.devices.selected, 1);
    snprintf(model.detail, sizeof model.detail, "gpu:77");
    assert_contains(page(80, 24), "no longer present");
}

static void test_other_keys_pause_help_and_quit(void **state)
{
    (void)state;
    assert_int_equal(press('R'), UI_RECORD);
    press('p');
    assert_true(ui.is_paused);
    assert_contains(page(80, 24), "PAUSED");
    press(' ');
    assert_false(ui.is_paused);
    press('?');
    assert_contains(page(80, 24), "letter after a value");
    assert_int_equal(press('q'), UI_QUIT);
    assert_int_equal(press('q'), UI_QUIT);
    press('S');
    assert_int_equal(ui.sort, SORT_NAME);
    assert_contains(page(40, 10), "sorted by name");
    press('s');
    assert_int_equal(ui.sort, SORT_POWER);
    press('r');
    assert_string_equal(order(), "4 200 30 7");
    for (int key = 0; key < 0x110020; key += key < 0x200 ? 1 : 0x3fff)
        if (key != '/') /* no key may crash the view */
            press(key);
}

/* --- pages ---------------------------------------------------------------------------------------------- */

static void test_page_shows_devices_and_processes(void **state)
{
    (void)state;
    const char *text = page(100, 30);
    static const char *const pieces[] = {
        "node7",
        "64 CPUs 12%",
        "memory 12/64 GiB",
        "TOTAL   412 W d",
        "4.12 kJ",
        "371 to 453 W",
        "package-0 + gpu-0",
        "gpu:2      312 W d",
        "cpu:0      100 W m",
        "80.0 W d",
        "python train.py",
        "no value",
        "of 4.00 kJ: processes 3.00 kJ  ended 500 J  idle 400 J  unattributed 100 J",
        "q quit"};
    for (size_t i = 0; i < COUNT(pieces); i++)
        assert_contains(text, pieces[i]);
    shows_not(text, "nan");
    shows_not(text, "TEMP"); /* no device has a temperature */
    model.devices[0].celsius = 66;
    model.devices[0].limit_watts = 700;
    text = page(100, 30);
    assert_contains(text, "66 C");
    assert_contains(text, "700 W");
}

static void test_unknown_is_no_figure(void **state)
{
    (void)state;
    joule_quantity unknown = {NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    model.watts = model.joules = unknown;
    model.cover[0] = '\0';
    model.is_partial = true;
    model.cpu_busy = NAN;
    model.memory_total_bytes = JOULE_BYTES_UNKNOWN;
    model.sums = (struct sums){0};
    model.process_count = 0;
    model.proc_state = JOULE_ABSENT;
    for (size_t i = 0; i < model.device_count; i++)
        model.devices[i].watts = model.devices[i].joules = unknown;
    model.devices[0].state = JOULE_DENIED;
    model.devices[0].domain = 3;
    ui_refresh(&ui, &model);
    const char *text = page(80, 24);
    assert_contains(text, "TOTAL       -");
    assert_contains(text, "no sensor answers (partial)");
    assert_contains(text, "denied");
    assert_contains(text, "/proc cannot be read");
    shows_not(text, " 0 W");
    shows_not(text, "nan");
}

static void test_pages_of_every_size(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "gpu:%d", 20 + i);
        add_device(name, 10 * i, JOULE_CLASS_MODELLED);
        add_process(1000 + i, "somebody", "a command with a name that is longer than any terminal is wide", i,
                    i);
    }
    model_sort_devices(&model);
    ui_refresh(&ui, &model);
    for (int width = 1; width <= 200; width += width < 50 ? 1 : 13)
        for (int height = 1; height <= 60; height += height < 20 ? 1 : 7) {
            ui.focus = width % 2 ? FOCUS_DEVICES : FOCUS_PROCESSES;
            press(UI_END);
            const char *text = page(width, height);
            if (width < MIN_WIDTH || height < MIN_HEIGHT) {
                shows_not(text, "TOTAL");
                continue;
            }
            assert_contains(text, "TOTAL");
            /* the page has scrolled to the last row */
            assert_contains(text, ui.focus == FOCUS_DEVICES ? "node" : " 7 ");
            press(UI_HOME);
            assert_contains(page(width, height), ui.focus == FOCUS_DEVICES ? "gpu:2 " : "30 ");
        }
    press(UI_TAB);
    snprintf(model.detail, sizeof model.detail, "gpu:2");
    for (int width = 36; width <= 200; width += 9)
        for (int height = 8; height <= 60; height++)
            assert_contains(page(width, height), "gpu:2");
    ui.has_help = true;
    page(20, 10);
    page(80, 12);
}

static void test_one_page_for_a_pipe(void **state)
{
    (void)state;
    char text[8192];
    struct text out;
    text_init(&out, text, sizeof text);
    ui.focus = FOCUS_NOTHING;
    assert_true(draw_once(&frame, &ui, &model, 80));
    for (int y = 0; y < frame.height; y++) {
        frame_row(&frame, y, &out);
        text_add(&out, "\n");
    }
    assert_contains(text, "node");
    assert_contains(text, "(of another");
    assert_contains(text, "unattributed");
    shows_not(text, "quit");
    model.process_count = 0;
    ui_refresh(&ui, &model);
    assert_true(draw_once(&frame, &ui, &model, 80));
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_devices_have_an_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_processes_are_sorted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_filter_selects_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_selection_follows_its_process, setup, teardown),
        cmocka_unit_test_setup_teardown(test_detail_shows_one_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_keys_pause_help_and_quit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_page_shows_devices_and_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_is_no_figure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_of_every_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_page_for_a_pipe, setup, teardown),
    };
    return cmocka_run_group_tests_name("top view", tests, NULL, NULL);
}
