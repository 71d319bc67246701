# macOS on Apple silicon, cross-compiled with Zig's clang and libraries (pip install ziglang).
# ZIG_GLOBAL_CACHE_DIR must be an absolute path. JOULE_PYTHON names the Python that has it.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(zig_target aarch64-macos)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
