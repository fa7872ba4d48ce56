# rdmaqos_install_manuals(PAGE...): installs manual pages; NAME.in is completed by tools/docgen. They name files where
# packages put them, below /usr; what is installed names them where they are then, with the prefix that
# `cmake --install --prefix` may give.
function(rdmaqos_install_manuals)
    foreach(page ${ARGN})
        cmake_path(GET page FILENAME name)
        set(file ${PROJECT_SOURCE_DIR}/${page})
        if(page MATCHES "\\.in$")
            string(REGEX REPLACE "\\.in$" "" name ${name})
            set(file ${PROJECT_BINARY_DIR}/docs/man/${name})
        endif()
        string(REGEX MATCH "[1-8]$" section ${name})
        install(CODE "
            include(\"${PROJECT_SOURCE_DIR}/cmake/InstalledPath.cmake\")
            rdmaqos_installed_path(examples \"${RDMAQOS_EXAMPLES_DIR}\")
            rdmaqos_installed_path(data \"${CMAKE_INSTALL_DATADIR}\")
            rdmaqos_installed_path(sbin \"${CMAKE_INSTALL_SBINDIR}\")
            rdmaqos_installed_path(systemd lib/systemd)
            rdmaqos_installed_path(manuals \"${CMAKE_INSTALL_MANDIR}\")
            rdmaqos_renamed_manual(\"${file}\" \"${CMAKE_CURRENT_BINARY_DIR}/${name}\"
                /usr/share/doc/librdmaqos-dev/examples \"\${examples}\"
                /usr/share/rdma-qos \"\${data}/rdma-qos\"
                /usr/share/dbus-1 \"\${data}/dbus-1\"
                /usr/share/polkit-1 \"\${data}/polkit-1\"
                /usr/sbin/rdma-qosd \"\${sbin}/rdma-qosd\"
                /usr/lib/systemd \"\${systemd}\")
            file(INSTALL DESTINATION \"\${manuals}/man${section}\" TYPE FILE FILES \"${CMAKE_CURRENT_BINARY_DIR}/${name}\")")
    endforeach()
endfunction()
