// SPDX-License-Identifier: Apache-2.0

// A product split over GPUs, by rows and by columns: see README.md.

#include "common/program.hpp"
#include "group.hpp"
#include "id_file.hpp"
#include "mpi.hpp"
#include "team.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace tensor_parallel {
namespace {

/// Sums that are split over ranks are added up in another order. The same bound holds between
/// numbers of lanes (docs/exactness.md); README.md says why it suffices.
constexpr double most_nmse = 1e-10;

constexpr auto description =
    "Multiplies noise weights [n, k] with a vector on several GPUs: with n / GPUs rows on each and "
    "an\n"
    "all-gather of the outputs, and with k / GPUs columns on each and an all-reduce of the sums.\n"
    "Both are compared with the product on the GPU of rank 0.";

constexpr auto notes =
    "One process drives all GPUs, or each process one:\n"
    "  tensor_parallel [--gpus G]\n"
    "  tensor_parallel --ranks R --rank r --id-file FILE   for each r from 0 to R - 1\n"
    "  mpirun -n R tensor_parallel --mpi                   where built with MPI\n"
    "Start rank 0 of --ranks first, or see that there is no FILE: other ranks cannot tell that it "
    "is old.\n"
    "Rank r of --ranks takes GPU r, modulo those that it sees. Time is that of quantizer, product "
    "and\n"
    "collective, the median of 15 replays after 3 of a CUDA graph of 64, weights rotating over "
    "copies.\n"
    "Exit codes: 0 success, 1 a result is wrong, 2 bad input or a failing device, 77 no GPU.";

struct options {
    kq::encoding encoding = kq::encoding::q4_k;
    std::int64_t n = 8192;
    std::int64_t k = 28672;
    std::int64_t seed = 1;
    std::optional<std::int64_t> gpus;
    std::int64_t ranks = 1;
    std::int64_t rank = 0;
    std::optional<std::string> id_file;
    std::int64_t timeout = 60;
    bool mpi = false;
};

[[noreturn]] void refuse(const std::string& argument, const std::string& rule) {
    throw kq::argument_error(argument + ": " + rule);
}

problem problem_of(const options& chosen) {
    const problem p{chosen.encoding, chosen.n, chosen.k, static_cast<std::uint64_t>(chosen.seed)};
    if (p.k % p.elements() != 0) {
        refuse("--k", "must be a multiple of " + std::to_string(p.elements()) + ", the block of " +
                          kq::name_of(p.encoding));
    }
    return p;
}

/// The group whose communicator's id rank 0 puts into a file.
group by_id_file(const options& chosen, int device) {
    ncclUniqueId id;
    const auto bytes = std::as_writable_bytes(std::span(id.internal));
    std::optional<publication> published;
    if (chosen.rank == 0) {
        require(ncclGetUniqueId(&id), "ncclGetUniqueId");
        published.emplace(*chosen.id_file, bytes);
    } else {
        await(*chosen.id_file, bytes, std::chrono::seconds(chosen.timeout));
    }
    // When it returns everybody has read the file.
    return as_one_rank(static_cast<int>(chosen.ranks), static_cast<int>(chosen.rank), device, id);
}

/// The group whose communicator's id MPI hands out.
group by_mpi(int devices) {
    const mpi::process self = mpi::start();
    ncclUniqueId id;
    if (self.rank == 0) {
        require(ncclGetUniqueId(&id), "ncclGetUniqueId");
    }
    mpi::broadcast(std::as_writable_bytes(std::span(id.internal)));
    return as_one_rank(self.ranks, self.rank, self.local_rank % devices, id);
}

group make_group(const options& chosen, int devices) {
    if (chosen.mpi) {
        return by_mpi(devices);
    }
    if (chosen.id_file) {
        return by_id_file(chosen, static_cast<int>(chosen.rank) % devices);
    }
    const std::int64_t gpus = chosen.gpus.value_or(devices);
    if (gpus > devices) {
        refuse("--gpus", "must be at most " + std::to_string(devices) + ", the GPUs that are here");
    }
    return in_one_process(static_cast<int>(gpus));
}

/// Compares and times. Returns whether the results are right.
bool multiply(const problem& p, const group& g, const team& t) {
    const team::comparison found = t.compare();
    const bool sums_are_near = found.worst_nmse <= most_nmse;
    const std::string prefix = t.prefix();
    std::printf("%s%s %lld x %lld, %.1f MB, %d %s, %s, weights %s\n", prefix.c_str(),
                kq::name_of(p.encoding), static_cast<long long>(p.n), static_cast<long long>(p.k),
                static_cast<double>(p.bytes()) / 1e6, g.ranks, g.ranks == 1 ? "rank" : "ranks",
                common::device_name().c_str(), t.is_cold() ? "cold" : "warm");
    if (t.has_rank_0()) {
        const double seconds = t.seconds_of_rank_0([&](std::size_t i) { t.multiply_all(i); });
        std::printf("%s  one GPU      %9.2f us\n", prefix.c_str(), seconds * 1e6);
    }
    const double rows = t.seconds([&](std::size_t i) { t.multiply_rows(i); });
    const double gathered = t.seconds([&](std::size_t i) {
        t.multiply_rows(i);
        t.gather();
    });
    std::printf("%s  row split    %9.2f us, %.2f us without the all-gather, %s\n", prefix.c_str(),
                gathered * 1e6, rows * 1e6, found.rows_are_equal ? "bit-equal" : "OTHER BITS");
    const double columns = t.seconds([&](std::size_t i) { t.multiply_columns(i); });
    const double reduced = t.seconds([&](std::size_t i) {
        t.multiply_columns(i);
        t.reduce();
    });
    std::printf("%s  column split %9.2f us, %.2f us without the all-reduce, NMSE %.1e %s\n",
                prefix.c_str(), reduced * 1e6, columns * 1e6, found.worst_nmse,
                sums_are_near ? "ok" : "FAILED");
    return found.rows_are_equal && sums_are_near;
}

/// Ends a process whose ranks others may wait for, because of the exception that is being handled.
[[noreturn]] void leave() {
    const int code = common::refuse("tensor_parallel");
    std::fflush(nullptr);
    mpi::abort(code);
    std::_Exit(code);
}

/// Forms the group and multiplies.
bool multiply_together(const options& chosen, const problem& p, int devices) {
    const group g = make_group(chosen, devices);
    std::optional<team> t;
    try {
        t.emplace(p, g);
        return multiply(p, g, *t);
    } catch (const std::exception&) {
        // Not by unwinding: freeing memory and communicators waits for collectives that this
        // process has begun, or others have, and that will not end now.
        leave();
    }
}

int run(const options& chosen) {
    if (chosen.mpi && !mpi::is_there()) {
        refuse("--mpi", "this program was built without MPI");
    }
    if (chosen.rank >= chosen.ranks) {
        refuse("--rank", "must be less than --ranks");
    }
    const problem p = problem_of(chosen);
    const common::gpu_presence gpus = common::find_gpus();
    if (gpus.count == 0) {
        std::printf("there is no GPU here: %s\n", gpus.absence.c_str());
        return common::skipped;
    }
    const bool passed = multiply_together(chosen, p, gpus.count);
    if (chosen.mpi) {
        mpi::finish();
    }
    return passed ? common::success : common::check_failed;
}

void declare(CLI::App& app, options& chosen) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t most_size = 1 << 20;
    common::add_encoding(app, "--encoding", chosen.encoding, "of the weights (q4_k)");
    common::add_number(app, "--n", chosen.n, "rows (8192)", 1, most_size);
    common::add_number(app, "--k", chosen.k, "columns (28672)", 1, most_size);
    common::add_number(app, "--seed", chosen.seed, "of weights and vector (1)", 0, most);
    auto* const gpus =
        common::add_number(app, "--gpus", chosen.gpus, "one process drives so many (all)", 1, most);
    auto* const ranks =
        common::add_number(app, "--ranks", chosen.ranks, "processes that meet", 1, most);
    auto* const rank =
        common::add_number(app, "--rank", chosen.rank, "which of them this is", 0, most);
    auto* const id_file = app.add_option("--id-file", chosen.id_file,
                                         "a file that rank 0 makes, for the communicator's id");
    id_file->type_name("FILE");
    ranks->needs(rank)->needs(id_file)->excludes(gpus);
    rank->needs(ranks);
    id_file->needs(ranks);
    common::add_number(app, "--timeout", chosen.timeout,
                       "seconds that ranks but 0 wait for the file (60)", 0, 86400)
        ->needs(id_file);
    app.add_flag("--mpi", chosen.mpi, "mpirun has started the processes")
        ->disable_flag_override()
        ->excludes(ranks)
        ->excludes(gpus);
}

} // namespace
} // namespace tensor_parallel

int main(int argc, char** argv) {
    using namespace tensor_parallel;
    options chosen;
    CLI::App app(description, "tensor_parallel");
    app.footer(notes);
    declare(app, chosen);
    const int code = common::run_program(app, argc, argv, [&] { return run(chosen); });
    if (code == common::unusable) {
        mpi::abort(code); // the others would wait for this one
    }
    return code;
}
