/* support/allocations.h - how often memory was asked for.
 *
 * Owns the count of calls of malloc, calloc, realloc and aligned_alloc by the library and the test; the C library's own calls
 * are not seen. Newcomers: a test that uses it stands in the list in tests/CMakeLists.txt, which makes the linker put these
 * functions in the place of the C library's.
 */
#ifndef SUPPORT_ALLOCATIONS_H
#define SUPPORT_ALLOCATIONS_H

/* So far, by all threads. */
extern _Atomic unsigned allocations;
/* The allocation with this number fails; 0: none. */
extern _Atomic unsigned failing_allocation;

#endif
