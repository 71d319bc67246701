/* tools/joulec/check/view.c - see view.h. */
#include "view.h"

#include <sys/mman.h>
#include <sys/stat.h>

struct view view_open(int fd)
{
    struct stat file;
    if (fd < 0 || fstat(fd, &file) || file.st_size <= 0)
        return (struct view){NULL, 0};
    void *bytes = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    return bytes == MAP_FAILED ? (struct view){NULL, 0} : (struct view){bytes, (size_t)file.st_size};
}

void view_close(struct view view)
{
    if (view.bytes)
        munmap(view.bytes, view.size);
}
