// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/mapping/experts.hpp>
#include <kq/gemv/plan/plan.hpp>
#include <kq/gemv/plan/product.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace {

/// The functions under test for one encoding, and the facts of the file format and of the image's
/// documented layout that expectations are computed from.
struct subject {
    const char* name;
    int elements;
    int block_bytes;
    int alignment;
    int panel_blocks; ///< weight blocks that meet a panel of the image
    int panel_bytes;  ///< bytes of an image's panel
    int table_bytes;
    kq::status (*measure)(const kq::dense_arguments&, kq::product_sizes&);
    kq::status (*plan)(const kq::policy&, const kq::dense_arguments&, const kq::workspace&,
                       const kq::device_facts&, kq::launch_options, kq::launch_plan&);

    int64_t image_bytes(int64_t k) const {
        const int64_t blocks = k / elements;
        return (blocks + panel_blocks - 1) / panel_blocks * panel_bytes;
    }
};

/// The three steps of a launch that need no CUDA, in the order of `gemv::launch`.
template <class Product>
kq::status plan(const kq::policy& p, const typename Product::arguments& a,
                const kq::workspace& space, const kq::device_facts& device,
                kq::launch_options options, kq::launch_plan& out) {
    kq::product_sizes sizes;
    if (const kq::status s = kq::measure<Product>(a, sizes); !s.ok()) {
        return s;
    }
    if (const kq::status s = kq::check_pointers<Product>(a, sizes, space); !s.ok()) {
        return s;
    }
    return kq::plan_launch(Product::facts, p, sizes, device, options, out);
}

template <class Encoding>
constexpr subject legacy(const char* name, int block_bytes, int alignment, int elements = 32) {
    return {name,
            elements,
            block_bytes,
            alignment,
            1024 / elements,
            2 * 512 + 2 * 64 + 128,
            0,
            kq::measure<kq::product<Encoding>>,
            plan<kq::product<Encoding>>};
}

template <class Encoding>
constexpr subject superblock(const char* name, int block_bytes, int alignment,
                             int table_bytes = 0) {
    return {name,
            256,
            block_bytes,
            alignment,
            8,
            4 * 512 + 4 * 64 + 128,
            table_bytes,
            kq::measure<kq::product<Encoding>>,
            plan<kq::product<Encoding>>};
}

/// A table of 256 magnitudes and 128 signs has a word for each of 32 lanes in every row.
constexpr int codebook_bytes = (256 + 128) * 32 * 4;

constexpr subject subjects[] = {
    legacy<kq::q4_0>("q4_0", 18, 2),
    legacy<kq::q4_1>("q4_1", 20, 4),
    legacy<kq::q5_0>("q5_0", 22, 2),
    legacy<kq::q5_1>("q5_1", 24, 8),
    legacy<kq::q8_0>("q8_0", 34, 2),
    superblock<kq::q2_k>("q2_k", 84, 4),
    superblock<kq::q3_k>("q3_k", 110, 2),
    superblock<kq::q4_k>("q4_k", 144, 16),
    superblock<kq::q5_k>("q5_k", 176, 16),
    superblock<kq::q6_k>("q6_k", 210, 2),
    superblock<kq::iq2_xxs>("iq2_xxs", 66, 2, codebook_bytes),
    superblock<kq::iq3_xxs>("iq3_xxs", 98, 2, codebook_bytes),
    legacy<kq::iq4_nl>("iq4_nl", 18, 2),
    legacy<kq::mxfp4>("mxfp4", 17, 1),
    legacy<kq::nvfp4>("nvfp4", 36, 4, 64),
    legacy<kq::q1_0>("q1_0", 18, 2, 128),
    legacy<kq::q2_0>("q2_0", 18, 2, 64),
};

constexpr int64_t int_most = std::numeric_limits<int>::max();
constexpr int64_t most = std::numeric_limits<int64_t>::max();
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();

constexpr kq::device_facts hopper{90, 132, 232448};
constexpr kq::device_facts ada{89, 128, 101376};

/// An address that is never read.
void* address(uintptr_t value) {
    return reinterpret_cast<void*>(value);
}

/// Arguments with nothing wrong.
kq::dense_arguments good_arguments(int64_t n, int64_t m, int64_t k) {
    kq::dense_arguments a;
    a.weights = address(0x10000);
    a.activation = {address(0x20000), kq::element_type::f32};
    a.output = {address(0x30000), kq::element_type::f32};
    a.n = n;
    a.m = m;
    a.k = k;
    return a;
}

/// A workspace with nothing wrong.
kq::workspace good_workspace() {
    return {address(0x40000), std::numeric_limits<size_t>::max()};
}

struct planned {
    kq::status outcome;
    kq::launch_plan plan;
};

planned plan_of(const subject& s, const kq::dense_arguments& a,
                const kq::workspace& space = good_workspace(),
                const kq::device_facts& device = hopper, const kq::policy& p = kq::policies::warp,
                kq::launch_options options = {}) {
    planned result;
    result.outcome = s.plan(p, a, space, device, options, result.plan);
    return result;
}

/// The argument that a refusal names; "ok" where there is none.
std::string refused(const kq::status& outcome) {
    if (outcome.ok()) {
        return "ok";
    }
    if (outcome.code() != kq::error::invalid_argument || std::string(outcome.rule()).empty()) {
        return "a refusal without a rule";
    }
    return outcome.subject();
}

std::string refused(const subject& s, const kq::dense_arguments& a,
                    const kq::workspace& space = good_workspace()) {
    return refused(plan_of(s, a, space).outcome);
}

/// Good arguments after `change`, refused or not.
template <class Change>
std::string refused_after(const subject& s, Change change) {
    kq::dense_arguments a = good_arguments(64, 3, 1024);
    change(a);
    return refused(s, a);
}

/// Runs `test` for every encoding, each in a section of its name.
template <class Test>
void for_each_subject(Test test) {
    for (const subject& s : subjects) {
        DYNAMIC_SECTION(s.name) {
            test(s);
        }
    }
}

bool equal(const kq::product_sizes& a, const kq::product_sizes& b) {
    return a.n == b.n && a.k == b.k && a.units == b.units && a.output_rows == b.output_rows &&
           a.most_rows == b.most_rows && a.images_of_unit == b.images_of_unit &&
           a.summed_terms == b.summed_terms && a.adjacent_rows == b.adjacent_rows &&
           a.activation.activation.data == b.activation.activation.data &&
           a.activation.activation.type == b.activation.activation.type &&
           a.activation.k == b.activation.k && a.activation.m == b.activation.m &&
           a.activation.activation_stride == b.activation.activation_stride &&
           a.row_blocks == b.row_blocks && a.row_bytes == b.row_bytes &&
           a.image_row_bytes == b.image_row_bytes && a.unit_image_bytes == b.unit_image_bytes &&
           a.workspace_bytes == b.workspace_bytes;
}

bool equal(const kq::launch_plan& a, const kq::launch_plan& b) {
    return a.weights.id == b.weights.id && equal(a.sizes, b.sizes) && a.policy == b.policy &&
           a.method == b.method && a.options == b.options && a.shape.grid == b.shape.grid &&
           a.shape.grid_y == b.shape.grid_y && a.shape.threads == b.shape.threads &&
           a.shape.shared_bytes == b.shape.shared_bytes &&
           a.shape.most_shared_bytes == b.shape.most_shared_bytes &&
           a.shape.dependent == b.shape.dependent && a.round_groups == b.round_groups &&
           a.bulk.stages == b.bulk.stages && a.bulk.pieces == b.bulk.pieces &&
           a.bulk.piece_blocks == b.bulk.piece_blocks && a.bulk.copies == b.bulk.copies &&
           a.bulk.bay_bytes == b.bulk.bay_bytes && a.bulk.stage_bytes == b.bulk.stage_bytes &&
           a.bulk.row_stride == b.bulk.row_stride && a.bulk.image_bytes == b.bulk.image_bytes &&
           a.shared.images_at == b.shared.images_at && a.shared.rings_at == b.shared.rings_at &&
           a.shared.products_at == b.shared.products_at;
}

/// What breaks in a plan that must be right for `a`; empty where nothing does.
std::string broken_rule(const subject& s, const kq::dense_arguments& a, const kq::policy& p,
                        const kq::device_facts& device, const kq::launch_plan& plan) {
    const int64_t row_blocks = a.k / s.elements;
    const int64_t groups = (a.n + p.rows - 1) / p.rows;
    if (plan.sizes.row_blocks != row_blocks || plan.sizes.row_bytes != row_blocks * s.block_bytes) {
        return "the row's size";
    }
    if (plan.sizes.image_row_bytes != s.image_bytes(a.k) ||
        plan.sizes.workspace_bytes != a.m * s.image_bytes(a.k)) {
        return "the workspace's size";
    }
    if (plan.sizes.weight_bytes() != a.n * row_blocks * s.block_bytes) {
        return "the weights' size";
    }
    if (plan.shape.threads != 32 * p.warps) {
        return "the threads";
    }
    if (plan.shape.grid_y < 1 || plan.shape.grid != a.m ||
        plan.shape.ctas() != a.m * plan.shape.grid_y) {
        return "the grid";
    }
    if (int64_t{plan.shape.grid_y - 1} * p.warps >= groups) {
        return "thread blocks without a row";
    }
    if (plan.shape.shared_bytes > device.shared_bytes_per_block ||
        plan.shape.most_shared_bytes != device.shared_bytes_per_block) {
        return "too much shared memory";
    }
    if (plan.method == kq::method::direct) {
        return plan.shape.shared_bytes != s.table_bytes || plan.bulk.pieces != 0 ? "the direct plan"
                                                                                 : "";
    }
    if (plan.method != kq::method::bulk) {
        return "a method that is not decided";
    }
    const kq::bulk_geometry& bulk = plan.bulk;
    if (bulk.stages < 1 || bulk.stages > p.bulk.stages) {
        return "the stages";
    }
    if (int64_t{bulk.pieces} * bulk.piece_blocks < row_blocks ||
        int64_t{bulk.pieces - 1} * bulk.piece_blocks >= row_blocks) {
        return "the pieces do not just cover the row";
    }
    if (bulk.piece_blocks % s.panel_blocks != 0) {
        return "a piece that ends inside a panel";
    }
    // A piece keeps its address modulo 128 and is copied in units of 16 bytes.
    const int64_t piece_bytes = std::min<int64_t>(bulk.piece_blocks, row_blocks) * s.block_bytes;
    const bool together = bulk.copies == 1 && p.rows != 1; // a group's rows, in one copy
    if (bulk.copies != p.rows && !together) {
        return "the number of copies";
    }
    if (together && (bulk.pieces != 1 || bulk.row_stride != plan.sizes.row_bytes)) {
        return "rows that are copied together but cut";
    }
    if (!together && p.rows != 1 && bulk.row_stride != bulk.bay_bytes) {
        return "the distance between rows";
    }
    if (bulk.bay_bytes % 128 != 0 ||
        bulk.bay_bytes < piece_bytes * (together ? p.rows : 1) + 127 + 15) {
        return "the bay does not hold what a copy brings, wherever it starts";
    }
    if (bulk.stage_bytes != bulk.copies * bulk.bay_bytes) {
        return "the stage does not hold its copies";
    }
    // The table, a barrier for each stage and one for the images; then the images, then the rings.
    if (plan.shared.images_at < s.table_bytes + 8 * (int64_t{p.warps} * bulk.stages + 1) ||
        plan.shared.images_at % 128 != 0) {
        return "the images' place";
    }
    if (bulk.image_bytes != s.image_bytes(a.k) ||
        plan.shared.rings_at < plan.shared.images_at + s.image_bytes(a.k) ||
        plan.shared.rings_at % 128 != 0) {
        return "the rings' place";
    }
    const int64_t rings = int64_t{p.warps} * bulk.copies * bulk.stages * bulk.bay_bytes;
    if (plan.shape.shared_bytes < plan.shared.rings_at + rings) {
        return "shared memory does not hold table, barriers, image and rings";
    }
    return "";
}

} // namespace

TEST_CASE("good arguments are accepted") {
    for_each_subject([](const subject& s) {
        CHECK(refused(s, good_arguments(64, 3, 1024)) == "ok");
        CHECK(refused(s, good_arguments(1, 1, s.elements)) == "ok");
    });
}

TEST_CASE("negative sizes are refused by name") {
    for_each_subject([](const subject& s) {
        CHECK(refused_after(s, [](auto& a) { a.n = -1; }) == "n");
        CHECK(refused_after(s, [](auto& a) { a.m = -1; }) == "m");
        CHECK(refused_after(s, [&](auto& a) { a.k = -s.elements; }) == "k");
        CHECK(refused_after(s, [](auto& a) { a.n = lowest; }) == "n");
        CHECK(refused_after(s, [](auto& a) { a.m = lowest; }) == "m");
        CHECK(refused_after(s, [](auto& a) { a.k = lowest; }) == "k");
    });
}

TEST_CASE("a k that is no multiple of the block is refused by name") {
    for_each_subject([](const subject& s) {
        for (const int64_t k : {int64_t{1}, int64_t{s.elements} - 1, int64_t{s.elements} + 1,
                                int64_t{1024} + s.elements / 2, int64_t{-1}}) {
            INFO("k = " << k);
            CHECK(refused_after(s, [&](auto& a) { a.k = k; }) == "k");
        }
    });
}

TEST_CASE("sizes above 2^31 - 1 are refused by name") {
    for_each_subject([](const subject& s) {
        for (const int64_t size : {int_most + 1, int64_t{1} << 40, most}) {
            CHECK(refused_after(s, [&](auto& a) { a.n = size; }) == "n");
            CHECK(refused_after(s, [&](auto& a) { a.m = size; }) == "m");
        }
        CHECK(refused_after(s, [](auto& a) { a.n = int_most; }) == "ok");
    });
}

TEST_CASE("a k whose row passes 2^31 bytes is refused by name") {
    for_each_subject([](const subject& s) {
        const int64_t largest = most / s.elements * s.elements;
        const int64_t too_long = (int_most / s.block_bytes + 1) * s.elements;
        for (const int64_t k : {too_long, int64_t{1} << 40, largest}) {
            INFO("k = " << k);
            CHECK(refused_after(s, [&](auto& a) { a.k = k; }) == "k");
        }
    });
}

TEST_CASE("a k whose weight row and image stay below 2^30 bytes is accepted") {
    for_each_subject([](const subject& s) {
        const int64_t panel = std::max(s.panel_bytes, s.panel_blocks * s.block_bytes);
        const int64_t k = (int64_t{1} << 30) / panel * s.panel_blocks * s.elements;
        INFO("k = " << k << ", an image of " << s.image_bytes(k) << " bytes");
        CHECK(refused_after(s, [&](auto& a) { a.k = k; }) == "ok");
    });
}

TEST_CASE("a k of 2^24 is accepted") {
    for_each_subject([](const subject& s) {
        CHECK(refused_after(s, [](auto& a) { a.k = int64_t{1} << 24; }) == "ok");
    });
}

TEST_CASE("strides below a row are refused by name, zero means a row") {
    for_each_subject([](const subject& s) {
        for (const int64_t stride : {int64_t{1}, int64_t{1023}, int64_t{-1}, -most}) {
            CHECK(refused_after(s, [&](auto& a) { a.activation_stride = stride; }) ==
                  "activation_stride");
        }
        for (const int64_t stride : {int64_t{1}, int64_t{63}, int64_t{-1}, -most}) {
            CHECK(refused_after(s, [&](auto& a) { a.output_stride = stride; }) == "output_stride");
        }
        CHECK(refused_after(s, [](auto& a) { a.activation_stride = 1024; }) == "ok");
        CHECK(refused_after(s, [](auto& a) { a.activation_stride = 1025; }) == "ok");
        CHECK(refused_after(s, [](auto& a) { a.output_stride = 64; }) == "ok");
        CHECK(refused_after(s, [](auto& a) { a.output_stride = 65; }) == "ok");
    });
}

TEST_CASE("strides whose rows pass 2^63 bytes are refused by name") {
    for_each_subject([](const subject& s) {
        // The last ones overflow when an element's bytes are multiplied before the check.
        for (const int64_t stride : {most / 8, most / 4, most, int64_t{1} << 61, int64_t{1} << 62,
                                     (int64_t{1} << 62) + 1024}) {
            INFO("stride " << stride);
            CHECK(refused_after(s, [&](auto& a) { a.activation_stride = stride; }) ==
                  "activation_stride");
            CHECK(refused_after(s, [&](auto& a) { a.output_stride = stride; }) == "output_stride");
        }
    });
}

TEST_CASE("null pointers are refused by name") {
    for_each_subject([](const subject& s) {
        CHECK(refused_after(s, [](auto& a) { a.weights = nullptr; }) == "weights");
        CHECK(refused_after(s, [](auto& a) { a.activation.data = nullptr; }) == "activation");
        CHECK(refused_after(s, [](auto& a) { a.output.data = nullptr; }) == "output");
        CHECK(refused(s, good_arguments(64, 3, 1024),
                      {nullptr, std::numeric_limits<size_t>::max()}) == "workspace");
    });
}

TEST_CASE("weights are refused at any less than the encoding's alignment, and only then") {
    for_each_subject([](const subject& s) {
        for (uintptr_t offset = 0; offset < 32; ++offset) {
            const bool aligned = offset % static_cast<uintptr_t>(s.alignment) == 0;
            INFO("offset " << offset);
            CHECK(refused_after(s, [&](auto& a) { a.weights = address(0x10000 + offset); }) ==
                  (aligned ? "ok" : "weights"));
        }
    });
}

TEST_CASE("the refusal of misaligned weights says the alignment") {
    for_each_subject([](const subject& s) {
        kq::dense_arguments a = good_arguments(64, 3, 1024);
        a.weights = address(0x10001);
        if (s.alignment == 1) {
            CHECK(plan_of(s, a).outcome.ok()); // nothing is misaligned
            return;
        }
        const std::string rule = plan_of(s, a).outcome.rule();
        CHECK(rule.find(std::to_string(s.alignment) + "-byte") != std::string::npos);
    });
}

TEST_CASE("activations and outputs are refused below their element's alignment, and only then") {
    for (const auto type : {kq::element_type::f32, kq::element_type::f16, kq::element_type::bf16}) {
        const uintptr_t size = type == kq::element_type::f32 ? 4 : 2;
        for (uintptr_t offset = 0; offset < 8; ++offset) {
            const bool aligned = offset % size == 0;
            INFO("element of " << size << " bytes, offset " << offset);
            CHECK(refused_after(subjects[5], [&](auto& a) {
                      a.activation = {address(0x20000 + offset), type};
                  }) == (aligned ? "ok" : "activation"));
            CHECK(refused_after(subjects[5], [&](auto& a) {
                      a.output = {address(0x30000 + offset), type};
                  }) == (aligned ? "ok" : "output"));
        }
    }
}

TEST_CASE("a workspace is refused if it is a byte too small or misaligned") {
    for_each_subject([](const subject& s) {
        const kq::dense_arguments a = good_arguments(64, 3, 1024);
        const auto bytes = static_cast<size_t>(3 * s.image_bytes(1024));
        CHECK(refused(s, a, {address(0x40000), bytes}) == "ok");
        CHECK(refused(s, a, {address(0x40000), bytes - 1}) == "workspace");
        CHECK(refused(s, a, {address(0x40000), 0}) == "workspace");
        CHECK(refused(s, a, {address(0x40010), bytes}) == "ok");
        for (const uintptr_t offset : {1u, 2u, 4u, 8u}) {
            CHECK(refused(s, a, {address(0x40000 + offset), bytes}) == "workspace");
        }
    });
}

TEST_CASE("zero sizes are no error and need no pointers") {
    for_each_subject([](const subject& s) {
        for (const auto& [n, m] : {std::pair{0, 3}, std::pair{64, 0}, std::pair{0, 0}}) {
            for (const int64_t k : {0, 1024}) {
                kq::dense_arguments a;
                a.n = n;
                a.m = m;
                a.k = k;
                const planned p = plan_of(s, a, {});
                CHECK(refused(p.outcome) == "ok");
                CHECK(p.plan.sizes.workspace_bytes == 0);
                CHECK(p.plan.shape.grid == 0);
            }
        }
    });
}

TEST_CASE("a k of zero needs the output only, and still launches") {
    for_each_subject([](const subject& s) {
        kq::dense_arguments a;
        a.n = 64;
        a.m = 3;
        CHECK(refused(s, a, {}) == "output");
        a.output = {address(0x30000), kq::element_type::f32};
        const planned p = plan_of(s, a, {});
        CHECK(refused(p.outcome) == "ok");
        CHECK(p.plan.sizes.workspace_bytes == 0);
        CHECK(p.plan.shape.ctas() >= 3);
        CHECK(p.plan.bulk.pieces == 0);
        CHECK(p.plan.shape.shared_bytes <= hopper.shared_bytes_per_block);
        const kq::policy bulk = with_method(kq::policies::warp, kq::method::bulk);
        CHECK(refused(plan_of(s, a, {}, hopper, bulk).outcome) == "ok");
        CHECK(refused(plan_of(s, a, {}, ada, bulk).outcome) == "policy.method");
    });
}

TEST_CASE("wrong sizes are refused even where another size is zero") {
    for_each_subject([](const subject& s) {
        CHECK(refused(s, good_arguments(0, -1, 1024)) == "m");
        CHECK(refused(s, good_arguments(-1, 0, 1024)) == "n");
        CHECK(refused(s, good_arguments(0, 0, 1)) == "k");
    });
}

TEST_CASE("measure accepts null pointers and computes a workspace of m image rows") {
    for_each_subject([](const subject& s) {
        for (const int64_t m : {1, 2, 7, 100000}) {
            for (const int64_t k : {256, 512, 2048, 4096, 14336, 1 << 20}) {
                kq::dense_arguments a;
                a.n = 5;
                a.m = m;
                a.k = k;
                kq::product_sizes sizes;
                CHECK(s.measure(a, sizes).ok());
                CHECK(sizes.workspace_bytes == m * s.image_bytes(k));
                CHECK(sizes.image_row_bytes % 128 == 0);
            }
        }
    });
}

TEST_CASE("the workspace of a huge batch does not overflow") {
    for_each_subject([](const subject& s) {
        kq::dense_arguments a;
        a.n = 1;
        a.m = int_most;
        a.k = int64_t{1} << 24;
        kq::product_sizes sizes;
        CHECK(s.measure(a, sizes).ok());
        CHECK(sizes.workspace_bytes == int_most * s.image_bytes(a.k));
    });
}

TEST_CASE("plans of every encoding, shape, device and policy keep the rules of their geometry") {
    using kq::method;
    const kq::policy policies[] = {
        {},
        {.rows = 1, .warps = 1, .bulk = {.stages = 1, .piece_bytes = 1}},
        {.rows = 8, .warps = 32, .bulk = {.stages = 8, .piece_bytes = 1 << 20}},
        {.rows = 4, .warps = 8, .bulk = {.stages = 3, .piece_bytes = 4096}},
        {.rows = 1, .warps = 2, .bulk = {.stages = 8, .piece_bytes = 100000}},
        {.rows = 2,
         .warps = 16,
         .method = method::direct,
         .bulk = {.stages = 2, .piece_bytes = 2304}},
    };
    const kq::device_facts devices[] = {
        hopper, ada, {75, 40, 65536}, {90, 1, 65536}, {100, 148, 232448}, {120, 170, 101376}};
    for_each_subject([&](const subject& s) {
        std::string first_broken;
        int bulk = 0;
        int direct = 0;
        for (const auto& device : devices) {
            for (const auto& p : policies) {
                for (const int64_t blocks : {1, 2, 7, 8, 9, 31, 33, 55, 56, 128, 448, 777, 4001}) {
                    for (const int64_t n : {1, 2, 33, 4096, 129280}) {
                        for (const int64_t m : {1, 3, 133, 1000}) {
                            const auto a = good_arguments(n, m, blocks * s.elements);
                            const planned result = plan_of(s, a, good_workspace(), device, p);
                            const std::string broken =
                                result.outcome.ok() ? broken_rule(s, a, p, device, result.plan)
                                                    : kq::message(result.outcome);
                            if (!broken.empty() && first_broken.empty()) {
                                first_broken = broken + ", blocks " + std::to_string(blocks) +
                                               ", n " + std::to_string(n) + ", m " +
                                               std::to_string(m);
                            }
                            (result.plan.method == method::bulk ? bulk : direct) += 1;
                        }
                    }
                }
            }
        }
        CHECK(first_broken == "");
        CHECK(bulk > 1000);
        CHECK(direct > 1000);
    });
}

TEST_CASE("the usual shapes go by bulk copies on compute capability 9.0 and up") {
    for_each_subject([](const subject& s) {
        for (const int64_t k : {4096, 7168, 14336}) {
            for (const int capability : {90, 100, 103, 120}) {
                const planned p = plan_of(s, good_arguments(4096, 1, k), good_workspace(),
                                          {capability, 132, 232448});
                CHECK(p.outcome.ok());
                CHECK(p.plan.method == kq::method::bulk);
            }
        }
    });
}

TEST_CASE("automatic falls back to direct below compute capability 9.0") {
    for_each_subject([](const subject& s) {
        for (const int capability : {0, 70, 75, 80, 86, 89}) {
            const planned p = plan_of(s, good_arguments(4096, 1, 4096), good_workspace(),
                                      {capability, 132, 232448});
            CHECK(p.outcome.ok());
            CHECK(p.plan.method == kq::method::direct);
        }
    });
}

TEST_CASE("automatic falls back to direct where the image does not fit into shared memory") {
    for_each_subject([](const subject& s) {
        const int64_t panels = hopper.shared_bytes_per_block / s.panel_bytes + 1;
        for (const int64_t k : {panels * s.panel_blocks * s.elements, int64_t{1} << 24}) {
            const planned p = plan_of(s, good_arguments(4096, 1, k));
            CHECK(p.outcome.ok());
            CHECK(p.plan.method == kq::method::direct);
            CHECK(p.plan.shape.shared_bytes == s.table_bytes);
        }
    });
}

TEST_CASE("rows of no block have a stage by bulk, at which the kernel's warps meet") {
    constexpr kq::policy bulk = with_method(kq::policies::warp, kq::method::bulk);
    for_each_subject([&](const subject& s) {
        const planned p = plan_of(s, good_arguments(64, 1, 0), good_workspace(), hopper, bulk);
        CHECK(p.outcome.ok());
        CHECK(p.plan.bulk.stages == 1);
        CHECK(p.plan.bulk.pieces == 0);
    });
}

TEST_CASE("every image size is planned, up to and past the end of shared memory") {
    for_each_subject([](const subject& s) {
        bool fitted = true;
        std::string broken;
        int changes = 0;
        for (int64_t panels = 1; panels * s.panel_bytes < hopper.shared_bytes_per_block + 4096;
             ++panels) {
            const auto a = good_arguments(4096, 1, panels * s.panel_blocks * s.elements);
            const planned p = plan_of(s, a);
            broken += broken_rule(s, a, kq::policies::warp, hopper, p.plan);
            const bool fits = p.plan.method == kq::method::bulk;
            changes += fits != fitted;
            fitted = fits;
        }
        CHECK(broken == "");
        CHECK(changes == 1); // from bulk to direct, once
        CHECK_FALSE(fitted);
    });
}

TEST_CASE("the bulk policy is refused by name where bulk copies are impossible") {
    constexpr kq::policy bulk = with_method(kq::policies::warp, kq::method::bulk);
    for_each_subject([&](const subject& s) {
        const auto refused_on = [&](const kq::device_facts& device, int64_t k) {
            return refused(
                plan_of(s, good_arguments(4096, 1, k), good_workspace(), device, bulk).outcome);
        };
        CHECK(refused_on(hopper, 4096) == "ok");
        CHECK(refused_on(ada, 4096) == "policy.method");
        CHECK(refused_on({90, 132, 1024}, 4096) == "policy.method");
        CHECK(refused_on(hopper, int64_t{1} << 24) == "policy.method");
    });
}

TEST_CASE(
    "the refusal of bulk copies says whether compute capability or shared memory is missing") {
    constexpr kq::policy bulk = with_method(kq::policies::warp, kq::method::bulk);
    for_each_subject([&](const subject& s) {
        const auto rule_on = [&](const kq::device_facts& device, int64_t k) {
            return std::string(
                plan_of(s, good_arguments(4096, 1, k), good_workspace(), device, bulk)
                    .outcome.rule());
        };
        const std::string capability = "bulk copies need compute capability 9.0 or above";
        const std::string memory =
            "bulk copies need rows and activations that fit into the device's shared memory";
        CHECK(rule_on({89, 132, 232448}, 4096) == capability);
        CHECK(rule_on({89, 132, 1024}, 4096) == capability);
        CHECK(rule_on({90, 132, 1024}, 4096) == memory);
        CHECK(rule_on(hopper, int64_t{1} << 24) == memory);
    });
}

TEST_CASE("the direct policy stays direct on every device") {
    constexpr kq::policy direct = with_method(kq::policies::warp, kq::method::direct);
    for_each_subject([&](const subject& s) {
        for (const kq::device_facts& device : {hopper, ada}) {
            const planned p =
                plan_of(s, good_arguments(4096, 1, 4096), good_workspace(), device, direct);
            CHECK(p.outcome.ok());
            CHECK(p.plan.method == kq::method::direct);
        }
    });
}

// Two thread blocks of a dependent launch on one multiprocessor would leave another one idle. What
// is asked for must leave no room for a second block: half of the memory of a multiprocessor that
// can hand `most` to a block has at most (most + 1024) / 2 - 1024 bytes for each of two blocks.
TEST_CASE("dependent launches of one wave by bulk leave no room for a second thread block") {
    for_each_subject([](const subject& s) {
        for (const int64_t m : {1, 1000}) {
            const planned p = plan_of(s, good_arguments(64, m, 4096));
            const bool one_wave = p.plan.shape.ctas() <= hopper.multiprocessors;
            CHECK(one_wave == (m == 1));
            const auto shared_bytes = [&](const kq::policy& policy, bool dependent) {
                return plan_of(s, good_arguments(64, m, 4096), good_workspace(), hopper, policy,
                               {.dependent = dependent})
                    .plan.shape.shared_bytes;
            };
            const int plain = shared_bytes(kq::policies::warp, false);
            const int dependent = shared_bytes(kq::policies::warp, true);
            CHECK(plain == p.plan.shape.shared_bytes);
            CHECK((one_wave ? dependent > hopper.shared_bytes_per_block / 2 : dependent == plain));
            CHECK(dependent >= plain);
            CHECK(dependent <= hopper.shared_bytes_per_block);

            constexpr kq::policy direct = with_method(kq::policies::warp, kq::method::direct);
            CHECK(shared_bytes(direct, true) == shared_bytes(direct, false));
        }
    });
}

TEST_CASE("a plan has the launch's options as far as the device knows them") {
    const auto options_on = [](const kq::device_facts& device, kq::launch_options options) {
        const planned p = plan_of(subjects[0], good_arguments(64, 1, 4096), good_workspace(),
                                  device, kq::policies::warp, options);
        CHECK(p.outcome.ok());
        CHECK(p.plan.shape.dependent == p.plan.options.dependent);
        return p.plan.options;
    };
    const kq::launch_options none, both{.dependent = true, .early_weights = true};
    CHECK(options_on(hopper, none) == none);
    CHECK(options_on(hopper, both) == both);
    CHECK(options_on(hopper, {.dependent = false, .early_weights = true}) == none);
    CHECK(options_on(ada, both) == none);
}

TEST_CASE("a batch larger than the device has a thread block for each activation row") {
    for_each_subject([](const subject& s) {
        for (const int64_t m : {1000, 1 << 20}) {
            const planned p = plan_of(s, good_arguments(4096, m, 4096));
            CHECK(p.outcome.ok());
            CHECK(p.plan.shape.grid_y == 1);
            CHECK(p.plan.shape.grid == m);
        }
    });
}

TEST_CASE("a device without facts is planned for or refused, never divided by") {
    for_each_subject([](const subject& s) {
        const planned p = plan_of(s, good_arguments(4096, 2, 4096), good_workspace(), {});
        if (p.outcome.ok()) {
            CHECK(p.plan.shape.ctas() == 2);
        } else { // a lookup table does not fit into no shared memory
            CHECK(p.outcome.subject() == std::string("policy"));
        }
    });
}

TEST_CASE("a plan does not depend on what its object held before") {
    const kq::policy automatic = kq::policies::warp;
    const kq::policy direct = with_method(automatic, kq::method::direct);
    for_each_subject([&](const subject& s) {
        const auto a = good_arguments(4096, 2, 4096);
        const kq::launch_plan used = plan_of(s, a).plan;
        const auto again = [&](const kq::dense_arguments& next, const kq::device_facts& device,
                               const kq::policy& p) {
            kq::launch_plan reused = used;
            const kq::status outcome = s.plan(p, next, good_workspace(), device, {}, reused);
            return outcome.ok() &&
                   equal(reused, plan_of(s, next, good_workspace(), device, p).plan);
        };
        CHECK(again(a, hopper, automatic));
        CHECK(again(good_arguments(33, 1, 1024), hopper, automatic));
        CHECK(again(a, hopper, direct));
        CHECK(again(a, ada, automatic));
        CHECK(again(good_arguments(0, 1, 4096), hopper, automatic));
        CHECK(again(good_arguments(4096, 1, int64_t{1} << 24), hopper, automatic));
    });
}

TEST_CASE("the products of a weighted sum have shared memory of their own, for a round of groups") {
    using kq::method;
    kq::launch_plan plan;
    using sum = kq::product<kq::q4_k, kq::mappings::experts, kq::epilogues::weighted_sum>;
    for (const method by : {method::direct, method::bulk}) {
        for (const int rows : {1, 2, 8}) {
            for (const int64_t n : {1, 9, 4096}) {
                for (const int64_t top_k : {1, 8, 64}) {
                    const kq::policy p{.rows = rows, .warps = 16, .method = by};
                    kq::product_sizes sizes;
                    REQUIRE(
                        kq::measure<sum>(
                            {.experts = 128, .n = n, .k = 256, .slots = 2 * top_k, .top_k = top_k},
                            sizes)
                            .ok());
                    INFO("rows " << rows << ", n " << n << ", terms " << top_k);
                    REQUIRE(kq::plan_launch(sum::facts, p, sizes, hopper, {}, plan).ok());
                    const int64_t groups = (n + rows - 1) / rows;
                    const int64_t bytes = plan.round_groups * rows * top_k * 4;
                    CHECK((plan.round_groups >= 1 && plan.round_groups <= groups));
                    CHECK((bytes <= 8192 || plan.round_groups == 1));
                    CHECK(plan.shared.products_at >=
                          plan.shared.rings_at +
                              p.warps * plan.bulk.stages * plan.bulk.stage_bytes);
                    CHECK(plan.shape.shared_bytes >= plan.shared.products_at + bytes);
                    CHECK(plan.shape.shared_bytes <= hopper.shared_bytes_per_block);
                    // As many thread blocks as have a group, and terms for their warps.
                    CHECK(plan.shape.grid_y <= groups);
                    CHECK((plan.shape.grid_y - 1) * p.warps < groups * top_k);
                    CHECK(plan.shape.ctas() == 2 * plan.shape.grid_y);
                }
            }
        }
    }
    using plain = kq::product<kq::q4_k, kq::mappings::experts>;
    kq::product_sizes sizes;
    REQUIRE(kq::measure<plain>({.experts = 4, .n = 64, .k = 1024, .slots = 2}, sizes).ok());
    REQUIRE(kq::plan_launch(plain::facts, kq::policies::warp, sizes, hopper, {}, plan).ok());
    CHECK(plan.round_groups == 0);
}

TEST_CASE("a policy whose fields are wrong is refused by the field's name, never divided by") {
    const struct {
        kq::policy policy;
        const char* field;
    } wrong[] = {
        {{.order = {0}}, "policy.order.lanes"},
        {{.rows = 0}, "policy.rows"},
        {{.batch = 0}, "policy.batch"},
        {{.warps = 0}, "policy.warps"},
        {{.method = static_cast<kq::method>(3)}, "policy.method"},
        {{.direct = {.prefetch = 0}}, "policy.direct.prefetch"},
        {{.bulk = {.stages = 0}}, "policy.bulk.stages"},
        {{.bulk = {.piece_bytes = 0}}, "policy.bulk.piece_bytes"},
        {{.method = kq::method::bulk, .direct = {.prefetch = 2}}, "policy.direct.prefetch"},
    };
    for_each_subject([&](const subject& s) {
        for (const auto& [policy, field] : wrong) {
            const auto a = good_arguments(64, 1, 4096);
            CHECK(refused(plan_of(s, a, good_workspace(), hopper, policy).outcome) == field);
        }
    });
}

TEST_CASE("numbers that are no element type are refused by name") {
    const auto unknown = static_cast<kq::element_type>(3);
    for_each_subject([&](const subject& s) {
        CHECK(refused_after(s, [&](auto& a) { a.activation.type = unknown; }) == "activation");
        CHECK(refused_after(s, [&](auto& a) { a.output.type = unknown; }) == "output");
        CHECK(refused_after(s, [&](auto& a) {
                  a.epilogue.residual = {address(64), unknown};
              }) == "epilogue.residual");
    });
}
