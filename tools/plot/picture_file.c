/* tools/plot/picture_file.c - see picture_file.h. */
#include "plot/picture_file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/error.h"
#include "common/output.h"
#include "plot/picture_png.h"

enum picture_format picture_format_of(const char *path)
{
    static const struct {
        const char *ending;
        enum picture_format format;
    } endings[] = {
        {".svg", PICTURE_SVG}, {".png", PICTURE_PNG}, {".html", PICTURE_HTML}, {".htm", PICTURE_HTML}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++) {
        if (strcasecmp(dot, endings[i].ending) == 0)
            return endings[i].format;
    }
    return PICTURE_UNKNOWN;
}

joule_status picture_check(const char *path, joule_error *out_error)
{
    enum picture_format format = picture_format_of(path);
    if (format == PICTURE_UNKNOWN)
        return error_set(out_error, JOULE_INVALID,
                         "cannot write %s: the name of a picture must end with .svg, .png or .html", path);
    if (format == PICTURE_PNG && !picture_png_is_supported())
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "cannot write %s: this build lacks cairo, which PNG needs; use .svg or .html", path);
    return output_check(path, out_error);
}

static void print_svg(const struct drawing *drawing, enum picture_format format, struct text *out)
{
    if (format == PICTURE_HTML)
        text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" "
                      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
                      "<title>Joule</title>\n<style>:root{color-scheme:light dark}"
                      "body{margin:1rem;background:#fbfbfa}svg{max-width:100%;height:auto}"
                      "@media (prefers-color-scheme:dark){body{background:#131517}}</style>\n");
    drawing_svg(drawing, out);
    if (format == PICTURE_HTML)
        text_add(out, "</html>\n");
}

static joule_status write_text(const struct drawing *drawing, enum picture_format format, const char *path,
                               joule_error *out_error)
{
    struct text text;
    text_init(&text, NULL, 0);
    print_svg(drawing, format, &text);
    size_t size = text.length + 1;
    char *bytes = malloc(size);
    if (!bytes)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot write %s: out of memory", path);
    text_init(&text, bytes, size);
    print_svg(drawing, format, &text);
    joule_status status = output_write(path, bytes, text.length, out_error);
    free(bytes);
    return status;
}

joule_status picture_write(const struct drawing *drawing, const char *path, joule_error *out_error)
{
    enum picture_format format = picture_format_of(path);
    if (format == PICTURE_UNKNOWN || (format == PICTURE_PNG && !picture_png_is_supported()))
        return picture_check(path, out_error);
    if (drawing->is_out_of_memory)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot write %s: out of memory", path);
    return format == PICTURE_PNG ? picture_png_write(drawing, path, out_error)
                                 : write_text(drawing, format, path, out_error);
}
