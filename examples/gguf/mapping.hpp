#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.hpp"

namespace gguf {

/// Refuses a file, by its name.
[[noreturn]] inline void fail_file(const std::filesystem::path& path, const std::string& rule) {
    throw error("file " + printable(path.string()) + ": " + rule);
}

/// Refuses a file for what the system said last.
[[noreturn]] inline void fail_system(const std::filesystem::path& path, std::string_view action) {
    const int code = errno;
    fail_file(path, std::string(action) + ": " + std::generic_category().message(code));
}

/// An open file.
class descriptor {
public:
    // Not blocking, so that a named pipe is refused instead of waited for.
    explicit descriptor(const std::filesystem::path& path)
        : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (value_ < 0) {
            fail_system(path, "cannot be opened");
        }
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { ::close(value_); }

    int value() const { return value_; }

private:
    int value_;
};

/// A regular file in memory, read only.
class mapping {
public:
    explicit mapping(const std::filesystem::path& path) {
        const descriptor opened(path);
        struct stat facts {};
        if (::fstat(opened.value(), &facts) != 0) {
            fail_system(path, "cannot be examined");
        }
        if (!S_ISREG(facts.st_mode)) {
            fail_file(path, "is not a regular file");
        }
        if (facts.st_size == 0) {
            fail_file(path, "is empty");
        }
        if (!std::in_range<std::size_t>(facts.st_size)) {
            fail_file(path, "is larger than the address space");
        }
        size_ = static_cast<std::size_t>(facts.st_size);
        start_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, opened.value(), 0);
        if (start_ == MAP_FAILED) {
            fail_system(path, "cannot be mapped");
        }
    }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() { ::munmap(start_, size_); }

    std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(start_), size_};
    }

private:
    void* start_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace gguf
