/* Fuzz target: files of a process in /proc. Checks that no engine is active for longer than the elapsed time.
 *
 * The input is three texts, separated by zero bytes: a graphics driver's fdinfo, a later fdinfo of the same
 * file, and /proc/PID/stat. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <joule/devices.h>
#include "joule/attribute/attribute_tree.h"
#include "joule/sources/drm_fdinfo.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 3);
    if (!text)
        abort();
    memcpy(text, data, size);
    const char *later = text + strlen(text) + 1, *stat = later + strlen(later) + 1;
    struct drm_client before, now;
    bool is_client = drm_parse(text, &before);
    require(!is_client || (before.pci_address[0] && before.engine_count <= DRM_MAX_ENGINES));
    if (drm_parse(later, &now) && is_client) {
        double active_s = drm_advance(&before, &now, 0.5);
        require(active_s >= 0 && active_s <= 0.5);
        /* the counters have not changed, so there was no activity */
        require(drm_advance(&before, &now, 0.5) == 0);
    }
    struct tree_process process;
    if (tree_parse(stat <= text + size ? stat : "", &process))
        require(process.cpu_s >= process.children_s && process.children_s >= 0 && isfinite(process.cpu_s));
    free(text);
    return 0;
}
