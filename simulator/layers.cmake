# The arrows of the house as code: every target has a layer and links only to its own layer or to its left.
# The root CMakeLists.txt and the small project of tests/laws_of_layers both include this file.

set(LOCKSTEP_LAYERS base inputs scenarios result steps drivers runner exchange answers cli programs)

# lockstep_library(NAME LAYER layer SOURCES ... LINKS ... PRIVATE_LINKS ...)
# A static library lockstep_NAME with the alias lockstep::NAME.
function(lockstep_library name)
  cmake_parse_arguments(ARG "" "LAYER" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(lockstep_${name} STATIC ${ARG_SOURCES})
  add_library(lockstep::${name} ALIAS lockstep_${name})
  lockstep_common(lockstep_${name} ${ARG_LAYER})
  target_link_libraries(lockstep_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# lockstep_common(TARGET layer): layer, include root, warnings and sanitizers of any target of this project.
function(lockstep_common target layer)
  list(FIND LOCKSTEP_LAYERS "${layer}" rank)
  if(rank EQUAL -1)
    message(FATAL_ERROR "${target}: unknown layer '${layer}', one of ${LOCKSTEP_LAYERS}")
  endif()
  set_target_properties(${target} PROPERTIES LOCKSTEP_LAYER_RANK ${rank} LOCKSTEP_LAYER ${layer})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
  # -ffp-contract=off: predicted times must not depend on whether a processor fuses multiply-adds.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                         -ffp-contract=off $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
  if(LOCKSTEP_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${LOCKSTEP_SANITIZE})
  endif()
endfunction()

# All targets made by add_library and add_executable in a directory and below it, imported ones left out.
function(lockstep_targets_below directory result)
  get_property(found DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(children DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(child IN LISTS children)
    lockstep_targets_below("${child}" below)
    list(APPEND found ${below})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# lockstep_check_link(TARGET LINK): fails the configuration when LINK lies to the right of TARGET. Two drivers (the
# estimate and the engine) never link each other, and SimGrid is linked by the engine and by programs only.
function(lockstep_check_link target link)
  get_target_property(layer ${target} LOCKSTEP_LAYER)
  get_target_property(rank ${target} LOCKSTEP_LAYER_RANK)
  if(link MATCHES "SIMGRID" AND NOT target STREQUAL "lockstep_engine" AND NOT layer STREQUAL "programs")
    message(FATAL_ERROR "${target} links SimGrid, which only lockstep_engine may")
  endif()
  if(NOT TARGET "${link}")
    return()
  endif()
  get_target_property(aliased ${link} ALIASED_TARGET)
  if(aliased)
    set(link ${aliased})
  endif()
  get_target_property(other ${link} LOCKSTEP_LAYER_RANK)
  if(other STREQUAL "other-NOTFOUND")
    return()
  endif()
  if(other GREATER rank)
    get_target_property(theirs ${link} LOCKSTEP_LAYER)
    message(FATAL_ERROR "${target} (layer ${layer}) links ${link} (layer ${theirs}), which lies to its right")
  elseif(layer STREQUAL "drivers" AND other EQUAL rank)
    message(FATAL_ERROR "${target} links ${link}: two drivers must not know each other")
  endif()
endfunction()

# Run when every target and link is known: cmake_language(DEFER CALL lockstep_check_layers).
function(lockstep_check_layers)
  lockstep_targets_below("${PROJECT_SOURCE_DIR}" targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "UTILITY")
      continue()
    endif()
    get_target_property(layer ${target} LOCKSTEP_LAYER)
    if(NOT layer)
      message(FATAL_ERROR "${target} has no layer: make it by lockstep_library or call lockstep_common")
    endif()
    get_target_property(links ${target} LINK_LIBRARIES)
    foreach(link IN LISTS links)
      lockstep_check_link(${target} "${link}")
    endforeach()
  endforeach()
endfunction()
