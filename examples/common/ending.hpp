// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/check.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

/// How programs end.
namespace common {

/// Exit codes.
inline constexpr int success = 0;
inline constexpr int check_failed = 1;
inline constexpr int unusable = 2; ///< bad input or a failing device
inline constexpr int skipped = 77; ///< there is no GPU; ctest knows it as Skipped

/// Throws std::runtime_error if what was printed did not get out.
inline void require_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        throw std::runtime_error("standard output: cannot be written");
    }
}

/// Says on stderr, in one line whatever the text holds, why a program ends. Returns the exit code.
inline int refuse(const std::string& program, std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    std::fprintf(stderr, "%s: %s\n", program.c_str(), text.c_str());
    return unusable;
}

/// Refuses for the exception that is being handled.
inline int refuse(const std::string& program) {
    try {
        throw;
    } catch (const kq::cuda_error& e) {
        return refuse(program, std::string("device: ") + e.what());
    } catch (const std::bad_alloc&) {
        return refuse(program, "memory: there is not enough for this");
    } catch (const std::exception& e) {
        return refuse(program, e.what());
    }
}

} // namespace common
