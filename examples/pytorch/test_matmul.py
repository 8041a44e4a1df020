# SPDX-License-Identifier: Apache-2.0
"""Checks kq.matmul against NumPy's dequantized weights, in graphs and under torch.compile.

python3 examples/pytorch/test_matmul.py
"""

import pathlib
import sys

import torch
import torch._dynamo.testing

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
import ggml_blocks
import kq

DTYPES = {torch.float32: 1e-10, torch.float16: 1e-6, torch.bfloat16: 1e-4}  # most NMSE of outputs
failures = 0


def check(what, right):
    global failures
    failures += not right
    print(f"{what}: {'ok' if right else 'WRONG'}")


def product(encoding, n, k, dtype, *leading, seed=3):
    """An activation and packed weights on the GPU, and the weights' values."""
    weights = ggml_blocks.random_weights(encoding, n, k)
    values = torch.from_numpy(ggml_blocks.dequantize(encoding, weights))
    torch.manual_seed(seed)
    x = torch.randn(*leading, k).to(dtype)
    return x.cuda(), torch.from_numpy(weights).cuda(), values.cuda()


def nmse(y, expected):
    return float(((y.double() - expected) ** 2).sum() / (expected**2).sum())


def against_dequantized(encoding, dtype, n, k, *leading):
    x, packed, values = product(encoding, n, k, dtype, *leading)
    y = kq.matmul(x, packed, encoding, n, k)
    expected = torch.matmul(x.double(), values.double().T)
    rows = ggml_blocks.quantized_activation(encoding, x.float().cpu().numpy().reshape(-1, k))
    exact = torch.matmul(torch.from_numpy(rows).cuda(), values.double().T).reshape(y.shape)
    unquantized, error = nmse(y, expected), nmse(y, exact)
    shapes = y.shape == expected.shape and y.dtype == dtype and y.device == x.device
    check(
        f"{encoding} {dtype} x {list(x.shape)} n {n}: NMSE {error:.1e} with the quantized "
        f"activation, {unquantized:.1e} with the activation itself",
        shapes and error < DTYPES[dtype] and unquantized < 1e-3,
    )


def in_a_graph(encoding, n, k):
    x, packed, _ = product(encoding, n, k, torch.float16, 2)
    other, _, _ = product(encoding, n, k, torch.float16, 2, seed=4)
    expected = kq.matmul(other, packed, encoding, n, k)  # also loads what a capture cannot
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = kq.matmul(x, packed, encoding, n, k)
    x.copy_(other)
    graph.replay()
    check(f"{encoding} in a CUDA graph, replayed with another x", torch.equal(y, expected))


def on_another_stream(encoding, n, k):
    x, packed, _ = product(encoding, n, k, torch.float32, 3)
    expected = kq.matmul(x, packed, encoding, n, k)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = kq.matmul(x, packed, encoding, n, k)
    stream.synchronize()
    check(f"{encoding} on another stream", torch.equal(y, expected))


def compiled(encoding, n, k):
    def layer(x, packed):
        return torch.relu(kq.matmul(x, packed, encoding, n, k))

    torch.compiler.reset()  # another n and encoding are another program, not a recompilation
    fast = torch.compile(layer, fullgraph=True)
    for leading in ((1,), (4,), (2, 5)):
        x, packed, _ = product(encoding, n, k, torch.bfloat16, *leading)
        right = torch.equal(fast(x, packed), layer(x, packed))
        check(f"{encoding} under torch.compile(fullgraph=True), x {list(x.shape)}", right)


def compiled_with_x_inside(encoding, n, k):
    """x is the graph's own, and inductor would rather leave it in the order of columns."""

    def layer(columns, packed):
        return kq.matmul(torch.relu(columns.T).contiguous(), packed, encoding, n, k)

    torch.compiler.reset()
    x, packed, _ = product(encoding, n, k, torch.float32, 4)
    columns = x.T.contiguous()
    fast = torch.compile(layer, fullgraph=True)
    right = torch.equal(fast(columns, packed), layer(columns, packed))
    check(f"{encoding} under torch.compile, x computed inside from its columns", right)


def compiled_once(encoding):
    """n and k are sizes, and one program serves all of them."""

    def layer(x, packed):
        return kq.matmul(x, packed, encoding, packed.shape[0], x.shape[-1])

    torch.compiler.reset()
    counter = torch._dynamo.testing.CompileCounter()
    fast = torch.compile(layer, backend=counter, fullgraph=True, dynamic=True)
    right = True
    for n, k, m in ((96, 512, 3), (160, 1024, 5)):
        x, packed, _ = product(encoding, n, k, torch.float32, m)
        right = right and torch.equal(fast(x, packed), layer(x, packed))
    right = right and counter.frame_count == 1
    check(f"{encoding} with dynamic shapes, programs for two n and k: {counter.frame_count}", right)


def compiled_with_a_gradient(encoding, n, k):
    """The ValueError of eager mode, where there would be no gradient."""

    def layer(x, packed):
        return torch.relu(kq.matmul(2 * x, packed, encoding, n, k))

    x, packed, _ = product(encoding, n, k, torch.float32, 2)
    expected = layer(x, packed)
    x.requires_grad_()
    torch.compiler.reset()
    messages = []
    for call in (layer, torch.compile(layer, fullgraph=True)):
        try:
            call(x, packed)
            messages.append("no error")
        except ValueError as e:
            messages.append(str(e).splitlines()[0])
    right = messages[0] == messages[1] and messages[0].startswith("x: there is no gradient")
    check(f"{encoding} with a gradient, eager and compiled: {messages}", right)
    with torch.no_grad():
        right = torch.equal(torch.compile(layer, fullgraph=True)(x, packed), expected)
    check(f"{encoding} compiled without gradients, x requires one", right)


def registered(encoding, n, k):
    x, packed, _ = product(encoding, n, k, torch.float32, 2)
    outcome = torch.library.opcheck(torch.ops.kq.matmul, (x, packed, encoding, n, k))
    check(f"torch.library.opcheck: {outcome}", set(outcome.values()) == {"SUCCESS"})


def refusals():
    n, k = 64, 512
    x, packed, _ = product("q4_k", n, k, torch.float32, 2)
    for what, words, arguments in (
        ("an x on the CPU", "x: must be on a CUDA device", (x.cpu(), packed)),
        ("weights on the CPU", "packed_weight: must be on x's cuda:0", (x, packed.cpu())),
        ("a double x", "x: must be float32, float16 or bfloat16", (x.double(), packed)),
        ("weights of floats", "packed_weight: must be uint8", (x, packed.float())),
        ("an x of columns", "x: must be contiguous", (x.T.contiguous().T, packed)),
        ("every other byte", "packed_weight: must be contiguous", (x, packed.repeat(1, 2)[:, ::2])),
        ("too few weights", "packed_weight: must have 18432 bytes", (x, packed[1:])),
        (
            "weights off alignment",
            "packed_weight: must be 16-byte aligned",
            (x, torch.cat([packed.flatten()[:1], packed.flatten()])[1:]),
        ),
        ("another k", "x: its last dimension must be k", (x[:, :256].contiguous(), packed)),
        ("an unknown encoding", 'encoding: "q4_x" is none of', (x, packed, "q4_x")),
        (
            "half a block",
            "k: must be a non-negative multiple",
            (x[:, :384].contiguous(), packed, "q4_k", n, 384),
        ),
        ("an x with a gradient", "x: there is no gradient", (x.clone().requires_grad_(), packed)),
    ):
        given = (*arguments, *("q4_k", n, k)[len(arguments) - 2 :])
        try:
            kq.matmul(*given)
            message = "no error"
        except ValueError as e:
            message = str(e).splitlines()[0]
        check(f"{what} is refused: {message!r}", message.startswith(words))


def main():
    for encoding in ggml_blocks.ENCODINGS:
        for dtype in DTYPES:
            for n, k, *leading in ((4096, 4096), (1000, 768, 3), (33, 256, 2, 1, 5)):
                against_dequantized(encoding, dtype, n, k, *leading)
        in_a_graph(encoding, 512, 1024)
        on_another_stream(encoding, 512, 1024)
        compiled(encoding, 512, 1024)
        compiled_with_x_inside(encoding, 512, 1024)
        compiled_once(encoding)
    compiled_with_a_gradient("q4_k", 512, 1024)
    x, packed, _ = product("q4_k", 8, 256, torch.float32, 0)
    check("no rows give no rows", kq.matmul(x, packed, "q4_k", 8, 256).shape == (0, 8))
    registered("q4_k", 512, 1024)
    refusals()
    print("all is well" if failures == 0 else f"{failures} failed")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
