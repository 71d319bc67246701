# LLVM through its C interface, and the clang that belongs to it. JOULEC_LLVM_CONFIG names another llvm-config.
#   JOULEC_LLVM_INCLUDE  folder of llvm-c
#   JOULEC_LLVM_LIBRARY  not set: there is no LLVM from 14 on
#   JOULEC_CLANG         its clang
if(CMAKE_CROSSCOMPILING)
  return() # the LLVM at hand is this machine's
endif()
find_program(JOULEC_LLVM_CONFIG NAMES llvm-config-14 llvm-config-15 llvm-config-16 llvm-config-17 llvm-config-18 llvm-config-19 llvm-config)
if(NOT JOULEC_LLVM_CONFIG)
  message(STATUS "LLVM was not found: no joulec (./dev setup check)")
  return()
endif()
foreach(word version includedir libdir bindir)
  execute_process(COMMAND ${JOULEC_LLVM_CONFIG} --${word} OUTPUT_VARIABLE llvm_${word} OUTPUT_STRIP_TRAILING_WHITESPACE)
endforeach()
string(REGEX MATCH "^[0-9]+" llvm_major "${llvm_version}")
find_library(JOULEC_LLVM_LIBRARY NAMES LLVM-${llvm_major} LLVM HINTS ${llvm_libdir} NO_DEFAULT_PATH)
find_program(JOULEC_CLANG NAMES clang clang-${llvm_major} HINTS ${llvm_bindir})
set(JOULEC_LLVM_INCLUDE ${llvm_includedir})
if(llvm_major LESS 14 OR NOT EXISTS ${llvm_includedir}/llvm-c/Core.h)
  message(STATUS "LLVM ${llvm_version} has no C headers, or is too old: no joulec")
  unset(JOULEC_LLVM_LIBRARY CACHE)
endif()
