# Included by the install scripts, which have no policies of their own.
cmake_policy(VERSION 3.25)

# rdmaqos_installed_path(RESULT FOLDER): where FOLDER is with the prefix that is being installed to, by the rules of GNUInstallDirs, which
# knows only the configured one: an absolute folder stays, and with the prefix /usr, etc is /etc.
function(rdmaqos_installed_path result folder)
    if(folder STREQUAL "etc" AND CMAKE_INSTALL_PREFIX MATCHES "^/usr/*$")
        set(folder /etc)
    endif()
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
    set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# rdmaqos_renamed(FILE RESULT [FROM TO]...): FILE with each path FROM as TO.
function(rdmaqos_renamed file result)
    file(READ "${file}" text)
    set(places ${ARGN})
    while(places)
        list(POP_FRONT places from to)
        string(REPLACE "${from}" "${to}" text "${text}")
    endwhile()
    file(WRITE "${result}" "${text}")
endfunction()

# The same for a manual page, which has "\-" for "-".
function(rdmaqos_renamed_manual page result)
    string(REPLACE "-" "\\-" places "${ARGN}")
    rdmaqos_renamed("${page}" "${result}" ${places})
endfunction()
