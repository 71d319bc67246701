# joule_check_energy(TARGET [TEST] [STRICT] [REPORT FILE] [SARIF FILE] [OPTIONS OPTION...])
#
# Checks the functions of a target's C sources against their JOULE_BUDGET, with the target's compile options. The check is the
# target TARGET-energy, which runs after each build, or with TEST the test energy.TARGET.
#   STRICT   a budget that is not proved is an error
#   REPORT   the expected figures of all functions as JSON; relative to the binary folder
#   SARIF    the findings as SARIF; relative to the binary folder
#   OPTIONS  further options of joulec or clang
# JOULEC_EXECUTABLE is the path of joulec. Note: the target's own compiler still builds the target; joulec only checks.
find_program(JOULEC_EXECUTABLE joulec HINTS ${JOULE_BINDIR})

# Appends OPTION FILE to the caller's variables `command` and `outputs`, if FILE is set.
macro(joule_energy_output_ option file)
  if(${file})
    cmake_path(ABSOLUTE_PATH ${file} BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    list(APPEND command ${option} ${${file}})
    list(APPEND outputs ${${file}})
  endif()
endmacro()

function(joule_check_energy target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TEST;STRICT" "REPORT;SARIF" "OPTIONS")
  if(NOT TARGET ${target})
    message(FATAL_ERROR "joule_check_energy: no target '${target}' is defined")
  elseif(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "joule_check_energy: unknown argument '${arg_UNPARSED_ARGUMENTS}'; the arguments are TEST, STRICT, REPORT FILE, SARIF FILE, OPTIONS ...")
  elseif(NOT JOULEC_EXECUTABLE)
    message(FATAL_ERROR "joule_check_energy: joulec was not found (it needs a Joule built with LLVM); "
      "set its path with -DJOULEC_EXECUTABLE=...")
  elseif(NOT CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    message(FATAL_ERROR "joule_check_energy: ${CMAKE_GENERATOR} writes no compile_commands.json: use -G Ninja or Makefiles")
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    message(FATAL_ERROR "joule_check_energy: '${target}' is an interface library, which compiles no sources")
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_COMPILE_COMMANDS ON)
  set(objects CMakeFiles/${target}.dir/$<$<BOOL:${CMAKE_CONFIGURATION_TYPES}>:$<CONFIG>/>)
  set(command ${JOULEC_EXECUTABLE} --energy-database ${CMAKE_BINARY_DIR}/compile_commands.json --energy-only=${objects})
  set(outputs)
  if(arg_STRICT)
    list(APPEND command --energy-policy=strict)
  endif()
  joule_energy_output_(--energy-report arg_REPORT)
  joule_energy_output_(--energy-sarif arg_SARIF)
  list(APPEND command ${arg_OPTIONS})
  if(arg_TEST)
    add_test(NAME energy.${target} COMMAND ${command} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    return()
  endif()
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}-energy.stamp)
  add_custom_command(OUTPUT ${stamp} COMMAND ${command} COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${target} $<$<STREQUAL:${type},OBJECT_LIBRARY>:$<TARGET_OBJECTS:${target}>>
    BYPRODUCTS ${outputs} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMENT "Checking energy budgets of ${target}" VERBATIM)
  add_custom_target(${target}-energy ALL DEPENDS ${stamp})
endfunction()
