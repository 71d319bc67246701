# joule_check_energy(TARGET [TEST] [STRICT] [REPORT FILE] [SARIF FILE] [OPTIONS OPTION...])
#
# Holds the functions of a target's C sources to their JOULE_BUDGET, each source as the target compiles it: whenever the target
# was built, in the target TARGET-energy, or with TEST as the test energy.TARGET. What fails fails that.
#   STRICT   what is not proved is an error
#   REPORT   what each function is expected to take, as JSON, below the binary folder
#   SARIF    what is wrong, the same
#   OPTIONS  more options of joulec, or of clang
# JOULEC_EXECUTABLE names the joulec. Newcomers: nothing that joulec makes is linked; the target's own compiler still builds it.
find_program(JOULEC_EXECUTABLE joulec HINTS ${JOULE_BINDIR})

# Writes FILE, if one was asked for, into the variables with options and outputs of the caller.
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
    message(FATAL_ERROR "joule_check_energy: there is no target '${target}'")
  elseif(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "joule_check_energy: '${arg_UNPARSED_ARGUMENTS}' is none of TEST, STRICT, REPORT FILE, SARIF FILE, OPTIONS ...")
  elseif(NOT JOULEC_EXECUTABLE)
    message(FATAL_ERROR "joule_check_energy: there is no joulec (a Joule that was built without LLVM has none); "
      "-DJOULEC_EXECUTABLE=... names one")
  elseif(NOT CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    message(FATAL_ERROR "joule_check_energy: ${CMAKE_GENERATOR} writes no compile_commands.json: use -G Ninja or Makefiles")
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    message(FATAL_ERROR "joule_check_energy: '${target}' is an interface library, which compiles nothing")
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
