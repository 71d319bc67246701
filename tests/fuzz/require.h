/* tests/fuzz/require.h - require(), which ends a fuzz target if a condition does not hold.
 *
 * Note: assert() would do nothing if NDEBUG is defined. */
#ifndef FUZZ_REQUIRE_H
#define FUZZ_REQUIRE_H

#include <stdbool.h>
#include <stdlib.h>

static inline void require(bool holds)
{
    if (!holds)
        abort();
}

#endif
