# kq_cuda_architectures(VARIABLE): what to compile kernels for, in the form of
# CMAKE_CUDA_ARCHITECTURES: every kind of GPU that is in this machine and that kq supports. Where there
# is none, KQ_ARCHITECTURES_WITHOUT_GPU, else 75-virtual and 90: native code for Hopper, and code for
# every GPU of 7.5 and newer, which the driver finishes when it is loaded.
function(kq_cuda_architectures variable)
  set(capabilities "")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed)
  set(architectures "")
  if(NOT failed)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
    foreach(capability IN LISTS capabilities)
      if(capability VERSION_GREATER_EQUAL 7.5)
        string(REPLACE "." "" architecture "${capability}")
        list(APPEND architectures ${architecture})
      endif()
    endforeach()
  endif()
  list(REMOVE_DUPLICATES architectures)
  list(SORT architectures COMPARE NATURAL)
  if(NOT architectures AND KQ_ARCHITECTURES_WITHOUT_GPU)
    set(architectures ${KQ_ARCHITECTURES_WITHOUT_GPU})
  elseif(NOT architectures)
    set(architectures 75-virtual 90)
  endif()
  set(${variable} "${architectures}" PARENT_SCOPE)
endfunction()
