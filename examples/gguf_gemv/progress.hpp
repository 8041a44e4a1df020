// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace gguf_gemv {

/// A line on stderr that says how far the tool is; nothing where that is not a terminal.
class progress {
public:
    explicit progress(std::size_t count);
    ~progress() { clear(); }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    /// Says that item `index` of all has begun.
    void show(std::size_t index, const std::string& name);

    /// Takes the line away, for others to print.
    void clear();

private:
    std::size_t count_;
    bool is_terminal_;
    bool is_shown_ = false;
};

} // namespace gguf_gemv
