// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gemv/own_parts.hpp"
#include "nvrtc/products.hpp"
#include "nvrtc/program.hpp"

#include <kq/dot/q8_0_aligned.hpp>

#include <fstream>
#include <sstream>

// How a program's text spells parts of one's own.
template <int Sets>
inline constexpr kq::spelling kq::spelling_of<own::permuted<Sets>>{"own::permuted",
                                                                   "gemv/own_parts.hpp"};
template <>
inline constexpr kq::spelling kq::spelling_of<own::squared_relu>{"own::squared_relu",
                                                                 "gemv/own_parts.hpp"};

namespace {

/// Compiles a product and looks for its kernels.
template <class Gemv>
void compile(const kq::policy& policy, kq::method by, int capability) {
    const std::string multiply = Gemv::kernel_name(policy, by);
    const std::string quantize = Gemv::quantizer_name(kq::element_type::f16);
    INFO(multiply << ", compute capability " << capability);
    const nvrtc::program program(Gemv::source(), {multiply, quantize}, capability);
    CHECK(program.holds(program.lowered(multiply)));
    CHECK(program.holds(program.lowered(quantize)));
    CHECK_FALSE(program.holds("no_such_kernel"));
}

} // namespace

TEST_CASE("NVRTC compiles policies that are known at run time only, for several GPUs") {
    for (const nvrtc::product& p : nvrtc::products) {
        nvrtc::with_encoding(p, [&]<class Encoding>() {
            using gemv = kq::run_time_gemv<Encoding>;
            compile<gemv>(p.policy, p.policy.method, 90);
            if (p.policy.method == kq::method::direct) {
                compile<gemv>(p.policy, p.policy.method, 80);
            }
        });
    }
}

TEST_CASE("NVRTC compiles the kernels of every encoding, mapping and epilogue") {
    using namespace kq::mappings;
    using namespace kq::epilogues;
    const kq::policy policy{.warps = 4};
    constexpr auto bulk = kq::method::bulk;
    std::string source;
    std::vector<std::string> names;
    const auto add = [&]<class Gemv>() {
        source += Gemv::source(); // texts of several products may follow each other
        names.push_back(Gemv::kernel_name(policy, bulk));
        names.push_back(Gemv::quantizer_name(kq::element_type::bf16));
    };
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (add.template operator()<kq::run_time_gemv<Encodings>>(), ...);
    }(kq::encodings{});
    add.operator()<kq::run_time_gemv<kq::q8_0_aligned>>();
    add.operator()<kq::run_time_gemv<kq::q4_0, stacked, gated>>();
    add.operator()<kq::run_time_gemv<kq::q4_0, experts, gated>>();
    add.operator()<kq::run_time_gemv<kq::q4_0, experts, weighted_sum>>();
    add.operator()<kq::run_time_gemv<kq::q4_0, block_diagonal>>();
    const nvrtc::program program(source, names, 90);
    for (const std::string& name : names) {
        INFO(name);
        CHECK(program.holds(program.lowered(name)));
    }
}

TEST_CASE("NVRTC compiles a mapping and an epilogue of one's own") {
    using gemv = kq::run_time_gemv<kq::q4_k, own::permuted, own::squared_relu>;
    CHECK(gemv::kernel_name({}, kq::method::direct).find("own::permuted, own::squared_relu") !=
          std::string::npos);
    compile<gemv>({.warps = 8}, kq::method::direct, 80);
    compile<gemv>({.warps = 8}, kq::method::bulk, 90);
}

TEST_CASE("NVRTC compiles the CuPy example's kernels") {
    std::ifstream file("examples/cupy/kernels.cu");
    std::stringstream source;
    source << "#define KQ_WARPS 8\n#define KQ_ROWS 2\n" << file.rdbuf();
    const std::vector<std::string> names = {
        "quantize<kq::q4_k, float>", "quantize<kq::q8_0, kq::f16>", "quantize<kq::q4_k, kq::bf16>",
        "multiply<kq::q4_k>", "multiply<kq::q8_0>"};
    const nvrtc::program program(source.str(), names, 80);
    for (const std::string& name : names) {
        INFO(name);
        CHECK(program.holds(program.lowered(name)));
    }
}
