// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ending.hpp"

#include <kq/blocks/all.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <exception>
#include <string>

namespace common {

/// Adds an option for an integer from `least` to `most`.
template <class Value>
CLI::Option* add_number(CLI::App& app, const std::string& name, Value& value,
                        const std::string& text, std::int64_t least, std::int64_t most) {
    return app.add_option(name, value, text)
        ->check(CLI::Range(least, most).description(""))
        ->type_name("N");
}

/// Adds an option for an encoding's name.
template <class Value>
CLI::Option* add_encoding(CLI::App& app, const std::string& name, Value& value,
                          const std::string& text) {
    const auto parse = [name, &value](const std::string& given) {
        std::string names;
        bool found = false;
        [&]<class... Encodings>(kq::type_list<Encodings...>) {
            const auto try_one = [&](kq::encoding e) {
                names += std::string(names.empty() ? "" : ", ") + kq::name_of(e);
                if (given == kq::name_of(e)) {
                    value = e;
                    found = true;
                }
            };
            (try_one(Encodings::id), ...);
        }(kq::encodings{});
        if (!found) {
            throw CLI::ValidationError(name, "must be one of " + names);
        }
    };
    return app.add_option_function<std::string>(name, parse, text)->type_name("NAME");
}

/// Reads the command line and runs a program. Says on stderr, in one line, what went wrong.
template <class Run>
int run_program(CLI::App& app, int argc, char** argv, Run&& run) {
    try {
        int code = success;
        try {
            app.parse(argc, argv);
            code = run();
        } catch (const CLI::CallForHelp& help) {
            code = app.exit(help);
        }
        require_output();
        return code;
    } catch (const std::exception&) {
        return refuse(app.get_name());
    }
}

} // namespace common
