# cmake -DINCLUDE=FOLDER -P layers.cmake: passes where every header below FOLDER includes only its
# own room and those above it. The rooms, from the top down; a folder below a room is part of it,
# unless it is a room of its own. What lies in none is a door: it may include all, and nothing but a
# door includes it.
set(rooms
  core
  launch
  blocks
  activation
  dot
  reference
  gemv/epilogue
  gemv/mapping
  gemv/policy
  gemv/policy/tuning
  gemv/plan
  gemv/kernel)
list(LENGTH rooms doors)

# kq_floor(HEADER VARIABLE): how far down the header's room lies.
function(kq_floor header variable)
  get_filename_component(folder ${header} DIRECTORY)
  while(folder)
    list(FIND rooms ${folder} place)
    if(place GREATER_EQUAL 0)
      set(${variable} ${place} PARENT_SCOPE)
      return()
    endif()
    get_filename_component(folder ${folder} DIRECTORY)
  endwhile()
  set(${variable} ${doors} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE headers RELATIVE ${INCLUDE}/kq ${INCLUDE}/kq/*.hpp ${INCLUDE}/kq/*.cuh)
if(NOT headers)
  message(FATAL_ERROR "there are no headers below ${INCLUDE}/kq")
endif()
set(wrong 0)
foreach(header IN LISTS headers)
  kq_floor(${header} own)
  file(STRINGS ${INCLUDE}/kq/${header} lines REGEX "^ *# *include *[<\"]kq/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ *# *include *[<\"]kq/([^>\"]*)[>\"].*" "\\1" included "${line}")
    kq_floor(${included} other)
    if(other GREATER own)
      message("${header} includes ${included}, which lies below it")
      math(EXPR wrong "${wrong} + 1")
    endif()
  endforeach()
endforeach()
if(wrong)
  message(FATAL_ERROR "${wrong} includes reach down; the rooms are, from the top down: ${rooms}")
endif()
