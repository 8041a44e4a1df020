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
#include <vector>

/// Reads the golden files of `data/golden`, whose numbers come from ggml's own CPU code.
namespace golden {

/// One case of a file: sizes, and arrays as their little-endian bytes.
struct test_case {
    std::string name;
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
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key;
        std::string value;
        words >> key >> value;
        if (key == "case") {
            cases.emplace_back().name = value;
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

/// What ggml stores of a quantized block of `Activation`.
template <class Activation>
using stored_block = decltype(ggml_block(typename Activation::block{}));

/// The activation blocks of a case, ggml's own.
template <class Activation>
std::vector<typename Activation::block> activation_blocks(const test_case& c) {
    std::vector<typename Activation::block> blocks;
    for (const auto& stored : c.as<stored_block<Activation>>("activation_q8")) {
        blocks.push_back(activation_block(stored));
    }
    return blocks;
}

} // namespace golden
