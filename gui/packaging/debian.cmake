# One Debian package `lockstep`: `./lockstep.sh package`, or `cpack` in the build folder. It holds both programs and what they
# read, not the hardware runner: that is tied to one LibTorch (1.2 GB and more) which Debian has not, and finds it by the
# path on the machine that built it. Desktop, MIME and icon caches are renewed by the triggers of the packages that own them.
# Who builds a package answers for it, by the variables that Debian's own tools read; nobody can be reached otherwise.
if(DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBEMAIL}")
  if(DEFINED ENV{DEBFULLNAME} AND NOT maintainer MATCHES "<")
    set(maintainer "$ENV{DEBFULLNAME} <${maintainer}>")
  endif()
else()
  set(maintainer "lockstep contributors <noreply@localhost>")
endif()
set(LOCKSTEP_MAINTAINER "${maintainer}" CACHE STRING "Who answers for a Debian package: Name <address>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VENDOR "lockstep contributors")
set(CPACK_PACKAGE_CONTACT "${LOCKSTEP_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "predicts how long a data-parallel training step takes")
set(CPACK_PACKAGE_DESCRIPTION
"lockstep simulates a training step under PyTorch's DataParallel or
DistributedDataParallel, kernel by kernel, copy by copy and bucket by bucket:
how long it takes, why, and what would make it faster. It needs no GPU.
.
Here are the program, its window lockstep-gui, scenarios, machines, networks
and their documentation. The hardware runner of `lockstep measure` is built
from source beside LibTorch; with `front_end: python` a Python that has
PyTorch measures without it.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL lockstep debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(TARGET lockstep-gui)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "desktop-file-utils, hicolor-icon-theme, shared-mime-info")
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-torch")

# What Debian wants beside the programs (component `debian`, in the package alone): copyright, changelog, manual pages.
set(debian_files "${CMAKE_BINARY_DIR}/debian")
string(TIMESTAMP debian_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(MAKE_DIRECTORY "${debian_files}")
configure_file(gui/packaging/changelog.in "${debian_files}/changelog" @ONLY)
set(zip "execute_process(COMMAND gzip -9nc \"PAGE\" OUTPUT_FILE \"PAGE.gz\" COMMAND_ERROR_IS_FATAL ANY)")
string(REPLACE PAGE "${debian_files}/changelog" code "${zip}")
install(CODE "${code}" COMPONENT debian EXCLUDE_FROM_ALL)
find_program(HELP2MAN_PROGRAM help2man)
foreach(program IN ITEMS lockstep lockstep-gui)
  if(HELP2MAN_PROGRAM AND TARGET ${program})
    set(page "${debian_files}/${program}.1")
    string(REPLACE PAGE "${page}" code "${zip}")
    install(CODE "execute_process(COMMAND \"${HELP2MAN_PROGRAM}\" --no-info --output \"${page}\"
                                          --name \"predict how long a data-parallel training step takes\"
                                          \"$<TARGET_FILE:${program}>\" COMMAND_ERROR_IS_FATAL ANY)\n${code}"
            COMPONENT debian EXCLUDE_FROM_ALL)
    install(FILES "${page}.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT debian EXCLUDE_FROM_ALL)
  endif()
endforeach()
install(FILES "${debian_files}/changelog.gz" gui/packaging/copyright DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        COMPONENT debian EXCLUDE_FROM_ALL)
include(CPack)
