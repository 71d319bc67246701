/* tools/top/model.c - see model.h. */
#include "model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"

const char *sort_key_name(enum sort_key key)
{
    static const char *const names[SORT_KEYS] = {"power", "energy", "CPU", "GPU", "memory", "id", "name"};
    return (unsigned)key < SORT_KEYS ? names[key] : "";
}

/* --- order ---------------------------------------------------------------------------------------------- */

static struct {
    enum sort_key key;
    bool is_reversed;
} sorting; /* qsort has no context argument */

static double key_of(const struct process_row *row)
{
    switch (sorting.key) {
    case SORT_POWER:
        return -row->watts;
    case SORT_ENERGY:
        return -row->joules.value;
    case SORT_CPU:
        return -row->cpu_share;
    case SORT_GPU:
        return -row->gpu_share;
    case SORT_MEMORY:
        return row->gpu_memory_bytes == JOULE_BYTES_UNKNOWN ? NAN : -(double)row->gpu_memory_bytes;
    default:
        return row->pid;
    }
}

static int compare(const void *a, const void *b)
{
    const struct process_row *left = a, *right = b;
    double x = key_of(left), y = key_of(right);
    if (isnan(x) != isnan(y))
        return isnan(x) ? 1 : -1;
    int order = sorting.key == SORT_NAME ? strcmp(left->command, right->command) : (x > y) - (x < y);
    if (order)
        return sorting.is_reversed ? -order : order;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

void model_sort(struct model *model, enum sort_key key, bool reversed)
{
    sorting.key = key;
    sorting.is_reversed = reversed;
    if (model->process_count)
        qsort(model->processes, model->process_count, sizeof *model->processes, compare);
}

static int rank_of(const char *name)
{
    static const char *const kinds[] = {"cpu:", "memory:", "node"};
    for (int i = 0; i < 3; i++)
        if (string_starts(name, kinds[i]))
            return i + 1;
    return strchr(name, ':') ? 0 : 4; /* an accelerator has a number, such as "npu:0" */
}

static int compare_devices(const void *a, const void *b)
{
    const struct device_row *left = a, *right = b;
    int order = rank_of(left->name) - rank_of(right->name);
    if (order)
        return order;
    const char *m = strchr(left->name, ':'), *n = strchr(right->name, ':');
    size_t kind = m ? (size_t)(m - left->name) : strlen(left->name);
    order = strncmp(left->name, right->name, kind + 1);
    if (order || !m || !n)
        return order;
    long i = strtol(m + 1, NULL, 10), k = strtol(n + 1, NULL, 10);
    return (i > k) - (i < k);
}

void model_sort_devices(struct model *model)
{
    if (model->device_count)
        qsort(model->devices, model->device_count, sizeof *model->devices, compare_devices);
}

/* --- filter --------------------------------------------------------------------------------------------- */

static bool contains(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)word[i]))
            i++;
        if (i == length)
            return true;
    }
    return length == 0;
}

static bool matches(const struct process_row *row, const char *filter)
{
    char pid[16];
    string_print(pid, sizeof pid, "%d", row->pid);
    return contains(row->command, filter) || contains(row->user, filter) || contains(pid, filter);
}

size_t model_filter(const struct model *model, const char *filter, size_t *out_shown)
{
    size_t count = 0;
    for (size_t i = 0; i < model->process_count; i++) {
        const struct process_row *row = &model->processes[i];
        if (matches(row, filter) && (!model->detail[0] || row->uses_detail))
            out_shown[count++] = i;
    }
    return count;
}

/* --- devices -------------------------------------------------------------------------------------------- */

struct device_row *model_device(struct model *model, const char *name)
{
    for (size_t i = 0; i < model->device_count; i++)
        if (strcmp(model->devices[i].name, name) == 0)
            return &model->devices[i];
    return NULL;
}

struct device_row *model_add_device(struct model *model, const char *name)
{
    struct device_row *known = model_device(model, name);
    if (known || !ARRAY_ROOM(model->devices, model->device_capacity, model->device_count))
        return known;
    struct device_row *row = &model->devices[model->device_count++];
    memset(row, 0, sizeof *row);
    string_copy(row->name, sizeof row->name, name);
    return row;
}

void model_free(struct model *model)
{
    free(model->devices);
    free(model->processes);
    free(model->domains);
    *model = (struct model){0};
}
