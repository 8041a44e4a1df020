// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/element.hpp>
#include <kq/core/standard.hpp>
#include <kq/core/status.hpp>
#include <kq/core/workspace.hpp>

/// Rules that arguments of all kinds must keep (contract C7). Each names the argument.
namespace kq::inline KQ_ABI::detail {

inline constexpr int64_t most_int = (standard::numeric_limits<int>::max)();
inline constexpr int64_t most_int64 = (standard::numeric_limits<int64_t>::max)();

/// The first of several outcomes that is an error. All of them are evaluated.
template <class... Rest>
constexpr status first_error(status first, Rest... rest) {
    if constexpr (sizeof...(rest) == 0) {
        return first;
    } else {
        return first.ok() ? first_error(rest...) : first;
    }
}

inline bool is_aligned(const void* address, int alignment) {
    return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(alignment) == 0;
}

constexpr status check_count(const char* name, int64_t count) {
    return count < 0 || count > most_int ? status::invalid(name, "must be between 0 and 2^31 - 1")
                                         : status();
}

/// A distance between rows, in elements of at most four bytes; 0 stands for `least`.
constexpr status check_stride(const char* name, int64_t stride, int64_t least, int64_t rows) {
    if (stride != 0 && stride < least) {
        return status::invalid(name, "must be 0 or at least the length of a row");
    }
    if ((stride > least ? stride : least) > most_int64 / 4 / (rows > 1 ? rows : 1)) {
        return status::invalid(name, "all rows must stay below 2^63 bytes");
    }
    return {};
}

/// A stride, or the length of a row where the stride is 0.
KQ_API constexpr int64_t stride_or(int64_t stride, int64_t length) {
    return stride != 0 ? stride : length;
}

inline status check_elements(const char* name, const void* data, element_type type) {
    if (data == nullptr) {
        return status::invalid(name, "must not be null");
    }
    if (!is_valid(type)) {
        return status::invalid(name, "must have elements of f32, f16 or bf16");
    }
    if (!is_aligned(data, size_of(type))) {
        return status::invalid(name, "must be aligned to its element");
    }
    return {};
}

/// Floats that may be left out.
inline status check_floats(const char* name, const float* data) {
    return is_aligned(data, 4) ? status() : status::invalid(name, "must be aligned to its element");
}

inline status check_workspace(const workspace& space, int64_t least, const char* rule) {
    if (space.data == nullptr || space.bytes < static_cast<size_t>(least)) {
        return status::invalid("workspace", rule);
    }
    return is_aligned(space.data, 16) ? status()
                                      : status::invalid("workspace", "must be 16-byte aligned");
}

} // namespace kq::inline KQ_ABI::detail
