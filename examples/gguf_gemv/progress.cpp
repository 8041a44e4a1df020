// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <cstdio>

#include <unistd.h>

namespace gguf_gemv {

progress::progress(std::size_t count) : count_(count), is_terminal_(::isatty(STDERR_FILENO) != 0) {}

void progress::show(std::size_t index, const std::string& name) {
    constexpr std::size_t longest = 60; // a line that breaks could not be taken away
    if (is_terminal_) {
        clear();
        std::fprintf(stderr, "%zu of %zu: %s", index + 1, count_,
                     name.size() <= longest ? name.c_str() : "...");
        is_shown_ = true;
    }
}

void progress::clear() {
    if (is_shown_) {
        std::fputs("\r\x1b[K", stderr); // to the line's beginning, and erase to its end
        is_shown_ = false;
    }
}

} // namespace gguf_gemv
