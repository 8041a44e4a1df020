// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/version.hpp>

#include <stdexcept>
#include <string>

namespace kq::inline KQ_ABI {

/// What kind of thing went wrong.
enum class error {
    none,             ///< success
    invalid_argument, ///< an argument breaks a rule; nothing was launched or written
    cuda,             ///< the CUDA runtime refused; the status carries the error's name
};

/// The outcome of a call: success, or the argument at fault and the rule it breaks.
/// Holds pointers to string literals only, so it is trivially copyable and never allocates.
class [[nodiscard]] status {
public:
    constexpr status() = default;

    /// An argument that breaks a rule, in words that complete "`argument`: ...".
    static constexpr status invalid(const char* argument, const char* rule) {
        return {error::invalid_argument, argument, rule};
    }

    /// A CUDA runtime call that failed: `call` is what was tried, `name` the error's name.
    static constexpr status cuda_failure(const char* call, const char* name) {
        return {error::cuda, call, name};
    }

    constexpr bool ok() const { return code_ == error::none; }
    constexpr error code() const { return code_; }
    /// The argument at fault, or the CUDA call that failed; empty on success.
    constexpr const char* subject() const { return subject_; }
    /// The rule that was broken, or the name of the CUDA error; empty on success.
    constexpr const char* rule() const { return rule_; }

    /// One line for a log or an exception.
    std::string message() const {
        return ok() ? std::string("ok") : std::string(subject_) + ": " + rule_;
    }

private:
    constexpr status(error code, const char* subject, const char* rule)
        : code_(code), subject_(subject), rule_(rule) {}

    error code_ = error::none;
    const char* subject_ = "";
    const char* rule_ = "";
};

/// Thrown by `check` for arguments that break a rule.
struct argument_error : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// Thrown by `check` for failures of the CUDA runtime.
struct cuda_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Turns a status into an exception, for callers that prefer them.
/// Throws `argument_error` or `cuda_error` with `outcome.message()`.
inline void check(const status& outcome) {
    switch (outcome.code()) {
    case error::none:
        return;
    case error::invalid_argument:
        throw argument_error(outcome.message());
    case error::cuda:
        throw cuda_error(outcome.message());
    }
}

} // namespace kq::inline KQ_ABI
