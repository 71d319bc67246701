/* support/cache_folder.c - see cache_folder.h. */
#include "support/cache_folder.h"

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TEMPLATE "/tmp/joule_cache.XXXXXX"

char cache_folder[] = TEMPLATE;

int cache_folder_set_up(void **state)
{
    (void)state;
    strcpy(cache_folder, TEMPLATE);
    return mkdtemp(cache_folder) ? setenv("XDG_CACHE_HOME", cache_folder, 1) : -1;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

int cache_folder_tear_down(void **state)
{
    (void)state;
    unsetenv("CC");
    return nftw(cache_folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

size_t cache_folder_files(char *out_path)
{
    char folder[100];
    size_t count = 0;
    snprintf(folder, sizeof folder, "%s/joule/forge", cache_folder);
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        if (length < 4 || strcmp(entry->d_name + length - 3, ".so") != 0)
            fail_msg("the cache contains %s", entry->d_name);
        if (out_path)
            snprintf(out_path, 300, "%s/%.100s", folder, entry->d_name);
        count++;
    }
    closedir(listing);
    return count;
}
