/* Fuzz target: output of tegrastats. Checks that nothing is read beyond the text, and that every value is
 * unknown or in its physical range. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "joule/sources/jetson/tegrastats_text.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tegrastats stats;
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    tegrastats_parse(text, &stats);
    require(stats.rail_count <= TEGRASTATS_MAX_RAILS);
    for (size_t i = 0; i < stats.rail_count; i++)
        require(stats.rails[i].name[0] && stats.rails[i].watts >= 0 && stats.rails[i].watts < 1e6);
    require(isnan(stats.gpu_busy) || (stats.gpu_busy >= 0 && stats.gpu_busy <= 1));
    require(isnan(stats.gpu_megahertz) || (stats.gpu_megahertz >= 0 && stats.gpu_megahertz < 1e9));
    require(isnan(stats.gpu_celsius) || (stats.gpu_celsius > -256 && stats.gpu_celsius < 1000));
    free(text);
    return 0;
}
