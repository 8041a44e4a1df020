// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// What kind of thing went wrong.
enum class error {
    none,             ///< success
    invalid_argument, ///< an argument breaks a rule; nothing was launched or written
    cuda,             ///< the CUDA runtime refused; the status carries the error's name
};

/// The outcome of a call: success, or the argument at fault and the rule it breaks.
/// Holds pointers to static text only, so it is trivially copyable and never allocates.
/// `core/check.hpp` makes a message or an exception of it.
class [[nodiscard]] status {
public:
    constexpr status() = default;

    /// An argument that breaks a rule, in words that complete "`argument`: ...".
    KQ_API static constexpr status invalid(const char* argument, const char* rule) {
        return {error::invalid_argument, argument, rule};
    }

    /// A CUDA runtime call that failed: `call` is what was tried, `name` the error's name.
    KQ_API static constexpr status cuda_failure(const char* call, const char* name) {
        return {error::cuda, call, name};
    }

    KQ_API constexpr bool ok() const { return code_ == error::none; }
    KQ_API constexpr error code() const { return code_; }
    /// The argument at fault, or the CUDA call that failed; empty on success.
    KQ_API constexpr const char* subject() const { return subject_; }
    /// The rule that was broken, or the name of the CUDA error; empty on success.
    KQ_API constexpr const char* rule() const { return rule_; }

private:
    KQ_API constexpr status(error code, const char* subject, const char* rule)
        : code_(code), subject_(subject), rule_(rule) {}

    error code_ = error::none;
    const char* subject_ = "";
    const char* rule_ = "";
};

} // namespace kq::inline KQ_ABI
