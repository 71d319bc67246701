# Installs headers, libraries, pkg-config files, the CMake package, manuals and shell completions.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/joule)
set(completion_dir ${PROJECT_SOURCE_DIR}/tools/joule/completion)

install(TARGETS joule joule_static EXPORT joule-targets)
install(TARGETS joule_program)
install(DIRECTORY include/joule TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
file(GLOB schemas CONFIGURE_DEPENDS docs/*.schema.json)
install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/joule)
install(FILES LICENSE NOTICE README.md TYPE DOC)

# The prefix is relative to joule.pc, so that an installed tree can be moved.
file(RELATIVE_PATH JOULE_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/joule.pc.in joule.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/joule.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET forge)
  install(TARGETS forge forge_static EXPORT joule-targets)
  install(TARGETS forge_program)
  install(DIRECTORY include/forge TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
  configure_file(cmake/forge.pc.in forge.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/forge.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

install(EXPORT joule-targets NAMESPACE joule:: DESTINATION ${package_dir})
configure_package_config_file(cmake/joule-config.cmake.in joule-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(joule-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/joule-config.cmake ${PROJECT_BINARY_DIR}/joule-config-version.cmake
  cmake/joule-energy.cmake DESTINATION ${package_dir})

if(TARGET joule_helper)
  install(TARGETS joule_helper DESTINATION ${CMAKE_INSTALL_SBINDIR})
  configure_file(contrib/systemd/joule-helper.service.in joule-helper.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/joule-helper.service contrib/systemd/joule-helper.socket
    DESTINATION lib/systemd/system)
  install(FILES contrib/systemd/joule.sysusers DESTINATION lib/sysusers.d RENAME joule.conf)
endif()
foreach(section 1 3 7 8)
  file(GLOB pages CONFIGURE_DEPENDS docs/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
# bash and fish search for a file with the program's name; each file has the completions of all programs.
foreach(program joule forge joulec)
  install(FILES ${completion_dir}/joule.bash RENAME ${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completion_dir}/joule.fish RENAME ${program}.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endforeach()
install(FILES ${completion_dir}/joule.zsh RENAME _joule DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
