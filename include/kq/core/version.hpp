// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Semantic version of kq: the only place that states it. Macros, so that `#if` and CMake can read
/// it.
#define KQ_VERSION_MAJOR 0
#define KQ_VERSION_MINOR 1
#define KQ_VERSION_PATCH 0

/// The inline namespace of everything in `kq`, named after the version: programs and libraries that
/// were built with different versions of kq share no symbol.
#define KQ_ABI KQ_ABI_OF(KQ_VERSION_MAJOR, KQ_VERSION_MINOR, KQ_VERSION_PATCH)
#define KQ_ABI_OF(major, minor, patch) KQ_ABI_NAME(major, minor, patch)
#define KQ_ABI_NAME(major, minor, patch) v##major##_##minor##_##patch
