// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>

namespace tensor_parallel {

/// Puts bytes into a new file, which appears with all of them.
/// Throws kq::argument_error if there is such a file, or if it cannot be written.
void publish(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// A file that is published as long as this lives.
class publication {
public:
    /// Throws as publish() does; a file that was there stays then.
    publication(const std::filesystem::path& path, std::span<const std::byte> bytes);
    ~publication();
    publication(const publication&) = delete;
    publication& operator=(const publication&) = delete;

private:
    std::filesystem::path path_;
};

/// Waits for a file that somebody publishes, and reads as many bytes: an old file's too, which
/// nothing tells from a later one.
/// Throws kq::argument_error if it does not come in time, or is of another size.
void await(const std::filesystem::path& path, std::span<std::byte> bytes,
           std::chrono::milliseconds most);

} // namespace tensor_parallel
