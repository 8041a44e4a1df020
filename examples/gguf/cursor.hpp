#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "reader.hpp"

namespace gguf {

/// Takes values off the front of a file. Every failure names the subject that was entered last.
class cursor {
public:
    explicit cursor(std::span<const std::byte> rest) : rest_(rest) {}

    void enter(std::string subject) { subject_ = std::move(subject); }

    std::uint64_t left() const { return rest_.size(); }

    [[noreturn]] void fail(const std::string& rule) const { throw error(subject_ + ": " + rule); }

    std::span<const std::byte> take(std::uint64_t count, std::string_view field) {
        if (count > left()) {
            fail(std::string(field) + " needs " + std::to_string(count) + " bytes, " +
                 std::to_string(left()) + " are left in the file");
        }
        const auto taken = rest_.first(static_cast<std::size_t>(count));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }

    template <std::unsigned_integral Value>
    Value number(std::string_view field) {
        Value value = 0;
        int shift = 0;
        for (const std::byte stored : take(sizeof(Value), field)) {
            value |= std::to_integer<Value>(stored) << shift;
            shift += 8;
        }
        return value;
    }

    std::string_view text(std::string_view field) {
        const auto length = number<std::uint64_t>(field);
        const auto bytes = take(length, field);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    /// Refuses a count whose elements, of at least so many bytes each, cannot all be there.
    void require_room(std::string_view field, std::uint64_t count, std::uint64_t bytes) const {
        if (count > left() / bytes) {
            fail(std::string(field) + " " + std::to_string(count) + " cannot fit in the " +
                 std::to_string(left()) + " bytes left in the file");
        }
    }

private:
    std::span<const std::byte> rest_;
    std::string subject_;
};

} // namespace gguf
