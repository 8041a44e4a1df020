// SPDX-License-Identifier: Apache-2.0
#include "activation.hpp"

#include "input_error.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>

namespace gguf_gemv {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian");

constexpr std::int64_t most_bytes = std::int64_t{1} << 30;

std::vector<float> read_numbers(const std::string& path) {
    const std::string file = "file " + gguf::printable(path);
    std::error_code failed;
    const auto status = std::filesystem::status(path, failed);
    if (failed) {
        throw input_error("activation", file + " cannot be opened: " + failed.message());
    }
    if (!std::filesystem::is_regular_file(status)) {
        throw input_error("activation", file + " is not a regular file");
    }
    const auto size = std::filesystem::file_size(path);
    if (size == 0 || size % sizeof(float) != 0 || size > most_bytes) {
        throw input_error("activation", file + " of " + std::to_string(size) +
                                            " bytes does not hold 1 to 2^28 f32 numbers");
    }
    std::vector<float> numbers(size / sizeof(float));
    std::ifstream in(path, std::ios::binary);
    if (!in.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(size))) {
        throw input_error("activation", file + " cannot be read");
    }
    return numbers;
}

} // namespace

activation::activation(const std::optional<std::string>& path, std::uint64_t seed)
    : path_(path), seed_(seed) {
    if (path) {
        numbers_ = read_numbers(*path);
    }
}

std::int64_t activation::rows_for(const weight& w, const std::optional<std::int64_t>& batch) const {
    const auto held = static_cast<std::int64_t>(numbers_.size());
    const std::int64_t m = batch.value_or(is_generated() ? 1 : held / w.k);
    const std::int64_t most_rows = most_bytes / 4 / std::max(w.n, w.k);
    if (m > most_rows) {
        throw input_error("batch", std::to_string(m) + " rows are too many for tensor " +
                                       gguf::printable(w.tensor->name) +
                                       ": activation and output must not exceed 2^30 bytes each");
    }
    if (!is_generated() && (m == 0 || held != m * w.k)) {
        throw input_error("activation", "file " + gguf::printable(*path_) + " of " +
                                            std::to_string(4 * held) + " bytes is not " +
                                            (batch ? std::to_string(m) : "a whole number of") +
                                            " rows of k = " + std::to_string(w.k) +
                                            " f32 for tensor " + gguf::printable(w.tensor->name));
    }
    return m;
}

const float* activation::numbers(std::int64_t count) {
    if (is_generated()) {
        std::mt19937_64 random(seed_);
        std::normal_distribution<float> normal;
        numbers_.resize(static_cast<std::size_t>(count));
        for (float& number : numbers_) {
            number = normal(random);
        }
    }
    return numbers_.data();
}

} // namespace gguf_gemv
