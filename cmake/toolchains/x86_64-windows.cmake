# Windows on x86-64, cross-compiled with Zig's clang and libraries (pip install ziglang).
# ZIG_GLOBAL_CACHE_DIR must be an absolute path. JOULE_PYTHON names the Python that has it.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(zig_target x86_64-windows-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
