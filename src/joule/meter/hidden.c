/* joule/meter/hidden.c - excludes boards from totals if the environment hides them from programs.
 *
 * sources/visible.h contains the rules of the variables; cover.c sums a total.
 * Note: a source that opens late may bring the id that identifies a board, so each new source updates all
 * channels. A meter opened with JOULE_OPEN_DEVICES reports the whole machine and hides nothing.
 */
#include <string.h>
#include "base/string.h"
#include "joule/meter/engine.h"
#include "joule/sources/visible.h"

/* The boards that sources have found, without duplicates. */
struct boards {
    struct visible_board list[MAX_VISIBLE_BOARDS];
    const char *names[MAX_VISIBLE_BOARDS]; /* "gpu:0" */
    size_t count;
};

/* Fills an empty text of a board from another source's text. */
static void take_text(const char **ours, const char *theirs)
{
    if (!**ours)
        *ours = theirs;
}

/* Adds the device as a board, or completes the texts of the board with its name. */
static void add_device(struct boards *boards, const struct device *device)
{
    size_t i = 0;
    while (i < boards->count && strcmp(boards->names[i], device->name) != 0)
        i++;
    if (i == MAX_VISIBLE_BOARDS)
        return;
    struct visible_board *board = &boards->list[i];
    if (i == boards->count) {
        boards->names[boards->count++] = device->name;
        *board = (struct visible_board){.vendor = "", .model = "", .uuid = "", .pci_address = ""};
    }
    take_text(&board->vendor, device->vendor);
    take_text(&board->model, device->model);
    take_text(&board->uuid, device->uuid);
    take_text(&board->pci_address, device->pci_address);
}

/* Adds the boards of a source. Omits boards that this process may not open: programs skip them when they
 * number boards. */
static void add_source(struct boards *boards, struct meter_channel *mc)
{
    pthread_mutex_lock(&mc->lane->lock);
    for (size_t i = 0; i < mc->source->device_count; i++)
        if (mc->source->devices[i]->state != JOULE_DENIED)
            add_device(boards, mc->source->devices[i]);
    pthread_mutex_unlock(&mc->lane->lock);
}

/* Returns the variable that hides the board with this name; NULL: none. */
static const char *hidden_by(const struct boards *boards, const char *name)
{
    for (size_t i = 0; i < boards->count; i++)
        if (strcmp(boards->names[i], name) == 0)
            return boards->list[i].hidden_by;
    return NULL;
}

void meter_update_hidden(joule_meter *meter)
{
    struct boards boards = {.count = 0};
    size_t count = meter_channel_count(meter);
    if (meter->shows_all)
        return;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || meter->channels[i].source != meter->channels[i - 1].source)
            add_source(&boards, &meter->channels[i]);
    if (boards.count == 0)
        return;
    visible_mark(meter->host, boards.list, boards.count);
    for (size_t i = 0; i < count; i++)
        atomic_store(&meter->channels[i].hidden_by,
                     hidden_by(&boards, meter->channels[i].channel->info.device));
}

/* Returns the variable that hides the channel's board. Returns NULL if the board is not hidden, or if an
 * earlier energy channel belongs to the same board. */
static const char *hiding_variable(joule_meter *meter, size_t i)
{
    const char *variable = atomic_load(&meter->channels[i].hidden_by),
               *device = meter->channels[i].channel->info.device;
    if (!variable || meter->channels[i].channel->mode == CHANNEL_GAUGE)
        return NULL;
    for (size_t k = 0; k < i; k++)
        if (meter->channels[k].channel->mode != CHANNEL_GAUGE &&
            strcmp(meter->channels[k].channel->info.device, device) == 0)
            return NULL;
    return variable;
}

const char *meter_hidden_boards(joule_meter *meter, char *out_boards, size_t size)
{
    const char *first = NULL;
    struct text text;
    text_init(&text, out_boards, size);
    for (size_t i = 0; i < meter_channel_count(meter); i++) {
        const char *variable = hiding_variable(meter, i);
        if (!variable || (first && strcmp(variable, first) != 0))
            continue;
        text_printf(&text, "%s%s", first ? ", " : "", meter->channels[i].channel->info.device);
        first = variable;
    }
    return first;
}
