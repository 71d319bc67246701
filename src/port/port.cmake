# What other systems than Linux need instead: port/SYSTEM/NAME.c and port/elsewhere/NAME.c stand in the place of the NAME.c of
# base/ or joule/, and port/SYSTEM/port.h is included first in every file. Linux takes nothing from here.
#   port_sources  what is compiled besides
#   not_here      the files that it takes the place of, and those that only Linux's joule run and libforge use
set(port_sources)
set(not_here "^$")
set(names thread attribute_cgroup spawn)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  return()
elseif(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  set(system macos)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  set(system windows)
  list(APPEND names find_program) # it runs none
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
