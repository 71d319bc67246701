/* Tests totals over trees of zones (pieces of hardware inside each other). Some counters are constant
 * although their zone uses energy. Every counter that rises must be in the total, and no energy may be
 * counted twice.
 *
 * Note: the zones belong to a source of this test, so that a tree may have any shape. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "support/machine.h"

#define MAX_ZONES  24
#define NO_PARENT  (-1)
#define UNIT_J     1e-6
#define NEVER_S    1e9
#define TEST_STEPS 40

/* watts: power of this zone without the zones inside it. The zone's counter is constant in the time that
 * still_* gives. */
struct zone {
    joule_scope scope;
    int parent;
    double watts;
    double still_from_s, still_until_s;
    struct channel *channel;
};

static struct tree {
    struct zone zones[MAX_ZONES];
    int count;
    int64_t begin_ns; /* the clock of the zones is 0 at this time */
} tree;

/* Returns the power of the zone and of all zones inside it. */
static double zone_watts(int zone)
{
    double watts = tree.zones[zone].watts;
    for (int i = zone + 1; i < tree.count; i++)
        if (tree.zones[i].parent == zone)
            watts += zone_watts(i);
    return watts;
}

static uint64_t counts_at(int zone, double t_s)
{
    const struct zone *z = &tree.zones[zone];
    double seen_s = t_s;
    if (t_s > z->still_from_s)
        seen_s = z->still_from_s + fmax(0, t_s - z->still_until_s);
    return (uint64_t)(zone_watts(zone) * seen_s / UNIT_J);
}

static joule_status open_tree(struct source *source)
{
    for (int i = 0; i < tree.count; i++) {
        struct zone *z = &tree.zones[i];
        struct channel *ch = z->channel = source_add_channel(source);
        ch->mode = CHANNEL_COUNTER;
        ch->info.scope = z->scope;
        ch->counter.unit_joules = UNIT_J;
        ch->counter.tick_s = ch->info.update_period_s = 1e-3;
        ch->gain_sd = 0.05;
        ch->cause = CAUSE(CAUSE_HWMON_GAIN, (unsigned)i);
        ch->info.device_index = i;
        string_print(ch->info.name, sizeof ch->info.name, "zone-%d", i);
        string_print(ch->info.device, sizeof ch->info.device, "node:%d", i);
        string_print(ch->zone, sizeof ch->zone, "z%d", i);
        if (z->parent != NO_PARENT)
            string_print(ch->parent_zone, sizeof ch->parent_zone, "z%d", z->parent);
    }
    return JOULE_OK;
}

static void read_tree(struct source *source, struct sink *sink)
{
    (void)source;
    for (int i = 0; i < tree.count; i++)
        sink_counter(sink, tree.zones[i].channel, 0, 0,
                     counts_at(i, (double)(sink_now(sink) - tree.begin_ns) * 1e-9));
}

static const struct source_ops tree_ops = {
    .name = "tree", .measurement = "other", .tier = 2, .open = open_tree, .read = read_tree};

static void start_tree(void)
{
    tree.count = 0;
}

static int add_zone(joule_scope scope, int parent, double watts)
{
    tree.zones[tree.count] = (struct zone){
        .scope = scope, .parent = parent, .watts = watts, .still_from_s = NEVER_S, .still_until_s = NEVER_S};
    return tree.count++;
}

static void freeze(int zone, double from_s, double until_s)
{
    tree.zones[zone].still_from_s = from_s;
    tree.zones[zone].still_until_s = until_s;
}

/* Opens a meter whose only domains are the tree's zones, and reads it for 4 s. */
static void measure_tree(struct machine_bench *bench)
{
    joule_close(bench->meter);
    bench->meter = machine_open(bench->host, "rapl_powercap"); /* this source finds no domain */
    tree.begin_ns = meter_now_ns(bench->meter);
    assert_non_null(lane_add(bench->meter->lanes[0], &tree_ops, true));
    lane_open_sources(bench->meter->lanes[0]);
    machine_run(bench->meter, 0.1 * TEST_STEPS, 0.1);
}

static struct cover cover_of(const struct machine_bench *bench, int32_t group)
{
    struct cover cover;
    meter_cover(bench->meter, group, bench->meter->begin_ns, meter_now_ns(bench->meter), &cover);
    return cover;
}

static void assert_total(const struct machine_bench *bench, const char *names, bool is_partial, double watts)
{
    struct cover cover = cover_of(bench, JOULE_TOTAL);
    char found[256] = "";
    for (size_t i = 0; i < cover.count; i++)
        string_print(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "",
                     bench->meter->channels[cover.ids[i]].channel->info.name);
    assert_string_equal(found, names);
    assert_int_equal(cover.is_partial, is_partial);
    double mean = machine_mean_watts(bench->meter, JOULE_TOTAL);
    if (!(fabs(mean - watts) <= 0.03 * watts + 1e-9))
        fail_msg("%g W instead of %g", mean, watts);
}

/* --- one tree at a time --------------------------------------------------------------------------------- */

static void test_a_still_board_yields_to_its_chip(void **state)
{
    start_tree();
    int card = add_zone(JOULE_SCOPE_GPU, NO_PARENT, 12);
    add_zone(JOULE_SCOPE_RAIL, card, 30);
    freeze(card, 0, NEVER_S);
    measure_tree(*state);
    assert_total(*state, "zone-1", true, 30);
    struct cover cover = cover_of(*state, JOULE_TOTAL);
    assert_int_equal(cover.still_id, tree.zones[card].channel->info.id);
}

static void test_a_board_that_counts_hides_its_chip(void **state)
{
    start_tree();
    int card = add_zone(JOULE_SCOPE_GPU, NO_PARENT, 12);
    add_zone(JOULE_SCOPE_RAIL, card, 30);
    measure_tree(*state);
    assert_total(*state, "zone-0", false, 42);
}

static void test_a_still_package_yields_to_its_cores(void **state)
{
    start_tree();
    int package = add_zone(JOULE_SCOPE_PACKAGE, NO_PARENT, 5);
    int cores = add_zone(JOULE_SCOPE_CORE, package, 2);
    add_zone(JOULE_SCOPE_CORE, cores, 8);
    add_zone(JOULE_SCOPE_UNCORE, package, 4);
    freeze(package, 0, NEVER_S);
    measure_tree(*state);
    assert_total(*state, "zone-1 zone-3", true, 14);
}

static void test_every_level_may_stand_still(void **state)
{
    start_tree();
    int package = add_zone(JOULE_SCOPE_PACKAGE, NO_PARENT, 5);
    int cores = add_zone(JOULE_SCOPE_CORE, package, 2);
    add_zone(JOULE_SCOPE_CORE, cores, 8);
    freeze(package, 0, NEVER_S);
    freeze(cores, 0, NEVER_S);
    measure_tree(*state);
    assert_total(*state, "zone-2", true, 8);
}

static void test_still_machine_yields_to_whole_devices(void **state)
{
    static const joule_scope scopes[] = {JOULE_SCOPE_NODE, JOULE_SCOPE_PSYS, JOULE_SCOPE_MODULE};
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++) {
        start_tree(); /* whole devices replace a constant counter of the machine: the total is complete */
        int machine = add_zone(scopes[i], NO_PARENT, 10);
        add_zone(JOULE_SCOPE_PACKAGE, machine, 40);
        add_zone(JOULE_SCOPE_DRAM, machine, 6);
        freeze(machine, 0, NEVER_S);
        measure_tree(*state);
        assert_total(*state, "zone-1 zone-2", false, 46);

        start_tree(); /* rails and a board replace the constant counter: the total is partial */
        machine = add_zone(scopes[i], NO_PARENT, 10);
        add_zone(JOULE_SCOPE_RAIL, machine, 40);
        add_zone(JOULE_SCOPE_RAIL, machine, 6);
        add_zone(JOULE_SCOPE_GPU, machine, 50);
        freeze(machine, 0, NEVER_S);
        measure_tree(*state);
        assert_total(*state, "zone-3 zone-1 zone-2", true, 96);

        start_tree(); /* if the machine's counter moves, the machine alone counts */
        machine = add_zone(scopes[i], NO_PARENT, 10);
        add_zone(JOULE_SCOPE_RAIL, machine, 40);
        add_zone(JOULE_SCOPE_GPU, machine, 50);
        measure_tree(*state);
        assert_total(*state, "zone-0", false, 100);
    }
}

/* The node's counter is constant, and the counter of the module in the node rises. The rail outside the
 * module is in the total, too. */
static void test_still_node_keeps_energy_outside_its_module(void **state)
{
    start_tree();
    int node = add_zone(JOULE_SCOPE_NODE, NO_PARENT, 10);
    int module = add_zone(JOULE_SCOPE_MODULE, node, 20);
    add_zone(JOULE_SCOPE_RAIL, module, 5);
    add_zone(JOULE_SCOPE_RAIL, node, 7);
    freeze(node, 0, NEVER_S);
    measure_tree(*state);
    assert_total(*state, "zone-1 zone-3", true, 32);
}

static void test_one_package_of_two_stands_still(void **state)
{
    start_tree();
    add_zone(JOULE_SCOPE_PACKAGE, NO_PARENT, 20);
    int second = add_zone(JOULE_SCOPE_PACKAGE, NO_PARENT, 20);
    freeze(second, 0, NEVER_S);
    measure_tree(*state);
    assert_total(*state, "zone-0", true, 20);
}

/* The board is off: board and chip use no energy, and the total is complete. */
static void test_idle_board_keeps_the_total_complete(void **state)
{
    start_tree();
    add_zone(JOULE_SCOPE_PACKAGE, NO_PARENT, 20);
    int card = add_zone(JOULE_SCOPE_GPU, NO_PARENT, 0);
    add_zone(JOULE_SCOPE_RAIL, card, 0);
    measure_tree(*state);
    assert_total(*state, "zone-0", false, 20);
}

/* The board is off at first and then works. Its own counter contains all of its energy, so it is counted, not
 * the counter of its chip. */
static void test_a_board_that_wakes_is_counted_itself(void **state)
{
    start_tree();
    int card = add_zone(JOULE_SCOPE_GPU, NO_PARENT, 12);
    int chip = add_zone(JOULE_SCOPE_RAIL, card, 30);
    freeze(card, 0, 2);
    freeze(chip, 0, 2);
    measure_tree(*state);
    struct cover cover = cover_of(*state, JOULE_TOTAL);
    assert_int_equal(cover.count, 1);
    assert_int_equal(cover.ids[0], tree.zones[card].channel->info.id);
    assert_false(cover.is_partial);
}

/* The board's counter starts late or stops, while the chip's counter shows that the board was working. */
static void test_a_board_that_stood_still_for_a_while_yields(void **state)
{
    static const double times_s[][2] = {{0, 2}, {1, 2}, {2, NEVER_S}};
    for (size_t i = 0; i < sizeof times_s / sizeof times_s[0]; i++) {
        start_tree();
        int card = add_zone(JOULE_SCOPE_GPU, NO_PARENT, 12);
        add_zone(JOULE_SCOPE_RAIL, card, 30);
        freeze(card, times_s[i][0], times_s[i][1]);
        measure_tree(*state);
        assert_total(*state, "zone-1", true, 30);
    }
}

/* --- any tree ------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static unsigned below(unsigned limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % limit;
}

static void make_random_tree(void)
{
    static const joule_scope scopes[] = {JOULE_SCOPE_PACKAGE, JOULE_SCOPE_DRAM, JOULE_SCOPE_GPU,
                                         JOULE_SCOPE_CORE,    JOULE_SCOPE_RAIL, JOULE_SCOPE_RAIL,
                                         JOULE_SCOPE_NODE,    JOULE_SCOPE_PSYS, JOULE_SCOPE_MODULE};
    start_tree();
    for (int count = 2 + (int)below(MAX_ZONES - 2); tree.count < count;) {
        int parent = tree.count && below(4) ? (int)below((unsigned)tree.count) : NO_PARENT;
        int zone = add_zone(scopes[below(9)], parent, 1 + below(50));
        switch (below(5)) {
        case 0:
            freeze(zone, 0, NEVER_S);
            break;
        case 1:
            freeze(zone, 1, 3);
            break;
        }
    }
}

static bool is_inside(int zone, int outer)
{
    for (int z = tree.zones[zone].parent; z != NO_PARENT; z = tree.zones[z].parent)
        if (z == outer)
            return true;
    return false;
}

static bool moves_always(int zone)
{
    return tree.zones[zone].still_from_s >= NEVER_S;
}

static bool is_counted(const struct cover *cover, int zone)
{
    for (size_t i = 0; i < cover->count; i++)
        if (cover->ids[i] == tree.zones[zone].channel->info.id)
            return true;
    return false;
}

static bool is_machine(joule_scope scope)
{
    return scope == JOULE_SCOPE_NODE || scope == JOULE_SCOPE_PSYS || scope == JOULE_SCOPE_MODULE;
}

static bool is_device(joule_scope scope, int32_t group)
{
    bool cpu = scope == JOULE_SCOPE_PACKAGE || scope == JOULE_SCOPE_DRAM, gpu = scope == JOULE_SCOPE_GPU;
    return group == JOULE_CPU ? cpu : group == JOULE_GPU ? gpu : cpu || gpu;
}

static void assert_nothing_twice(const struct cover *cover, int seed)
{
    for (int a = 0; a < tree.count; a++)
        for (int b = 0; b < tree.count; b++)
            if (is_counted(cover, a) && is_counted(cover, b) && is_inside(a, b))
                fail_msg("seed %d: zone %d is inside zone %d, and both are counted", seed, a, b);
}

/* Fails if a counter in the total was constant while the counter of a zone inside it rose. */
static void assert_no_still_parent(const struct cover *cover, int seed)
{
    for (int a = 0; a < tree.count; a++)
        for (int b = 0; b < tree.count; b++)
            if (is_counted(cover, a) && !moves_always(a) && is_inside(b, a) && moves_always(b))
                fail_msg("seed %d: zone %d stood still, zone %d inside it did not", seed, a, b);
}

/* Fails if the counter of a device rises and its energy is not in the total. The total may contain its own
 * counter, a counter of a zone around it, or that of the whole machine. */
static void assert_nothing_lost(const struct cover *cover, int32_t group, int seed)
{
    bool stands_alone = false;
    for (int a = 0; a < tree.count; a++)
        stands_alone |= is_counted(cover, a) && is_machine(tree.zones[a].scope);
    for (int a = 0; a < tree.count && !stands_alone; a++) {
        bool is_covered = is_counted(cover, a);
        for (int b = 0; b < tree.count; b++)
            is_covered |= is_counted(cover, b) && is_inside(a, b);
        if (!is_covered && moves_always(a) && is_device(tree.zones[a].scope, group))
            fail_msg("seed %d: zone %d moves and is in no total", seed, a);
    }
}

/* Fails if the total contains only a part of a device and is not marked as partial. */
static void assert_parts_stand_for_still_devices(const struct cover *cover, int seed)
{
    for (int a = 0; a < tree.count; a++)
        if (is_counted(cover, a) && !is_device(tree.zones[a].scope, JOULE_TOTAL) &&
            !is_machine(tree.zones[a].scope) && !cover->is_partial)
            fail_msg("seed %d: zone %d is a part, and the total is not partial", seed, a);
}

static void test_totals_of_random_trees_are_right(void **state)
{
    static const int32_t groups[] = {JOULE_TOTAL, JOULE_CPU, JOULE_GPU};
    for (int seed = 1; seed <= 2000; seed++) {
        random_state = (uint64_t)seed * 0x9E3779B97F4A7C15u;
        make_random_tree();
        measure_tree(*state);
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
            struct cover cover = cover_of(*state, groups[g]);
            assert_nothing_twice(&cover, seed);
            assert_no_still_parent(&cover, seed);
            assert_nothing_lost(&cover, groups[g], seed);
            assert_parts_stand_for_still_devices(&cover, seed);
        }
    }
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_MACHINE(test_a_still_board_yields_to_its_chip),
        ON_A_MACHINE(test_a_board_that_counts_hides_its_chip),
        ON_A_MACHINE(test_a_still_package_yields_to_its_cores),
        ON_A_MACHINE(test_every_level_may_stand_still),
        ON_A_MACHINE(test_still_machine_yields_to_whole_devices),
        ON_A_MACHINE(test_still_node_keeps_energy_outside_its_module),
        ON_A_MACHINE(test_one_package_of_two_stands_still),
        ON_A_MACHINE(test_idle_board_keeps_the_total_complete),
        ON_A_MACHINE(test_a_board_that_wakes_is_counted_itself),
        ON_A_MACHINE(test_a_board_that_stood_still_for_a_while_yields),
        ON_A_MACHINE(test_totals_of_random_trees_are_right),
    };
    return cmocka_run_group_tests_name("cover trees", tests, NULL, NULL);
}
