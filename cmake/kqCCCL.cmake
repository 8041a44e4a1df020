# Makes kq::cccl, the headers of CCCL from the CUDA toolkit of the machine that compiles, or says in
# kq_NOT_FOUND_MESSAGE why not. For kq's own build and, installed, for its package.
find_package(CUDAToolkit QUIET)
find_path(KQ_CCCL_INCLUDE_DIR nv/target
          HINTS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES cccl
          DOC "The folder of CCCL's headers")
if(NOT KQ_CCCL_INCLUDE_DIR)
  set(kq_NOT_FOUND_MESSAGE "kq needs CCCL's headers, a part of the CUDA toolkit, and does not find \
them: set CUDAToolkit_ROOT, or KQ_CCCL_INCLUDE_DIR to the folder that holds nv/target")
elseif(NOT TARGET kq::cccl)
  add_library(kq::cccl INTERFACE IMPORTED GLOBAL)
  # nvcc knows its own CCCL; a host compiler has to be told.
  target_include_directories(kq::cccl INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${KQ_CCCL_INCLUDE_DIR}>)
endif()
