/* Fuzz target: a session's memory, in which another process may write anything. Regions are read from this
 * memory, get energy of a scripted machine, and are queried. These steps must not crash or loop endlessly.
 * Checks that every value is unknown or plausible.
 *
 * The input is a list of commands, each a byte and its operands. Missing bytes at the end are 0:
 *     0 AREA OFFSET16 LENGTH8 BYTES             writes into the header, a slot, the tag table or the board
 *     1 SLOT TAG FLAGS INDEX BEGIN16 LENGTH16   a finished span; times are in sixteenths of a millisecond
 *     2 SLOT TAG FLAGS BEGIN16                  an open region; the time is in sixteenths of a millisecond
 *     3                                         a reading
 *     4 SLOT                                    gives a slot an owner
 *     5 SLOT TAG FLAGS LENGTH16 OWN16           folded regions, in ms; SLOT may mean threads without a slot
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "joule/api/open.h"
#include "joule/api/tag_row.h"
#include "joule/collector/collector.h"
#include "joule/session/session.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define START_NS 1000000000000LL
#define MS       1000000LL
#define SLOTS    4
#define COMMANDS 400
#define READINGS 20

struct input {
    const uint8_t *next, *end;
};

static unsigned byte(struct input *in)
{
    return in->next < in->end ? *in->next++ : 0;
}

static unsigned word(struct input *in)
{
    unsigned low = byte(in);
    return low | byte(in) << 8;
}

static ssize_t fifty_watts(void *unused, int64_t time_ns, char *buffer, size_t size)
{
    (void)unused;
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 20));
}

static struct joule_host *make_host(void)
{
    struct joule_host *host = host_script_open();
    require(host != NULL);
    host_script_set_time(host, START_NS);
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850000\n");
    host_script_file(host, "/sys/class/powercap/intel-rapl:0/energy_uj", fifty_watts, NULL);
    return host;
}

/* --- commands ------------------------------------------------------------------------------------------- */

static void scribble(struct session_map *map, struct input *in)
{
    unsigned area = byte(in), offset = word(in), length = byte(in);
    struct slot *slot = &map->slots[area % SLOTS];
    struct {
        void *start;
        size_t size;
    } areas[] = {
        {&map->slots_used,
         offsetof(struct session_map, tag_index) - offsetof(struct session_map, slots_used)},
        {slot, offsetof(struct slot, ring)},
        {slot->ring, sizeof slot->ring},
        {map->tag_index, sizeof map->tag_index},
        {map->tag_names, sizeof map->tag_names},
        {map->tag_limits, sizeof map->tag_limits},
        {(void *)&map->board_count, sizeof map->board_count},
        {map->board, sizeof map->board},
        {slot->folds, 32 * sizeof slot->folds[0]},
        {map->slotless_folds, 32 * sizeof map->slotless_folds[0]},
    };
    unsigned which = area / SLOTS % (sizeof areas / sizeof areas[0]);
    for (unsigned i = 0; i < length && in->next < in->end; i++)
        ((uint8_t *)areas[which].start)[(offset * 8 + i) % areas[which].size] = *in->next++;
}

static void push(struct session_map *map, struct input *in)
{
    unsigned slot = byte(in);
    struct span span = {.tag = (uint16_t)byte(in), .flags = (uint8_t)byte(in), .index = (uint8_t)byte(in)};
    span.slot = (uint16_t)(slot / SLOTS);
    span.device = span.index;
    span.begin_ns = START_NS + word(in) * MS / 16;
    span.end_ns = span.begin_ns + word(in) * MS / 16;
    slot_push(&map->slots[slot % SLOTS], &span);
}

static void open(struct session_map *map, struct input *in)
{
    unsigned slot = byte(in), tag = byte(in), flags = byte(in);
    slot_open(&map->slots[slot % SLOTS], START_NS + word(in) * MS / 16, open_what(tag, flags));
}

static void fold(struct session_map *map, struct input *in)
{
    unsigned slot = byte(in);
    struct span span = {.tag = (uint16_t)byte(in), .flags = (uint8_t)byte(in), .begin_ns = START_NS};
    span.end_ns = START_NS + word(in) * MS;
    int64_t own_ns = word(in) * MS;
    if (slot / SLOTS % 2)
        fold_add(&map->slotless_mark, map->slotless_folds, &span, own_ns);
    else
        slot_fold(&map->slots[slot % SLOTS], &span, own_ns);
}

static void read_once(joule_meter *meter, int *readings)
{
    if (*readings == READINGS)
        return;
    ++*readings;
    host_script_set_time(meter->host, START_NS + *readings * 100 * MS);
    meter_tick(meter);
}

/* Executes the commands of the input. Returns the number of readings. */
static int obey(joule_meter *meter, struct session_map *map, struct input *in)
{
    int readings = 0;
    for (int i = 0; i < COMMANDS && in->next < in->end; i++) {
        switch (byte(in) % 6) {
        case 0:
            scribble(map, in);
            break;
        case 1:
            push(map, in);
            break;
        case 2:
            open(map, in);
            break;
        case 3:
            read_once(meter, &readings);
            break;
        case 5:
            fold(map, in);
            break;
        default:
            map->owners[byte(in) % SLOTS] = session_owner(0, 1);
            if (map->slots_used < SLOTS)
                map->slots_used = SLOTS;
        }
    }
    read_once(meter, &readings);
    return readings;
}

/* --- answers -------------------------------------------------------------------------------------------- */

static void check_quantity(joule_quantity q)
{
    require(isnan(q.value) || (q.value >= -1e-9 && q.value < 1e15 && q.low <= q.value && q.high >= q.value));
    require(isnan(q.value) || (q.low >= -1e-9 && q.high < 1e18));
}

/* Checks that no tag used less than 0 or more than the machine, and that all values can be printed. */
static void check_row(const struct tag_row *row, double machine_joules)
{
    const joule_result *r = &row->result;
    /* true if calls were only counted; their energy is then the compiler's estimate */
    bool is_counted = row->flags & TAG_COUNTED;
    require(strnlen(row->name, SESSION_NAME) < SESSION_NAME);
    require(is_counted ? isnan(r->coverage) : r->coverage >= 0 && r->coverage <= 1);
    require(is_counted ? isnan(r->duration_s) : r->duration_s >= 0 && r->duration_s < 1e15);
    require(r->count <= INT64_MAX && r->folded <= r->count);
    check_quantity(r->window);
    check_quantity(r->attributed);
    check_quantity(r->self);
    check_quantity(row->timestamp_joules);
    double limit = is_counted ? 1.5 * machine_joules : 1.001 * machine_joules;
    require(isnan(r->attributed.value) || r->attributed.value <= limit + 1e-6);
    require(isnan(r->self.value) || r->self.value <= limit + 1e-6);
    require(isnan(row->budget_joules) || (row->budget_joules >= 0 && row->budget_joules < INFINITY));
}

static void check_answers(joule_meter *meter, double machine_joules)
{
    static struct tag_row rows[64];
    collector_finish(collector_of(meter));
    size_t count = tag_row_list(meter, rows, 64);
    for (size_t i = 0; i < count; i++)
        check_row(&rows[i], machine_joules);
    joule_region region = {.begin_ns = START_NS + 100 * MS, .end_ns = START_NS + 300 * MS, .slot = 1};
    joule_result r = {.struct_size = sizeof r};
    joule_region_result(meter, &region, &r);
    check_quantity(r.window);
    struct window w = session_window(meter->session, JOULE_TOTAL, START_NS, START_NS + 500 * MS);
    require(isnan(w.joules.value) || isfinite(w.joules.value));
    double base_joules[BOARD_SUMS] = {NAN, NAN, NAN};
    w = session_energy(meter->session, JOULE_TOTAL, START_NS, base_joules);
    require(isnan(w.joules.value) || w.joules.value >= 0);
    char name[SESSION_NAME];
    for (uint32_t tag = 0; tag < 20; tag++)
        session_tag_name(meter->session, tag, name);
    require(session_tag(meter->session, "a name") < SESSION_TAGS);
}

static void wipe(struct session_map *map)
{
    size_t from = offsetof(struct session_map, slots_used);
    memset((char *)map + from, 0, offsetof(struct session_map, slots) - from);
    for (int i = 0; i < SLOTS; i++)
        memset(&map->slots[i], 0, sizeof map->slots[i]);
    map->tag_count = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct session_map *map = session_map(session_current());
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_powercap"};
    joule_meter *meter = NULL;
    struct joule_host *fresh = make_host();
    wipe(map);
    require(meter_open_on(fresh, true, &options, &meter, NULL) == JOULE_OK);
    struct input in = {data, data + size};
    int readings = obey(meter, map, &in);
    check_answers(meter, 5.0 * readings);
    joule_close(meter);
    return 0;
}
