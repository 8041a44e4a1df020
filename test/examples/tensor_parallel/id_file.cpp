// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "scratch.hpp"

#include "tensor_parallel/id_file.hpp"

#include <kq/core/status.hpp>

#include <algorithm>
#include <array>
#include <future>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using Catch::Contains;
using tensor_parallel::await;
using tensor_parallel::publication;
using tensor_parallel::publish;

namespace {

namespace fs = std::filesystem;

using id = std::array<std::byte, 128>;

id make_id() {
    id bytes;
    std::generate(bytes.begin(), bytes.end(), [n = 0]() mutable { return std::byte(n++); });
    return bytes;
}

} // namespace

TEST_CASE("who waits for an id file reads what is published later") {
    const scratch place;
    const fs::path path = place.path() / "id";
    auto read = std::async(std::launch::async, [&] {
        id bytes{};
        await(path, bytes, 20s);
        return bytes;
    });
    publish(path, make_id());
    CHECK(read.get() == make_id());
    // No temporary file is left.
    CHECK(std::distance(fs::directory_iterator(place.path()), {}) == 1);
}

TEST_CASE("an id file that is there already is refused and stays as it is") {
    const scratch place;
    const fs::path path = place.path() / "id";
    publish(path, make_id());
    CHECK_THROWS_WITH(publish(path, id{}), Contains("--id-file: ") && Contains("must not exist"));
    id bytes{};
    await(path, bytes, 0ms);
    CHECK(bytes == make_id());
}

TEST_CASE("an id file goes with its publication, also when what follows throws") {
    const scratch place;
    const fs::path path = place.path() / "id";
    const auto fail = [&] {
        const publication published(path, make_id());
        CHECK(fs::exists(path));
        throw std::runtime_error("the group");
    };
    CHECK_THROWS_WITH(fail(), "the group");
    CHECK(fs::is_empty(place.path()));
}

TEST_CASE("a publication that is refused leaves the file that is there") {
    const scratch place;
    const fs::path path = place.path() / "id";
    publish(path, make_id());
    CHECK_THROWS_WITH(publication(path, id{}), Contains("must not exist"));
    id bytes{};
    await(path, bytes, 0ms);
    CHECK(bytes == make_id());
}

TEST_CASE("an id file that does not come, is of another size or cannot be written is refused") {
    const scratch place;
    const fs::path path = place.path() / "id";
    id bytes{};
    CHECK_THROWS_WITH(await(path, bytes, 20ms), Contains("did not appear within 20 ms"));
    CHECK_THROWS_WITH(publish(place.path() / "none" / "id", bytes), Contains("cannot be written"));
    for (const size_t size : {size_t{127}, size_t{129}}) {
        const fs::path other = place.path() / std::to_string(size);
        publish(other, std::vector<std::byte>(size));
        CHECK_THROWS_WITH(await(other, bytes, 0ms), Contains("must hold 128 bytes"));
    }
}
