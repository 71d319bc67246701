/* Fuzz target: pictures of records. Drawing must not crash, leak or take long. Checks that energies are
 * finite and not negative, that shapes have finite coordinates, and that terminals get no control characters.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/picture/skyline_phases.h"
#include "joule/picture/skyline_record.h"
#include "record_checksums.h"

#define TEXT_SIZE (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char page[TEXT_SIZE];

static void check_drawing(const struct skyline *skyline, const struct skyline_view *view)
{
    struct drawing drawing;
    struct text text;
    if (skyline_draw(skyline, view, &drawing) == JOULE_OK) {
        for (size_t i = 0; i < drawing.shape_count; i++) {
            const struct shape *shape = &drawing.shapes[i];
            if (!isfinite(shape->x) || !isfinite(shape->y) || !isfinite(shape->width) ||
                !isfinite(shape->height))
                abort();
        }
        text_init(&text, page, sizeof page);
        drawing_svg(&drawing, &text);
    }
    drawing_free(&drawing);
}

static void check_terminal(const struct skyline *skyline, const struct skyline_view *view)
{
    struct text text;
    text_init(&text, page, sizeof page);
    skyline_print(skyline, view, &(struct skyline_terminal){.width = 80}, &text);
    for (size_t i = 0; i < text.length && i < sizeof page - 1; i++) {
        if ((page[i] < ' ' && page[i] != '\n') || page[i] == 0x7f)
            abort();
    }
}

static void check_part(const struct record *record, struct skyline_part part, const char **names)
{
    struct skyline skyline;
    struct arena arena = {0};
    struct skyline_phase *phases = NULL;
    if (skyline_of_record(record, &part, &skyline, NULL) == JOULE_OK) {
        struct skyline_view view = skyline_view_of_record(record, names);
        for (size_t i = 0; i < skyline.layer_count; i++) {
            if (!(skyline.layers[i].total_joules >= 0))
                abort();
        }
        if (skyline_find_phases(record, &part, &arena, &phases, &view.phase_count, NULL) == JOULE_OK)
            view.phases = phases;
        check_drawing(&skyline, &view);
        check_terminal(&skyline, &view);
    }
    skyline_free(&skyline);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size);
    memcpy(copy, data + 1, size - 1);
    correct_checksums(copy, size - 1);
    struct record record;
    if (record_parse(copy, size - 1, &record, NULL) == JOULE_OK) {
        const char **names = malloc((record.name_count + 1) * sizeof *names);
        enum skyline_by by = data[0] % 2 ? SKYLINE_BY_DEVICE : SKYLINE_BY_REGION;
        check_part(&record, (struct skyline_part){NAN, NAN, by, 80}, names);
        check_part(&record, (struct skyline_part){data[0] / 100.0, NAN, by, 80}, names);
        free(names);
    }
    record_free(&record);
    free(copy);
    return 0;
}
