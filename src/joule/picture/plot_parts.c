/* joule/picture/plot_parts.c - see plot_parts.h. */
#include "joule/picture/plot_parts.h"

#include <math.h>
#include <string.h>

#define TITLE_SIZE     16
#define CAPTION_SIZE   12
#define CAPTION_HEIGHT 17
#define CAPTION_LINES  3
#define LEGEND_HEIGHT  19
#define LEGEND_LINES   2
#define LEGEND_MAX     220 /* widest text of an entry, in pixels */
#define SWATCH         12

/* Returns how many bytes of a text fit in `room` pixels, up to the end of a word. */
static size_t fitting_bytes(const char *text, double room)
{
    char line[1000];
    size_t best = 0;
    for (size_t i = 0; i < sizeof line - 1; i++) {
        if (text[i] == ' ' || text[i] == '\0') {
            memcpy(line, text, i);
            line[i] = '\0';
            if (best && drawing_text_width(line, CAPTION_SIZE, false) > room)
                return best;
            best = i;
        }
        if (text[i] == '\0')
            return i;
    }
    return best ? best : strlen(text);
}

double plot_draw_title(struct drawing *drawing, double top, const char *title, const char *caption)
{
    double room = drawing->width - 2 * PLOT_MARGIN, y = top;
    if (title) {
        drawing_add_fitted_text(drawing, PLOT_MARGIN, y + TITLE_SIZE, room, title,
                                (struct text_style){.size = TITLE_SIZE, .is_bold = true});
        y += TITLE_SIZE + 8;
    }
    for (int line = 0; caption && *caption && line < CAPTION_LINES; line++) {
        char words[1000];
        size_t bytes = line + 1 < CAPTION_LINES ? fitting_bytes(caption, room) : strlen(caption);
        string_print(words, sizeof words, "%.*s", (int)(bytes < sizeof words ? bytes : sizeof words - 1),
                     caption);
        drawing_add_fitted_text(drawing, PLOT_MARGIN, y + CAPTION_SIZE, room, words,
                                (struct text_style){.size = CAPTION_SIZE, .colour = COLOUR_SOFT});
        y += CAPTION_HEIGHT;
        caption += bytes;
        caption += *caption == ' ';
    }
    return y;
}

static void draw_swatch(struct drawing *drawing, double x, double middle, const struct legend_entry *entry)
{
    if (entry->is_line)
        drawing_add_segment(
            drawing, x, middle, x + SWATCH + 4, middle,
            (struct paint){.stroke = entry->colour, .stroke_width = 2, .is_dashed = entry->is_dashed});
    else
        drawing_add_rectangle(drawing, x, middle - SWATCH / 2.0, SWATCH, SWATCH,
                              (struct paint){.fill = entry->colour, .fill_opacity = entry->opacity});
}

double plot_draw_legend(struct drawing *drawing, double top, const struct legend_entry *entries, size_t count)
{
    double x = PLOT_MARGIN, y = top, right = drawing->width - PLOT_MARGIN;
    int line = 1;
    for (size_t i = 0; i < count; i++) {
        double text_x = SWATCH + (entries[i].is_line ? 10 : 6);
        double text_width = fmin(LEGEND_MAX, drawing_text_width(entries[i].text, CAPTION_SIZE, false));
        if (x > PLOT_MARGIN && x + text_x + text_width > right) {
            if (line++ == LEGEND_LINES)
                break;
            x = PLOT_MARGIN;
            y += LEGEND_HEIGHT;
        }
        draw_swatch(drawing, x, y + LEGEND_HEIGHT / 2.0, &entries[i]);
        drawing_add_fitted_text(drawing, x + text_x, y + LEGEND_HEIGHT / 2.0 + 4, LEGEND_MAX, entries[i].text,
                                (struct text_style){.size = CAPTION_SIZE});
        x += text_x + text_width + 18;
    }
    return count ? y + LEGEND_HEIGHT : y;
}
