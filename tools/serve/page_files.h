/* tools/serve/page_files.h - the files of page/, compiled into the program by embed.cmake. */
#ifndef SERVE_PAGE_FILES_H
#define SERVE_PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const unsigned char *bytes;
    size_t size;
};

extern const struct page_file page_index_html, page_page_css, page_page_js;

#endif
