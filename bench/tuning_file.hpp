// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// What was measured before on a device, by problem and policy; each new line is in the file at
/// once. Lines of other devices stay in the file and are not used.
class tuning_file {
public:
    static constexpr const char* head = "device,compute_capability,encoding,kind,n,k,batch,experts,"
                                        "policy,us,us_dependent,us_pair";

    /// `compute_capability`: 10 * major + minor.
    tuning_file(const std::string& path, const std::string& device, int compute_capability)
        : device_(cell(device) + ',' + std::to_string(compute_capability) + ',') {
        std::ifstream before(path);
        std::string line;
        bool has_head = false, ends_in_line = true;
        while (std::getline(before, line)) {
            ends_in_line = !before.eof();
            if (!has_head) {
                if (line != head) {
                    throw std::runtime_error(path + ": its first line is not \"" + head +
                                             "\": an older kq_tune wrote it, without the device");
                }
                has_head = true;
            } else if (ends_in_line && line.starts_with(device_)) {
                add_known(line.substr(device_.size()));
            }
        }
        before.close();
        file_.open(path, std::ios::app);
        if (!file_) {
            throw std::runtime_error("cannot write " + path);
        }
        if (!ends_in_line) { // its writer was stopped
            file_ << '\n';
        }
        if (!has_head) {
            file_ << head << std::endl;
        }
    }

    using times = std::array<double, 3>; ///< us, us_dependent, us_pair

    /// The times of this device for a key; null where there are none.
    const times* find(const std::string& key) const {
        const auto at = known_.find(key);
        return at == known_.end() ? nullptr : &at->second;
    }
    void add(const std::string& key, const times& t) {
        file_ << device_ << key << ',' << t[0] << ',' << t[1] << ',' << t[2] << std::endl;
    }

    /// A text without commas, so that it is one cell.
    static std::string cell(std::string text) {
        for (char& c : text) {
            c = c == ',' ? ';' : c;
        }
        return text;
    }

private:
    /// A line behind its device: key and three times.
    void add_known(std::string line) {
        times t{};
        for (int i = 2; i >= 0; --i) {
            const auto comma = line.rfind(',');
            if (comma == std::string::npos) {
                return;
            }
            try {
                t[static_cast<size_t>(i)] = std::stod(line.substr(comma + 1));
            } catch (const std::exception&) {
                return;
            }
            line.resize(comma);
        }
        known_[line] = t;
    }

    std::string device_;
    std::map<std::string, times> known_;
    std::ofstream file_;
};

} // namespace bench
