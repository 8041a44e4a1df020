#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "mapping.hpp"
#include "reader.hpp"

namespace gguf {

/// How the file name of a shard ends: number `index` from 0, of `count`.
inline std::string shard_ending(std::int64_t index, std::int64_t count) {
    char text[64];
    std::snprintf(text, sizeof text, "-%05lld-of-%05lld.gguf", static_cast<long long>(index + 1),
                  static_cast<long long>(count));
    return text;
}

/// The paths of all shards, in their order, from that of one. Throws gguf::error if that one has
/// another name, or if one is missing.
inline std::vector<std::filesystem::path> shard_paths(const std::filesystem::path& path,
                                                      std::int64_t index, std::int64_t count) {
    const std::string name = path.filename().string();
    const std::string ending = shard_ending(index, count);
    if (!name.ends_with(ending)) {
        fail_file(path, "is file " + std::to_string(index + 1) + " of " + std::to_string(count) +
                            " of a split model, its name must end with " + printable(ending));
    }
    const std::string stem = name.substr(0, name.size() - ending.size());
    std::vector<std::filesystem::path> paths;
    std::size_t missing = 0;
    std::string names;
    for (std::int64_t i = 0; i < count; ++i) {
        paths.push_back(path.parent_path() / (stem + shard_ending(i, count)));
        std::error_code ignored;
        if (!std::filesystem::exists(paths.back(), ignored)) {
            ++missing;
            constexpr std::size_t most_named = 8;
            if (missing <= most_named) {
                names += (names.empty() ? "" : ", ") + printable(paths.back().filename().string());
            } else if (missing == most_named + 1) {
                names += ", ...";
            }
        }
    }
    if (missing != 0) {
        fail_file(path, "belongs to a split model of " + std::to_string(count) + " files, " +
                            std::to_string(missing) + (missing == 1 ? " is" : " are") +
                            " missing: " + names);
    }
    return paths;
}

} // namespace gguf
