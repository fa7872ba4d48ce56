# Documents; everything else is installed by the folder it is in. The unit, the bus and polkit look in /usr: install with
# CMAKE_INSTALL_PREFIX=/usr, as the release preset does.
file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES README.md CHANGELOG.md LICENSE ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/clients DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN __pycache__ EXCLUDE)
install(DIRECTORY docs/images DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.png")

# Last: what of all this is looked for in other places.
install(CODE "
    include(\"${PROJECT_SOURCE_DIR}/cmake/InstalledPath.cmake\")
    rdmaqos_installed_path(etc \"${CMAKE_INSTALL_SYSCONFDIR}\")
    rdmaqos_installed_path(data \"${CMAKE_INSTALL_DATADIR}\")
    rdmaqos_installed_path(lib lib)
    include(\"${PROJECT_SOURCE_DIR}/cmake/Links.cmake\")")
