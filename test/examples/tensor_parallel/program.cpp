// SPDX-License-Identifier: Apache-2.0
#include "examples/program.hpp"

namespace {

void require_refusal(const std::string& arguments, const std::vector<std::string>& words) {
    program::require_refusal(KQ_PROGRAM, arguments, words);
}

} // namespace

TEST_CASE("tensor_parallel refuses arguments by name before it looks for a GPU") {
    require_refusal("--n 0", {"--n", "not in range 1 to"});
    require_refusal("--k 300", {"--k", "multiple of 256", "q4_k"});
    require_refusal("--encoding q8_0 --k 48", {"--k", "multiple of 32", "q8_0"});
    require_refusal("--encoding f16", {"--encoding", "must be one of", "iq3_xxs"});
    require_refusal("--none", {"not expected", "--none"});
}

TEST_CASE("tensor_parallel refuses ways to start that do not go together") {
    require_refusal("--ranks 2 --rank 0", {"--ranks requires --id-file"});
    require_refusal("--rank 0", {"--rank requires --ranks"});
    require_refusal("--id-file x", {"--id-file requires --ranks"});
    require_refusal("--ranks 2 --rank 2 --id-file x", {"--rank", "less than --ranks"});
    require_refusal("--gpus 1 --ranks 1 --rank 0 --id-file x", {"excludes"});
    require_refusal("--mpi --gpus 1", {"excludes"});
    require_refusal("--timeout 1", {"--timeout requires --id-file"});
}

TEST_CASE("tensor_parallel multiplies, or says that there is no GPU") {
    const auto ran = program::run(KQ_PROGRAM, "--n 300 --k 2048");
    INFO(ran.text);
    if (ran.code == 77) {
        CHECK_THAT(ran.text, Catch::Contains("there is no GPU here"));
    } else {
        CHECK(ran.code == 0);
        CHECK_THAT(ran.text, Catch::Contains("bit-equal") && Catch::Contains("NMSE"));
    }
}

TEST_CASE("tensor_parallel fails when its output cannot be written") {
    program::require_lost_output(KQ_PROGRAM, "--help");
    program::require_lost_output(KQ_PROGRAM, "--n 300 --k 2048");
}
