/* joule/record/record_findings.c - reads the blocks of the writer's report; see record_parse.h.
 *
 * Note: if the writer was killed, the file contains none of these blocks. Early versions wrote fewer fields.
 */
#include <math.h>
#include <string.h>
#include "joule/record/record_format.h"
#include "joule/record/record_parse.h"

/* Reads a text of at most 1000 bytes into the arena. On failure sets `bad` and returns "". */
static const char *copy_text(struct byte_reader *in, struct arena *arena)
{
    char text[1001];
    bytes_text(in, text, sizeof text);
    const char *kept = in->bad ? NULL : arena_copy(arena, text, strlen(text));
    in->bad = in->bad || !kept;
    return kept ? kept : "";
}

static void read_tag(struct byte_reader *in, struct arena *arena, struct tag_row *row)
{
    *row = (struct tag_row){.name = copy_text(in, arena)};
    row->flags = bytes_u32(in);
    row->unsynchronised = bytes_u32(in) != 0;
    row->result.struct_size = sizeof row->result;
    row->result.is_final = 1;
    row->result.count = bytes_u64(in);
    row->result.duration_s = bytes_amount(in);
    row->result.coverage = fmin(1, bytes_amount(in));
    row->budget_joules = bytes_double(in);
    row->result.window = bytes_quantity(in);
    row->result.attributed = bytes_quantity(in);
    row->result.self = bytes_quantity(in);
    row->result.cpu = bytes_quantity(in);
    row->result.gpu = bytes_quantity(in);
    row->timestamp_joules = quantity_unknown();
}

void record_read_tags(struct byte_reader *in, struct record *record)
{
    struct report *found = &record->found;
    uint64_t folded = bytes_u64(in);
    /* one more row than fits into the bytes, because the last one may be cut off */
    size_t max_rows = (in->length - in->at) / RECORD_TAG_SIZE + 1, count = 0;
    struct tag_row *rows = arena_alloc(&found->arena, max_rows * sizeof *rows);
    in->bad = in->bad || !rows;
    while (in->at < in->length && !in->bad) {
        read_tag(in, &found->arena, &rows[count]);
        count += !in->bad;
    }
    if (in->bad)
        return;
    found->functions = rows;
    found->function_count = count;
    found->folded_regions = folded;
}

/* Reads RECORD_LIMITS and adds the numbers of folded regions to the rows of RECORD_TAGS, which comes before
 * this block. A row cannot have more folded regions than regions. */
void record_read_limits(struct byte_reader *in, struct record *record)
{
    struct report *found = &record->found;
    struct region_limits limits = {.slotless = bytes_u64(in)};
    limits.unnamed_tags = bytes_u64(in);
    limits.unstored = bytes_u64(in);
    limits.implausible = bytes_u64(in);
    if (in->bad)
        return;
    found->limits = limits;
    for (size_t i = 0; i < found->function_count && in->at < in->length; i++) {
        joule_result *row = &found->functions[i].result;
        uint64_t folded = bytes_u64(in);
        row->folded = folded < row->count ? folded : row->count;
    }
}

static void read_labels(struct byte_reader *in, struct arena *arena, struct report *found)
{
    uint32_t count = bytes_choice(in, 1000);
    struct report_label *labels = arena_alloc(arena, (count + 1) * sizeof *labels);
    in->bad = in->bad || !labels;
    for (uint32_t i = 0; i < count && !in->bad; i++) {
        labels[i].key = copy_text(in, arena);
        labels[i].value = copy_text(in, arena);
    }
    if (in->bad)
        return;
    found->labels = labels;
    found->label_count = count;
}

void record_read_command(struct byte_reader *in, struct record *record)
{
    struct report next = record->found, *found = &next; /* an invalid block changes nothing */
    struct arena *arena = &record->found.arena;
    found->begin_realtime_ns = bytes_time(in);
    found->duration_s = bytes_double(in);
    found->share.method = bytes_choice(in, ATTRIBUTE_LAST);
    found->share.command_cpu_s = bytes_double(in);
    found->share.machine_busy_cpu_s = bytes_double(in);
    found->share.machine_cpu_s = bytes_double(in);
    found->share.share = bytes_double(in);
    found->command_joules = bytes_quantity(in);
    found->idle_watts = bytes_quantity(in);
    const char *date = copy_text(in, arena);
    found->idle_date = *date ? date : NULL;
    found->net_joules = bytes_quantity(in);
    found->has_exit_status = bytes_u32(in) != 0;
    found->exit_status = (int)bytes_u32(in);
    found->signal = (int)bytes_u32(in);
    found->budget_joules = bytes_double(in);
    found->budget_status = bytes_choice(in, JOULE_BUDGET_BELOW_RESOLUTION);
    found->budget_probability = bytes_double(in);
    found->overshoot_bound_joules = bytes_double(in);
    found->overhead_cpu_s = bytes_double(in);
    found->overhead_share = bytes_double(in);
    found->ticks = bytes_u64(in);
    found->overruns = bytes_u64(in);
    read_labels(in, arena, found);
    /* early versions did not write the next two fields */
    found->stopped_s = in->at < in->length ? bytes_double(in) : NAN;
    found->is_partial = in->at < in->length && bytes_u32(in) != 0;
    if (in->bad)
        return;
    next.arena = record->found.arena; /* the arena has grown while the block was read */
    record->found = next;
    record->has_findings = true;
}

void record_read_runs(struct byte_reader *in, struct record *record)
{
    while (in->at < in->length && !in->bad) {
        struct report_run run;
        run.joules = bytes_quantity(in);
        run.command_joules = bytes_quantity(in);
        run.seconds = bytes_amount(in);
        void *runs = in->bad ? NULL : record_grow(record->runs, record->run_count, sizeof *record->runs);
        if (!runs) {
            in->bad = true;
            return;
        }
        record->runs = runs;
        record->runs[record->run_count++] = run;
    }
}
