# Makes kq::cccl, the headers of CCCL from the CUDA toolkit of the machine that compiles, or says in
# kq_NOT_FOUND_MESSAGE why not. For kq's own build and, installed, for its package.
find_package(CUDAToolkit QUIET)
# The toolkit's before those of any prefix: nvcc uses its own, host code must not see others.
find_path(KQ_CCCL_INCLUDE_DIR cuda/std/version
          PATHS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES cccl NO_DEFAULT_PATH
          DOC "The folder of CCCL's headers")
find_path(KQ_CCCL_INCLUDE_DIR cuda/std/version PATH_SUFFIXES cccl)

# As CCCL_VERSION has it: 1000000 * major + 1000 * minor + patch. Older ones may
# have it elsewhere, or not at all.
set(kq_cccl_version 0)
if(EXISTS "${KQ_CCCL_INCLUDE_DIR}/cuda/std/__cccl/version.h")
  file(STRINGS "${KQ_CCCL_INCLUDE_DIR}/cuda/std/__cccl/version.h" kq_cccl_version
       REGEX "#define CCCL_VERSION +[0-9]+")
  string(REGEX REPLACE "[^0-9]" "" kq_cccl_version "${kq_cccl_version}")
endif()

if(NOT KQ_CCCL_INCLUDE_DIR)
  set(kq_NOT_FOUND_MESSAGE "kq needs CCCL's headers, a part of the CUDA toolkit, and does not find \
them: set CUDAToolkit_ROOT, or KQ_CCCL_INCLUDE_DIR to the folder that holds cuda/std")
elseif(kq_cccl_version LESS 3000001)
  set(kq_NOT_FOUND_MESSAGE "kq needs CCCL 3.0.1 or newer, as CUDA 13 brings it, and does not find it \
in ${KQ_CCCL_INCLUDE_DIR}: set KQ_CCCL_INCLUDE_DIR to the folder that holds its cuda/std")
elseif(NOT TARGET kq::cccl)
  add_library(kq::cccl INTERFACE IMPORTED GLOBAL)
  # nvcc knows its own CCCL; a host compiler has to be told, and clang++ as the CUDA compiler.
  target_include_directories(kq::cccl INTERFACE
    $<$<OR:$<COMPILE_LANGUAGE:CXX>,$<COMPILE_LANG_AND_ID:CUDA,Clang>>:${KQ_CCCL_INCLUDE_DIR}>)
  set(kq_cccl_toolkits ${CUDAToolkit_INCLUDE_DIRS})
  list(TRANSFORM kq_cccl_toolkits APPEND /cccl)
  list(FIND kq_cccl_toolkits "${KQ_CCCL_INCLUDE_DIR}" kq_cccl_place) # IN_LIST is a caller's policy
  if(kq_cccl_place EQUAL -1)
    # No system folder, as an include directory would be: nvcc searches its own before those.
    target_compile_options(kq::cccl INTERFACE
                           "$<$<COMPILE_LANGUAGE:CUDA>:-I${KQ_CCCL_INCLUDE_DIR}>")
  endif()
endif()
