// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.hpp"
#include "model.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gguf_gemv {

/// What the command line asks for.
struct options {
    std::optional<std::string> help; ///< the text to print instead of doing anything
    std::optional<std::string> model;
    bool list = false;
    selection weights;
    std::vector<std::int32_t> ids;     ///< of experts; none stands for the first ones
    std::optional<std::int64_t> batch; ///< at least 1
    std::optional<std::string> activation;
    std::uint64_t seed = 1;
    std::size_t policy = 0; ///< an index of known_policies
    device_choice device = device_choice::automatic;
    std::optional<std::string> output;
    bool check = false;
    bool json = false;
};

/// Reads the command line.
/// Throws input_error for anything that is not one of the options or breaks one's rule.
options parse_options(int argc, const char* const* argv);

} // namespace gguf_gemv
