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

/// Waits for a file that somebody publishes, and reads as many bytes.
/// Throws kq::argument_error if it does not come in time, or is of another size.
void await(const std::filesystem::path& path, std::span<std::byte> bytes,
           std::chrono::milliseconds most);

} // namespace tensor_parallel
