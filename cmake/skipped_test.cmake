# kq_skipped_test(NAME WHY): a test that is reported as skipped, since what it needs is not here.
function(kq_skipped_test name why)
  add_test(NAME ${name} COMMAND sh -c "echo \"$1\"; exit 77" sh "${why}")
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
