/* tests/fuzz/require.h - what must hold for any input.
 *
 * Owns the one way in which a fuzz target says that it does not. Newcomers: assert() would do nothing where NDEBUG is set.
 */
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
