// SPDX-License-Identifier: Apache-2.0

// The bits of products with superblocks, of 256 weights, stay those of commit 5a0238f, whose host
// model made data/former_bits.txt from the operands below. A line of it is a composition, an FNV-1a
// hash of all that it stored and the bytes of its first output. Products with blocks of 32 weights
// had other bits then: the scales of their activations were rounded to f16. Nothing here comes from
// the platform: operands are made of integers, and the gate is the one without exp, tanh and erf.

#include "catch.hpp"

#include <kq/blocks/all.hpp>
#include <kq/core/check.hpp>
#include <kq/core/numeric.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/mapping/all.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using bytes = std::vector<unsigned char>;

uint64_t fnv1a(const void* data, size_t size, uint64_t hash = 0xcbf29ce484222325u) {
    const auto* each = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) {
        hash = (hash ^ each[i]) * 0x100000001b3u;
    }
    return hash;
}

std::string hexadecimal(uint64_t x, int digits) {
    std::string text;
    for (int i = digits - 1; i >= 0; --i) {
        text += "0123456789abcdef"[x >> (4 * i) & 15u];
    }
    return text;
}

/// splitmix64.
class generator {
public:
    explicit generator(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    /// From `least` to `most`.
    int between(int least, int most) {
        return least + static_cast<int>((next() >> 32) % static_cast<uint64_t>(most - least + 1));
    }
    /// An f32 in [-2, 2) with all bits of its mantissa in use.
    float value() { return static_cast<float>(between(-(1 << 24), (1 << 24) - 1)) * 0x1p-23f; }
    /// A binary16 of either sign and a magnitude in [2^-10, 2^-4).
    kq::f16 scale() {
        const uint64_t r = next();
        return {static_cast<uint16_t>((r & 0x83ffu) + (5 + (r >> 32) % 6) * 0x400u)};
    }

private:
    uint64_t state_;
};

/// `count` values as elements of `type`.
bytes elements(generator& random, int64_t count, kq::element_type type) {
    bytes all;
    const auto append = [&](const auto& x) {
        const auto* each = reinterpret_cast<const unsigned char*>(&x);
        all.insert(all.end(), each, each + sizeof(x));
    };
    for (int64_t i = 0; i < count; ++i) {
        const float x = random.value();
        type == kq::element_type::f32   ? append(x)
        : type == kq::element_type::f16 ? append(kq::to_f16(x))
                                        : append(kq::to_bf16(x));
    }
    return all;
}

/// The operands of a composition and what it stored. Sizes, types and steps are drawn by its name,
/// which grows by what was drawn.
template <class Encoding, class Epilogue>
class sample {
public:
    sample(std::string name, int64_t k)
        : random(fnv1a(name.data(), name.size())), k(k), name_(std::move(name)) {}

    static constexpr bool gated = Epilogue::weight_sets == 2;
    using block = typename Encoding::block;

    int size(const char* what, int least, int most) {
        const int drawn = random.between(least, most);
        name_ += std::string(" ") + what + " " + std::to_string(drawn);
        return drawn;
    }
    bool with(const char* what) {
        const bool drawn = random.between(0, 1) == 1;
        name_ += drawn ? std::string(" ") + what : "";
        return drawn;
    }
    /// 0, which means `length`, or a longer distance between rows.
    int64_t stride(const char* what, int64_t length) { return with(what) ? length + 3 : 0; }

    const block* weights(int64_t rows, int64_t blocks) {
        auto& all = weights_.emplace_back(static_cast<size_t>(rows * blocks));
        for (block& b : all) {
            auto* each = reinterpret_cast<unsigned char*>(&b);
            for (size_t i = 0; i < sizeof(b); ++i) {
                each[i] = static_cast<unsigned char>(random.next() >> 56);
            }
            b.d = random.scale();
            if constexpr (requires { b.dmin; }) {
                b.dmin = random.scale();
            }
        }
        return all.data();
    }
    const block* weights(int64_t rows) { return weights(rows, k / Encoding::elements); }
    const block* up_weights(int64_t rows, int64_t blocks) {
        return gated ? weights(rows, blocks) : nullptr;
    }
    const block* up_weights(int64_t rows) { return gated ? weights(rows) : nullptr; }

    kq::input_pointer input(const char* what, int64_t count) {
        const kq::element_type type = draw_type(what);
        return {inputs_.emplace_back(elements(random, count, type)).data(), type};
    }
    kq::output_pointer output(int64_t count) {
        const kq::element_type type = draw_type("to");
        const auto size = static_cast<size_t>(count * kq::size_of(type));
        return {outputs_.emplace_back(size, static_cast<unsigned char>(0xa5)).data(), type};
    }
    const float* floats(int64_t count) {
        auto& all = floats_.emplace_back();
        for (int64_t i = 0; i < count; ++i) {
            all.push_back(random.value());
        }
        return all.data();
    }
    const float* step(const char* what, int64_t count) {
        return with(what) ? floats(count) : nullptr;
    }

    kq::epilogue_arguments epilogue(int64_t weight_rows, int64_t units, int64_t output_rows) {
        kq::epilogue_arguments e;
        e.gate.function = kq::gate_function::relu;
        e.scale = with("scale") ? random.value() : 1.0f;
        e.row_scale = step("row_scale", weight_rows);
        e.up_row_scale = gated ? e.row_scale : nullptr; // which was one for both
        e.bias = step("bias", weight_rows);
        e.up_bias = gated ? step("up_bias", weight_rows) : nullptr;
        e.unit_scale = step("unit_scale", units);
        if (with("residual")) {
            e.residual_stride = stride("spread", output_rows);
            e.residual = input("of", units * (output_rows + 3));
        }
        return e;
    }

    std::string line() const {
        uint64_t hash = fnv1a(nullptr, 0);
        for (const bytes& each : outputs_) {
            hash = fnv1a(each.data(), each.size(), hash);
        }
        uint32_t first = 0;
        std::memcpy(&first, outputs_.front().data(), outputs_.front().size() < 4 ? 2 : 4);
        return name_ + ": " + hexadecimal(hash, 16) + " " + hexadecimal(first, 8);
    }

    generator random;
    const int64_t k;

private:
    kq::element_type draw_type(const char* what) {
        const int drawn = random.between(0, 2);
        name_ += std::string(" ") + what + (drawn == 0 ? " f32" : drawn == 1 ? " f16" : " bf16");
        return std::array{kq::element_type::f32, kq::element_type::f16,
                          kq::element_type::bf16}[static_cast<size_t>(drawn)];
    }

    std::string name_;
    std::deque<std::vector<block>> weights_;
    std::deque<bytes> inputs_;
    std::deque<bytes> outputs_;
    std::deque<std::vector<float>> floats_;
};

// One function for each mapping: the only places that know its arguments and the host model.

struct dense {
    static constexpr const char* name = "dense";

    template <class Encoding, int Lanes, class Epilogue>
    static void run(sample<Encoding, Epilogue>& s) {
        const int64_t m = s.size("m", 1, 5);
        const int64_t n = s.size("n", 1, 6);
        const int64_t row_blocks = s.k / Encoding::elements + (s.with("pitch") ? 1 : 0);
        kq::dense_arguments a{.n = n, .k = s.k, .m = m};
        a.weight_pitch = row_blocks * int64_t{sizeof(typename Encoding::block)};
        a.weights = s.weights(n, row_blocks);
        a.up_weights = s.up_weights(n, row_blocks);
        a.activation_stride = s.stride("spread", s.k);
        a.activation = s.input("from", m * (s.k + 3));
        a.output_stride = s.stride("spread", n);
        a.output = s.output(m * (n + 3));
        a.epilogue = s.epilogue(n, m, n);
        kq::check(
            kq::host_model<Encoding, kq::order{Lanes}, kq::mappings::dense, Epilogue>::launch(a));
    }
};

struct stacked {
    static constexpr const char* name = "stacked";

    template <class Encoding, int Lanes, class Epilogue>
    static void run(sample<Encoding, Epilogue>& s) {
        const int64_t m = s.size("m", 1, 5);
        kq::stacked_arguments a{.count = s.size("matrices", 1, 4), .k = s.k, .m = m};
        a.activation_stride = s.stride("spread", s.k);
        a.activation = s.input("from", m * (s.k + 3));
        int64_t rows = 0;
        for (int i = 0; i < a.count; ++i) {
            const int64_t n = s.size("n", i == 0 ? 1 : 0, 3);
            a.matrices[i] = {.weights = s.weights(n), .up_weights = s.up_weights(n), .n = n};
            a.matrices[i].output_stride = s.stride("spread", n);
            a.matrices[i].output = s.output(m * (n + 3));
            rows += n;
        }
        a.epilogue = s.epilogue(rows, m, rows);
        kq::check(
            kq::host_model<Encoding, kq::order{Lanes}, kq::mappings::stacked, Epilogue>::launch(a));
    }
};

struct grouped {
    static constexpr const char* name = "grouped";

    template <class Encoding, int Lanes, class Epilogue>
    static void run(sample<Encoding, Epilogue>& s) {
        const int64_t tokens = s.size("tokens", 1, 4);
        const int64_t top_k = s.size("top_k", 1, 3);
        const int64_t slots = tokens * top_k;
        const int64_t experts = s.size("experts", 1, 4);
        const int64_t n = s.size("n", 1, 4);
        std::vector<int32_t> ids;
        for (int64_t i = 0; i < slots; ++i) { // some of them are no expert's
            ids.push_back(s.random.between(-1, static_cast<int>(experts)));
        }
        constexpr kq::slot_activation rows[] = {kq::slot_activation::per_slot,
                                                kq::slot_activation::per_token,
                                                kq::slot_activation::broadcast};
        kq::experts_arguments a{.experts = experts, .n = n, .k = s.k, .slots = slots};
        a.expert_ids = ids.data();
        a.top_k = top_k;
        a.activation_rows = rows[s.size("activation_rows", 0, 2)];
        a.weights = s.weights(experts * n);
        a.up_weights = s.up_weights(experts * n);
        a.activation_stride = s.stride("spread", s.k);
        a.activation = s.input("from", slots * (s.k + 3));
        a.output_stride = s.stride("spread", n);
        const int64_t units = Epilogue::sums_terms ? tokens : slots;
        a.output = s.output(units * (n + 3));
        a.epilogue = s.epilogue(experts * n, units, n);
        if (Epilogue::sums_terms) {
            a.epilogue.term_weights = s.step("term_weights", slots);
        }
        kq::check(
            kq::host_model<Encoding, kq::order{Lanes}, kq::mappings::experts, Epilogue>::launch(a));
    }
};

struct block_diagonal {
    static constexpr const char* name = "block_diagonal";

    template <class Encoding, int Lanes, class Epilogue>
    static void run(sample<Encoding, Epilogue>& s) {
        const int64_t m = s.size("m", 1, 5);
        const int64_t groups = s.size("groups", 1, 3);
        const int64_t n = groups * s.size("n", 1, 3);
        kq::block_diagonal_arguments a{.n = n, .groups = groups, .k = s.k, .m = m};
        a.weights = s.weights(n);
        a.up_weights = s.up_weights(n);
        a.activation_stride = s.stride("spread", groups * s.k);
        a.activation = s.input("from", m * (groups * s.k + 3));
        a.output_stride = s.stride("spread", n);
        a.output = s.output(m * (n + 3));
        a.epilogue = s.epilogue(n, m, n);
        kq::check(kq::host_model<Encoding, kq::order{Lanes}, kq::mappings::block_diagonal,
                                 Epilogue>::launch(a));
    }
};

/// A quantized activation row.
template <class Weights>
bytes image_of(const bytes& x, kq::element_type type, int64_t k) {
    using model = kq::host_model<Weights>;
    switch (type) {
    case kq::element_type::f16:
        return model::quantize_row(reinterpret_cast<const kq::f16*>(x.data()), k);
    case kq::element_type::bf16:
        return model::quantize_row(reinterpret_cast<const kq::bf16*>(x.data()), k);
    case kq::element_type::f32:
        break;
    }
    return model::quantize_row(reinterpret_cast<const float*>(x.data()), k);
}

template <class Weights>
void add_images(const std::string& name, std::vector<std::string>& lines) {
    for (const int blocks : {1, 3, 7, 35}) {
        for (const auto type :
             {kq::element_type::f32, kq::element_type::f16, kq::element_type::bf16}) {
            const int64_t k = int64_t{blocks} * Weights::elements;
            generator random(static_cast<uint64_t>(k));
            bytes x = elements(random, k, type);
            if (blocks > 1) { // the second one is zeros
                const int block_bytes = Weights::elements * kq::size_of(type);
                std::fill_n(x.begin() + block_bytes, block_bytes, static_cast<unsigned char>(0));
            }
            const bytes image = image_of<Weights>(x, type, k);
            lines.push_back(name + " image k " + std::to_string(k) + " from " +
                            (type == kq::element_type::f32   ? "f32"
                             : type == kq::element_type::f16 ? "f16"
                                                             : "bf16") +
                            ": " + hexadecimal(fnv1a(image.data(), image.size()), 16));
        }
    }
}

/// A mapping and an epilogue, for rows of no block up to 2048 columns.
template <class Encoding, int Lanes, class Mapping, class Epilogue>
void add_products(const char* epilogue, std::vector<std::string>& lines) {
    for (const int blocks : {0, 1, 3, 7, 5, 8}) {
        const int64_t k = int64_t{blocks} * Encoding::elements;
        sample<Encoding, Epilogue> s(std::string(kq::name_of(Encoding::id)) + " " + Mapping::name +
                                         " " + epilogue + " lanes " + std::to_string(Lanes) +
                                         " k " + std::to_string(k),
                                     k);
        Mapping::template run<Encoding, Lanes, Epilogue>(s);
        lines.push_back(s.line());
    }
}

/// Lanes take turns by the encoding's place in the list, so that each meets every mapping and
/// epilogue.
template <class Encoding, int Number>
void add_encoding(std::vector<std::string>& lines) {
    using kq::epilogues::gated;
    using kq::epilogues::store;
    using kq::epilogues::weighted_sum;
    constexpr int a = Number % 3 == 0 ? 32 : Number % 3 == 1 ? 16 : 8;
    constexpr int b = a == 32 ? 16 : a == 16 ? 8 : 32;
    constexpr int c = b == 32 ? 16 : b == 16 ? 8 : 32;
    add_images<Encoding>(kq::name_of(Encoding::id), lines);
    add_products<Encoding, a, dense, store>("store", lines);
    add_products<Encoding, b, dense, gated>("gated", lines);
    add_products<Encoding, c, stacked, store>("store", lines);
    add_products<Encoding, a, stacked, gated>("gated", lines);
    add_products<Encoding, b, grouped, store>("store", lines);
    add_products<Encoding, c, grouped, gated>("gated", lines);
    add_products<Encoding, a, grouped, weighted_sum>("weighted_sum", lines);
    add_products<Encoding, b, block_diagonal, store>("store", lines);
    add_products<Encoding, c, block_diagonal, gated>("gated", lines);
}

/// The superblock encodings of commit 5a0238f, in the order of the file.
using former_encodings =
    kq::type_list<kq::q2_k, kq::q3_k, kq::q4_k, kq::q5_k, kq::q6_k, kq::iq2_xxs, kq::iq3_xxs>;

/// A line for each composition, as it is now.
std::vector<std::string> current_lines() {
    std::vector<std::string> lines;
    [&]<class... Encodings, int... Numbers>(kq::type_list<Encodings...>,
                                            std::integer_sequence<int, Numbers...>) {
        (add_encoding<Encodings, Numbers>(lines), ...);
    }(former_encodings{}, std::make_integer_sequence<int, former_encodings::size>{});
    return lines;
}

} // namespace

TEST_CASE(
    "every composition of a superblock encoding of then stores the bits that it stored at commit "
    "5a0238f") {
    std::ifstream file(KQ_TEST_DATA "/former_bits.txt");
    REQUIRE(file.is_open());
    std::vector<std::string> former;
    for (std::string line; std::getline(file, line);) {
        former.push_back(line);
    }
    const std::vector<std::string> current = current_lines();
    REQUIRE(current.size() == former.size());
    for (size_t i = 0; i < current.size(); ++i) {
        CHECK(current[i] == former[i]);
    }
}
