// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/status.hpp>

#include <stdexcept>
#include <string>

namespace kq::inline KQ_ABI {

/// One line for a log or an exception: "ok", or the argument and the rule it breaks.
inline std::string message(const status& outcome) {
    return outcome.ok() ? std::string("ok")
                        : std::string(outcome.subject()) + ": " + outcome.rule();
}

#if defined(__cpp_exceptions)

/// Thrown by `check` for arguments that break a rule.
struct argument_error : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// Thrown by `check` for failures of the CUDA runtime.
struct cuda_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Turns a status into an exception, for callers that prefer them; absent where the compiler was
/// told to do without exceptions.
/// Throws `argument_error` or `cuda_error` with `message(outcome)`.
inline void check(const status& outcome) {
    switch (outcome.code()) {
    case error::none:
        return;
    case error::invalid_argument:
        throw argument_error(message(outcome));
    case error::cuda:
        throw cuda_error(message(outcome));
    }
}

#endif

} // namespace kq::inline KQ_ABI
