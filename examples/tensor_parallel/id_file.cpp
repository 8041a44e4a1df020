// SPDX-License-Identifier: Apache-2.0
#include "id_file.hpp"

#include <kq/core/check.hpp>

#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include <unistd.h>

namespace tensor_parallel {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& rule) {
    throw kq::argument_error("--id-file: " + path.string() + " " + rule);
}

} // namespace

void publish(const fs::path& path, std::span<const std::byte> bytes) {
    // A link appears at once and never replaces a file.
    const fs::path temporary = path.string() + "." + std::to_string(::getpid());
    {
        std::ofstream out(temporary, std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
        if (!out.flush()) {
            refuse(path, "cannot be written");
        }
    }
    std::error_code failed;
    fs::create_hard_link(temporary, path, failed);
    std::error_code ignored;
    fs::remove(temporary, ignored);
    if (failed == std::errc::file_exists) {
        refuse(path, "must not exist: remove what an earlier run has left");
    }
    if (failed) {
        refuse(path, "cannot be written: " + failed.message());
    }
}

publication::publication(const fs::path& path, std::span<const std::byte> bytes) : path_(path) {
    publish(path_, bytes);
}

publication::~publication() {
    std::error_code ignored;
    fs::remove(path_, ignored);
}

void await(const fs::path& path, std::span<std::byte> bytes, std::chrono::milliseconds most) {
    const auto end = std::chrono::steady_clock::now() + most;
    std::error_code ignored;
    while (!fs::exists(path, ignored)) {
        if (std::chrono::steady_clock::now() >= end) {
            refuse(path, "did not appear within " + std::to_string(most.count()) + " ms");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::ifstream in(path, std::ios::binary);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!in || in.peek() != std::ifstream::traits_type::eof()) {
        refuse(path, "must hold " + std::to_string(bytes.size()) + " bytes");
    }
}

} // namespace tensor_parallel
