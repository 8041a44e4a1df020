// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Every weight encoding of the list in `blocks/encoding.hpp`, complete.

#include <kq/blocks/iq2_xxs.hpp>
#include <kq/blocks/iq3_xxs.hpp>
#include <kq/blocks/iq4_nl.hpp>
#include <kq/blocks/mxfp4.hpp>
#include <kq/blocks/nvfp4.hpp>
#include <kq/blocks/q1_0.hpp>
#include <kq/blocks/q2_0.hpp>
#include <kq/blocks/q2_k.hpp>
#include <kq/blocks/q3_k.hpp>
#include <kq/blocks/q4_0.hpp>
#include <kq/blocks/q4_1.hpp>
#include <kq/blocks/q4_k.hpp>
#include <kq/blocks/q5_0.hpp>
#include <kq/blocks/q5_1.hpp>
#include <kq/blocks/q5_k.hpp>
#include <kq/blocks/q6_k.hpp>
#include <kq/blocks/q8_0.hpp>
