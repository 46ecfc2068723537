# Finds LibTorch (2.6 or newer) and makes
#   lockstep_torch        LibTorch on CPUs with Gloo: libtorch_cpu and libc10 alone, so that a program starts quickly
#   lockstep_torch_cuda   the same with CUDA and NCCL, where LibTorch and the headers have them; else
#                         LOCKSTEP_TORCH_CUDA_MISSING says what is not there
# or neither, with LOCKSTEP_TORCH_MISSING saying why. Needs find_package(Threads).
#
# Where it looks: LIBTORCH_ROOT (the folder `torch` of the Python package, or an unpacked LibTorch), CMAKE_PREFIX_PATH
# (the same folder, or its share/cmake), then .lockstep/libtorch, where `./lockstep.sh libtorch` puts the pinned wheel.
#
# Not find_package(Torch): without a CUDA toolkit the configuration of a CUDA build is a fatal error even when Torch is
# optional, and with Debian's libtorch installed beside it names libraries of both.
set(LOCKSTEP_TORCH_MISSING "")
set(LIBTORCH_ROOT "" CACHE PATH "Folder of a LibTorch (with include/ and lib/); empty: CMAKE_PREFIX_PATH, .lockstep/libtorch")

# Searched anew each time: a LibTorch fetched, removed or named later must be noticed.
foreach(_name LIBTORCH_INC LIBTORCH_torch_cpu LIBTORCH_c10 LIBTORCH_torch_cuda LIBTORCH_c10_cuda
        LIBTORCH_CUDART_INC LIBTORCH_NCCL_INC LIBTORCH_CUDART LIBTORCH_NCCL)
  unset(${_name} CACHE)
endforeach()

file(GLOB _own "${PROJECT_SOURCE_DIR}/.lockstep/libtorch/lib/python3.*/site-packages/torch")
set(_header torch/csrc/distributed/c10d/reducer.hpp)
if(LIBTORCH_ROOT)
  find_path(LIBTORCH_INC ${_header} PATHS "${LIBTORCH_ROOT}/include" NO_DEFAULT_PATH)
else()
  find_path(LIBTORCH_INC ${_header} HINTS ${_own} PATH_SUFFIXES include ../../include)
endif()
if(NOT LIBTORCH_INC)
  set(LOCKSTEP_TORCH_MISSING "no LibTorch here")
  return()
endif()
get_filename_component(_root "${LIBTORCH_INC}/.." REALPATH)

# The version stands in one header up to 2.8 and in another after it.
set(LIBTORCH_VERSION 0)
file(GLOB _files "${_root}/include/torch/headeronly/version.h" "${_root}/include/torch/csrc/api/include/torch/version.h")
foreach(_file IN LISTS _files)
  file(STRINGS "${_file}" _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) [0-9]")
  if(_lines)
    string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" LIBTORCH_VERSION "${_lines}")
    break()
  endif()
endforeach()
if(LIBTORCH_VERSION VERSION_LESS 2.6)
  set(LOCKSTEP_TORCH_MISSING "LibTorch ${LIBTORCH_VERSION} in ${_root} is too old, 2.6 or newer is needed")
  return()
endif()
foreach(_library torch_cpu c10 torch_cuda c10_cuda)
  find_library(LIBTORCH_${_library} ${_library} PATHS "${_root}/lib" NO_DEFAULT_PATH)
endforeach()
if(NOT LIBTORCH_torch_cpu OR NOT LIBTORCH_c10)
  set(LOCKSTEP_TORCH_MISSING "${_root} has the headers of LibTorch but not its libraries")
  return()
endif()
# std::string in a mangled name is Ss with the C++ ABI of before GCC 5, which the wheels of PyPI had up to 2.6.
file(STRINGS "${LIBTORCH_c10}" _old_abi REGEX "torchCheckFailEPKcS2_jRKSs" LIMIT_COUNT 1)
if(_old_abi)
  set(LOCKSTEP_TORCH_MISSING "LibTorch ${LIBTORCH_VERSION} in ${_root} has the C++ ABI of before GCC 5 and links with nothing \
of this system: take the `cxx11-abi` build, or a wheel of 2.7 or newer")
  return()
endif()

add_library(lockstep_torch INTERFACE IMPORTED GLOBAL)
target_include_directories(lockstep_torch SYSTEM INTERFACE
  "${CMAKE_CURRENT_LIST_DIR}/compat" "${_root}/include" "${_root}/include/torch/csrc/api/include")
# LibTorch ships headers of a newer fmt than the system's library: files that see them use those alone.
target_compile_definitions(lockstep_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_HEADER_ONLY)
target_link_libraries(lockstep_torch INTERFACE "${LIBTORCH_torch_cpu}" "${LIBTORCH_c10}" Threads::Threads)

# Headers of the Python packages first, a toolkit where they are incomplete. Their folders hold libX.so.N only, which
# find_library finds by its whole name.
file(GLOB _nvidia_include "${_root}/../nvidia/cu1?/include" "${_root}/../nvidia/*/include")
file(GLOB _nvidia_lib "${_root}/../nvidia/cu1?/lib" "${_root}/../nvidia/*/lib")
find_path(LIBTORCH_CUDART_INC crt/host_config.h HINTS ${_nvidia_include} ENV CUDA_HOME PATH_SUFFIXES include)
find_path(LIBTORCH_NCCL_INC nccl.h HINTS ${_nvidia_include})
find_library(LIBTORCH_CUDART NAMES libcudart.so.13 libcudart.so.12 cudart HINTS ${_nvidia_lib} ENV CUDA_HOME
             PATH_SUFFIXES lib64)
find_library(LIBTORCH_NCCL NAMES libnccl.so.2 nccl HINTS ${_nvidia_lib})
if(LIBTORCH_torch_cuda AND LIBTORCH_c10_cuda AND LIBTORCH_CUDART_INC AND LIBTORCH_NCCL_INC AND LIBTORCH_CUDART
   AND LIBTORCH_NCCL)
  add_library(lockstep_torch_cuda INTERFACE IMPORTED GLOBAL)
  target_include_directories(lockstep_torch_cuda SYSTEM INTERFACE "${LIBTORCH_CUDART_INC}" "${LIBTORCH_NCCL_INC}")
  target_compile_definitions(lockstep_torch_cuda INTERFACE USE_C10D_NCCL)
  target_link_libraries(lockstep_torch_cuda INTERFACE -Wl,--no-as-needed "${LIBTORCH_torch_cuda}"
    "${LIBTORCH_c10_cuda}" lockstep_torch "${LIBTORCH_CUDART}" "${LIBTORCH_NCCL}")
else()
  set(LOCKSTEP_TORCH_CUDA_MISSING "not there:")
  foreach(_piece torch_cuda c10_cuda CUDART_INC NCCL_INC CUDART NCCL)
    if(NOT LIBTORCH_${_piece})
      string(REPLACE "_INC" "'s headers" _words "${_piece}")
      string(APPEND LOCKSTEP_TORCH_CUDA_MISSING " ${_words}")
    endif()
  endforeach()
endif()
set(LIBTORCH_FOLDER "${_root}")
