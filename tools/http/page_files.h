/* tools/http/page_files.h - the files of a server's folder page/, compiled into the program by
 * embed.cmake. */
#ifndef HTTP_PAGE_FILES_H
#define HTTP_PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const unsigned char *bytes;
    size_t size;
};

extern const struct page_file page_index_html, page_page_css, page_page_js;

#endif
