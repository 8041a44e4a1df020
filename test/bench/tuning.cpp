// SPDX-License-Identifier: Apache-2.0
#include "tuning_file.hpp"
#include "tuning_options.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>

namespace {

const std::vector<std::string> q4_k_only{"q4_k"};

/// What a refusal of these options says; empty if they are not refused.
std::string refused(const bench::tuning_options& options,
                    const std::vector<std::string>& known = q4_k_only) {
    try {
        bench::problems_of(options, known);
        return {};
    } catch (const bench::refusal& r) {
        return r.what();
    }
}

/// A file that is removed with its owner.
struct scratch_file {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("kq_tuning_" + std::to_string(getpid()) + ".csv");
    scratch_file() { std::filesystem::remove(path); }
    ~scratch_file() { std::filesystem::remove(path); }
    std::string text() const {
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
};

} // namespace

TEST_CASE("kq_tune refuses what it cannot measure, by name") {
    const auto with = [](auto field, std::vector<std::string> values) {
        bench::tuning_options o{.encodings = {"q4_k"}};
        o.*field = std::move(values);
        return o;
    };
    using o = bench::tuning_options;
    for (const char* batch : {"0", "-1", "65", "3x", "three", "", "4.5", "99999999999999999999"}) {
        CHECK(refused(with(&o::batches, {"1", batch})) ==
              "--batches: \"" + std::string(batch) + "\" is not one of 1 to 64");
    }
    for (const char* shape : {"4096", "4096x", "x4096", "4096x4096x1", "0x4096", "4096x-256",
                              "4096 x 4096", "4096*4096", "axb", "", "4096x99999999999"}) {
        CHECK(refused(with(&o::shapes, {shape})) ==
              "--shapes: \"" + std::string(shape) + "\" is not n x k, such as 4096x14336");
    }
    CHECK(refused(with(&o::shapes, {"4096x4000"})) ==
          "--shapes: 4000 columns of q4_k are not whole blocks of 256");
    for (const char* experts : {"64x2048x7168", "64x2048x7168x0", "64"}) {
        CHECK(refused(with(&o::experts, {experts})) ==
              "--experts: \"" + std::string(experts) +
                  "\" is not experts x n x k x experts of a token, such as 64x2048x7168x8");
    }
    CHECK(refused(with(&o::experts, {"4x2048x7168x8"})) ==
          "--experts: \"4x2048x7168x8\" has a token with more experts than there are, or more than "
          "65536");
    CHECK(refused(with(&o::experts, {"64x1000x7168x8"})) ==
          "--experts, the way back: 1000 columns of q4_k are not whole blocks of 256");
}

TEST_CASE("kq_tune refuses unknown encodings and those that it has no candidates of") {
    CHECK(refused({.encodings = {"q4k"}}).starts_with("--encodings: q4k is none of q4_0, "));
    CHECK(refused({.encodings = {"q4_k", "q5_k"}}) ==
          "--encodings: this kq_tune has candidates of q4_k only, not of q5_k; the one that preset "
          "benchmarks builds has those of all");
    CHECK_THAT(refused({}), Catch::Contains("preset benchmarks"));
    CHECK(refused({.encodings = {"q4_k"}}).empty());
}

TEST_CASE("kq_tune measures every number of activation rows from 1 to 64, and an expert product "
          "three ways") {
    bench::tuning_options options{.encodings = {"q4_k"},
                                  .shapes = {"512x4096"},
                                  .experts = {"64x2048x7168x8"},
                                  .batches = {}};
    for (int m = 1; m <= 64; ++m) {
        options.batches.push_back(std::to_string(m));
    }
    const auto problems = bench::problems_of(options, q4_k_only);
    REQUIRE(problems.size() == 64 + 3);
    CHECK(problems[2].name() == "q4_k,dense,512,4096,3,0");
    CHECK(problems[66].name() == "q4_k,experts_sum,7168,2048,8,64");
}

TEST_CASE("what was measured is found again on the same device only") {
    const scratch_file file;
    {
        bench::tuning_file log(file.path, "NVIDIA H200", 90);
        CHECK(log.find("a,b") == nullptr);
        log.add("a,b", {1.5, 2.5, 3.5});
    }
    CHECK(file.text() ==
          std::string(bench::tuning_file::head) + "\nNVIDIA H200,90,a,b,1.5,2.5,3.5\n");
    const bench::tuning_file same(file.path, "NVIDIA H200", 90);
    REQUIRE(same.find("a,b") != nullptr);
    CHECK(*same.find("a,b") == bench::tuning_file::times{1.5, 2.5, 3.5});
    const bench::tuning_file other(file.path, "NVIDIA H100", 90);
    CHECK(other.find("a,b") == nullptr);
    const bench::tuning_file other_capability(file.path, "NVIDIA H200", 100);
    CHECK(other_capability.find("a,b") == nullptr);
}

TEST_CASE("a line that was cut off is measured again, and the next one begins below it") {
    const scratch_file file;
    std::ofstream(file.path) << bench::tuning_file::head << "\nNVIDIA H200,90,a,b,1.5,2.5,3";
    {
        bench::tuning_file log(file.path, "NVIDIA H200", 90);
        CHECK(log.find("a,b") == nullptr);
        log.add("a,b", {1.5, 2.5, 3.5});
    }
    CHECK(file.text().ends_with("2.5,3\nNVIDIA H200,90,a,b,1.5,2.5,3.5\n"));
    const bench::tuning_file again(file.path, "NVIDIA H200", 90);
    REQUIRE(again.find("a,b") != nullptr);
    CHECK((*again.find("a,b"))[2] == 3.5);
}

TEST_CASE("a file of times without the device is refused") {
    const scratch_file file;
    std::ofstream(file.path) << "encoding,kind,n,k,batch,experts,policy,us,us_dependent,us_pair\n";
    CHECK_THROWS_WITH(bench::tuning_file(file.path, "NVIDIA H200", 90),
                      Catch::Contains("without the device"));
}
