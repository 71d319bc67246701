/* support/allocations.h - counts memory allocations, and makes one of them fail.
 *
 * Counts calls of malloc, calloc, realloc and aligned_alloc by the library and the test. Calls by the C
 * library are not counted. Note: a test that uses this file must be in the list in tests/CMakeLists.txt. The
 * linker then replaces the C library's functions. */
#ifndef SUPPORT_ALLOCATIONS_H
#define SUPPORT_ALLOCATIONS_H

/* Number of allocations so far, by all threads. */
extern _Atomic unsigned allocations;
/* Number of the allocation that fails, counted from 1 like `allocations`. 0 means that no allocation
 * fails. */
extern _Atomic unsigned failing_allocation;

#endif
