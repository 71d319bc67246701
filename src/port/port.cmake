# Selects files for systems other than Linux: port/SYSTEM/NAME.c and port/elsewhere/NAME.c replace the NAME.c of base/ or
# joule/, and port/SYSTEM/port.h is included first in every file. Linux uses nothing from here.
#   port_sources  files to compile in addition
#   not_here      pattern of the replaced files, and of files that only Linux's joule run and libforge need
set(port_sources)
set(not_here "^$")
set(names thread attribute_cgroup spawn)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  return()
elseif(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  set(system macos)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  set(system windows)
  list(APPEND names find_program) # Windows runs no programs
else()
  message(FATAL_ERROR "Joule has not been ported to ${CMAKE_SYSTEM_NAME}: see ${CMAKE_CURRENT_LIST_DIR}")
endif()
file(GLOB port_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/elsewhere/*.c ${CMAKE_CURRENT_LIST_DIR}/${system}/*.c)
foreach(file ${port_sources})
  get_filename_component(name ${file} NAME_WE)
  list(APPEND names ${name})
endforeach()
list(JOIN names "|" names)
set(not_here "/(base|joule(/[a-z]+)*)/(${names})\\.c$")
target_include_directories(joule_flags BEFORE INTERFACE ${CMAKE_CURRENT_LIST_DIR}/${system} ${CMAKE_CURRENT_LIST_DIR}/elsewhere)
target_compile_options(joule_flags INTERFACE "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/${system}/port.h")
