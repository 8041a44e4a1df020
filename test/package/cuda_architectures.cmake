# cmake -DMODULES=FOLDER -DWORK=FOLDER -P cuda_architectures.cmake: what kernels are compiled for, by
# the GPUs that an nvidia-smi of this test's making tells of.
list(APPEND CMAKE_MODULE_PATH ${MODULES})
include(cuda_architectures)
set(ENV{PATH} "${WORK}:$ENV{PATH}")

function(expect what script expected)
  file(WRITE ${WORK}/nvidia-smi "#!/bin/sh\n${script}\n")
  file(CHMOD ${WORK}/nvidia-smi PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  kq_cuda_architectures(found)
  if(NOT found STREQUAL expected)
    message(SEND_ERROR "${what}: ${found} instead of ${expected}")
  endif()
endfunction()

expect("one GPU" "echo 9.0" "90")
expect("two kinds of GPU" "echo 12.0; echo 9.0; echo 12.0; echo 8.6" "86;90;120")
expect("a GPU that kq does not support" "echo 6.1; echo 9.0" "90")
expect("only such ones" "echo 6.1" "75-virtual;90")
expect("no GPU" "echo 'No devices were found'; exit 6" "75-virtual;90")
expect("no driver" "echo 'Failed to initialize NVML 535.1'; exit 9" "75-virtual;90")
