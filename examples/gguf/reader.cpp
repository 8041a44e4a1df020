#include "reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <iterator>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "cursor.hpp"
#include "mapping.hpp"
#include "split.hpp"

namespace gguf {
namespace {

using std::to_string;

constexpr std::string_view alignment_key = "general.alignment";
constexpr std::string_view shard_key = "split.no";
constexpr std::string_view shards_key = "split.count";
constexpr std::string_view all_tensors_key = "split.tensors.count";

constexpr std::uint32_t u32_value = 4;
constexpr std::uint32_t string_value = 8;
constexpr std::uint32_t array_value = 9;

// The least bytes of a metadata value by its type number; exact for all but string and array.
constexpr std::array<std::uint64_t, 13> value_bytes{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

// An empty key, a type number and a value of one byte.
constexpr std::uint64_t least_metadata_bytes = 8 + 4 + 1;

// An empty name, no dimensions, a type number and an offset.
constexpr std::uint64_t least_tensor_bytes = 8 + 4 + 4 + 8;

// As many as any library of tensors has; a greater number is garbage.
constexpr std::uint32_t most_dimensions = 64;

// Of arrays inside arrays.
constexpr int most_depth = 8;

constexpr std::size_t longest_compared_name = 128;

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
    if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a) {
        return std::nullopt;
    }
    return a * b;
}

std::uint32_t read_version(cursor& in) {
    const auto magic = in.take(4, "magic");
    const std::string_view found(reinterpret_cast<const char*>(magic.data()), magic.size());
    if (found != "GGUF") {
        in.fail("magic is " + printable(found) + ", not \"GGUF\"");
    }
    const auto version = in.number<std::uint32_t>("version");
    if (version != 0 && (version & 0xffff) == 0) {
        in.fail("version " + to_string(version) +
                " is byte-swapped: a big-endian file, only little-endian ones are supported");
    }
    if (version != 2 && version != 3) {
        in.fail("version " + to_string(version) + " is not supported, only 2 and 3 are");
    }
    return version;
}

std::uint32_t read_value_type(cursor& in, std::string_view field) {
    const auto type = in.number<std::uint32_t>(field);
    if (type >= value_bytes.size()) {
        in.fail(std::string(field) + " " + to_string(type) + " is unknown, the last one is " +
                to_string(value_bytes.size() - 1));
    }
    return type;
}

void skip_array(cursor& in, int depth = 1) {
    if (depth > most_depth) {
        in.fail("arrays are nested more than " + to_string(most_depth) + " deep");
    }
    const auto type = read_value_type(in, "array element type");
    const auto length = in.number<std::uint64_t>("array length");
    in.require_room("array length", length, value_bytes[type]);
    if (type != string_value && type != array_value) {
        in.take(length * value_bytes[type], "array");
        return;
    }
    for (std::uint64_t i = 0; i < length; ++i) {
        if (type == string_value) {
            in.text("array string");
        } else {
            skip_array(in, depth + 1);
        }
    }
}

std::uint32_t read_alignment(cursor& in, std::uint32_t type) {
    if (type != u32_value) {
        in.fail("value type " + to_string(type) + " is not u32 (" + to_string(u32_value) + ")");
    }
    const auto alignment = in.number<std::uint32_t>("value");
    if (!std::has_single_bit(alignment)) {
        in.fail("alignment " + to_string(alignment) + " is not a power of two");
    }
    return alignment;
}

// A number of that width; nothing if i64 cannot hold it.
template <std::integral Value>
std::optional<std::int64_t> read_integer(cursor& in) {
    const auto value = static_cast<Value>(in.number<std::make_unsigned_t<Value>>("value"));
    return std::in_range<std::int64_t>(value) ? std::optional<std::int64_t>(value) : std::nullopt;
}

// A value that is not a string or an array: the number, if it is an integer.
std::optional<std::int64_t> read_scalar(cursor& in, std::uint32_t type) {
    switch (type) {
    case 0:
        return read_integer<std::uint8_t>(in);
    case 1:
        return read_integer<std::int8_t>(in);
    case 2:
        return read_integer<std::uint16_t>(in);
    case 3:
        return read_integer<std::int16_t>(in);
    case u32_value:
        return read_integer<std::uint32_t>(in);
    case 5:
        return read_integer<std::int32_t>(in);
    case 10:
        return read_integer<std::uint64_t>(in);
    case 11:
        return read_integer<std::int64_t>(in);
    default:
        in.take(value_bytes[type], "value");
        return std::nullopt;
    }
}

metadata_entry read_metadata(cursor& in, std::uint32_t& alignment) {
    metadata_entry entry{in.text("key"), std::nullopt, std::nullopt};
    in.enter("metadata " + printable(entry.key));
    const auto type = read_value_type(in, "value type");
    if (entry.key == alignment_key) {
        alignment = read_alignment(in, type);
        entry.number = alignment;
    } else if (type == string_value) {
        entry.text = in.text("value");
    } else if (type == array_value) {
        skip_array(in);
    } else {
        entry.number = read_scalar(in, type);
    }
    return entry;
}

// Where a tensor's bytes are, counted from the start of the data section.
struct extent {
    std::uint64_t offset;
    std::optional<std::uint64_t> size; // nothing: up to the next tensor
};

std::vector<std::uint64_t> read_dimensions(cursor& in) {
    const auto count = in.number<std::uint32_t>("number of dimensions");
    if (count > most_dimensions) {
        in.fail("number of dimensions " + to_string(count) + " is more than " +
                to_string(most_dimensions));
    }
    std::vector<std::uint64_t> dimensions;
    for (std::uint32_t i = 0; i < count; ++i) {
        dimensions.push_back(in.number<std::uint64_t>("dimension"));
    }
    return dimensions;
}

// The bytes of a tensor, or nothing if its type is unknown.
std::optional<std::uint64_t> byte_size(const cursor& in, const tensor& shape) {
    if (std::ranges::count(shape.dimensions, 0u) != 0) {
        return 0;
    }
    std::optional<std::uint64_t> elements = 1;
    for (const auto dimension : shape.dimensions) {
        elements = product(*elements, dimension);
        if (!elements) {
            in.fail("product of the dimensions overflows 64 bits");
        }
    }
    const type_info* const type = find_type(shape.type);
    if (type == nullptr) {
        return std::nullopt;
    }
    const auto row = shape.dimensions.empty() ? 1 : shape.dimensions.front();
    if (row % type->block_elements != 0) {
        in.fail("row length " + to_string(row) + " is not a multiple of the " +
                to_string(type->block_elements) + " elements of a " + std::string(type->name) +
                " block");
    }
    const auto size = product(*elements / type->block_elements, type->block_bytes);
    if (!size) {
        in.fail("size in bytes overflows 64 bits");
    }
    return size;
}

// Reads all but the tensor's bytes, which can only be found once the last tensor is read.
tensor read_tensor(cursor& in, std::uint32_t alignment, extent& where) {
    tensor read{};
    read.name = in.text("name");
    in.enter("tensor " + printable(read.name));
    read.dimensions = read_dimensions(in);
    read.type = in.number<std::uint32_t>("type");
    where.size = byte_size(in, read);
    where.offset = in.number<std::uint64_t>("offset");
    if (where.offset % alignment != 0) {
        in.fail("offset " + to_string(where.offset) + " is not a multiple of the alignment " +
                to_string(alignment));
    }
    return read;
}

std::span<const std::byte> locate(std::span<const std::byte> data, const std::string& name,
                                  std::uint64_t offset, std::uint64_t size) {
    if (size == 0) {
        return data.first(0); // wherever it is said to be
    }
    if (offset > data.size() || size > data.size() - offset) {
        throw error("tensor " + printable(name) + ": offset " + to_string(offset) + " and " +
                    to_string(size) + " bytes are outside the file's " + to_string(data.size()) +
                    " bytes of data");
    }
    return data.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// Gives every tensor its bytes. Throws gguf::error if they are not in the data or another's too.
void locate_all(std::span<const std::byte> data, std::vector<tensor>& tensors,
                const std::vector<extent>& extents) {
    std::vector<std::size_t> order; // of those that hold bytes, by their place
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (extents[i].size != 0) {
            order.push_back(i);
        }
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return extents[i].offset; });
    std::vector<std::uint64_t> sizes(tensors.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
        const extent& where = extents[order[place]];
        const bool is_last = place + 1 == order.size();
        const std::uint64_t next = is_last ? data.size() : extents[order[place + 1]].offset;
        // At least a byte, so that it is seen to be outside of the data or at another's place.
        sizes[order[place]] = where.size.value_or(next > where.offset ? next - where.offset : 1);
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensors[i].bytes = locate(data, tensors[i].name, extents[i].offset, sizes[i]);
    }
    for (std::size_t place = 1; place < order.size(); ++place) {
        const std::size_t before = order[place - 1];
        const std::size_t after = order[place];
        if (sizes[before] > extents[after].offset - extents[before].offset) {
            throw error("tensor " + printable(tensors[before].name) + " overlaps tensor " +
                        printable(tensors[after].name) + ": it has " + to_string(sizes[before]) +
                        " bytes from offset " + to_string(extents[before].offset) +
                        ", the other begins at " + to_string(extents[after].offset));
        }
    }
}

// A character of UTF-8; of no bytes if there is none.
struct character {
    std::size_t size;
    char32_t code;
};

// The one that a text begins with, which is not empty.
character first_character(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) {
        return {1, lead};
    }
    const std::size_t size = lead < 0xc0   ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf8 ? 4
                                           : 0;
    if (size == 0 || size > text.size()) {
        return {0, 0};
    }
    char32_t code = lead & (0x7f >> size);
    for (const char c : text.substr(1, size - 1)) {
        if ((c & 0xc0) != 0x80) {
            return {0, 0};
        }
        code = code << 6 | (c & 0x3f);
    }
    // Neither longer than needed, nor half of a pair, nor beyond the last one.
    constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool valid = code >= least[size] && (code < 0xd800 || code > 0xdfff) && code <= 0x10ffff;
    return valid ? character{size, code} : character{0, 0};
}

// Whether a terminal may obey a character instead of showing it, or shows nothing.
bool is_control(char32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

} // namespace

std::string printable(std::string_view text) {
    constexpr std::size_t longest = 160;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result = "\"";
    while (!text.empty()) {
        if (result.size() > longest) {
            return result + "\"...";
        }
        const auto [size, code] = first_character(text);
        if (size == 0 || is_control(code)) {
            for (const char c : text.substr(0, std::max<std::size_t>(size, 1))) {
                result += "\\x";
                result += digits[static_cast<unsigned char>(c) >> 4];
                result += digits[c & 15];
            }
        } else {
            // So that the text cannot seem to end early or to hold an escape.
            if (code == '"' || code == '\\') {
                result += '\\';
            }
            result += text.substr(0, size);
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return result + '"';
}

file file::open(const std::filesystem::path& path) {
    file opened = open_one(path);
    const std::int64_t count = opened.shard_count();
    if (count == 1) {
        return opened;
    }
    const auto paths = shard_paths(path, *opened.metadata_integer(shard_key), count);
    std::vector<file> shards;
    for (const auto& shard : paths) {
        try {
            shards.push_back(open_one(shard));
        } catch (const error& failure) {
            const std::string text = failure.what();
            if (text.starts_with("file ")) {
                throw;
            }
            fail_file(shard, text);
        }
    }
    return join(shards);
}

file file::open_one(const std::filesystem::path& path) {
    auto mapped = std::make_shared<const mapping>(path);
    file opened(mapped, mapped->bytes());
    opened.paths_ = {path};
    return opened;
}

std::int64_t file::shard_count() const {
    constexpr std::int64_t most = 0xffff; // it is written as a u16
    const std::int64_t count = metadata_integer(shards_key).value_or(1);
    if (count <= 1) {
        return 1;
    }
    if (count > most) {
        throw error("metadata " + printable(shards_key) + ": " + to_string(count) +
                    " is more than " + to_string(most));
    }
    const auto index = metadata_integer(shard_key);
    if (!index || *index < 0 || *index >= count) {
        throw error("metadata " + printable(shard_key) + ": " +
                    (index ? to_string(*index) : "nothing") + " is not 0 to " +
                    to_string(count - 1) + ", which " + printable(shards_key) + " asks for");
    }
    return count;
}

file file::join(const std::vector<file>& shards) {
    const auto count = std::ssize(shards);
    file whole = shards.at(0);
    for (std::int64_t i = 0; i < count; ++i) {
        const file& shard = shards[static_cast<std::size_t>(i)];
        const std::int64_t said = shard.shard_count();
        const std::int64_t index = said > 1 ? *shard.metadata_integer(shard_key) : 0;
        if (said != count || index != i) {
            throw error("shard " + to_string(i + 1) + " of " + to_string(count) +
                        ": its metadata say that it is shard " + to_string(index + 1) + " of " +
                        to_string(said));
        }
        if (i > 0) {
            const auto append = [](auto& all, const auto& more) {
                all.insert(all.end(), more.begin(), more.end());
            };
            append(whole.storage_, shard.storage_);
            append(whole.paths_, shard.paths_);
            append(whole.tensors_, shard.tensors_);
            whole.alignment_ = std::min(whole.alignment_, shard.alignment_);
        }
    }
    const auto tensors = std::ssize(whole.tensors_);
    if (const auto said = whole.metadata_integer(all_tensors_key);
        said.value_or(tensors) != tensors) {
        throw error("metadata " + printable(all_tensors_key) + ": is " + to_string(*said) +
                    ", but the shards hold " + to_string(tensors) + " tensors");
    }
    whole.index_names();
    return whole;
}

file file::parse(std::span<const std::byte> image) {
    return file(nullptr, image);
}

file file::own(std::vector<std::byte> image) {
    auto owned = std::make_shared<const std::vector<std::byte>>(std::move(image));
    return file(owned, *owned);
}

file::file(std::shared_ptr<const void> storage, std::span<const std::byte> image)
    : storage_{std::move(storage)} {
    cursor in(image);
    in.enter("header");
    version_ = read_version(in);
    const auto tensor_count = in.number<std::uint64_t>("tensor_count");
    const auto metadata_count = in.number<std::uint64_t>("metadata_kv_count");
    in.require_room("tensor_count", tensor_count, least_tensor_bytes);
    in.require_room("metadata_kv_count", metadata_count, least_metadata_bytes);

    for (std::uint64_t i = 0; i < metadata_count; ++i) {
        in.enter("metadata " + to_string(i));
        metadata_.push_back(read_metadata(in, alignment_));
    }
    // Sorting keeps the search for duplicates short whatever the file holds; hashing would not.
    std::ranges::sort(metadata_, {}, &metadata_entry::key);
    const auto same_key = std::ranges::adjacent_find(metadata_, {}, &metadata_entry::key);
    if (same_key != metadata_.end()) {
        throw error("metadata " + printable(same_key->key) + ": key appears more than once");
    }

    std::vector<extent> extents;
    for (std::uint64_t i = 0; i < tensor_count; ++i) {
        in.enter("tensor " + to_string(i));
        tensors_.push_back(read_tensor(in, alignment_, extents.emplace_back()));
    }
    index_names();

    const std::uint64_t header_size = image.size() - in.left();
    const std::uint64_t padding = (alignment_ - header_size % alignment_) % alignment_;
    const auto data = image.last(
        static_cast<std::size_t>(in.left() - std::min<std::uint64_t>(padding, in.left())));
    locate_all(data, tensors_, extents);
}

void file::index_names() {
    const auto name_of = [this](std::size_t i) -> std::string_view { return tensors_[i].name; };
    by_name_.resize(tensors_.size());
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::ranges::sort(by_name_, {}, name_of);
    const auto same_name = std::ranges::adjacent_find(by_name_, {}, name_of);
    if (same_name != by_name_.end()) {
        throw error("tensor " + printable(name_of(*same_name)) + ": name appears more than once");
    }
}

const tensor* file::find(std::string_view name) const {
    const auto name_of = [this](std::size_t i) -> std::string_view { return tensors_[i].name; };
    const auto found = std::ranges::lower_bound(by_name_, name, {}, name_of);
    return found != by_name_.end() && name_of(*found) == name ? &tensors_[*found] : nullptr;
}

std::vector<std::string> file::near_names(std::string_view name, std::size_t count) const {
    // Comparing takes the product of the lengths, which a hostile file could make endless.
    if (name.size() > longest_compared_name) {
        return {};
    }
    std::vector<std::pair<std::size_t, std::size_t>> near; // distance and index
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        if (tensors_[i].name.size() <= longest_compared_name) {
            near.emplace_back(edit_distance(name, tensors_[i].name), i);
        }
    }
    std::ranges::sort(near);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(count, near.size()); ++i) {
        names.push_back(tensors_[near[i].second].name);
    }
    return names;
}

const metadata_entry* file::find_metadata(std::string_view key) const {
    const auto found = std::ranges::lower_bound(metadata_, key, {}, &metadata_entry::key);
    return found != metadata_.end() && found->key == key ? &*found : nullptr;
}

std::optional<std::string_view> file::metadata_string(std::string_view key) const {
    const metadata_entry* const found = find_metadata(key);
    return found != nullptr ? found->text : std::nullopt;
}

std::optional<std::int64_t> file::metadata_integer(std::string_view key) const {
    const metadata_entry* const found = find_metadata(key);
    return found != nullptr ? found->number : std::nullopt;
}

} // namespace gguf
