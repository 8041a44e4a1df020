// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include "gguf/reader.hpp"
#include "input_error.hpp"

#include <bit>
#include <cerrno>
#include <system_error>

#include <unistd.h>

namespace gguf_gemv {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& rule) {
    throw input_error("output", "file " + gguf::printable(path.string()) + " " + rule);
}

[[noreturn]] void fail_to_write(const std::filesystem::path& path) {
    const int code = errno;
    fail(path, "cannot be written: " + std::generic_category().message(code));
}

// Renaming would replace a device or a pipe by a file, and a protected file unasked.
void require_replaceable(const std::filesystem::path& path) {
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    if (!std::filesystem::exists(status)) {
        return;
    }
    if (!std::filesystem::is_regular_file(status)) {
        fail(path, "is not a regular file");
    }
    if (::access(path.c_str(), W_OK) != 0) {
        fail_to_write(path);
    }
}

} // namespace

output_file::output_file(const std::filesystem::path& path)
    : path_(path), temporary_(path), file_(nullptr, std::fclose) {
    if (!path.has_filename()) {
        fail(path, "has no name");
    }
    require_replaceable(path);
    temporary_ += ".";
    temporary_ += std::to_string(::getpid());
    temporary_ += ".partial";
    file_.reset(std::fopen(temporary_.c_str(), "wbx"));
    if (!file_) {
        fail_to_write(path);
    }
}

output_file::~output_file() {
    if (!temporary_.empty()) {
        std::error_code ignored;
        std::filesystem::remove(temporary_, ignored);
    }
}

void output_file::finish(const std::vector<float>& numbers) {
    const std::size_t written =
        std::fwrite(numbers.data(), sizeof(float), numbers.size(), file_.get());
    // Closing can fail too: the last bytes are written then.
    if (written != numbers.size() || std::fclose(file_.release()) != 0) {
        fail_to_write(path_);
    }
    std::error_code failed;
    std::filesystem::rename(temporary_, path_, failed);
    if (failed) {
        fail(path_, "cannot be written: " + failed.message());
    }
    temporary_.clear();
}

} // namespace gguf_gemv
