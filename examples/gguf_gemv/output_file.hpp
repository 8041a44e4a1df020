// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

namespace gguf_gemv {

/// A file that appears once it is complete: written beside its place and renamed.
class output_file {
public:
    /// Makes the temporary file, so that a place that cannot be written is known early.
    /// Throws input_error if it cannot.
    explicit output_file(const std::filesystem::path& path);
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    /// Writes little-endian f32 and puts the file into its place.
    /// Throws input_error if that fails; the place is as it was then.
    void finish(const std::vector<float>& numbers);

private:
    using handle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

    std::filesystem::path path_;
    std::filesystem::path temporary_;
    handle file_;
};

} // namespace gguf_gemv
