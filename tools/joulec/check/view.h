/* tools/joulec/check/view.h - the bytes of an open file, without a copy. */
#ifndef CHECK_VIEW_H
#define CHECK_VIEW_H

#include <stddef.h>

/* A file's bytes, which may be written to and stay its own; NULL where it is empty or cannot be mapped. */
struct view {
    char *bytes;
    size_t size;
};

struct view view_open(int fd);
void view_close(struct view view);

#endif
