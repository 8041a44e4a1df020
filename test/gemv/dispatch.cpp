// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/blocks/all.hpp>
#include <kq/core/check.hpp>
#include <kq/gemv/dispatch.hpp>

#include <iterator>
#include <string>
#include <vector>

namespace {

/// GGUF's tensor type numbers and block sizes, by the file format.
struct fact {
    int gguf_type;
    const char* name;
    int block_bytes;
    int elements;
};
constexpr fact facts[] = {
    {2, "q4_0", 18, 32},    {3, "q4_1", 20, 32},      {6, "q5_0", 22, 32},
    {7, "q5_1", 24, 32},    {8, "q8_0", 34, 32},      {10, "q2_k", 84, 256},
    {11, "q3_k", 110, 256}, {12, "q4_k", 144, 256},   {13, "q5_k", 176, 256},
    {14, "q6_k", 210, 256}, {16, "iq2_xxs", 66, 256}, {18, "iq3_xxs", 98, 256},
    {20, "iq4_nl", 18, 32}, {39, "mxfp4", 17, 32},    {40, "nvfp4", 36, 64},
    {41, "q1_0", 18, 128},  {42, "q2_0", 18, 64},
};

const fact* fact_of(int gguf_type) {
    for (const fact& f : facts) {
        if (f.gguf_type == gguf_type) {
            return &f;
        }
    }
    return nullptr;
}

kq::encoding encoding_of(int gguf_type) {
    return static_cast<kq::encoding>(gguf_type);
}

/// What a call of `dispatch` did.
struct visit {
    int calls = 0;
    int block_bytes = 0;
    int elements = 0;
    int id = -1;
    kq::status outcome;
};

template <class List = kq::encodings>
visit visited(int gguf_type) {
    visit v;
    v.outcome = kq::dispatch<List>(encoding_of(gguf_type), [&]<class Encoding>() {
        ++v.calls;
        v.block_bytes = static_cast<int>(sizeof(typename Encoding::block));
        v.elements = Encoding::elements;
        v.id = static_cast<int>(Encoding::id);
    });
    return v;
}

/// A callable with a const call operator only.
struct constant_callable {
    template <class Encoding>
    kq::status operator()() const {
        return kq::status::invalid(kq::name_of(Encoding::id), "was called");
    }
};

/// A callable that counts, to see that it is not copied.
struct counting_callable {
    int calls = 0;
    template <class Encoding>
    void operator()() {
        ++calls;
    }
};

} // namespace

TEST_CASE("every encoding reaches its own type, once") {
    for (const fact& f : facts) {
        INFO(f.name);
        const visit v = visited(f.gguf_type);
        CHECK(v.outcome.ok());
        CHECK(v.calls == 1);
        CHECK(v.id == f.gguf_type);
        CHECK(v.block_bytes == f.block_bytes);
        CHECK(v.elements == f.elements);
    }
}

TEST_CASE("a number that is no encoding is refused and nothing is called") {
    for (int type = -10; type <= 100; ++type) {
        if (fact_of(type) != nullptr) {
            continue;
        }
        const visit v = visited(type);
        CHECK(v.calls == 0);
        CHECK(v.outcome.code() == kq::error::invalid_argument);
        CHECK(v.outcome.subject() == std::string("encoding"));
        CHECK_FALSE(std::string(v.outcome.rule()).empty());
    }
}

TEST_CASE("a restricted list calls its own encodings and refuses all others") {
    using list = kq::type_list<kq::q6_k, kq::q4_0>;
    for (const fact& f : facts) {
        INFO(f.name);
        const visit v = visited<list>(f.gguf_type);
        const bool listed = f.gguf_type == 14 || f.gguf_type == 2;
        CHECK(v.outcome.ok() == listed);
        CHECK(v.calls == (listed ? 1 : 0));
        CHECK(v.id == (listed ? f.gguf_type : -1));
    }
}

TEST_CASE("the callable's status comes back unchanged") {
    const auto outcome_of = [](const kq::status& s) {
        return kq::dispatch(kq::encoding::q5_k, [&]<class Encoding>() { return s; });
    };
    CHECK(outcome_of({}).ok());
    const kq::status invalid = outcome_of(kq::status::invalid("k", "is odd"));
    CHECK(invalid.code() == kq::error::invalid_argument);
    CHECK(kq::message(invalid) == "k: is odd");
    const kq::status cuda = outcome_of(kq::status::cuda_failure("launch", "cudaErrorUnknown"));
    CHECK(cuda.code() == kq::error::cuda);
    CHECK(kq::message(cuda) == "launch: cudaErrorUnknown");
}

TEST_CASE("a callable that returns nothing succeeds, and is called in place") {
    counting_callable count;
    CHECK(kq::dispatch(kq::encoding::q3_k, count).ok());
    CHECK(kq::dispatch(kq::encoding::iq2_xxs, count).ok());
    CHECK(count.calls == 2);
}

TEST_CASE("a constant callable can be dispatched to") {
    const constant_callable call;
    CHECK(kq::message(kq::dispatch(kq::encoding::q2_k, call)) == "q2_k: was called");
    CHECK(kq::message(kq::dispatch(kq::encoding::q8_0, constant_callable{})) == "q8_0: was called");
}

TEST_CASE("name_of and is_encoding know GGUF's numbers and no others") {
    for (int type = -10; type <= 100; ++type) {
        INFO("type " << type);
        const fact* f = fact_of(type);
        CHECK(kq::is_encoding(type) == (f != nullptr));
        CHECK(kq::name_of(encoding_of(type)) == std::string(f != nullptr ? f->name : "unknown"));
    }
}

TEST_CASE("the list of encodings holds every encoding once") {
    STATIC_REQUIRE(kq::encodings::size == std::size(facts));
    std::vector<int> ids;
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (ids.push_back(static_cast<int>(Encodings::id)), ...);
    }(kq::encodings{});
    std::vector<int> expected;
    for (const fact& f : facts) {
        expected.push_back(f.gguf_type);
    }
    CHECK(ids == expected);
}

TEST_CASE("a policy is found by its name, and only listed ones are instantiated") {
    using namespace kq::policies;
    int lanes = 0;
    const auto take = [&]<kq::policy Policy>() {
        lanes = Policy.order.lanes + 100 * Policy.batch;
        return kq::status();
    };
    CHECK(kq::dispatch_policy<warp, batch<4>, subwarp<8>>("batch<4>", take).ok());
    CHECK(lanes == 432);
    CHECK(kq::dispatch_policy<warp, batch<4>, subwarp<8>>("subwarp<8>", take).ok());
    CHECK(lanes == 108);
    lanes = 0;
    const kq::status unknown = kq::dispatch_policy<warp, batch<4>>("subwarp<8>", take);
    CHECK(unknown.subject() == std::string("policy"));
    CHECK(lanes == 0);
    const auto refuse = []<kq::policy>() { return kq::status::invalid("n", "is bad"); };
    CHECK(kq::dispatch_policy<warp>("warp", refuse).subject() == std::string("n"));
}
