// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catch.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <sys/wait.h>

/// Runs example programs.
namespace program {

/// What a program printed, on both streams, and its exit code.
struct outcome {
    int code;
    std::string text;
};

/// Runs a program by the shell. The arguments may redirect a stream.
inline outcome run(const std::string& path, const std::string& arguments) {
    std::FILE* const pipe = ::popen(("'" + path + "' 2>&1 " + arguments).c_str(), "r");
    REQUIRE(pipe != nullptr);
    outcome ran{-1, {}};
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
        ran.text += static_cast<char>(c);
    }
    const int status = ::pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
}

/// Requires that a program refuses arguments in one line that has all the words.
inline void require_refusal(const std::string& path, const std::string& arguments,
                            const std::vector<std::string>& words) {
    INFO(arguments);
    const outcome ran = run(path, arguments);
    CHECK(ran.code == 2);
    CHECK(std::ranges::count(ran.text, '\n') == 1);
    for (const auto& word : words) {
        CHECK_THAT(ran.text, Catch::Contains(word));
    }
}

/// Requires that a program whose output is lost says so and fails.
inline void require_lost_output(const std::string& path, const std::string& arguments) {
    require_refusal(path, arguments + " >/dev/full", {"standard output: cannot be written"});
}

} // namespace program
