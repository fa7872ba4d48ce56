# Included by the install scripts.

# rdmaqos_installed_path(RESULT FOLDER): where FOLDER is with the prefix that is being installed to, by the rules of GNUInstallDirs, which
# knows only the configured one: an absolute folder stays, and with the prefix /usr, etc is /etc.
function(rdmaqos_installed_path result folder)
    if(folder STREQUAL "etc" AND CMAKE_INSTALL_PREFIX MATCHES "^/usr/*$")
        set(folder /etc)
    endif()
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
    set(${result} "${folder}" PARENT_SCOPE)
endfunction()
