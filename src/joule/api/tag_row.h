/* joule/api/tag_row.h - the row of a tag in a report: its energy, and its budget.
 *
 * The collector sums the regions of a tag. A row adds the budgets of the session to these sums. For calls
 * that were only counted, the row contains their expected energy.
 */
#ifndef JOULE_TAG_ROW_H
#define JOULE_TAG_ROW_H

#include <joule/meter.h>
#include <joule/region.h>
#include <stdbool.h>

/* Flags of a tag_row, in addition to the flags of its regions. */
#define TAG_COUNTED 0x100u /* calls were only counted; their energy is the compiler's estimate */
/* The tag has a budget per call, but all calls together are too short to be measured by the sensor. */
#define TAG_BRIEF 0x200u

struct tag_row {
    uint32_t tag;
    const char *name; /* owned by the meter's collector */
    joule_result result;
    uint32_t flags;            /* union of the regions' flags, and TAG_... */
    bool unsynchronised;       /* a GPU region ran without a hook or spans; its budget is not judged */
    uint64_t attributed_count; /* regions whose energy is included in `result` */
    /* Energy of taking timestamps, excluded from result.attributed; known only for tags with budgets. */
    joule_quantity timestamp_joules;
    double budget_joules; /* limit that budgets of all processes of the session set; NaN: none */
};

/* Writes the row of one tag to *out_row. Returns false if no region of the tag has finished, or if the meter
 * has no collector. Any thread. */
bool tag_row_get(joule_meter *meter, uint32_t tag, struct tag_row *out_row);
/* Writes one row for each tag with finished regions, largest attributed energy first, at most `size` rows.
 * Returns the number of rows; 0 if the meter has no collector. Any thread. */
size_t tag_row_list(joule_meter *meter, struct tag_row *out_rows, size_t size);

#endif
