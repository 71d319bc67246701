/* support/allocations.h - counts memory allocations, and makes one of them fail.
 *
 * Counts calls of malloc, calloc, realloc and aligned_alloc by the library and the test, not by the C library
 * itself. Note: a test that uses this must be in the list in tests/CMakeLists.txt; the linker then replaces
 * the C library's functions. */
#ifndef SUPPORT_ALLOCATIONS_H
#define SUPPORT_ALLOCATIONS_H

/* Number of allocations so far, by all threads. */
extern _Atomic unsigned allocations;
/* Number of the allocation that fails, counted as above; 0: none fails. */
extern _Atomic unsigned failing_allocation;

#endif
