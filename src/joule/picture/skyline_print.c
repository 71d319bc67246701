/* joule/picture/skyline_print.c - prints a skyline with characters, for terminals.
 *
 * Each character is a column. Its colour is that of the layer at its height. The row below the power names
 * the layer with the most energy by a letter, so that the plot can be read without colours.
 * */
#include <math.h>
#include <string.h>
#include "joule/picture/axis.h"
#include "joule/picture/skyline.h"

#define ROWS        8
#define LABEL_WIDTH 8 /* characters left of the power */
#define MIN_COLUMNS 20
#define MAX_COLUMNS 500

struct page {
    const struct skyline *skyline;
    const struct skyline_view *view;
    const struct skyline_terminal *terminal;
    struct text *out;
    size_t columns;
    double top_watts;
};

size_t skyline_terminal_columns(size_t width)
{
    size_t columns = width > LABEL_WIDTH + 2 ? width - LABEL_WIDTH - 2 : MIN_COLUMNS;
    return columns < MIN_COLUMNS ? MIN_COLUMNS : columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
}

/* --- colours and names ---------------------------------------------------------------------------------- */

/* Changes the colour to one of the terminal's 256; COLOUR_NONE: back to the default. */
static void set_colour(const struct page *page, enum colour colour)
{
    static const unsigned char codes[DRAWING_COLOURS] = {
        [COLOUR_SOFT] = 245,       [COLOUR_BAD] = 160,        [COLOUR_UNKNOWN] = 248,
        [COLOUR_OTHER] = 244,      [COLOUR_SERIES + 0] = 32,  [COLOUR_SERIES + 1] = 214,
        [COLOUR_SERIES + 2] = 36,  [COLOUR_SERIES + 3] = 175, [COLOUR_SERIES + 4] = 74,
        [COLOUR_SERIES + 5] = 166, [COLOUR_SERIES + 6] = 185, [COLOUR_SERIES + 7] = 97,
    };
    if (!page->terminal->has_colour)
        return;
    if (codes[colour])
        text_printf(page->out, "\033[38;5;%dm", codes[colour]);
    else
        text_add(page->out, "\033[0m");
}

/* Formats a value for the terminal, in ASCII if it does not show UTF-8. */
static void format_value(const struct page *page, double value, const char *unit, int digits, char out[32])
{
    axis_format(value, unit, digits, out, 32);
    char *micro = strstr(out, "\u00b5");
    if (micro && !page->terminal->is_unicode) {
        *micro = 'u';
        memmove(micro + 1, micro + 2, strlen(micro + 2) + 1);
    }
}

/* Returns the letter of a layer; ' ': it is not a region. */
static char letter_of(const struct skyline *skyline, size_t layer)
{
    return skyline->layers[layer].colour == COLOUR_UNKNOWN ? ' ' : (char)('A' + layer);
}

/* Adds a name without control characters; other characters only if the terminal shows UTF-8. Returns the
 * number of characters. */
static size_t add_name(const struct page *page, const char *name, size_t max_characters)
{
    size_t count = 0;
    for (size_t left = strlen(name); left > 0 && count < max_characters; count++) {
        uint32_t character;
        size_t bytes = string_utf8_read(name, left, &character);
        bool is_plain = bytes == 1 && character >= ' ' && character < 0x7f;
        if (is_plain || (bytes > 1 && character >= 0xa0 && page->terminal->is_unicode))
            text_add_bytes(page->out, name, bytes);
        else
            text_add(page->out, "?");
        bytes = bytes ? bytes : 1;
        name += bytes;
        left -= bytes;
    }
    return count;
}

/* --- the power ------------------------------------------------------------------------------------------ */

/* Returns the layer that is at `watts` in a column; layer_count: none. */
static size_t layer_at(const struct skyline *skyline, size_t column, double watts)
{
    double sum = 0;
    for (size_t layer = 0; layer < skyline->layer_count; layer++) {
        sum += skyline_watts(skyline, (int)layer, column);
        if (watts < sum)
            return layer;
    }
    return skyline->layer_count;
}

/* Adds the cell of a column in a row, 0: the lowest. */
static void add_cell(const struct page *page, size_t column, int row, enum colour *colour)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const ascii[] = {" ", ".", ".", ".", ":", ":", ":", "#", "#"};
    double watts = skyline_watts(page->skyline, -1, column);
    bool is_unknown = row == 0 && !skyline_has_all(page->skyline, column);
    if (isnan(watts) || is_unknown) {
        text_add(page->out, is_unknown ? "?" : " ");
        return;
    }
    double step = page->top_watts / ROWS;
    double eighths = round((watts / step - row) * 8);
    int level = eighths > 8 ? 8 : eighths < 0 ? 0 : (int)eighths;
    if (level == 0 && row == 0 && watts > 0)
        level = 1;
    if (level > 0) {
        double middle = fmin((row + 0.5) * step, (watts + row * step) / 2);
        size_t layer = layer_at(page->skyline, column, middle);
        enum colour wanted =
            layer < page->skyline->layer_count ? page->skyline->layers[layer].colour : COLOUR_SOFT;
        if (wanted != *colour)
            set_colour(page, wanted);
        *colour = wanted;
    }
    text_add(page->out, (page->terminal->is_unicode ? blocks : ascii)[level]);
}

static void print_power(const struct page *page)
{
    const char *edge = page->terminal->is_unicode ? "\u2524" : "|";
    for (int row = ROWS - 1; row >= 0; row--) {
        char label[32] = "";
        if (row % 2 == 1)
            format_value(page, page->top_watts * (row + 1) / ROWS, "W", 2, label);
        /* the micro sign has two bytes */
        int width = LABEL_WIDTH + (strchr(label, '\xc2') != NULL);
        text_printf(page->out, "%*s%s", width, label, edge);
        enum colour colour = COLOUR_NONE;
        for (size_t column = 0; column < page->columns; column++)
            add_cell(page, column, row, &colour);
        set_colour(page, COLOUR_NONE);
        text_add(page->out, "\n");
    }
}

/* --- below the power ------------------------------------------------------------------------------------ */

/* Returns the layer with the most joules in a column; layer_count: unknown. */
static size_t largest_layer(const struct skyline *skyline, size_t column)
{
    size_t best = skyline->layer_count;
    for (size_t i = 0; i < skyline->layer_count; i++) {
        double joules = skyline->layers[i].joules[column];
        if (joules > 0 && (best == skyline->layer_count || joules > skyline->layers[best].joules[column]))
            best = i;
    }
    return best;
}

static void print_letters(const struct page *page)
{
    const struct skyline *skyline = page->skyline;
    if (skyline->layer_count < 2)
        return;
    text_printf(page->out, "%*s ", LABEL_WIDTH, skyline->by == SKYLINE_BY_REGION ? "region" : "device");
    enum colour colour = COLOUR_NONE;
    for (size_t column = 0; column < page->columns; column++) {
        size_t layer = largest_layer(skyline, column);
        char letter = layer < skyline->layer_count ? letter_of(skyline, layer) : ' ';
        if (letter != ' ' && skyline->layers[layer].colour != colour) {
            colour = skyline->layers[layer].colour;
            set_colour(page, colour);
        }
        text_add_bytes(page->out, &letter, 1);
    }
    set_colour(page, COLOUR_NONE);
    text_add(page->out, "\n");
}

static void print_time(const struct page *page)
{
    const struct skyline *skyline = page->skyline;
    double low = (double)(skyline->begin_ns - skyline->zero_ns) * 1e-9;
    struct axis axis = {.kind = AXIS_DURATION,
                        .low = low,
                        .high = low + skyline->column_s * (double)page->columns,
                        .at_low = 0,
                        .at_high = (double)page->columns,
                        .name = "",
                        .unit = "s"};
    struct axis_ticks ticks;
    axis_choose_ticks(&axis, page->columns / 14 + 2, &ticks);
    const char *line = page->terminal->is_unicode ? "\u2500" : "-",
               *tick = page->terminal->is_unicode ? "\u252c" : "+";
    text_printf(page->out, "%*s%s", LABEL_WIDTH, "", page->terminal->is_unicode ? "\u2514" : "+");
    size_t next = 0;
    for (size_t column = 0; column < page->columns; column++) {
        while (next < ticks.count && axis_pixel(&axis, ticks.values[next]) < (double)column)
            next++;
        bool is_tick = next < ticks.count && axis_pixel(&axis, ticks.values[next]) < (double)column + 1;
        text_add(page->out, is_tick ? tick : line);
    }
    text_printf(page->out, "\n%*s ", LABEL_WIDTH, "");
    size_t at = 0;
    for (size_t i = 0; i < ticks.count; i++) {
        char label[48];
        string_print(label, sizeof label, "%s%s%s", ticks.labels[i], i == 0 ? " " : "",
                     i == 0 ? ticks.title : "");
        size_t place = (size_t)axis_pixel(&axis, ticks.values[i]), length = strlen(label);
        if (place < at || place + length > page->columns + 1)
            continue;
        text_printf(page->out, "%*s%s", (int)(place - at), "", label);
        at = place + length + (strchr(label, '\xc2') == NULL ? 0 : (size_t)-1);
        if (at <= place + length)
            text_add(page->out, " ");
        at++;
    }
    text_add(page->out, "\n");
}

static void print_legend(const struct page *page)
{
    const struct skyline *skyline = page->skyline;
    size_t width = page->terminal->width, at = 0;
    for (size_t i = 0; i < skyline->layer_count; i++) {
        char joules[32];
        const struct skyline_layer *layer = &skyline->layers[i];
        format_value(page, layer->total_joules, "J", 3, joules);
        size_t length = strlen(layer->name) > 30 ? 30 : strlen(layer->name);
        length += strlen(joules) + 6;
        if (at > 0 && at + length > width) {
            text_add(page->out, "\n");
            at = 0;
        }
        text_add(page->out, "  ");
        set_colour(page, layer->colour);
        text_add(page->out, page->terminal->is_unicode ? "\u25a0" : "#");
        set_colour(page, COLOUR_NONE);
        if (letter_of(skyline, i) != ' ')
            text_printf(page->out, " %c", letter_of(skyline, i));
        text_add(page->out, " ");
        add_name(page, layer->name, 30);
        text_printf(page->out, " %s", joules);
        at += length;
    }
    text_add(page->out, "\n");
}

static void print_title(const struct page *page, double peak_watts)
{
    const struct skyline *skyline = page->skyline;
    char word[32];
    if (page->view->title) {
        add_name(page, page->view->title, page->terminal->width > 60 ? page->terminal->width - 2 : 60);
        text_add(page->out, "\n");
    }
    format_value(page, skyline->total_joules.value, "J", 3, word);
    text_printf(page->out, "%s (%s), largest power ", word, joule_class_name(skyline->total_joules.cls));
    format_value(page, peak_watts, "W", 3, word);
    text_printf(page->out, "%s", word);
    if (page->view->idle_watts.value > 0) {
        format_value(page, page->view->idle_watts.value, "W", 3, word);
        text_printf(page->out, ", idle %s", word);
    }
    if (skyline->coverage < 0.995)
        text_printf(page->out, ", sensors covered %.0f %% of the time (?: unknown)", skyline->coverage * 100);
    text_add(page->out, "\n");
}

/* Prints the guessed phases as a table. */
static void print_phases(const struct page *page)
{
    const struct skyline_view *view = page->view;
    if (view->phase_count)
        text_add(page->out, "phases (a guess: times in which the mean power does not change)\n");
    for (size_t i = 0; i < view->phase_count; i++) {
        const struct skyline_phase *phase = &view->phases[i];
        char watts[32], joules[32];
        format_value(page, phase->mean_watts, "W", 3, watts);
        format_value(page, phase->joules, "J", 3, joules);
        text_printf(page->out, "%4zu  %10.3f s to %10.3f s  %10s  %10s\n", i + 1,
                    (double)(phase->begin_ns - page->skyline->zero_ns) * 1e-9,
                    (double)(phase->end_ns - page->skyline->zero_ns) * 1e-9, watts, joules);
    }
}

void skyline_print(const struct skyline *skyline, const struct skyline_view *view,
                   const struct skyline_terminal *terminal, struct text *out)
{
    struct page page = {
        .skyline = skyline, .view = view, .terminal = terminal, .out = out, .columns = skyline->column_count};
    double low = 0, high = NAN, peak = NAN;
    for (size_t i = 0; i < page.columns; i++) {
        high = fmax(high, skyline_watts(skyline, -1, i));
        peak = fmax(peak, skyline->columns[i].max_watts);
    }
    axis_extend(AXIS_LINEAR, &low, &high);
    page.top_watts = high;
    print_title(&page, fmax(peak, NAN));
    print_power(&page);
    print_time(&page);
    print_letters(&page);
    print_legend(&page);
    print_phases(&page);
}
