// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/memory.hpp"
#include "repacked.hpp"

#include <kq/blocks/repack.cuh>
#include <kq/core/check.hpp>
#include <kq/gemv/gemv.cuh>

#include <string>
#include <vector>

namespace {

using gpu::buffer;
using gpu::placement;
using kq::q8_0;
using kq::q8_0_aligned;

constexpr placement placements[] = {placement::exact, placement::before_hole,
                                    placement::after_hole};

/// Repacks on the device, into memory that was filled with a pattern.
template <class From, class To>
std::vector<typename To::block> device_repack(const std::vector<typename From::block>& w,
                                              placement where) {
    const buffer from(w, where);
    const buffer to(std::vector<unsigned char>(from.bytes(), 0x5a), where);
    const auto count = static_cast<int64_t>(from.bytes() / sizeof(q8_0::block));
    kq::check(kq::launch_repack(from.as<const typename From::block>(), count,
                                to.as<typename To::block>(), nullptr));
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    return to.download<typename To::block>();
}

/// The product on the device by one method.
template <kq::method Method>
std::vector<float> device_product(const std::vector<q8_0_aligned::block>& w,
                                  const std::vector<float>& x, samples::shape s, placement where) {
    using gemv = kq::gemv<q8_0_aligned, kq::with_method(kq::policies::warp, Method)>;
    const buffer weights(w, where);
    const buffer activation(x, placement::exact);
    const buffer output(std::vector<float>(static_cast<size_t>(s.m * s.n), -1.0f),
                        placement::exact);
    const kq::dense_arguments a{.weights = weights.data(),
                                .activation = activation.as<const float>(),
                                .output = output.as<float>(),
                                .n = s.n,
                                .k = s.k,
                                .m = s.m};
    const buffer space(gemv::workspace_bytes(a), placement::exact);
    kq::check(gemv::launch(a, {space.data(), space.bytes()}, nullptr));
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    return output.download<float>();
}

} // namespace

TEST_CASE("a repack on the device gives the host's bytes, and its inverse restores them") {
    for (const int64_t count : {8, 16, 48, 224, 8 * 100003}) {
        const auto w = samples::random_weights<q8_0>(1, count * q8_0::elements, 1);
        const auto aligned = samples::repacked(w);
        for (const placement where : placements) {
            INFO("count " << count << ", placement " << static_cast<int>(where));
            CHECK(samples::same_bytes(device_repack<q8_0, q8_0_aligned>(w, where), aligned));
            CHECK(samples::same_bytes(device_repack<q8_0_aligned, q8_0>(aligned, where), w));
        }
    }
}

TEST_CASE("a repack takes q8_0 blocks at every multiple of two bytes") {
    constexpr int64_t count = 48;
    const auto w = samples::random_weights<q8_0>(1, count * q8_0::elements, 2);
    const auto expected = samples::repacked(w);
    const size_t bytes = w.size() * sizeof(w[0]);
    for (int offset = 0; offset < 16; offset += 2) {
        INFO("offset " << offset);
        const buffer memory(bytes + static_cast<size_t>(offset), placement::exact);
        auto* in_place = reinterpret_cast<q8_0::block*>(memory.as<char>() + offset);
        gpu::check(cudaMemcpy(in_place, w.data(), bytes, cudaMemcpyHostToDevice), "copy");
        const buffer aligned(bytes, placement::exact);
        auto* repacked = aligned.as<q8_0_aligned::block>();
        kq::check(kq::launch_repack(in_place, count, repacked, nullptr));
        CHECK(samples::same_bytes(aligned.download<q8_0_aligned::block>(), expected));

        gpu::check(cudaMemset(in_place, 0, bytes), "clear");
        kq::check(kq::launch_repack(repacked, count, in_place, nullptr));
        std::vector<q8_0::block> restored(w.size());
        gpu::check(cudaMemcpy(restored.data(), in_place, bytes, cudaMemcpyDeviceToHost), "copy");
        CHECK(samples::same_bytes(restored, w));
    }
}

TEST_CASE("a repack refuses wrong arguments and writes nothing") {
    const auto w = samples::random_weights<q8_0>(1, 512, 3);
    const std::vector<unsigned char> pattern(w.size() * sizeof(w[0]), 0x5a);
    const buffer from(w, placement::exact);
    const buffer to(pattern, placement::exact);
    const auto* packed = from.as<const q8_0::block>();
    auto* aligned = to.as<q8_0_aligned::block>();
    const auto subject = [](const kq::status& s) { return std::string(s.subject()); };
    const auto moved = [](auto* blocks, int bytes) {
        return reinterpret_cast<decltype(blocks)>(reinterpret_cast<uintptr_t>(blocks) + bytes);
    };

    CHECK(subject(kq::launch_repack(packed, -8, aligned, nullptr)) == "count");
    CHECK(subject(kq::launch_repack(packed, 12, aligned, nullptr)) == "count");
    const q8_0::block* no_source = nullptr;
    q8_0_aligned::block* no_target = nullptr;
    CHECK(subject(kq::launch_repack(no_source, 8, aligned, nullptr)) == "from");
    CHECK(subject(kq::launch_repack(packed, 8, no_target, nullptr)) == "to");
    CHECK(subject(kq::launch_repack(moved(packed, 1), 8, aligned, nullptr)) == "from");
    CHECK(subject(kq::launch_repack(packed, 8, moved(aligned, 8), nullptr)) == "to");
    auto* overlapping = from.as<q8_0_aligned::block>();
    CHECK(subject(kq::launch_repack(packed, 8, overlapping, nullptr)) == "to");
    // The inverse: now the source is the one that needs 16 bytes.
    auto* target = to.as<q8_0::block>();
    const auto* source = from.as<const q8_0_aligned::block>();
    CHECK(subject(kq::launch_repack(moved(source, 8), 8, target, nullptr)) == "from");
    CHECK(subject(kq::launch_repack(source, 8, moved(target, 1), nullptr)) == "to");
    CHECK(subject(kq::launch_repack(source, 9, target, nullptr)) == "count");

    CHECK(kq::launch_repack(no_source, 0, no_target, nullptr).ok());
    CHECK(kq::launch_repack(packed, 0, aligned, nullptr).ok());
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    CHECK(to.download<unsigned char>() == pattern);
}

TEST_CASE("aligned q8_0 gives the host model's bits by both methods") {
    int turn = 0;
    for (const samples::shape s : samples::repacked_shapes()) {
        const placement where = placements[turn++ % 3];
        INFO("m " << s.m << ", n " << s.n << ", k " << s.k << ", placement "
                  << static_cast<int>(where));
        const auto w = samples::repacked(samples::random_weights<q8_0>(s.n, s.k, 4));
        const auto x = samples::gaussian(s.m * s.k, 5);
        const auto expected = samples::host_product<q8_0_aligned>(w, x, s);
        using kq::method;
        CHECK(samples::same_bytes(device_product<method::direct>(w, x, s, where), expected));
        CHECK(samples::same_bytes(device_product<method::bulk>(w, x, s, where), expected));
    }
}
