// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/blocks/all.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/program.hpp"
#include "gguf/writer.hpp"
#include "scratch.hpp"

namespace {

namespace fs = std::filesystem;
using arguments = std::vector<std::string>;
using nlohmann::json;

std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    REQUIRE(in);
    return {std::istreambuf_iterator<char>(in), {}};
}

template <class Value>
void write(const std::string& path, const std::vector<Value>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    REQUIRE(out.flush());
}

std::vector<float> numbers_of(const std::string& path) {
    const std::string bytes = content_of(path);
    REQUIRE(bytes.size() % sizeof(float) == 0);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::ranges::copy(bytes, reinterpret_cast<char*>(numbers.data()));
    return numbers;
}

struct outcome {
    int code;
    std::string out;
    std::string err;
};

/// Starts the tool in the environment of this process, with `setting` put before it.
pid_t start(const arguments& given, const std::string& out, const std::string& err,
            std::string setting = "KQ_TOOL_TEST=1") {
    arguments words{KQ_TOOL};
    words.insert(words.end(), given.begin(), given.end());
    std::vector<char*> argv;
    for (auto& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    std::vector<char*> environment{setting.data()};
    for (char** variable = environ; *variable != nullptr; ++variable) {
        environment.push_back(*variable);
    }
    environment.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    REQUIRE(::posix_spawn_file_actions_init(&actions) == 0);
    constexpr int mode = O_WRONLY | O_CREAT | O_TRUNC;
    REQUIRE(::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), mode, 0600) == 0);
    REQUIRE(::posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), mode, 0600) == 0);
    pid_t child = 0;
    REQUIRE(::posix_spawn(&child, KQ_TOOL, &actions, nullptr, argv.data(), environment.data()) ==
            0);
    ::posix_spawn_file_actions_destroy(&actions);
    return child;
}

/// Runs the tool in the environment of this process, with `setting` put before it.
outcome run(const arguments& given, const std::string& setting = "KQ_TOOL_TEST=1") {
    const scratch captured;
    const std::string out = captured.at("out");
    const std::string err = captured.at("err");
    const pid_t child = start(given, out, err, setting);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out), content_of(err)};
}

/// What every run without a GPU in sight starts from.
outcome run_without_gpu(const arguments& given) {
    return run(given, "CUDA_VISIBLE_DEVICES=");
}

void require_refusal(const outcome& refused, const std::vector<std::string>& words) {
    INFO("stderr: " << refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err.starts_with("gguf_gemv: "));
    CHECK(std::ranges::count(refused.err, '\n') == 1);
    CHECK(refused.err.ends_with('\n'));
    for (const auto& word : words) {
        CHECK_THAT(refused.err, Catch::Contains(word));
    }
}

json json_from(const arguments& given) {
    const outcome ran = run(given);
    INFO("stderr: " << ran.err);
    REQUIRE(ran.code == 0);
    CHECK(ran.err.empty());
    return json::parse(ran.out);
}

/// Whether the tool finds a GPU.
bool has_gpu() {
    const outcome tried = run({"--device", "cuda", "--tensor", "q8_0.weight"});
    if (tried.code == 2 && tried.err.find("needs a GPU") != std::string::npos) {
        WARN("skipped: no GPU");
        return false;
    }
    return true;
}

/// Requires that GPU and host write the same bytes.
void require_equal_bits(const arguments& given) {
    const scratch place;
    for (const std::string device : {"cuda", "host"}) {
        arguments all = given;
        all.insert(all.end(), {"--device", device, "--output", place.at(device), "--check"});
        const outcome ran = run(all);
        INFO(ran.out << ran.err);
        REQUIRE(ran.code == 0);
    }
    CHECK(content_of(place.at("cuda")) == content_of(place.at("host")));
}

/// q8_0 blocks [3, 1] of k = 32, in which every weight of row r is r + 1.
std::vector<kq::q8_0::block> counting_blocks() {
    std::vector<kq::q8_0::block> blocks(3);
    for (std::size_t r = 0; r < blocks.size(); ++r) {
        blocks[r].d = kq::to_f16(1.0f);
        std::ranges::fill(blocks[r].q, static_cast<std::int8_t>(r + 1));
    }
    return blocks;
}

/// A file that the Python package gguf wrote.
std::string of_others(const std::string& name) {
    return KQ_TEST_DATA "/gguf/" + name;
}

constexpr auto q8_0 = static_cast<std::uint32_t>(kq::encoding::q8_0);

/// A tensor [3, 32], and the same rows as three experts.
std::vector<std::byte> counting_model() {
    gguf::writer out;
    const auto blocks = counting_blocks();
    out.add_tensor("experts", {32, 1, 3}, q8_0, std::as_bytes(std::span(blocks)));
    out.add_tensor("counting", {32, 3}, q8_0, std::as_bytes(std::span(blocks)));
    return out.finish();
}

/// The same model, with tensor data at an odd address.
std::vector<std::byte> misaligned_counting_model() {
    std::vector<std::byte> image;
    const auto put = [&image](const auto& value) {
        std::ranges::copy(std::as_bytes(std::span(&value, 1)), std::back_inserter(image));
    };
    const auto text = [&](std::string_view words) {
        put(std::uint64_t{words.size()});
        std::ranges::transform(words, std::back_inserter(image),
                               [](char c) { return static_cast<std::byte>(c); });
    };
    put(std::array{'G', 'G', 'U', 'F'});
    put(std::uint32_t{3});
    put(std::uint64_t{1}); // tensors
    put(std::uint64_t{1}); // metadata
    text("general.alignment");
    put(std::uint32_t{4}); // a u32
    put(std::uint32_t{1});
    text("counting");
    put(std::uint32_t{2}); // dimensions
    put(std::uint64_t{32});
    put(std::uint64_t{3});
    put(q8_0);
    put(std::uint64_t{0}); // offset
    const auto blocks = counting_blocks();
    std::ranges::copy(std::as_bytes(std::span(blocks)), std::back_inserter(image));
    return image;
}

/// Two rows of 32: ones and twos.
std::vector<float> counting_activation() {
    std::vector<float> x(64, 1.0f);
    std::fill(x.begin() + 32, x.end(), 2.0f);
    return x;
}

void require_counting_product(const std::vector<float>& output) {
    REQUIRE(output.size() == 2 * 3);
    for (int j = 0; j < 2; ++j) {
        for (int r = 0; r < 3; ++r) {
            CHECK(output[static_cast<std::size_t>(3 * j + r)] ==
                  Approx(32.0 * (j + 1) * (r + 1)).epsilon(1e-3));
        }
    }
}

} // namespace

TEST_CASE("every wrong argument is refused with one line that names the field and the rule") {
    const scratch place;
    write(place.at("short.f32"), std::vector<float>(100));
    write(place.at("rows.f32"), std::vector<float>(2 * 2048));
    write(place.at("odd"), std::vector<char>(2049));
    write(place.at("empty"), std::vector<char>{});
    const auto before = place.names();
    const std::string output = place.at("y.f32");
    const std::string rows = place.at("rows.f32");

    const struct {
        arguments given;
        std::vector<std::string> words;
    } cases[] = {
        {{place.at("none.gguf")}, {"model", "none.gguf", "No such file"}},
        {{place.at("")}, {"model", "not a regular file"}},
        {{place.at("empty")}, {"model", "is empty"}},
        {{rows}, {"model", "magic"}},
        {{"--tensor", "q4_k.weigth"}, {"tensor", "not in the model", "\"q4_k.weight\""}},
        {{"--tensor", "norm.weight"}, {"tensor", "f32 is not a block encoding kq multiplies"}},
        {{"--tensor", "two\nlines"}, {"tensor", "two\\x0alines"}},
        {{"--policy", "best"}, {"policy", "\"best\" is not one of tuned, warp, batch<4>"}},
        {{"--policy", "subwarp"}, {"policy", "is not one of tuned, warp"}},
        {{"--ids", "0"}, {"ids", "needs --tensor, --gate-up, or --gate and --up"}},
        {{"--experts"}, {"experts", "needs --tensor, --gate-up, or --gate and --up"}},
        {{"--experts=no"}, {"experts: takes no value\n"}},
        {{"--tensor", "q4_k.weight", "--ids", "0"},
         {"experts", "\"q4_k.weight\" of shape 512 x 2048", "three dimensions"}},
        {{"--tensor", "q4_k.weight", "--experts"}, {"experts", "three dimensions"}},
        {{"--tensor", "experts.weight", "--ids", ""}, {"ids", "is not an integer"}},
        {{"--tensor", "experts.weight", "--ids", "1,,2"}, {"ids", "is not an integer"}},
        {{"--tensor", "experts.weight", "--ids", "1,2,"}, {"ids", "is not an integer"}},
        {{"--tensor", "experts.weight", "--ids", "1, 2"}, {"ids", "\" 2\" is not an integer"}},
        {{"--tensor", "experts.weight", "--ids", "2147483648"}, {"ids", "is not an integer"}},
        {{"--tensor", "experts.weight", "--ids", "0", "--batch", "1"},
         {"ids", "cannot be combined with --batch"}},
        {{"--tensor", "experts.weight", "--experts", "--batch", "1"},
         {"experts", "cannot be combined with --batch"}},
        {{"--tensor", "experts.weight", "--ids", "0", "--policy", "batch<4>"},
         {"policy", "batch<4> cannot be combined with --ids, only tuned can"}},
        {{"--tensor", "experts.weight", "--ids", "0,1,2", "--activation", rows},
         {"activation", "16384 bytes is not 3 rows of k = 1024"}},
        {{"--gate", "gate.weight"}, {"gate", "needs --up too"}},
        {{"--up", "up.weight"}, {"up", "needs --gate too"}},
        {{"--gate", "gate.weight", "--up", "none"}, {"up", "not in the model"}},
        {{"--gate", "none", "--up", "up.weight"}, {"gate", "not in the model"}},
        {{"--gate", "norm.weight", "--up", "norm.weight"}, {"gate", "cannot be multiplied"}},
        {{"--gate", "q4_k.weight", "--up", "q6_k.weight"},
         {"up", "\"q6_k.weight\" is q6_k 512 x 2048", "\"q4_k.weight\" is q4_k 512 x 2048"}},
        {{"--gate", "q6_k.weight", "--up", "up.weight"},
         {"up", "\"up.weight\" is q6_k 256 x 1024", "\"q6_k.weight\" is q6_k 512 x 2048"}},
        {{"--gate", "gate.weight", "--up", "up.weight", "--tensor", "q6_k.weight"},
         {"gate", "cannot be combined with --tensor"}},
        {{"--gate", "gate.weight", "--up", "up.weight", "--policy", "batch<4>"},
         {"policy", "batch<4> cannot be combined with --gate"}},
        {{"--gate", "gate.weight", "--up", "up.weight", "--ids", "0"},
         {"experts", "\"gate.weight\" of shape 256 x 1024", "three dimensions"}},
        {{"--device", "tpu"}, {"device", "\"tpu\" is not one of auto, cuda, host"}},
        {{"--batch", "0"}, {"batch", "is not an integer from 1"}},
        {{"--batch", "-3"}, {"batch", "is not an integer from 1"}},
        {{"--batch", "2.5"}, {"batch", "is not an integer from 1"}},
        {{"--batch", "99999999999999999999"}, {"batch", "is not an integer from 1"}},
        {{"--batch", "1000000000000"}, {"batch", "too many", "2^30 bytes"}},
        {{"--batch"}, {"batch: needs a value\n"}},
        {{"--batch", "1", "--batch", "2"}, {"batch: must be given once at most\n"}},
        {{"--tensor", "a", "--tensor", "b"}, {"tensor: must be given once at most\n"}},
        {{"--seed", "-1"}, {"seed", "is not an integer from 0"}},
        {{"--seed", "x"}, {"seed", "is not an integer from 0"}},
        {{"--seed", "18446744073709551616"}, {"seed", "is not an integer from 0"}},
        {{"--activation", place.at("none")}, {"activation", "No such file"}},
        {{"--activation", place.at("")}, {"activation", "not a regular file"}},
        {{"--activation", place.at("odd")}, {"activation", "2049 bytes"}},
        {{"--activation", place.at("empty")}, {"activation", "0 bytes"}},
        {{"--activation", place.at("short.f32")}, {"activation", "400 bytes", "k = 2048"}},
        {{"--activation", rows, "--batch", "3", "--tensor", "q4_k.weight"},
         {"activation", "16384 bytes is not 3 rows of k = 2048"}},
        {{"--output", output}, {"output", "one tensor", "--tensor"}},
        {{"--list", "--check"}, {"list", "--check"}},
        {{"--list", "--tensor", "q4_k.weight"}, {"list", "--tensor"}},
        {{"--list", "--output", output}, {"list", "--output"}},
        {{"--list", "--ids", "0"}, {"list", "--ids"}},
        {{"--list", "--gate", "gate.weight"}, {"list", "--gate"}},
        {{"--check=no"}, {"check: takes no value\n"}},
        {{"--fast"}, {"\"--fast\"", "neither an option"}},
        {{place.at("a.gguf"), place.at("b.gguf")}, {"b.gguf", "neither an option"}},
        {{"--tensor", "q4_k.weight", "--output", place.at("")}, {"output", "has no name"}},
        {{"--tensor", "q4_k.weight", "--output", place.at(".")}, {"output", "regular file"}},
        {{"--tensor", "q4_k.weight", "--output", place.at("no/y")}, {"output", "No such file"}},
        {{"--tensor", "q4_k.weight", "--output", "/dev/full"}, {"output", "regular file"}},
        {{"--tensor", "q4_k.weight", "--output", "-"},
         {"output", "standard output has the report"}},
        {{"--tensor", "q4_k.weight", "--activation", rows, "--output", rows},
         {"output", "is an input too"}},
        {{"--tensor", "q4_k.weight", "--output", output, "--policy", "best"}, {"policy"}},
        {{"--tensor", "q4_k.weight", "--output", output, "--batch", "0"}, {"batch"}},
    };
    for (const auto& [given, words] : cases) {
        std::string line;
        for (const auto& word : given) {
            line += word + " ";
        }
        INFO("arguments: " << line);
        require_refusal(run(given), words);
        CHECK(place.names() == before);
    }
}

TEST_CASE("a GPU that is not there is refused, and leaves no output") {
    const scratch place;
    require_refusal(run_without_gpu({"--device", "cuda", "--tensor", "q4_k.weight", "--output",
                                     place.at("y.f32")}),
                    {"device", "cuda needs a GPU"});
    CHECK(place.names().empty());
}

TEST_CASE("auto without a GPU takes the host and says why") {
    const outcome text = run_without_gpu({"--tensor", "q8_0.weight"});
    CHECK(text.code == 0);
    CHECK_THAT(text.out, Catch::Contains("device: host") && Catch::Contains("no GPU: ") &&
                             Catch::Contains("NVIDIA driver") && !Catch::Contains("cudaError"));
    const outcome object = run_without_gpu({"--tensor", "q8_0.weight", "--json"});
    const json parsed = json::parse(object.out);
    CHECK(parsed.at("device") == "host");
    CHECK_THAT(parsed.at("device_reason").get<std::string>(), Catch::Contains("no GPU"));
}

TEST_CASE("a file cut short is refused in the reader's words") {
    const scratch place;
    auto image = counting_model();
    image.resize(image.size() - 40);
    write(place.at("cut.gguf"), image);
    require_refusal(run({place.at("cut.gguf"), "--list"}),
                    {"model", "tensor \"counting\"", "outside the file"});
}

TEST_CASE("any shard of a split model multiplies the tensors of all, under the name of the first") {
    const std::string first = of_others("split-00001-of-00003.gguf");
    for (const auto* const shard : {"1", "2", "3"}) {
        const std::string path = of_others(std::string("split-0000") + shard + "-of-00003.gguf");
        const json all = json_from({path, "--device", "host", "--check", "--json"});
        CHECK(all.at("model") == first);
        REQUIRE(all.at("results").size() == 2);
        CHECK(all.at("results").at(0).at("tensor") == "first.weight");
        CHECK(all.at("results").at(1).at("tensor") == "second.weight");
        const json one =
            json_from({path, "--device", "host", "--tensor", "second.weight", "--check", "--json"});
        CHECK(one.at("results").at(0).at("n") == 5);
        CHECK(json_from({path, "--list", "--json"}).at("tensors").size() == 2);
    }
}

TEST_CASE("a missing shard is named, and no shard is overwritten") {
    const scratch place;
    const auto copy = [&](const std::string& name) { fs::copy(of_others(name), place.path()); };
    copy("split-00001-of-00003.gguf");
    copy("split-00003-of-00003.gguf");
    const std::string third = place.at("split-00003-of-00003.gguf");
    require_refusal(run({third, "--list"}), {"model", "3 files", "split-00002-of-00003.gguf"});
    copy("split-00002-of-00003.gguf");
    require_refusal(run({place.at("split-00001-of-00003.gguf"), "--tensor", "second.weight",
                         "--output", third}),
                    {"output", "is an input too"});
}

TEST_CASE("what kq cannot multiply is listed with its reason and skipped") {
    const auto reasons_of = [](const std::string& name) {
        std::map<std::string, std::string> reasons;
        const json list = json_from({of_others(name), "--list", "--json"});
        for (const json& tensor : list.at("tensors")) {
            reasons[tensor.at("name")] = tensor.value("reason", "");
        }
        return reasons;
    };
    const std::string f32 = "f32 is not a block encoding kq multiplies";
    CHECK(reasons_of("marked.gguf") ==
          std::map<std::string, std::string>{
              {"__marker__", "dimension 0 is zero"}, {"counting.weight", ""}, {"scale", f32}});
    CHECK(reasons_of("mixed.gguf") ==
          std::map<std::string, std::string>{{"norm.weight", f32},
                                             {"q4_1.weight", ""},
                                             {"q8_0.weight", ""},
                                             {"conv.weight", f32},
                                             {"unknown.weight", "type 139 is unknown"},
                                             {"\u5c42.0.weight", ""},
                                             {"norm2.weight", f32}});
    const json marked =
        json_from({of_others("marked.gguf"), "--device", "host", "--check", "--json"});
    CHECK(marked.at("results").size() == 1);
    CHECK(marked.at("skipped") == 2);
    const json mixed =
        json_from({of_others("mixed.gguf"), "--device", "host", "--check", "--json"});
    CHECK(mixed.at("results").size() == 3);
    CHECK(mixed.at("skipped") == 4);
    require_refusal(run({of_others("mixed.gguf"), "--tensor", "unknown.weight"}),
                    {"tensor", "type 139 is unknown"});
    require_refusal(run({of_others("marked.gguf"), "--tensor", "__marker__"}),
                    {"tensor", "dimension 0 is zero"});
    const outcome list = run({of_others("marked.gguf"), "--list"});
    CHECK_THAT(list.out, Catch::Contains("scalar"));
}

TEST_CASE("a name can be given as it is printed, UTF-8 and control characters included") {
    const scratch place;
    const auto blocks = counting_blocks();
    gguf::writer out;
    for (const std::string name : {"\u5c42.0", "a\nb", "\xff"}) {
        out.add_tensor(name, {32, 3}, q8_0, std::as_bytes(std::span(blocks)));
    }
    const std::string model = place.at("model.gguf");
    write(model, out.finish());
    for (const std::string printed : {"\u5c42.0", "a\\x0ab", "\\xff"}) {
        const outcome list = run({model, "--list"});
        CHECK_THAT(list.out, Catch::Contains('"' + printed + '"'));
        const outcome ran = run({model, "--device", "host", "--tensor", printed});
        CHECK(ran.code == 0);
        CHECK_THAT(ran.out, Catch::Contains('"' + printed + '"'));
    }
    CHECK(run({model, "--device", "host", "--tensor", "a\nb"}).code == 0);
}

TEST_CASE("blocks of five dimensions are skipped") {
    const scratch place;
    const auto blocks = counting_blocks();
    gguf::writer out;
    out.add_tensor("five", {32, 1, 1, 1, 3}, q8_0, std::as_bytes(std::span(blocks)));
    out.add_tensor("four", {32, 1, 1, 3}, q8_0, std::as_bytes(std::span(blocks)));
    write(place.at("model.gguf"), out.finish());
    const json list = json_from({place.at("model.gguf"), "--list", "--json"});
    CHECK(list.at("tensors").at(0).at("reason") == "5 dimensions are more than 4");
    const json all = json_from({place.at("model.gguf"), "--device", "host", "--check", "--json"});
    REQUIRE(all.at("results").size() == 1);
    CHECK(all.at("results").at(0).at("tensor") == "four");
}

TEST_CASE("tensors that overlap are refused by name") {
    const scratch place;
    auto image = counting_model();
    const std::string offset("\x80\0\0\0\0\0\0\0", 8); // of the second tensor
    const auto found = std::ranges::search(
        image, offset, [](std::byte a, char b) { return static_cast<char>(a) == b; });
    REQUIRE(!found.empty());
    found.front() = std::byte{0x40};
    write(place.at("model.gguf"), image);
    require_refusal(run({place.at("model.gguf"), "--list"}),
                    {"model", "tensor \"experts\" overlaps tensor \"counting\""});
}

TEST_CASE("a model with nothing to multiply is refused") {
    const scratch place;
    gguf::writer out;
    const std::vector<float> ones(8, 1.0f);
    out.add_tensor("norm", {8}, 0, std::as_bytes(std::span(ones)));
    write(place.at("norm.gguf"), out.finish());
    require_refusal(run({place.at("norm.gguf"), "--check"}), {"model", "no tensor"});
    CHECK(run({place.at("norm.gguf"), "--list"}).code == 0);
}

TEST_CASE("a refused run leaves an output of an earlier one alone") {
    const scratch place;
    write(place.at("y.f32"), std::vector<float>{1, 2, 3});
    const std::string before = content_of(place.at("y.f32"));
    require_refusal(run({"--tensor", "none", "--output", place.at("y.f32")}), {"tensor"});
    CHECK(content_of(place.at("y.f32")) == before);
    CHECK(place.names() == std::vector<std::string>{"y.f32"});
}

TEST_CASE("help names every option and how time is measured") {
    const outcome help = run({"--help"});
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    for (const auto* const word :
         {"--list", "--tensor", "--batch", "--activation", "--seed", "--policy", "--device",
          "--output", "--check", "--json", "L2 cache", "median", "--gate", "--up", "--experts",
          "--ids", "batch<4>"}) {
        CHECK_THAT(help.out, Catch::Contains(word));
    }
}

TEST_CASE("help fits into 80 columns") {
    std::istringstream lines(run({"--help"}).out);
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(line.size() <= 80);
    }
}

TEST_CASE("the list says of every tensor whether kq can multiply it") {
    const json list = json_from({"--list", "--json"});
    CHECK(list.at("model") == "synthetic");
    for (const json& tensor : list.at("tensors")) {
        const bool is_f32 = tensor.at("encoding") == "f32";
        CHECK(tensor.at("multipliable") == !is_f32);
        CHECK(tensor.contains("reason") == is_f32);
    }
    const json& first = list.at("tensors").at(0);
    CHECK(first.at("name") == "q4_0.weight");
    CHECK(first.at("shape") == json{512, 2048});
    CHECK(first.at("bytes") == 512 * 2048 / 32 * 18);

    const outcome text = run({"--list"});
    CHECK(text.code == 0);
    CHECK(std::ranges::count(text.out, '\n') ==
          static_cast<std::ptrdiff_t>(list.at("tensors").size()));
    CHECK_THAT(text.out, Catch::Contains("no, f32 is not a block encoding kq multiplies"));
    CHECK_THAT(text.out, Catch::Contains("4 x 64 x 1024"));
}

TEST_CASE("every encoding passes the check on the host") {
    const json report = json_from({"--device", "host", "--check", "--json"});
    CHECK(report.at("device") == "host");
    std::vector<std::string> encodings;
    for (const json& result : report.at("results")) {
        INFO(result);
        encodings.push_back(result.at("encoding"));
        CHECK(result.at("check").at("passed") == true);
        CHECK(result.at("check").at("nmse") <= 1e-6);
        CHECK(result.at("check").at("nmse_unquantized") > 0);
        CHECK(result.at("check").at("nmse_unquantized") <= 5e-4);
        CHECK(result.at("check").at("rows_checked") == result.at("n"));
        CHECK(result.at("seconds") > 0);
        CHECK(!result.contains("policy")); // means nothing on the host
    }
#define KQ_ENTRY(name, gguf_type) CHECK(std::ranges::count(encodings, #name) >= 1);
    KQ_ENCODINGS(KQ_ENTRY)
#undef KQ_ENTRY
}

TEST_CASE("a glob chooses the tensors that match it and that kq multiplies") {
    const json some = json_from({"--device", "host", "--tensor", "q[45]_k.*", "--json"});
    REQUIRE(some.at("results").size() == 2);
    CHECK(some.at("results").at(0).at("tensor") == "q4_k.weight");
    CHECK(some.at("results").at(1).at("tensor") == "q5_k.weight");
    CHECK(some.at("skipped") == 0);
    const json mixed =
        json_from({of_others("mixed.gguf"), "--device", "host", "--tensor", "*.weight", "--json"});
    CHECK(mixed.at("results").size() == 3);
    CHECK(mixed.at("skipped") == 4);
    const json experts = json_from(
        {"--device", "host", "--tensor", "experts.*", "--ids", "3,0", "--check", "--json"});
    REQUIRE(experts.at("results").size() == 2);
    CHECK(experts.at("results").at(1).at("ids") == json{3, 0});
    require_refusal(run({"--tensor", "norm*"}),
                    {"tensor", "\"norm*\" matches no tensor that kq multiplies, but 1 f32"});
    require_refusal(run({"--tensor", "none*"}), {"tensor", "\"none*\" is not in the model"});
    require_refusal(run({"--tensor", "q*", "--experts"}), {"experts", "three dimensions"});
    require_refusal(run({"--gate", "gate.*", "--up", "up.weight"}), {"gate", "not in the model"});
}

TEST_CASE("a tensor whose name is a glob is chosen by its name alone") {
    const scratch place;
    const auto blocks = counting_blocks();
    gguf::writer out;
    for (const std::string name : {"*", "other"}) {
        out.add_tensor(name, {32, 3}, q8_0, std::as_bytes(std::span(blocks)));
    }
    write(place.at("model.gguf"), out.finish());
    const json one =
        json_from({place.at("model.gguf"), "--device", "host", "--tensor", "*", "--json"});
    REQUIRE(one.at("results").size() == 1);
    CHECK(one.at("results").at(0).at("tensor") == "*");
}

TEST_CASE("what is skipped is counted by its kind, the most frequent first") {
    const outcome text = run({of_others("mixed.gguf"), "--device", "host"});
    CHECK_THAT(text.out,
               Catch::EndsWith("skipped, since kq cannot multiply them: 3 f32, 1 type 139\n"));
    const json object = json_from({of_others("mixed.gguf"), "--device", "host", "--json"});
    CHECK(object.at("skipped_by_kind") == json{{"f32", 3}, {"type 139", 1}});
    CHECK_THAT(run({of_others("marked.gguf"), "--device", "host"}).out,
               Catch::Contains("1 empty, 1 f32"));
    CHECK_THAT(run({of_others("split-00001-of-00003.gguf"), "--device", "host"}).out,
               !Catch::Contains("skipped"));
}

TEST_CASE("the total is the sum of all bytes and times, and their rate") {
    const json report = json_from({"--device", "host", "--json"});
    std::size_t bytes = 0;
    double seconds = 0;
    for (const json& result : report.at("results")) {
        bytes += result.at("bytes").get<std::size_t>();
        seconds += result.at("seconds").get<double>();
    }
    const json& total = report.at("total");
    CHECK(total.at("bytes") == bytes);
    CHECK(total.at("seconds").get<double>() == Approx(seconds));
    CHECK(total.at("gigabytes_per_second").get<double>() ==
          Approx(static_cast<double>(bytes) / seconds / 1e9));
    const outcome text = run({"--device", "host"});
    CHECK_THAT(text.out, Catch::Contains("\ntotal: " + std::to_string(bytes) + " B in ") &&
                             Catch::Contains(" GB/s\n"));
}

TEST_CASE("results come while the tool still runs") {
    const scratch place;
    const std::string out = place.at("out");
    REQUIRE(::mkfifo(out.c_str(), 0600) == 0);
    // Opened for both, so that nobody waits for anybody; as small as a pipe can be.
    const int pipe = ::open(out.c_str(), O_RDWR);
    REQUIRE(pipe >= 0);
    const long room = ::fcntl(pipe, F_SETPIPE_SZ, 4096);
    REQUIRE(room > 0);
    // The names take more room than the pipe has, so that the tool cannot end before they are read.
    const auto blocks = counting_blocks();
    gguf::writer model;
    for (int i = 0; i < room / 32; ++i) {
        model.add_tensor(std::to_string(i), {32, 3}, q8_0, std::as_bytes(std::span(blocks)));
    }
    write(place.at("model.gguf"), model.finish());
    const pid_t child = start({place.at("model.gguf"), "--device", "host"}, out, place.at("err"));
    std::string text;
    const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
    while (!has("\"0\"") || !has(" ms")) {
        char c = 0;
        REQUIRE(::read(pipe, &c, 1) == 1);
        text += c;
    }
    CHECK(text.starts_with("model: "));
    int status = 0;
    CHECK(::waitpid(child, &status, WNOHANG) == 0);
    CHECK_FALSE(has("total"));
    REQUIRE(::kill(child, SIGKILL) == 0);
    CHECK(::waitpid(child, &status, 0) == child);
    ::close(pipe);
}

TEST_CASE("a terminal on stderr shows progress, and keeps nothing of it") {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    REQUIRE(::grantpt(terminal) == 0);
    REQUIRE(::unlockpt(terminal) == 0);
    const std::string name = ::ptsname(terminal);
    const int kept = ::open(name.c_str(), O_RDWR | O_NOCTTY); // else reading fails at the end
    REQUIRE(kept >= 0);
    const scratch place;
    const pid_t child =
        start({of_others("mixed.gguf"), "--device", "host", "--json"}, place.at("out"), name);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    // A terminal may pass on later what was written.
    const std::string expected = "1 of 3: \"q4_1.weight\"\r\x1b[K2 of 3: \"q8_0.weight\"\r\x1b[K3 "
                                 "of 3: \"\u5c42.0.weight\"\r\x1b[K";
    std::string shown;
    pollfd ready{terminal, POLLIN, 0};
    while (shown.size() < expected.size() && ::poll(&ready, 1, 10000) == 1) {
        char c = 0;
        REQUIRE(::read(terminal, &c, 1) == 1);
        shown += c;
    }
    CHECK(shown == expected);
    ::close(kept);
    ::close(terminal);
}

TEST_CASE("a tensor of three dimensions is multiplied with its slices stacked") {
    const json report =
        json_from({"--device", "host", "--tensor", "experts.weight", "--check", "--json"});
    const json& result = report.at("results").at(0);
    CHECK(result.at("n") == 4 * 64);
    CHECK(result.at("k") == 1024);
}

TEST_CASE("the slices of a tensor of three dimensions can be experts") {
    const json chosen = json_from({"--device", "host", "--tensor", "experts.weight", "--ids",
                                   "-1,3,3,7,1,0,0", "--check", "--json"});
    const json& result = chosen.at("results").at(0);
    CHECK(result.at("n") == 64);
    CHECK(result.at("batch") == 7);
    CHECK(result.at("experts") == 4);
    CHECK(result.at("ids") == json{-1, 3, 3, 7, 1, 0, 0});
    CHECK(result.at("bytes") == 3 * 64 * 1024 / 256 * 144);
    CHECK(result.at("check").at("nmse") <= 1e-6);
    CHECK(result.at("check").at("nmse_unquantized") <= 5e-4);

    const json first =
        json_from({"--device", "host", "--tensor", "experts.weight", "--experts", "--json"});
    CHECK(first.at("results").at(0).at("ids") == json{0, 1, 2, 3});
    const json none = json_from(
        {"--device", "host", "--tensor", "experts.weight", "--ids", "4", "--check", "--json"});
    CHECK(none.at("results").at(0).at("bytes") == 0);
    CHECK(none.at("results").at(0).at("check").at("passed") == true);
}

TEST_CASE("gated products pass the check, dense and with experts") {
    const json dense = json_from({"--device", "host", "--gate", "gate.weight", "--up", "up.weight",
                                  "--batch", "3", "--check", "--json"});
    const json& result = dense.at("results").at(0);
    CHECK(dense.at("skipped") == 0);
    CHECK(result.at("tensor") == "gate.weight");
    CHECK(result.at("up") == "up.weight");
    CHECK(result.at("bytes") == 2 * 256 * 1024 / 256 * 210);
    CHECK(result.at("check").at("nmse") <= 1e-6);
    CHECK_FALSE(result.at("check").contains("nmse_unquantized"));

    const outcome grouped = run({"--device", "host", "--gate", "experts.weight", "--up",
                                 "experts.up.weight", "--ids", "3,9,0", "--check"});
    CHECK(grouped.code == 0);
    CHECK_THAT(grouped.out, Catch::Contains("\"experts.weight\", \"experts.up.weight\"") &&
                                Catch::Contains("slots 3") &&
                                Catch::Contains("1 of 1 checks passed"));
}

TEST_CASE("multi_row<2> is another name of warp") {
    CHECK(json_from(
              {"--device", "host", "--tensor", "q8_0.weight", "--policy", "multi_row<2>", "--json"})
              .at("results")
              .size() == 1);
}

TEST_CASE("all policies give equal bits and pass the check") {
    const scratch place;
    const auto bits_of = [&](const std::string& policy) {
        const json report =
            json_from({"--device", "host", "--tensor", "q5_k.weight", "--batch", "2", "--policy",
                       policy, "--output", place.at("y.f32"), "--check", "--json"});
        CHECK(report.at("results").size() == 1);
        return content_of(place.at("y.f32"));
    };
    const std::string warp = bits_of("warp");
    CHECK(bits_of("tuned") == warp);
    CHECK(bits_of("batch<4>") == warp);
}

TEST_CASE("a check of many products takes a sample of at least 256 rows") {
    const json report = json_from(
        {"--device", "host", "--tensor", "q8_0.weight", "--batch", "16", "--check", "--json"});
    CHECK(report.at("results").at(0).at("check").at("rows_checked") == 256);
    const outcome text =
        run({"--device", "host", "--tensor", "q8_0.weight", "--batch", "16", "--check"});
    CHECK_THAT(text.out, Catch::Contains("256 of 512 rows"));
    CHECK_THAT(text.out, Catch::Contains("1 of 1 checks passed"));
}

TEST_CASE("two runs write the same output, another seed another one") {
    const scratch place;
    const auto write_output = [&](const std::string& name, const std::string& seed) {
        REQUIRE(run({"--device", "host", "--tensor", "q6_k.weight", "--batch", "3", "--seed", seed,
                     "--output", place.at(name)})
                    .code == 0);
        return content_of(place.at(name));
    };
    const std::string first = write_output("a", "7");
    CHECK(first.size() == 3 * 512 * sizeof(float));
    CHECK(write_output("b", "7") == first);
    CHECK(write_output("c", "8") != first);
    CHECK(place.names() == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("the rows of an activation file are the rows of the output") {
    const scratch place;
    write(place.at("model.gguf"), counting_model());
    write(place.at("x.f32"), counting_activation());
    const outcome ran =
        run({place.at("model.gguf"), "--tensor", "counting", "--device", "host", "--activation",
             place.at("x.f32"), "--output", place.at("y.f32"), "--check"});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("batch 2"));
    require_counting_product(numbers_of(place.at("y.f32")));
}

TEST_CASE("each id chooses the expert of a row, and gives zeros if there is none") {
    const scratch place;
    std::vector<float> x(5 * 32, 1.0f);
    std::fill(x.begin() + 32, x.begin() + 64, std::numeric_limits<float>::infinity());
    write(place.at("model.gguf"), counting_model());
    write(place.at("x.f32"), x);
    const outcome ran =
        run({place.at("model.gguf"), "--tensor", "experts", "--ids", "2,-1,0,3,2", "--device",
             "host", "--activation", place.at("x.f32"), "--output", place.at("y.f32"), "--check"});
    INFO("stderr: " << ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("slots 5") && Catch::Contains("68 B"));
    const auto y = numbers_of(place.at("y.f32"));
    REQUIRE(y.size() == 5);
    CHECK(y[0] == Approx(96).epsilon(1e-3));
    CHECK(y[1] == 0);
    CHECK(y[2] == Approx(32).epsilon(1e-3));
    CHECK(y[3] == 0);
    CHECK(y[4] == y[0]);
}

TEST_CASE("a gate and an up product are fused by silu") {
    const scratch place;
    write(place.at("model.gguf"), counting_model());
    std::vector<float> x(2 * 32, 1.0f / 32);
    std::fill(x.begin() + 32, x.end(), -1.0f / 32);
    write(place.at("x.f32"), x);
    REQUIRE(
        run({place.at("model.gguf"), "--gate", "counting", "--up", "counting", "--device", "host",
             "--activation", place.at("x.f32"), "--output", place.at("y.f32"), "--check"})
            .code == 0);
    const auto y = numbers_of(place.at("y.f32"));
    REQUIRE(y.size() == 6);
    for (int i = 0; i < 6; ++i) {
        const double dot = i < 3 ? i + 1 : 2 - i;
        CHECK(y[static_cast<std::size_t>(i)] ==
              Approx(dot / (1 + std::exp(-dot)) * dot).epsilon(1e-2));
    }
}

TEST_CASE("gate and up in one tensor are multiplied in place, with the scale of each expert") {
    const scratch place;
    const auto rows = counting_blocks();
    const std::vector merged = {rows[0], rows[1], rows[2], rows[0]}; // gate, up, gate, up
    const std::vector<float> scales = {0.5f, 2.0f};
    gguf::writer out;
    out.add_tensor("blk.0.ffn_gate_up_exps.weight", {32, 2, 2}, q8_0,
                   std::as_bytes(std::span(merged)));
    out.add_tensor("blk.0.ffn_gate_up_exps.scale", {2}, 0, std::as_bytes(std::span(scales)));
    out.add_tensor("blk.0.ffn_gate_up.weight", {32, 4}, q8_0, std::as_bytes(std::span(merged)));
    write(place.at("model.gguf"), out.finish());
    write(place.at("x.f32"), std::vector<float>(3 * 32, 1.0f / 32));
    const auto silu = [](double gate, double up) {
        return Approx(gate / (1 + std::exp(-gate)) * up).epsilon(1e-2);
    };
    const json grouped =
        json_from({place.at("model.gguf"), "--gate-up", "blk.0.ffn_gate_up_exps.weight", "--ids",
                   "1,2,0", "--device", "host", "--activation", place.at("x.f32"), "--output",
                   place.at("experts.f32"), "--check", "--json"});
    const json& result = grouped.at("results").at(0);
    CHECK(result.at("n") == 1);
    CHECK(result.at("bytes") == 4 * 34);
    CHECK(result.at("gate_up") == true);
    CHECK(result.at("scale") == "blk.0.ffn_gate_up_exps.scale");
    CHECK(result.at("check").at("passed") == true);
    const auto y = numbers_of(place.at("experts.f32"));
    REQUIRE(y.size() == 3);
    CHECK(y[0] == silu(2 * 3, 2 * 1));
    CHECK(y[1] == 0);
    CHECK(y[2] == silu(0.5 * 1, 0.5 * 2));

    const outcome dense = run({place.at("model.gguf"), "--gate-up", "blk.0.ffn_gate_up.weight",
                               "--device", "host", "--activation", place.at("x.f32"), "--batch",
                               "3", "--output", place.at("y.f32"), "--check"});
    CHECK(dense.code == 0);
    const auto z = numbers_of(place.at("y.f32"));
    REQUIRE(z.size() == 6);
    CHECK(z[0] == silu(1, 3)); // rows 1, 2 are gate, 3, 1 are up
    CHECK(z[1] == silu(2, 1));

    // Without ids the slices are stacked: each has its own scale.
    const outcome stacked =
        run({place.at("model.gguf"), "--tensor", "blk.0.ffn_gate_up_exps.weight", "--device",
             "host", "--activation", place.at("x.f32"), "--batch", "3", "--output",
             place.at("all.f32"), "--check"});
    CHECK_THAT(stacked.out, Catch::Contains("times \"blk.0.ffn_gate_up_exps.scale\""));
    const auto all = numbers_of(place.at("all.f32"));
    REQUIRE(all.size() == 12);
    CHECK(all[1] == Approx(0.5 * 2).epsilon(1e-2));
    CHECK(all[2] == Approx(2 * 3).epsilon(1e-2));

    require_refusal(run({place.at("model.gguf"), "--gate-up", "blk.0.ffn_gate_up_exps.weight"}),
                    {"gate-up", "needs --experts or --ids"});
    require_refusal(run({"--gate-up", "none"}), {"gate-up", "not in the model"});
    require_refusal(run({"--gate-up", "gate.weight", "--tensor", "up.weight"}),
                    {"gate-up", "cannot be combined with --tensor"});
    require_refusal(run({"--gate-up", "gate.weight", "--policy", "batch<4>"}),
                    {"policy", "cannot be combined with --gate-up"});
}

TEST_CASE("weights at an odd address give the same product") {
    const scratch place;
    const auto image = misaligned_counting_model();
    REQUIRE((image.size() - sizeof(kq::q8_0::block) * 3) % 2 == 1);
    write(place.at("model.gguf"), image);
    write(place.at("x.f32"), counting_activation());
    REQUIRE(run({place.at("model.gguf"), "--device", "host", "--activation", place.at("x.f32"),
                 "--output", place.at("y.f32"), "--check"})
                .code == 0);
    require_counting_product(numbers_of(place.at("y.f32")));
}

TEST_CASE("an activation that is not finite gives NaNs, which pass the check and are counted") {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        const scratch place;
        auto x = counting_activation();
        x[40] = bad;
        write(place.at("model.gguf"), counting_model());
        write(place.at("x.f32"), x);
        arguments given{place.at("model.gguf"),
                        "--device",
                        "host",
                        "--tensor",
                        "counting",
                        "--check",
                        "--activation",
                        place.at("x.f32"),
                        "--output",
                        place.at("y.f32")};
        const outcome passed = run(given);
        CHECK(passed.code == 0);
        CHECK_THAT(passed.out, Catch::Contains("3 not finite as in the reference") &&
                                   Catch::Contains("1 of 1 checks passed"));
        const auto y = numbers_of(place.at("y.f32"));
        REQUIRE(y.size() == 6);
        CHECK(std::all_of(y.begin(), y.begin() + 3, [](float v) { return std::isfinite(v); }));
        CHECK(std::all_of(y.begin() + 3, y.end(), [](float v) { return std::isnan(v); }));
        given.push_back("--json");
        const json check = json_from(given).at("results").at(0).at("check");
        CHECK(check.at("not_finite") == 3);
        CHECK(check.at("passed") == true);
        CHECK(check.at("nmse") <= 1e-6);
    }
}

TEST_CASE("a product that fails the check is not written") {
    // Each tensor takes one number of the activation out: small ones are far off when quantized.
    gguf::writer out;
    for (std::size_t column = 0; column < 32; ++column) {
        std::vector<kq::q8_0::block> blocks(256);
        for (auto& block : blocks) {
            block.d = kq::to_f16(1.0f);
            std::ranges::fill(block.q, std::int8_t{0});
            block.q[column] = 1;
        }
        out.add_tensor(std::to_string(column), {32, 256}, q8_0, std::as_bytes(std::span(blocks)));
    }
    const scratch place;
    const std::string model = place.at("model.gguf");
    write(model, out.finish());
    const outcome all = run({model, "--device", "host", "--check", "--json"});
    CHECK(all.code == 1);
    const json report = json::parse(all.out);
    const auto& results = report.at("results");
    const auto failed = std::ranges::find_if(
        results, [](const json& result) { return result.at("check").at("passed") == false; });
    REQUIRE(failed != results.end());
    const std::string name = failed->at("tensor");
    const outcome one = run(
        {model, "--device", "host", "--tensor", name, "--check", "--output", place.at("y.f32")});
    CHECK(one.code == 1);
    CHECK_THAT(one.out, Catch::Contains("FAILED") && Catch::Contains("0 of 1 checks passed"));
    CHECK(place.names() == std::vector<std::string>{"model.gguf"});
}

TEST_CASE("weights whose scale is NaN pass the check, and the other rows are compared") {
    const scratch place;
    auto blocks = counting_blocks();
    blocks[1].d = kq::f16{0x7e00};
    gguf::writer out;
    out.add_tensor("counting", {32, 3}, q8_0, std::as_bytes(std::span(blocks)));
    write(place.at("model.gguf"), out.finish());
    const json report = json_from(
        {place.at("model.gguf"), "--device", "host", "--batch", "100", "--check", "--json"});
    const json& check = report.at("results").at(0).at("check");
    CHECK(check.at("not_finite") == 100);
    CHECK(check.at("nmse_unquantized") > 0);
    CHECK(check.at("nmse_unquantized") <= 5e-4);
    CHECK(check.at("passed") == true);
}

TEST_CASE("the GPU writes the host's bits and passes the check for every encoding") {
    if (!has_gpu()) {
        return;
    }
    const json report = json_from({"--device", "cuda", "--check", "--json"});
    CHECK(report.at("results").size() > kq::encodings::size);
    for (const json& result : report.at("results")) {
        const std::string name = result.at("tensor");
        INFO(name);
        CHECK(result.at("cold") == true);
        require_equal_bits({"--tensor", name, "--batch", "2"});
    }
}

TEST_CASE("the GPU writes the host's bits by every policy and for experts") {
    if (!has_gpu()) {
        return;
    }
    for (const auto* const policy : {"tuned", "warp", "batch<4>"}) {
        require_equal_bits({"--tensor", "q5_k.weight", "--batch", "3", "--policy", policy});
    }
    require_equal_bits({"--tensor", "experts.weight", "--ids", "-1,3,3,7,1,0"});
}

TEST_CASE("the GPU's reports say which policy ran, by which method") {
    if (!has_gpu()) {
        return;
    }
    const std::vector<std::string> words = {"--device", "cuda", "--tensor", "q5_k.weight"};
    for (const std::string policy : {"tuned", "warp", "batch<4>"}) {
        auto options = words;
        options.insert(options.end(), {"--policy", policy});
        const std::string text = run(options).out;
        options.emplace_back("--json");
        const json result = json_from(options).at("results").at(0);
        const std::string ran = result.at("policy");
        CHECK_THAT(ran, Catch::Contains(" by bulk") || Catch::Contains(" by direct"));
        CHECK((policy == "tuned" || ran.starts_with(policy + " by ")));
        CHECK_THAT(ran, !Catch::Contains("tuned"));
        CHECK_THAT(text, Catch::Contains(ran));
        CHECK_THAT(result.at("plan").get<std::string>(), Catch::Contains(ran));
    }
}

TEST_CASE("gated products pass the check on the GPU") {
    if (!has_gpu()) {
        return;
    }
    json_from({"--device", "cuda", "--gate", "gate.weight", "--up", "up.weight", "--batch", "3",
               "--check", "--json"});
    json_from({"--device", "cuda", "--gate", "experts.weight", "--up", "experts.up.weight", "--ids",
               "3,9,0", "--check", "--json"});
}

TEST_CASE("the tool fails when its output cannot be written") {
    program::require_lost_output(KQ_TOOL, "--help");
    program::require_lost_output(KQ_TOOL, "--list");
    program::require_lost_output(KQ_TOOL, "--device host --tensor q4_k.weight");
}
