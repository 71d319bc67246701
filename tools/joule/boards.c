/* tools/joule/boards.c - see boards.h. */
#include "boards.h"

#include <joule/joule.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "joule/report/table.h"

/* --- asking ------------------------------------------------------------------------------------------------- */

/* Belongs to the thread until it has been joined. */
struct inquiry {
    struct joule_host *host;
    struct nvml_description list[NVML_MOST_BOARDS];
    size_t count;
};

static void *inquire(void *context)
{
    struct inquiry *inquiry = context;
    char remedy[192]; /* the source has said it already */
    nvml_describe(inquiry->host, inquiry->list, NVML_MOST_BOARDS, &inquiry->count, remedy, sizeof remedy);
    return NULL;
}

static struct timespec after(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); /* that of pthread_timedjoin_np, which the thread sanitizer knows */
    double end_ns = (double)now.tv_nsec + seconds * 1e9, whole_s = floor(end_ns / 1e9);
    return (struct timespec){now.tv_sec + (time_t)whole_s, (long)(end_ns - whole_s * 1e9)};
}

void boards_ask(struct joule_host *host, double wait_s, struct boards *out_boards)
{
    pthread_t thread;
    struct timespec deadline = after(wait_s);
    struct inquiry *inquiry = calloc(1, sizeof *inquiry);
    *out_boards = (struct boards){0};
    if (!inquiry)
        return;
    inquiry->host = host;
    if (pthread_create(&thread, NULL, inquire, inquiry) != 0) {
        free(inquiry);
        return;
    }
    if (pthread_timedjoin_np(thread, NULL, &deadline) != 0) {
        pthread_detach(thread);
        return;
    }
    size_t size = inquiry->count * sizeof *inquiry->list;
    out_boards->list = malloc(size + 1);
    if (out_boards->list) {
        memcpy(out_boards->list, inquiry->list, size);
        out_boards->count = inquiry->count;
        out_boards->is_known = true;
    }
    free(inquiry);
}

void boards_free(struct boards *boards)
{
    free(boards->list);
    *boards = (struct boards){0};
}

/* --- for people --------------------------------------------------------------------------------------------- */

/* A line of facts: "a, b, c". */
struct line {
    struct text *out;
    const char *indent;
    bool has_begun;
};

/* Where the next fact of the line is to be written. */
static struct text *next_fact(struct line *line)
{
    text_add(line->out, line->has_begun ? ", " : line->indent);
    line->has_begun = true;
    return line->out;
}

static void end_line(struct line *line)
{
    text_add(line->out, line->has_begun ? "\n" : "");
    line->has_begun = false;
}

static void add_watts(struct line *line, const char *before, double watts, const char *after)
{
    char text[32];
    if (isnan(watts))
        return;
    joule_format(watts, JOULE_DIMENSION_POWER, 3, text, sizeof text);
    text_printf(next_fact(line), "%s%s%s", before, text, after);
}

static void add_gibibytes(struct line *line, uint64_t bytes, const char *after)
{
    if (bytes != NVML_BYTES_UNKNOWN)
        text_printf(next_fact(line), "%.1f GiB %s", (double)bytes / (1 << 30), after);
}

static void add_identity(const struct nvml_description *board, struct line *line)
{
    if (*board->id.uuid)
        text_add_printable(next_fact(line), board->id.uuid);
    if (*board->id.bus_id)
        text_add_printable(next_fact(line), board->id.bus_id);
    end_line(line);
    if (board->id.major > 0)
        text_printf(next_fact(line), "compute capability %d.%d", board->id.major, board->id.minor);
    if (*board->driver) {
        text_add(next_fact(line), "driver ");
        text_add_printable(line->out, board->driver);
    }
    end_line(line);
}

static void add_memory(const struct nvml_description *board, struct line *line)
{
    add_gibibytes(line, board->memory_total_bytes, "of memory");
    add_gibibytes(line, board->memory_used_bytes, "used");
    if (board->process_count)
        text_printf(next_fact(line), "%zu %s", board->process_count,
                    board->process_count == 1 ? "process" : "processes");
    end_line(line);
}

/* Limits that say nothing new are left out. */
static void add_limits(const struct nvml_description *board, struct line *line)
{
    char most[32];
    add_watts(line, "power limit ", board->limit_watts, "");
    if (board->default_limit_watts != board->limit_watts)
        add_watts(line, "", board->default_limit_watts, " by default");
    if (board->enforced_limit_watts != board->limit_watts)
        add_watts(line, "", board->enforced_limit_watts, " enforced");
    add_watts(line, "can be set from ", board->least_limit_watts, "");
    if (!isnan(board->most_limit_watts)) {
        joule_format(board->most_limit_watts, JOULE_DIMENSION_POWER, 3, most, sizeof most);
        text_printf(line->out, " to %s", most);
    }
    end_line(line);
}

static bool has_reason(const struct nvml_description *board, unsigned bit)
{
    return board->clock_reasons != NVML_REASONS_UNKNOWN && (board->clock_reasons >> bit & 1);
}

static void add_reasons(const struct nvml_description *board, struct line *line)
{
    for (unsigned bit = 0; bit < 64; bit++)
        if (has_reason(board, bit) && UINT64_C(1) << bit != NVML_REASON_IDLE)
            text_printf(next_fact(line), "%s%s",
                        line->has_begun ? "" : "clocks held down: ", nvml_reason_words(bit));
    end_line(line);
}

static void add_instances(const struct nvml_description *board, struct line *line)
{
    if (!board->is_mig)
        return;
    text_printf(next_fact(line), "MIG instances: %zu, whose energy is counted together",
                board->instance_count);
    end_line(line);
    for (size_t i = 0; i < board->instance_count; i++) {
        text_add_printable(next_fact(line), board->instances[i].uuid);
        text_printf(next_fact(line), "instance %u/%u", board->instances[i].gpu_instance,
                    board->instances[i].compute_instance);
        end_line(line);
    }
}

void board_add_lines(const struct nvml_description *board, const char *indent, struct text *out)
{
    struct line line = {.out = out, .indent = indent};
    add_identity(board, &line);
    add_memory(board, &line);
    add_limits(board, &line);
    add_reasons(board, &line);
    add_instances(board, &line);
}

/* --- for programs ------------------------------------------------------------------------------------------- */

static void json_bytes(struct json *json, const char *key, uint64_t bytes)
{
    if (bytes <= INT64_MAX)
        json_integer(json, key, (int64_t)bytes);
    else
        json_null(json, key);
}

static void json_identity(const struct nvml_description *board, struct json *json)
{
    char capability[32];
    snprintf(capability, sizeof capability, "%d.%d", board->id.major, board->id.minor);
    json_text(json, "name", board->id.name);
    json_text(json, "uuid", board->id.uuid);
    json_text(json, "pci_address", board->id.bus_id);
    json_text(json, "driver_version", board->driver);
    json_string(json, "compute_capability", board->id.major > 0 ? capability : NULL);
}

static void json_reasons(const struct nvml_description *board, struct json *json)
{
    if (board->clock_reasons == NVML_REASONS_UNKNOWN) {
        json_null(json, "clock_reasons");
        return;
    }
    json_open(json, "clock_reasons", '[');
    for (unsigned bit = 0; bit < 64; bit++)
        if (has_reason(board, bit))
            json_string(json, NULL, nvml_reason_words(bit));
    json_close(json, ']');
}

static void json_instances(const struct nvml_description *board, struct json *json)
{
    json_open(json, "mig_instances", '[');
    for (size_t i = 0; i < board->instance_count; i++) {
        const struct nvml_instance *instance = &board->instances[i];
        json_open(json, NULL, '{');
        json_text(json, "uuid", instance->uuid);
        json_integer(json, "gpu_instance", instance->gpu_instance);
        json_integer(json, "compute_instance", instance->compute_instance);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_processes(const struct nvml_description *board, struct json *json)
{
    json_open(json, "processes", '[');
    for (size_t i = 0; i < board->process_count; i++) {
        json_open(json, NULL, '{');
        json_integer(json, "pid", board->processes[i].pid);
        json_bytes(json, "memory_bytes", board->processes[i].memory_bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void board_add_json(const struct nvml_description *board, const char *device, struct json *json)
{
    json_open(json, NULL, '{');
    json_integer(json, "index", board->index);
    json_string(json, "device", device);
    json_string(json, "state", joule_status_name(board->state));
    json_identity(board, json);
    json_bytes(json, "memory_total_bytes", board->memory_total_bytes);
    json_bytes(json, "memory_used_bytes", board->memory_used_bytes);
    json_bytes(json, "memory_free_bytes", board->memory_free_bytes);
    json_double(json, "power_limit_watts", board->limit_watts);
    json_double(json, "power_limit_default_watts", board->default_limit_watts);
    json_double(json, "power_limit_enforced_watts", board->enforced_limit_watts);
    json_double(json, "power_limit_least_watts", board->least_limit_watts);
    json_double(json, "power_limit_most_watts", board->most_limit_watts);
    json_reasons(board, json);
    if (board->state == JOULE_OK)
        json_bool(json, "mig", board->is_mig);
    else
        json_null(json, "mig");
    json_instances(board, json);
    json_processes(board, json);
    json_close(json, '}');
}
