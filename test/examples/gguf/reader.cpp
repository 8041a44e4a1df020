#include "catch.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "gguf/reader.hpp"
#include "gguf/types.hpp"
#include "gguf/writer.hpp"

namespace {

using bytes = std::vector<std::byte>;

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t data_offset = 0;

constexpr std::uint32_t f32 = 0;
constexpr std::uint32_t q4_0 = 2;
constexpr std::uint32_t q8_0 = 8;
constexpr std::uint32_t q4_k = 12;
constexpr std::uint32_t i8 = 24;
constexpr std::uint32_t q2_0 = 42;

constexpr std::uint32_t u8_value = 0;
constexpr std::uint32_t u32_value = 4;
constexpr std::uint32_t string_value = 8;
constexpr std::uint32_t array_value = 9;
constexpr std::uint32_t u64_value = 10;

// Writes a file field by field, right or wrong.
class image {
public:
    template <std::unsigned_integral Value>
    image& number(Value value) {
        for (std::size_t i = 0; i < sizeof(Value); ++i) {
            stored_.push_back(static_cast<std::byte>(value >> 8 * i & 0xff));
        }
        return *this;
    }

    image& raw(std::string_view text) {
        for (const char c : text) {
            stored_.push_back(static_cast<std::byte>(c));
        }
        return *this;
    }

    image& text(std::string_view text) {
        number(std::uint64_t{text.size()});
        return raw(text);
    }

    image& header(std::uint64_t tensors, std::uint64_t metadata, std::uint32_t version = 3) {
        return raw("GGUF").number(version).number(tensors).number(metadata);
    }

    image& key(std::string_view name, std::uint32_t type) { return text(name).number(type); }

    image& tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                  std::uint32_t type, std::uint64_t offset) {
        text(name).number(static_cast<std::uint32_t>(dimensions.size()));
        for (const auto dimension : dimensions) {
            number(dimension);
        }
        return number(type).number(offset);
    }

    image& zeros(std::size_t count) {
        stored_.resize(stored_.size() + count);
        return *this;
    }

    image& pad(std::size_t alignment) {
        while (stored_.size() % alignment != 0) {
            zeros(1);
        }
        return *this;
    }

    const bytes& stored() const { return stored_; }

private:
    bytes stored_;
};

// The message with which a file is refused, or nothing if it is accepted.
std::string refusal(std::span<const std::byte> stored) {
    try {
        gguf::file::parse(stored);
    } catch (const gguf::error& failure) {
        return failure.what();
    }
    return "";
}

std::string refusal(const image& stored) {
    return refusal(stored.stored());
}

std::string open_refusal(const std::filesystem::path& path) {
    try {
        gguf::file::open(path);
    } catch (const gguf::error& failure) {
        return failure.what();
    }
    return "";
}

// A path of this process in the temporary directory, removed with all that it holds.
class temporary_path {
public:
    temporary_path() {
        static int count = 0;
        path_ = std::filesystem::temp_directory_path() /
                ("gguf-reader-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    }
    temporary_path(const temporary_path&) = delete;
    temporary_path& operator=(const temporary_path&) = delete;
    ~temporary_path() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    void write(const bytes& stored) const {
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(stored.data()),
                   static_cast<std::streamsize>(stored.size()));
    }

    const std::filesystem::path& path() const { return path_; }
    std::string quoted() const { return '"' + path_.string() + '"'; }

private:
    std::filesystem::path path_;
};

bytes counted(std::size_t size) {
    bytes result;
    for (std::size_t i = 0; i < size; ++i) {
        result.push_back(static_cast<std::byte>(i * 7 + 1));
    }
    return result;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::ranges::equal(a, b);
}

// Small, with every kind of field; the last tensor ends where its padding ends, so that no
// byte at the end can be missed.
bytes small_file() {
    image built;
    built.header(2, 5);
    built.key("general.alignment", u32_value).number(std::uint32_t{32});
    built.key("general.name", string_value).text("small");
    built.key("flag", u8_value).number(std::uint8_t{1});
    built.key("sizes", array_value).number(u64_value).number(std::uint64_t{2});
    built.number(std::uint64_t{5}).number(std::uint64_t{6});
    built.key("words", array_value).number(string_value).number(std::uint64_t{2});
    built.text("a").text("");
    built.tensor("q", {32, 1}, q4_0, data_offset).tensor("f", {8}, f32, 32).pad(32);
    built.zeros(18).pad(32).zeros(32);
    return built.stored();
}

unsigned sum(const gguf::file& read) {
    unsigned total = 0;
    for (const auto& tensor : read.tensors()) {
        for (const std::byte stored : tensor.bytes) {
            total += std::to_integer<unsigned>(stored);
        }
    }
    return total;
}

// Whether every byte that the file claims to have can be read, or it is refused in one line.
bool survives(const bytes& stored) {
    try {
        const auto read = gguf::file::parse(stored);
        sum(read);
        read.near_names("blk.0", 3);
        return true;
    } catch (const gguf::error& failure) {
        return std::ranges::none_of(std::string_view(failure.what()),
                                    [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    }
}

// A shard that the Python package gguf wrote.
std::filesystem::path shard_of_others(int number) {
    return KQ_TEST_DATA "/gguf/split-0000" + std::to_string(number) + "-of-00003.gguf";
}

// A shard with a tensor.
image shard(std::uint16_t index, std::uint16_t count, std::string_view name,
            std::uint32_t all_tensors = 2) {
    image built;
    built.header(1, 3).key("split.no", 2).number(index).key("split.count", 2).number(count);
    built.key("split.tensors.count", 5).number(all_tensors);
    built.tensor(name, {4}, i8, data_offset).pad(32).zeros(4);
    return built;
}

gguf::writer two_tensors() {
    gguf::writer built;
    built.add_string("general.name", "two tensors");
    built.add_string("general.architecture", "none");
    built.add_tensor("blk.0.attn_q.weight", {512, 3}, q4_k, counted(2 * 3 * 144));
    built.add_tensor("blk.0.attn_norm.weight", {5}, f32, counted(20));
    return built;
}

} // namespace

TEST_CASE("a file that the writer built reads back with the same names, shapes and bytes") {
    const auto read = gguf::file::own(two_tensors().finish());
    CHECK(read.version() == 3);
    CHECK(read.alignment() == 32);
    CHECK(read.metadata_string("general.name") == "two tensors");
    CHECK(read.metadata_string("general.architecture") == "none");
    REQUIRE(read.tensors().size() == 2);

    const auto& weight = read.tensors()[0];
    CHECK(weight.name == "blk.0.attn_q.weight");
    CHECK(weight.dimensions == std::vector<std::uint64_t>{512, 3});
    CHECK(weight.type == q4_k);
    CHECK(same(weight.bytes, counted(2 * 3 * 144)));

    const auto& norm = read.tensors()[1];
    CHECK(norm.name == "blk.0.attn_norm.weight");
    CHECK(norm.dimensions == std::vector<std::uint64_t>{5});
    CHECK(norm.type == f32);
    CHECK(same(norm.bytes, counted(20)));
}

TEST_CASE("a file of version 2 reads like one of version 3") {
    auto stored = two_tensors().finish();
    stored[4] = std::byte{2};
    const auto read = gguf::file::parse(stored);
    CHECK(read.version() == 2);
    REQUIRE(read.tensors().size() == 2);
    CHECK(same(read.tensors()[0].bytes, counted(2 * 3 * 144)));
}

TEST_CASE("a file without metadata and tensors is valid") {
    const auto read = gguf::file::own(gguf::writer().finish());
    CHECK(read.tensors().empty());
    CHECK(read.find("") == nullptr);
    CHECK(read.near_names("a", 3).empty());
    CHECK_FALSE(read.metadata_string("general.name"));
}

TEST_CASE("a tensor of every known type reads back") {
    gguf::writer built;
    for (const auto& type : gguf::types) {
        built.add_tensor(type.name, {2 * type.block_elements, 3}, type.number,
                         counted(6 * type.block_bytes));
    }
    const auto read = gguf::file::own(built.finish());
    for (const auto& type : gguf::types) {
        INFO(type.name);
        const auto* const found = read.find(type.name);
        REQUIRE(found != nullptr);
        CHECK(gguf::find_type(found->type) == &type);
        CHECK(same(found->bytes, counted(6 * type.block_bytes)));
    }
}

TEST_CASE("type numbers and names are unique and withdrawn numbers are unknown") {
    for (const auto& type : gguf::types) {
        CHECK(std::ranges::count(gguf::types, type.number, &gguf::type_info::number) == 1);
        CHECK(std::ranges::count(gguf::types, type.name, &gguf::type_info::name) == 1);
    }
    for (const std::uint32_t number : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 0xffffffffu}) {
        CHECK(gguf::find_type(number) == nullptr);
    }
    STATIC_REQUIRE(gguf::find_type(q4_k)->name == "q4_k");
    STATIC_REQUIRE(gguf::find_type(q4_k)->block_bytes == 144);
}

TEST_CASE("metadata of every value type is skipped to the byte") {
    constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    image built;
    built.header(1, 2 * 13 - 1);
    for (std::uint32_t type = 0; type < 13; ++type) {
        const auto name = std::to_string(type);
        if (type == string_value) {
            built.key(name, type).text("kept");
            built.key(name + " array", array_value).number(type).number(std::uint64_t{3});
            built.text("x").text("").text("yz");
        } else if (type == array_value) {
            built.key(name, type).number(u8_value).number(std::uint64_t{0});
        } else {
            built.key(name, type).zeros(sizes[type]);
            built.key(name + " array", array_value).number(type).number(std::uint64_t{3});
            built.zeros(3 * sizes[type]);
        }
    }
    built.tensor("t", {4}, i8, data_offset).pad(32).raw("data");
    const auto read = gguf::file::parse(built.stored());
    REQUIRE(read.find("t") != nullptr);
    CHECK(std::to_integer<char>(read.find("t")->bytes[3]) == 'a');
    CHECK(read.metadata_string("8") == "kept");
}

TEST_CASE("only metadata that holds a string is given as a string") {
    const auto stored = small_file();
    const auto read = gguf::file::parse(stored);
    CHECK(read.metadata_string("general.name") == "small");
    CHECK_FALSE(read.metadata_string("general.alignment"));
    CHECK_FALSE(read.metadata_string("words"));
    CHECK_FALSE(read.metadata_string("general.nam"));
}

TEST_CASE("only metadata that holds an integer is given as an integer, of any width") {
    gguf::writer out;
    out.add_u32("count", 0xfedcba98);
    out.add_string("word", "4");
    const auto written = out.finish();
    const auto read = gguf::file::parse(written);
    CHECK(read.metadata_integer("count") == 0xfedcba98);
    CHECK_FALSE(read.metadata_string("count"));
    CHECK_FALSE(read.metadata_integer("word"));
    CHECK_FALSE(read.metadata_integer("none"));
    image built;
    built.header(0, 12);
    built.key("u8", u8_value).number(std::uint8_t{0xfe}).key("i8", 1).number(std::uint8_t{0xfe});
    built.key("u16", 2).number(std::uint16_t{0xfffe}).key("i16", 3).number(std::uint16_t{0xfffe});
    built.key("i32", 5).number(0xfffffffeu).key("f32", 6).number(1u);
    built.key("bool", 7).number(std::uint8_t{1}).key("i64", 11).number(huge - 1);
    built.key("u64", u64_value).number(huge / 2).key("too large", u64_value).number(huge / 2 + 1);
    built.key("f64", 12).number(std::uint64_t{1});
    built.key("general.alignment", u32_value).number(std::uint32_t{64});
    const auto stored = built.stored();
    const auto other = gguf::file::parse(stored);
    CHECK(other.metadata_integer("u8") == 0xfe);
    CHECK(other.metadata_integer("u16") == 0xfffe);
    for (const auto* const key : {"i8", "i16", "i32", "i64"}) {
        CHECK(other.metadata_integer(key) == -2);
    }
    CHECK(other.metadata_integer("u64") == std::numeric_limits<std::int64_t>::max());
    for (const auto* const key : {"f32", "bool", "too large", "f64"}) {
        CHECK_FALSE(other.metadata_integer(key));
    }
    CHECK(other.metadata_integer("general.alignment") == 64);
}

TEST_CASE("general.alignment moves the data section and the offsets") {
    for (const std::uint32_t alignment : {1u, 8u, 64u, 4096u}) {
        image built;
        built.header(2, 1).key("general.alignment", u32_value).number(alignment);
        built.tensor("a", {4}, i8, data_offset);
        built.tensor("b", {4}, i8, std::max(alignment, 4u));
        built.pad(alignment).raw("aaaa").pad(alignment).raw("bbbb");
        const auto read = gguf::file::parse(built.stored());
        CHECK(read.alignment() == alignment);
        CHECK(std::to_integer<char>(read.find("a")->bytes[0]) == 'a');
        CHECK(std::to_integer<char>(read.find("b")->bytes[0]) == 'b');
    }
}

TEST_CASE("padding after the last tensor may be missing") {
    image built;
    built.header(1, 0).tensor("a", {5}, i8, data_offset).pad(32).zeros(5);
    CHECK(refusal(built) == "");
}

TEST_CASE("a file can be moved and copied and its bytes stay where they are") {
    static_assert(std::is_nothrow_move_constructible_v<gguf::file>);
    auto first = gguf::file::own(two_tensors().finish());
    const auto* const where = first.tensors()[0].bytes.data();
    const auto second = std::move(first);
    const auto third = std::optional(second);
    for (const auto& read : {second, *third}) {
        REQUIRE(read.find("blk.0.attn_q.weight") != nullptr);
        CHECK(read.find("blk.0.attn_q.weight")->bytes.data() == where);
        CHECK(read.metadata_string("general.name") == "two tensors");
        CHECK(sum(read) > 0);
    }
}

TEST_CASE("a file on disk is mapped with its tensors aligned") {
    const temporary_path stored;
    stored.write(two_tensors().finish());
    auto opened = gguf::file::open(stored.path());
    const auto read = std::move(opened);
    REQUIRE(read.tensors().size() == 2);
    CHECK(same(read.tensors()[0].bytes, counted(2 * 3 * 144)));
    CHECK(same(read.tensors()[1].bytes, counted(20)));
    CHECK(reinterpret_cast<std::uintptr_t>(read.tensors()[1].bytes.data()) % 32 == 0);
}

TEST_CASE("a tensor is found by its whole name only") {
    const auto read = gguf::file::own(two_tensors().finish());
    REQUIRE(read.find("blk.0.attn_norm.weight") == &read.tensors()[1]);
    CHECK(read.find("blk.0.attn_norm.weigh") == nullptr);
    CHECK(read.find("blk.0.attn_norm.weights") == nullptr);
    CHECK(read.find("") == nullptr);
}

TEST_CASE("near names come in the order of their edit distance, at most as many as asked for") {
    gguf::writer built;
    for (const auto* const name : {"abcd", "abxx", "abcx", "zzzz"}) {
        built.add_tensor(name, {1}, i8, counted(1));
    }
    built.add_tensor(std::string(129, 'a'), {1}, i8, counted(1));
    const auto read = gguf::file::own(built.finish());
    CHECK(read.near_names("abcd", 3) == std::vector<std::string>{"abcd", "abcx", "abxx"});
    CHECK(read.near_names("bcx", 1) == std::vector<std::string>{"abcx"});
    CHECK(read.near_names("", 9).size() == 4);
    CHECK(read.near_names("abcd", 0).empty());
    CHECK(read.near_names(std::string(129, 'a'), 3).empty());
}

TEST_CASE("UTF-8 is printed as it is, but for what a terminal would not show") {
    for (const std::string_view shown : {"\u5c42.0", "\u00e9\u00a0", "\u07ff\u0800\uffff",
                                         "\U0001f600", "\U0010ffff", "\xed\x9f\xbf\xee\x80\x80"}) {
        CHECK(gguf::printable(shown) == '"' + std::string(shown) + '"');
    }
    CHECK(gguf::printable("\xc2\x80\xc2\x9f") == R"("\xc2\x80\xc2\x9f")");
    CHECK(gguf::printable("a\u202eb\u200b\ufeff") == R"("a\xe2\x80\xaeb\xe2\x80\x8b\xef\xbb\xbf")");
    // Too long for their numbers, half of a pair, too large, cut short, and a continuation alone.
    CHECK(gguf::printable("\xc0\xaf") == R"("\xc0\xaf")");
    CHECK(gguf::printable("\xe0\x80\xaf") == R"("\xe0\x80\xaf")");
    CHECK(gguf::printable("\xed\xa0\x80") == R"("\xed\xa0\x80")");
    CHECK(gguf::printable("\xf4\x90\x80\x80") == R"("\xf4\x90\x80\x80")");
    CHECK(gguf::printable("\xff\xfe") == R"("\xff\xfe")");
    CHECK(gguf::printable("a\xe5\xb1") == R"("a\xe5\xb1")");
    CHECK(gguf::printable("\xe5\xb1z") == R"("\xe5\xb1z")");
    CHECK(gguf::printable("\x82") == R"("\x82")");
    // Whole characters only before the dots.
    std::string many;
    for (int i = 0; i < 100; ++i) {
        many += "\u5c42";
    }
    CHECK(gguf::printable(many) == '"' + many.substr(0, 54 * 3) + "\"...");
}

TEST_CASE("untrusted text is printed in one short line without control characters") {
    CHECK(gguf::printable("blk.0") == "\"blk.0\"");
    CHECK(gguf::printable("") == "\"\"");
    CHECK(gguf::printable("a\n\x1b[31m\x7f\xc3") == R"("a\x0a\x1b[31m\x7f\xc3")");
    CHECK(gguf::printable(std::string_view("\0", 1)) == R"("\x00")");
    CHECK(gguf::printable("a\"\\") == R"("a\"\\")");
    CHECK(gguf::printable(std::string(160, 'x')) == '"' + std::string(160, 'x') + '"');
    CHECK(gguf::printable(std::string(161, 'x')) == '"' + std::string(160, 'x') + "\"...");
    CHECK(gguf::printable(std::string(1000, '\n')).size() < 170);

    image built;
    built.header(1, 0).tensor("a\nb\x1b", {33}, q4_0, 0);
    CHECK_THAT(refusal(built), Catch::StartsWith(R"(tensor "a\x0ab\x1b": row length 33)"));
}

TEST_CASE("any shard opens the whole model, and a tensor is found wherever it is") {
    for (const int number : {1, 2, 3}) {
        const auto read = gguf::file::open(shard_of_others(number));
        REQUIRE(read.tensors().size() == 2);
        CHECK(read.tensors()[0].name == "first.weight");
        CHECK(read.tensors()[1].name == "second.weight");
        CHECK(read.find("first.weight") == &read.tensors()[0]);
        CHECK(read.find("second.weight")->bytes.size() == 5 * 2 * 18);
        CHECK(read.metadata_string("general.architecture") == "none");
        CHECK(read.metadata_integer("split.no") == 0);
        REQUIRE(read.paths().size() == 3);
        CHECK(read.paths()[0] == shard_of_others(1));
        CHECK(read.paths()[2] == shard_of_others(3));
        CHECK(sum(read) > 0);
    }
}

TEST_CASE("shards that are missing are named") {
    const temporary_path place;
    std::filesystem::create_directory(place.path());
    const auto put = [&](int number) {
        const auto from = shard_of_others(number);
        std::filesystem::copy(from, place.path() / from.filename());
        return place.path() / from.filename();
    };
    const auto second = put(2);
    CHECK(open_refusal(second) == "file \"" + second.string() +
                                      "\": belongs to a split model of 3 files, 2 are missing: "
                                      "\"split-00001-of-00003.gguf\", "
                                      "\"split-00003-of-00003.gguf\"");
    put(3);
    CHECK_THAT(open_refusal(second),
               Catch::EndsWith("1 is missing: \"split-00001-of-00003.gguf\""));
    put(1);
    CHECK(open_refusal(second) == "");
}

TEST_CASE("a shard of another name is refused with the name that it needs") {
    const temporary_path renamed;
    std::filesystem::copy(shard_of_others(2), renamed.path());
    CHECK(open_refusal(renamed.path()) ==
          "file " + renamed.quoted() +
              ": is file 2 of 3 of a split model, its name must end with "
              "\"-00002-of-00003.gguf\"");
}

TEST_CASE("a shard that is damaged, or of another place, is refused by its name") {
    const temporary_path place;
    std::filesystem::create_directory(place.path());
    for (const int number : {1, 2}) {
        std::filesystem::copy(shard_of_others(number), place.path());
    }
    const auto third = place.path() / shard_of_others(3).filename();
    std::filesystem::copy(shard_of_others(2), third);
    const auto first = place.path() / shard_of_others(1).filename();
    CHECK(open_refusal(first) == "shard 3 of 3: its metadata say that it is shard 2 of 3");
    std::ofstream(third) << "GGUF";
    CHECK(open_refusal(first) ==
          "file \"" + third.string() + "\": header: version needs 4 bytes, 0 are left in the file");
}

TEST_CASE("shards in memory are joined if they are those of one model") {
    const auto joined = [](const std::vector<image>& images) {
        std::vector<gguf::file> shards;
        for (const auto& stored : images) {
            shards.push_back(gguf::file::own(stored.stored()));
        }
        try {
            gguf::file::join(shards);
        } catch (const gguf::error& failure) {
            return std::string(failure.what());
        }
        return std::string();
    };
    CHECK(joined({shard(0, 2, "a"), shard(1, 2, "b")}) == "");
    CHECK(joined({image().header(0, 0)}) == "");
    CHECK(joined({shard(1, 2, "b"), shard(0, 2, "a")}) ==
          "shard 1 of 2: its metadata say that it is shard 2 of 2");
    CHECK(joined({shard(0, 3, "a"), shard(1, 3, "b")}) ==
          "shard 1 of 2: its metadata say that it is shard 1 of 3");
    CHECK(joined({shard(0, 2, "a"), image().header(0, 0)}) ==
          "shard 2 of 2: its metadata say that it is shard 1 of 1");
    CHECK(joined({shard(0, 2, "a"), shard(1, 2, "a")}) ==
          "tensor \"a\": name appears more than once");
    CHECK(joined({shard(0, 2, "a", 3), shard(1, 2, "b", 3)}) ==
          "metadata \"split.tensors.count\": is 3, but the shards hold 2 tensors");
}

TEST_CASE("a split of 65536 files or of a number outside its count is refused") {
    const temporary_path stored;
    const auto refusal_of = [&](const image& written) {
        stored.write(written.stored());
        return open_refusal(stored.path());
    };
    CHECK(refusal_of(shard(0, 1, "a")) == "");
    CHECK(refusal_of(shard(7, 0, "a")) == "");
    CHECK(refusal_of(shard(3, 3, "a")) ==
          "metadata \"split.no\": 3 is not 0 to 2, which \"split.count\" asks for");
    image many;
    many.header(0, 1).key("split.count", u32_value).number(65536u);
    CHECK(refusal_of(many) == "metadata \"split.count\": 65536 is more than 65535");
    image nameless;
    nameless.header(0, 1).key("split.count", 2).number(std::uint16_t{2});
    CHECK(refusal_of(nameless) ==
          "metadata \"split.no\": nothing is not 0 to 1, which \"split.count\" asks for");
}

TEST_CASE("files that the Python package gguf wrote are read, whatever kq cannot multiply") {
    const std::filesystem::path place = KQ_TEST_DATA "/gguf";
    const auto marked = gguf::file::open(place / "marked.gguf");
    REQUIRE(marked.tensors().size() == 3);
    CHECK(marked.find("__marker__")->bytes.empty());
    CHECK(marked.find("counting.weight")->bytes.size() == 3 * 34);
    CHECK(marked.find("scale")->dimensions.empty());
    CHECK(marked.find("scale")->bytes.size() == 4);

    const auto mixed = gguf::file::open(place / "mixed.gguf");
    REQUIRE(mixed.tensors().size() == 7);
    CHECK(mixed.find("conv.weight")->dimensions == std::vector<std::uint64_t>{2, 1, 2, 2, 3});
    CHECK(mixed.find("conv.weight")->bytes.size() == 4 * 24);
    CHECK(mixed.find("unknown.weight")->type == 139);
    CHECK(mixed.find("unknown.weight")->bytes.size() == 64);
    CHECK(std::to_integer<int>(mixed.find("unknown.weight")->bytes[49]) == 49);
    CHECK(mixed.find("\u5c42.0.weight")->bytes.size() == 3 * 22);
}

TEST_CASE("a path that is missing, not a regular file, empty or unreadable is refused") {
    const temporary_path stored;
    const auto name = "file " + stored.quoted();
    CHECK(open_refusal(stored.path()) == name + ": cannot be opened: No such file or directory");

    std::filesystem::create_directory(stored.path());
    CHECK(open_refusal(stored.path()) == name + ": is not a regular file");
    std::filesystem::remove(stored.path());

    REQUIRE(::mkfifo(stored.path().c_str(), 0600) == 0);
    CHECK(open_refusal(stored.path()) == name + ": is not a regular file");
    std::filesystem::remove(stored.path());

    stored.write({});
    CHECK(open_refusal(stored.path()) == name + ": is empty");

    std::filesystem::permissions(stored.path(), std::filesystem::perms::none);
    // A privileged user may read it all the same.
    if (::access(stored.path().c_str(), R_OK) != 0) {
        CHECK(open_refusal(stored.path()) == name + ": cannot be opened: Permission denied");
    }
}

TEST_CASE("a malformed file on disk is refused like one in memory") {
    const temporary_path stored;
    stored.write(image().raw("GGUF").stored());
    CHECK(open_refusal(stored.path()) == "header: version needs 4 bytes, 0 are left in the file");
}

TEST_CASE("a file that ends early is refused with the field that is cut") {
    CHECK(refusal(image()) == "header: magic needs 4 bytes, 0 are left in the file");
    CHECK(refusal(image().raw("GGU")) == "header: magic needs 4 bytes, 3 are left in the file");
    image built;
    built.raw("GGUF").number(std::uint32_t{3});
    CHECK(refusal(built) == "header: tensor_count needs 8 bytes, 0 are left in the file");
    built.zeros(10);
    CHECK(refusal(built) == "header: metadata_kv_count needs 8 bytes, 2 are left in the file");

    image value;
    value.header(0, 1).key("k", u64_value).zeros(7);
    CHECK(refusal(value) == "metadata \"k\": value needs 8 bytes, 7 are left in the file");
}

TEST_CASE("a wrong magic is refused") {
    CHECK(refusal(image().raw("GGML").zeros(20)) == R"(header: magic is "GGML", not "GGUF")");
    CHECK(refusal(image().raw(std::string(24, '\x01'))) ==
          R"(header: magic is "\x01\x01\x01\x01", not "GGUF")");
}

TEST_CASE("a version other than 2 and 3 is refused") {
    for (const std::uint32_t version : {0u, 1u, 4u, 0xffffffffu}) {
        CHECK(refusal(image().header(0, 0, version)) ==
              "header: version " + std::to_string(version) + " is not supported, only 2 and 3 are");
    }
}

TEST_CASE("a big-endian file is refused as such") {
    CHECK(refusal(image().header(0, 0, 0x03000000)) ==
          "header: version 50331648 is byte-swapped: a big-endian file, only little-endian ones "
          "are supported");
}

TEST_CASE("counts that cannot fit in the file are refused before anything is reserved") {
    CHECK(refusal(image().header(huge, 0).zeros(40)) ==
          "header: tensor_count 18446744073709551615 cannot fit in the 40 bytes left in the "
          "file");
    CHECK(refusal(image().header(2, 0).zeros(47)) ==
          "header: tensor_count 2 cannot fit in the 47 bytes left in the file");
    CHECK(refusal(image().header(0, huge)) ==
          "header: metadata_kv_count 18446744073709551615 cannot fit in the 0 bytes left in the "
          "file");
    CHECK(refusal(image().header(0, 2).zeros(25)) ==
          "header: metadata_kv_count 2 cannot fit in the 25 bytes left in the file");
}

TEST_CASE("an array length that cannot fit in the file is refused") {
    for (const std::uint32_t type : {u8_value, u64_value, string_value}) {
        // 2^61 elements of 8 bytes would wrap to nothing.
        for (const std::uint64_t length : {std::uint64_t{1} << 61, huge, std::uint64_t{17}}) {
            image built;
            built.header(0, 1).key("k", array_value).number(type).number(length).zeros(16);
            CHECK(refusal(built) == "metadata \"k\": array length " + std::to_string(length) +
                                        " cannot fit in the 16 bytes left in the file");
        }
    }
}

TEST_CASE("a string longer than the file is refused") {
    image key;
    key.header(0, 1).number(huge).raw("abcdefgh");
    CHECK(refusal(key) ==
          "metadata 0: key needs 18446744073709551615 bytes, 8 are left in the file");

    image value;
    value.header(0, 1).key("k", string_value).number(std::uint64_t{4}).raw("abc");
    CHECK(refusal(value) == "metadata \"k\": value needs 4 bytes, 3 are left in the file");

    image element;
    element.header(0, 1).key("k", array_value).number(string_value).number(std::uint64_t{1});
    element.number(std::uint64_t{9}).raw("abc");
    CHECK(refusal(element) == "metadata \"k\": array string needs 9 bytes, 3 are left in the file");

    image name;
    name.header(1, 0).number(huge - 7).zeros(40);
    CHECK(refusal(name) ==
          "tensor 0: name needs 18446744073709551608 bytes, 40 are left in the file");
}

TEST_CASE("an unknown metadata value type is refused") {
    CHECK(refusal(image().header(0, 1).key("k", 13).zeros(8)) ==
          "metadata \"k\": value type 13 is unknown, the last one is 12");
    image built;
    built.header(0, 1).key("k", array_value).number(std::uint32_t{99}).zeros(8);
    CHECK(refusal(built) == "metadata \"k\": array element type 99 is unknown, the last one is 12");
}

TEST_CASE("arrays of arrays are skipped to the byte, up to 8 deep") {
    image built;
    built.header(1, 3).key("jagged", array_value).number(array_value).number(std::uint64_t{3});
    built.number(u64_value).number(std::uint64_t{2}).zeros(16);
    built.number(string_value).number(std::uint64_t{1}).text("x");
    built.number(array_value).number(std::uint64_t{0});
    built.key("deep", array_value);
    for (int depth = 1; depth < 8; ++depth) {
        built.number(array_value).number(std::uint64_t{1});
    }
    built.number(u8_value).number(std::uint64_t{1}).zeros(1);
    built.key("after", string_value).text("kept");
    built.tensor("t", {4}, i8, data_offset).pad(32).raw("data");
    const auto read = gguf::file::parse(built.stored());
    CHECK(read.metadata_string("after") == "kept");
    CHECK(std::to_integer<char>(read.find("t")->bytes[0]) == 'd');
}

TEST_CASE("arrays nested more than 8 deep are refused, however deep") {
    for (const int most : {8, 100000}) {
        image built;
        built.header(0, 1).key("k", array_value);
        for (int depth = 0; depth < most; ++depth) {
            built.number(array_value).number(std::uint64_t{1});
        }
        built.number(u8_value).number(std::uint64_t{0});
        CHECK(refusal(built) == "metadata \"k\": arrays are nested more than 8 deep");
    }
}

TEST_CASE("an array inside an array that cannot fit in the file is refused") {
    image built;
    built.header(0, 1).key("k", array_value).number(array_value).number(std::uint64_t{2});
    built.number(array_value).number(huge).zeros(16);
    CHECK(refusal(built) == "metadata \"k\": array length 18446744073709551615 cannot fit in the "
                            "16 bytes left in the file");
}

TEST_CASE("an alignment that is not a u32 power of two is refused") {
    image wide;
    wide.header(0, 1).key("general.alignment", u64_value).number(std::uint64_t{32});
    CHECK(refusal(wide) == "metadata \"general.alignment\": value type 10 is not u32 (4)");
    for (const std::uint32_t alignment : {0u, 24u, 0xffffffffu}) {
        image built;
        built.header(0, 1).key("general.alignment", u32_value).number(alignment);
        CHECK(refusal(built) == "metadata \"general.alignment\": alignment " +
                                    std::to_string(alignment) + " is not a power of two");
    }
}

TEST_CASE("the largest alignment puts the data outside a small file") {
    image built;
    built.header(1, 1).key("general.alignment", u32_value).number(0x80000000u);
    built.tensor("a", {4}, i8, data_offset).zeros(64);
    CHECK(refusal(built) ==
          "tensor \"a\": offset 0 and 4 bytes are outside the file's 0 bytes of data");
}

TEST_CASE("a metadata key that appears twice is refused") {
    image built;
    built.header(0, 3).key("k", u8_value).zeros(1).key("j", u8_value).zeros(1);
    built.key("k", u8_value).zeros(1);
    CHECK(refusal(built) == "metadata \"k\": key appears more than once");
}

TEST_CASE("more than 64 dimensions are refused") {
    for (const std::uint32_t count : {65u, 0xffffffffu}) {
        image built;
        built.header(1, 0).text("a").number(count).zeros(1024);
        CHECK(refusal(built) ==
              "tensor \"a\": number of dimensions " + std::to_string(count) + " is more than 64");
    }
}

TEST_CASE("a tensor without dimensions is one number") {
    image built;
    built.header(2, 0).tensor("scalar", {}, f32, 0).tensor("row", {32}, q4_0, 32).pad(32);
    built.raw("1234").pad(32).zeros(18);
    const auto read = gguf::file::parse(built.stored());
    CHECK(read.find("scalar")->dimensions.empty());
    CHECK(read.find("scalar")->bytes.size() == 4);
    CHECK(read.find("row")->bytes.size() == 18);
}

TEST_CASE("a tensor with a dimension of zero has no bytes, wherever it is said to be") {
    for (const auto& dimensions :
         std::vector<std::vector<std::uint64_t>>{{0}, {32, 0}, {0, 3}, {33, 0}, {huge, huge, 0}}) {
        for (const std::uint32_t type : {f32, q4_0, 139u}) {
            for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{64}}) {
                image built;
                built.header(2, 0).tensor("marker", dimensions, type, offset);
                built.tensor("row", {32}, q4_0, 0).pad(32).zeros(18);
                const auto read = gguf::file::parse(built.stored());
                CHECK(read.find("marker")->dimensions == dimensions);
                CHECK(read.find("marker")->bytes.empty());
                CHECK(read.find("row")->bytes.size() == 18);
            }
        }
    }
}

TEST_CASE("a tensor of 5 to 64 dimensions has the bytes that they ask for") {
    for (const std::size_t count : {5u, 64u}) {
        std::vector<std::uint64_t> dimensions(count, 1);
        dimensions[1] = 3;
        image built;
        built.header(1, 0).tensor("a", dimensions, f32, data_offset).pad(32).zeros(12);
        const auto read = gguf::file::parse(built.stored());
        CHECK(read.find("a")->dimensions == dimensions);
        CHECK(read.find("a")->bytes.size() == 12);
    }
}

TEST_CASE("dimensions whose product overflows are refused") {
    const std::uint64_t half = std::uint64_t{1} << 32;
    for (const auto& dimensions : std::vector<std::vector<std::uint64_t>>{
             {half, half}, {huge, huge, huge, huge}, {32, huge}, {half, 2, half, 1}}) {
        image built;
        built.header(1, 0).tensor("a", dimensions, f32, data_offset).pad(32).zeros(64);
        CHECK(refusal(built) == "tensor \"a\": product of the dimensions overflows 64 bits");
    }
}

TEST_CASE("a size in bytes that overflows is refused") {
    image built;
    built.header(1, 0).tensor("a", {std::uint64_t{1} << 62}, f32, data_offset).pad(32);
    CHECK(refusal(built) == "tensor \"a\": size in bytes overflows 64 bits");
}

TEST_CASE("a row that is not a whole number of blocks is refused") {
    image built;
    built.header(1, 0).tensor("a", {33, 32}, q4_0, data_offset).pad(32).zeros(1024);
    CHECK(refusal(built) ==
          "tensor \"a\": row length 33 is not a multiple of the 32 elements of a q4_0 block");
}

TEST_CASE("a tensor of an unknown type ends where the next one begins, or the file") {
    for (const std::uint32_t type : {4u, 36u, 77u, 139u, 142u, 143u, 156u, 0xffffffffu}) {
        image built;
        // Not in the order of their places, and with an empty one at an unknown one's.
        built.header(4, 0).tensor("last", {7}, type, 96).tensor("known", {32}, q4_0, 64);
        built.tensor("none", {0}, f32, 0).tensor("first", {3, 5}, type, 0).pad(32);
        built.zeros(64 + 32 + 5);
        const auto read = gguf::file::parse(built.stored());
        CHECK(read.find("first")->type == type);
        CHECK(read.find("first")->dimensions == std::vector<std::uint64_t>{3, 5});
        CHECK(read.find("first")->bytes.size() == 64);
        CHECK(read.find("known")->bytes.size() == 18);
        CHECK(read.find("last")->bytes.size() == 5);
    }
    CHECK(gguf::type_name(139) == "type 139");
    CHECK(gguf::type_name(q4_k) == "q4_k");
}

TEST_CASE("a tensor of an unknown type outside the file is refused") {
    image built;
    built.header(1, 0).tensor("a", {7}, 139, 32).pad(32).zeros(32);
    CHECK(refusal(built) ==
          "tensor \"a\": offset 32 and 1 bytes are outside the file's 32 bytes of data");
}

TEST_CASE("tensors that overlap are refused by name") {
    image same_place;
    same_place.header(2, 0).tensor("a", {32}, q8_0, 0).tensor("b", {32}, q8_0, 0).pad(32);
    CHECK(refusal(same_place.zeros(64)) ==
          "tensor \"a\" overlaps tensor \"b\": it has 34 bytes from offset 0, the other begins at "
          "0");

    // Files whose q2_0 has 34 bytes for 128 weights.
    image other_blocks;
    other_blocks.header(3, 0).tensor("a", {1024, 8}, q2_0, 0).tensor("b", {1024, 8}, q2_0, 2176);
    other_blocks.tensor("c", {256, 64}, q8_0, 4352).pad(32).zeros(4352 + 64 * 8 * 34);
    CHECK(refusal(other_blocks) == "tensor \"a\" overlaps tensor \"b\": it has 2304 bytes from "
                                   "offset 0, the other begins at 2176");

    image by_a_block;
    by_a_block.header(3, 0).tensor("c", {32}, q8_0, 64).tensor("b", {64}, q8_0, 0);
    by_a_block.tensor("a", {4}, i8, 128).pad(32).zeros(132);
    CHECK(refusal(by_a_block) == "tensor \"b\" overlaps tensor \"c\": it has 68 bytes from offset "
                                 "0, the other begins at 64");

    for (const auto& [first, second] :
         {std::pair(q8_0, 139u), std::pair(139u, q8_0), std::pair(139u, 140u)}) {
        image unknown;
        unknown.header(2, 0).tensor("a", {32}, first, 0).tensor("b", {32}, second, 0).pad(32);
        CHECK_THAT(refusal(unknown.zeros(64)), Catch::Contains("\"a\" overlaps tensor \"b\""));
    }
}

TEST_CASE("an offset that is not aligned is refused") {
    image built;
    built.header(1, 0).tensor("blk.0.x", {8}, f32, 123).pad(32).zeros(256);
    CHECK(refusal(built) == "tensor \"blk.0.x\": offset 123 is not a multiple of the alignment 32");
}

TEST_CASE("a tensor that ends outside the file is refused") {
    image built;
    built.header(2, 0).tensor("a", {8}, f32, 0).tensor("b", {9}, f32, 32).pad(32).zeros(67);
    CHECK(refusal(built) ==
          "tensor \"b\": offset 32 and 36 bytes are outside the file's 67 bytes of data");

    image far;
    far.header(1, 0).tensor("a", {8}, f32, huge - 31).pad(32).zeros(64);
    CHECK(refusal(far) == "tensor \"a\": offset 18446744073709551584 and 32 bytes are outside "
                          "the file's 64 bytes of data");

    image long_tensor;
    long_tensor.header(1, 0).tensor("a", {huge}, i8, 32).pad(32).zeros(64);
    CHECK(refusal(long_tensor) == "tensor \"a\": offset 32 and 18446744073709551615 bytes are "
                                  "outside the file's 64 bytes of data");
}

TEST_CASE("a tensor name that appears twice is refused") {
    image built;
    built.header(3, 0).tensor("a", {8}, f32, 0).tensor("b", {8}, f32, 0);
    built.tensor("a", {8}, f32, 0).pad(32).zeros(32);
    CHECK(refusal(built) == "tensor \"a\": name appears more than once");
}

TEST_CASE("a file of many tensors is read and searched") {
    constexpr int count = 50000;
    image built;
    built.header(count, 0);
    for (int i = 0; i < count; ++i) {
        built.tensor(std::to_string(i), {8}, f32, 32u * static_cast<unsigned>(i));
    }
    built.pad(32).zeros(32 * count);
    const auto read = gguf::file::parse(built.stored());
    bool all_found = true;
    for (int i = 0; i < count; ++i) {
        all_found = all_found && read.find(std::to_string(i)) == &read.tensors()[i];
    }
    CHECK(all_found);
}

TEST_CASE("the writer refuses what the reader would refuse and bytes that do not fill a shape") {
    gguf::writer twice;
    twice.add_tensor("a", {1}, i8, counted(1));
    twice.add_tensor("a", {1}, i8, counted(1));
    CHECK_THROWS_WITH(twice.finish(), "tensor \"a\": name appears more than once");

    gguf::writer spare;
    spare.add_tensor("a", {2}, i8, counted(3));
    CHECK_THROWS_WITH(spare.finish(),
                      "tensor \"a\": 3 bytes were given, its dimensions and type ask for 2");

    gguf::writer scant;
    scant.add_tensor("a", {40}, i8, counted(3));
    CHECK_THROWS_AS(scant.finish(), gguf::error);
}

TEST_CASE("every truncation of a file is refused") {
    const auto whole = small_file();
    REQUIRE(refusal(whole) == "");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        INFO("the first " << size << " bytes");
        CHECK(refusal(part) != "");
        CHECK(survives(part));
    }
}

TEST_CASE("every corruption of one byte is refused or leaves a file that can be read") {
    const auto whole = small_file();
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const auto flipped = whole[i] ^ std::byte{0x80};
        for (const std::byte changed : {std::byte{0x00}, std::byte{0xff}, flipped}) {
            auto damaged = whole;
            damaged[i] = changed;
            INFO("byte " << i << " set to " << std::to_integer<int>(changed));
            CHECK(survives(damaged));
        }
    }
}
