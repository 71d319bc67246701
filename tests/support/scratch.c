/* support/scratch.c - see scratch.h. */
#include "support/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEMPLATE "/tmp/joule_test.XXXXXX"

char scratch_folder[] = TEMPLATE, scratch_path[sizeof TEMPLATE + 2];
char scratch_partial[sizeof scratch_path + 8];

int scratch_set_up(void **state)
{
    (void)state;
    strcpy(scratch_folder, TEMPLATE);
    if (!mkdtemp(scratch_folder))
        return -1;
    snprintf(scratch_path, sizeof scratch_path, "%s/x", scratch_folder);
    snprintf(scratch_partial, sizeof scratch_partial, "%s.partial", scratch_path);
    return 0;
}

int scratch_tear_down(void **state)
{
    (void)state;
    unlink(scratch_path);
    unlink(scratch_partial);
    return rmdir(scratch_folder);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

int scratch_remove_tree(const char *path)
{
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
