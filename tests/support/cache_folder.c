/* support/cache_folder.c - see cache_folder.h. */
#include "support/cache_folder.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/program.h>
#include "support/check.h"
#include "support/scratch.h"

#define TEMPLATE "/tmp/joule_cache.XXXXXX"

char cache_folder[] = TEMPLATE;

int cache_folder_set_up(void **state)
{
    (void)state;
    strcpy(cache_folder, TEMPLATE);
    return mkdtemp(cache_folder) ? setenv("XDG_CACHE_HOME", cache_folder, 1) : -1;
}

int cache_folder_tear_down(void **state)
{
    (void)state;
    unsetenv("CC");
    return scratch_remove_tree(cache_folder);
}

bool cache_folder_has_compiler(char *out_command)
{
    forge_device *device;
    joule_error error = {0};
    forge_compiled_facts facts = {.struct_size = sizeof facts};
    assert_ok(forge_device_open("cpu", &device, &error), &error);
    joule_status status = forge_device_set_compiled(device, true, &error);
    assert_int_equal(forge_device_query_compiled(device, &facts), JOULE_OK);
    forge_device_close(device);
    if (status == JOULE_ABSENT)
        print_message("skipped: compiled code: %s\n", error.message);
    else
        assert_ok(status, &error);
    if (out_command)
        strcpy(out_command, facts.compiler);
    return status == JOULE_OK;
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
