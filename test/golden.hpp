// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0.hpp>
#include <kq/blocks/q8_k.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/// Reads the golden files of `data/golden`, whose numbers come from ggml's own CPU code.
namespace golden {

/// One case of a file: sizes, and arrays as their little-endian bytes.
struct test_case {
    std::string name;
    std::string activation; ///< ggml's name of the activation encoding
    int64_t n = 0;
    int64_t m = 0;
    int64_t k = 0;
    std::map<std::string, std::vector<unsigned char>> arrays;

    bool has(const std::string& key) const { return arrays.count(key) != 0; }

    /// An array as elements of `T`.
    template <class T>
    std::vector<T> as(const std::string& key) const {
        const std::vector<unsigned char>& bytes = arrays.at(key);
        if (bytes.size() % sizeof(T) != 0) {
            throw std::runtime_error(key + ": not a whole number of elements");
        }
        std::vector<T> elements(bytes.size() / sizeof(T));
        std::memcpy(static_cast<void*>(elements.data()), bytes.data(), bytes.size());
        return elements;
    }
};

inline std::vector<unsigned char> bytes_of_hex(const std::string& hex) {
    std::vector<unsigned char> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

/// All cases of one encoding.
inline std::vector<test_case> load(const std::string& encoding) {
    const std::string path = std::string(KQ_TEST_DATA) + "/golden/" + encoding + ".txt";
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot open " + path);
    }
    std::vector<test_case> cases;
    std::string activation;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key;
        std::string value;
        words >> key >> value;
        if (key == "case") {
            cases.emplace_back().name = value;
            cases.back().activation = activation;
        } else if (key == "activation") {
            activation = value;
        } else if (cases.empty() || key.empty()) {
            continue; // facts of the encoding, which the blocks assert themselves
        } else if (key == "n" || key == "m" || key == "k") {
            test_case& c = cases.back();
            (key == "n" ? c.n : key == "m" ? c.m : c.k) = std::stoll(value);
        } else {
            cases.back().arrays[key] = bytes_of_hex(value);
        }
    }
    return cases;
}

/// A quantized block as ggml stores it: a scale of 32 elements is f16.
inline kq::q8_0::block ggml_block(const kq::q8_32::block& b) {
    kq::q8_0::block stored{kq::to_f16(b.d), {}};
    std::memcpy(stored.q, b.q, sizeof(b.q));
    return stored;
}
inline kq::q8_k::block ggml_block(const kq::q8_k::block& b) {
    return b;
}

/// The inverse: an activation block that ggml quantized.
inline kq::q8_32::block activation_block(const kq::q8_0::block& stored) {
    kq::q8_32::block b{kq::to_f32(stored.d), {}};
    std::memcpy(b.q, stored.q, sizeof(b.q));
    return b;
}
inline kq::q8_k::block activation_block(const kq::q8_k::block& stored) {
    return stored;
}

/// ggml's q8_1: a q8_0 block with the sum of its elements, for q4_1 and q5_1. kq has no such
/// encoding.
struct q8_1_block {
    kq::f16 d;
    kq::f16 s; ///< sum of the codes times the scale before that is rounded
    int8_t q[32];
};
static_assert(sizeof(q8_1_block) == 36);

/// The sum of a block's codes.
inline int sum_of_codes(const int8_t (&q)[32]) {
    int sum = 0;
    for (const int8_t code : q) {
        sum += code;
    }
    return sum;
}

/// Minus the sum of each activation block's codes, [m, n, k / 32], of a case with q8_1.
inline std::vector<int32_t> minus_sums_of_codes(const test_case& c) {
    const auto x = c.as<q8_1_block>("activation_q8");
    const size_t count = x.size() / static_cast<size_t>(c.m);
    std::vector<int32_t> sums;
    for (size_t j = 0; j < x.size(); j += count) {
        for (int64_t r = 0; r < c.n; ++r) {
            for (size_t b = 0; b < count; ++b) {
                sums.push_back(-sum_of_codes(x[j + b].q));
            }
        }
    }
    return sums;
}

/// A quantized block as ggml stores it for q4_1 and q5_1.
inline q8_1_block ggml_q8_1_block(const kq::q8_32::block& b) {
    const auto sum = static_cast<float>(sum_of_codes(b.q));
    q8_1_block stored{kq::to_f16(b.d), kq::to_f16(sum * b.d), {}};
    std::memcpy(stored.q, b.q, sizeof(b.q));
    return stored;
}

/// The inverse, as far as kq keeps it: `s` is lost.
inline kq::q8_32::block activation_block(const q8_1_block& stored) {
    kq::q8_32::block b{kq::to_f32(stored.d), {}};
    std::memcpy(b.q, stored.q, sizeof(b.q));
    return b;
}

/// What ggml stores of a quantized block of `Activation`, but for q4_1 and q5_1.
template <class Activation>
using stored_block = decltype(ggml_block(typename Activation::block{}));

/// The activation blocks of a case, ggml's own.
template <class Activation>
std::vector<typename Activation::block> activation_blocks(const test_case& c) {
    std::vector<typename Activation::block> blocks;
    const auto read = [&]<class Stored>(const std::vector<Stored>& all) {
        for (const Stored& stored : all) {
            blocks.push_back(activation_block(stored));
        }
    };
    if constexpr (std::is_same_v<Activation, kq::q8_32>) {
        if (c.activation == "q8_1") {
            read(c.as<q8_1_block>("activation_q8"));
            return blocks;
        }
    }
    read(c.as<stored_block<Activation>>("activation_q8"));
    return blocks;
}

/// What ggml's products of a case have too much, [m, n], because its q8_1 rounds the sum of a
/// block's elements to f16, where kq multiplies the exact sum (contract C1): for each block m times
/// the rounded sum less the exact one. Zeros for encodings other than q4_1 and q5_1.
template <class E>
std::vector<double> excess_of_rounded_sums(const test_case& c) {
    std::vector<double> excess(static_cast<size_t>(c.m * c.n));
    if (c.activation != "q8_1") {
        return excess;
    }
    const auto w = c.as<typename E::block>("weight");
    const auto x = c.as<q8_1_block>("activation_q8");
    const int64_t count = c.k / 32;
    for (int64_t j = 0; j < c.m; ++j) {
        for (int64_t r = 0; r < c.n; ++r) {
            for (int64_t b = 0; b < count; ++b) {
                const q8_1_block& codes = x[static_cast<size_t>(j * count + b)];
                const double exact =
                    static_cast<double>(kq::to_f32(codes.d)) * sum_of_codes(codes.q);
                const auto added =
                    static_cast<double>(E::dmin(w[static_cast<size_t>(r * count + b)]));
                excess[static_cast<size_t>(j * c.n + r)] += added * (kq::to_f32(codes.s) - exact);
            }
        }
    }
    return excess;
}

/// ggml's products of a case, without what they have too much.
template <class E>
std::vector<double> products_by_exact_sums(const test_case& c) {
    std::vector<double> products = excess_of_rounded_sums<E>(c);
    const auto dots = c.as<float>("dot_f32");
    for (size_t i = 0; i < products.size(); ++i) {
        products[i] = static_cast<double>(dots[i]) - products[i];
    }
    return products;
}

} // namespace golden
