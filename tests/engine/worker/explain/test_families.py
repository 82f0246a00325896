import pytest

from benchtui.engine.worker.explain.costs import flops, moved_bytes, shape_text
from benchtui.engine.worker.explain.families import family_of, family_of_work


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("aten::addmm", "matmul"),
        ("aten::convolution", "matmul"),
        ("aten::convolution_backward", "matmul"),
        ("aten::_conv_depthwise2d", "matmul"),
        ("aten::mkldnn_convolution", "matmul"),
        ("mkldnn::_convolution_pointwise", "matmul"),
        ("quantized::conv2d_relu", "matmul"),
        ("aten::cudnn_convolution", "matmul"),
        ("void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1>", "matmul"),
        ("void at::native::conv_depthwise2d_forward_kernel<3, float, int>", "matmul"),
        ("conv2d_c1_k1_nhwc_kernel", "matmul"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", "matmul"),
        ("void cudnn::cnn::wgrad2d_grouped_direct_kernel<float>", "matmul"),
        ("void cudnn::detail::dgrad_engine<float, 128, 6, 7, 3, 3, 5, true>", "matmul"),
        ("ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "matmul"),
        ("triton_tem_fused_convolution_0", "matmul"),
        ("triton_tem_fused_addmm_relu_1", "matmul"),
        ("mkl::_mkl_linear", "matmul"),
        ("mkldnn::_linear_pointwise", "matmul"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32", "matmul"),
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopA_TNT", "matmul"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>", "matmul"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits>", "attention"),
        ("fmha_cutlassF_f16_aligned_64x64_rf_sm80", "attention"),
        ("aten::native_layer_norm", "elementwise"),
        ("aten::gelu", "elementwise"),
        ("aten::mul_", "elementwise"),
        ("graph_0_cpp_fused_add_native_layer_norm_3", "elementwise"),
        ("triton_poi_fused_add_0", "elementwise"),
        ("triton_poi_fused_convolution_relu_3", "elementwise"),
        ("triton_poi_fused__to_copy_convert_element_type_2", "elementwise"),
        ("triton_red_fused_convolution_native_group_norm_1", "elementwise"),
        ("graph_1_cpp_fused_convolution_0", "elementwise"),
        ("aten::embedding", "gather"),
        ("void at::native::indexSelectSmallIndex", "gather"),
        ("aten::copy_", "copy"),
        ("prims::convert_element_type", "copy"),
        ("Memcpy HtoD (Pinned -> Device)", "copy"),
        ("aten::cat", "copy"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "collective"),
        ("void at::native::multi_tensor_apply_kernel", "optimizer"),
        ("aten::topk", "other"),
        ("aten::_convert_indices_from_coo_to_csr", "other"),
        ("autograd::engine::evaluate_function: AddmmBackward0", "python"),
        ("Torch-Compiled Region: 0/0", "python"),
        ("AOTDispatcher Runtime Wrapper Prologue", "python"),
    ],
)
def test_family_by_name(name: str, family: str) -> None:
    assert family_of(name) == family


def test_operators_around_decide_before_the_name() -> None:
    assert family_of("aten::bmm", ["aten::scaled_dot_product_attention"]) == "attention"
    assert family_of("aten::addmm", ["aten::_sparse_addmm", "aten::_sparse_mm"]) == "other"
    assert family_of("aten::mul_", ["aten::_foreach_mul_", "Optimizer.step#AdamW.step"]) == "optimizer"


def test_launching_operators_decide_if_a_kernels_name_says_nothing() -> None:
    assert family_of_work("my_kernel", ["aten::gelu", "aten::bmm"]) == "elementwise"
    assert family_of_work("my_kernel", ["my::op", "GeluBackward0", "aten::embedding"]) == "gather"
    assert family_of_work("ampere_sgemm_128x64_tn", ["aten::gelu"]) == "matmul"
    assert family_of_work("my_kernel", ["my::op"]) == family_of_work("my_kernel", []) == "other"


def test_costs_by_shapes() -> None:
    assert flops("aten::mm", [(4, 8), (8, 2)]) == 2 * 4 * 8 * 2
    assert flops("aten::addmm", [(2,), (4, 8), (8, 2), (), ()]) == 2 * 4 * 8 * 2
    assert flops("aten::bmm", [(3, 4, 8), (3, 8, 2)]) == 3 * 2 * 4 * 8 * 2
    assert flops("mkl::_mkl_linear", [(4, 8), (99,), (2, 8)]) == 2 * 4 * 8 * 2
    attention = [(1, 2, 16, 8)] * 3
    assert flops("aten::_scaled_dot_product_flash_attention_for_cpu", attention) == 2 * 2 * 2 * 16 * 16 * 8
    assert flops("aten::_cudnn_attention_forward", attention) == 2 * 2 * 2 * 16 * 16 * 8
    turned = [(1, 16, 2, 8)] * 4
    assert flops("aten::_flash_attention_forward", turned) == 2 * 2 * 2 * 16 * 16 * 8
    assert flops("aten::_efficient_attention_backward", turned) == 5 * 2 * 2 * 16 * 16 * 8
    assert flops("aten::gelu", [(4, 4)]) is None
    assert flops("aten::mm", [(4, 8), (9, 2)]) is None
    assert flops("aten::mm", []) is None


def test_bytes_by_shapes_and_types() -> None:
    assert moved_bytes("aten::add", [(10,), (10,), ()], ["float", "float", "Scalar"]) == 120.0
    assert moved_bytes("aten::copy_", [(10,), (10,)], ["c10::Half", "float"]) == 60.0
    assert moved_bytes("aten::add", [(10,)], ["some type"]) is None
    assert moved_bytes("aten::add", [], []) is None
    assert shape_text([(2, 3), (), (3,)], ["c10::Half", "Scalar", "float"]) == "2x3 Half, 3 float"
    assert shape_text([()], ["Scalar"]) is None
