/* Fuzz target: records. Reading must not crash or leak. Checks that accepted curves are valid, that samples
 * are in order of time, and that each sample is one line of limited length. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/record/record.h"
#include "record_checksums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    double seconds;
    size_t count;
};

static bool check_sample(const struct report_sample *sample, void *context)
{
    struct seen *seen = context;
    struct text line;
    char bytes[REPORT_SAMPLE_SIZE + 1];
    text_init(&line, bytes, sizeof bytes);
    report_sample_csv(sample, &line);
    if ((seen->count++ && sample->seconds < seen->seconds) || line.length > REPORT_SAMPLE_SIZE ||
        strcspn(bytes, "\r\n") != line.length - 2)
        abort();
    seen->seconds = sample->seconds;
    return true;
}

static void check_samples(const struct record *record)
{
    struct seen seen = {0};
    size_t kept = 0;
    for (size_t i = 0; i < meter_channel_count(record->meter); i++)
        kept += record->meter->channels[i].channel->curve.count + record->gauges[i].count;
    if (!record_each_sample(record, check_sample, &seen) || seen.count != kept)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size);
    memcpy(copy, data + 1, size - 1);
    if (data[0] % 2 == 0)
        correct_checksums(copy, size - 1);
    struct record record;
    if (record_parse(copy, size - 1, &record, NULL) == JOULE_OK) {
        struct window w = meter_window(record.meter, JOULE_TOTAL, record.begin_ns, record.end_ns);
        if (!isnan(w.joules.value) && w.joules.value < 0)
            abort();
        for (size_t i = 0; i < record.region_count; i++)
            if (record.regions[i].name >= record.name_count)
                abort();
        check_samples(&record);
        struct report report;
        if (record_report(&record, &report) == JOULE_OK)
            arena_free(&report.arena);
    }
    record_free(&record);
    free(copy);
    return 0;
}
