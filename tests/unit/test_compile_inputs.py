"""Models and samples before the compiler: what is refused, and how the user is told."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from packager.compilers import TensorSpec, onnx_model, proof, samples
from packager.errors import InputUnavailable, ManifestError
from packager.manifest_model import Input


def value(name: str, shape: list[int | str] | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(inputs, outputs, nodes=None, **more) -> onnx.ModelProto:
    nodes = nodes or [helper.make_node("Relu", [inputs[0].name], [outputs[0].name])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, more.pop("weights", []))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, **more)


def saved(path, made: onnx.ModelProto, **how):
    onnx.save(made, str(path), **how)
    return path


def shaped(*shape: int, dtype: str = "float32") -> Input:
    return Input(shape=shape, dtype=dtype)


# Models


def test_open_dimensions_are_fixed_from_the_manifest_and_the_outputs_follow():
    open_model = model([value("x", ["N", 3, -1, 0])], [value("y", ["N", 3, "H", "W"])])

    fixed = onnx_model.fix_inputs(open_model, {"x": shaped(1, 3, 8, 6)})

    assert onnx_model.spec_of(fixed.graph.input[0]).shape == (1, 3, 8, 6)
    assert onnx_model.spec_of(fixed.graph.output[0]).shape == (1, 3, 8, 6)


def test_a_symbol_fixed_by_one_input_is_fixed_for_all():
    add = [helper.make_node("Add", ["a", "b"], ["y"])]
    open_model = model([value("a", ["N", 4]), value("b", ["N", 4])], [value("y", ["N", 4])], add)

    fixed = onnx_model.fix_inputs(open_model, {"a": shaped(2, 4)})

    assert [onnx_model.spec_of(v).shape for v in fixed.graph.input] == [(2, 4), (2, 4)]


def test_a_fixed_model_needs_no_words_about_its_inputs():
    made = model([value("x", [1, 4])], [value("y", [1, 4])])

    assert onnx_model.fix_inputs(made, None) is made


def test_weights_among_the_inputs_are_no_inputs():
    weights = [numpy_helper.from_array(np.zeros(4, np.float32), "w")]
    add = [helper.make_node("Add", ["x", "w"], ["y"])]
    made = model([value("x", [1, 4]), value("w", [4])], [value("y", [1, 4])], add, weights=weights)

    assert [v.name for v in onnx_model.graph_inputs(made)] == ["x"]


@pytest.mark.parametrize(
    ("said", "evidence"),
    [
        ({"pixel": shaped(1, 3, 8, 8)}, ('did you mean "pixels"?',)),
        ({"zzz": shaped(1, 3, 8, 8)}, ("its inputs: pixels",)),
        ({"pixels": shaped(1, 4, 8, 8)}, ("manifest  shape 1×4×8×8", "model     shape N×3×?×?")),
        ({"pixels": shaped(1, 3, 8)}, ("manifest  shape 1×3×8", "model     shape N×3×?×?")),
        ({"pixels": shaped(1, 3, 8, 8, dtype="uint8")}, ("manifest  dtype uint8", "model     dtype float32")),
        (None, ("pixels: N×3×?×?",)),
    ],
)
def test_words_that_do_not_fit_the_model_are_shown_beside_it(said, evidence):
    open_model = model([value("pixels", ["N", 3, -1, 0])], [value("y", None)])

    with pytest.raises(ManifestError) as caught:
        onnx_model.fix_inputs(open_model, said)

    assert caught.value.evidence == evidence


def test_open_dimensions_that_nobody_fixes_come_with_the_line_to_write():
    open_model = model([value("x", ["N", 3])], [value("y", None)])

    with pytest.raises(ManifestError) as caught:
        onnx_model.fix_inputs(open_model, {})

    assert (
        caught.value.fix
        == 'choose them: inputs = { "x" = { shape = [..., 3], dtype = "float32" } }'.replace("...", "…")
    )


def test_two_sizes_for_one_symbol_contradict_each_other():
    add = [helper.make_node("Add", ["a", "b"], ["y"])]
    open_model = model([value("a", ["N", 4]), value("b", ["N", 4])], [value("y", None)], add)

    with pytest.raises(ManifestError) as caught:
        onnx_model.fix_inputs(open_model, {"a": shaped(1, 4), "b": shaped(2, 4)})

    assert caught.value.evidence == ("manifest  shape 2×4", "model     shape N×4, where N is 1")


def test_dimensions_that_are_called_by_a_question_mark_have_no_size_in_common():
    open_model = model([value("x", ["?", 3, "?", "?"])], [value("y", None)])

    fixed = onnx_model.fix_inputs(open_model, {"x": shaped(1, 3, 48, 192)})

    assert onnx_model.spec_of(fixed.graph.input[0]).shape == (1, 3, 48, 192)


def test_nameless_nodes_are_called_by_their_output_and_tool_metadata_goes():
    made = model([value("x", [1])], [value("y", [1])])
    helper.set_model_props(made, {"exported": "yesterday"})

    tidy = onnx_model.tidy(made)

    assert [node.name for node in tidy.graph.node] == ["y"]
    assert not tidy.metadata_props


def test_a_truncated_model_is_an_input_that_could_not_be_had(tmp_path):
    weights = [numpy_helper.from_array(np.ones(1000, np.float32), "w")]
    add = [helper.make_node("Add", ["x", "w"], ["y"])]
    path = saved(
        tmp_path / "cut.onnx", model([value("x", [1000])], [value("y", [1000])], add, weights=weights)
    )
    path.write_bytes(path.read_bytes()[:2000])

    with pytest.raises(InputUnavailable, match=r"cut\.onnx is not a whole ONNX file") as caught:
        onnx_model.load(path)

    assert caught.value.evidence[0].startswith("2000 bytes: ")


@pytest.mark.parametrize("content", [b"", b"{}", b"not a model at all", b"\x08\x08"])
def test_something_else_under_the_name_of_a_model_is_refused(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)

    with pytest.raises(InputUnavailable, match="not a whole ONNX file"):
        onnx_model.load(path)


def test_a_graph_that_breaks_the_rules_is_refused_with_the_checkers_words(tmp_path):
    broken = model([value("x", [1])], [value("y", [1])], [helper.make_node("Relu", ["nowhere"], ["y"])])

    with pytest.raises(InputUnavailable, match="breaks the rules of ONNX") as caught:
        onnx_model.load(saved(tmp_path / "m.onnx", broken))

    assert "nowhere" in " ".join(caught.value.evidence)


def test_a_custom_operator_is_refused_by_name_and_node(tmp_path):
    custom = model(
        [value("x", [1])], [value("y", [1])], [helper.make_node("Spot", ["x"], ["y"], "s1", domain="acme")]
    )
    custom.opset_import.append(helper.make_opsetid("acme", 1))

    with pytest.raises(InputUnavailable) as caught:
        onnx_model.load(saved(tmp_path / "m.onnx", custom))

    assert caught.value.evidence == ("acme:Spot  node s1",)


def test_a_wrapper_of_a_context_binary_is_no_model_to_compile(tmp_path):
    node = helper.make_node(
        "EPContext", ["x"], ["y"], domain="com.microsoft", embed_mode=0, ep_cache_context="c.bin"
    )
    wrapper = model([value("x", [1])], [value("y", [1])], [node])
    wrapper.opset_import.append(helper.make_opsetid("com.microsoft", 1))

    with pytest.raises(InputUnavailable, match="already compiled"):
        onnx_model.load(saved(tmp_path / "m.onnx", wrapper))


def with_weights_outside(path):
    weights = [numpy_helper.from_array(np.arange(1000, dtype=np.float32), "w")]
    add = [helper.make_node("Add", ["x", "w"], ["y"])]
    made = model([value("x", [1000])], [value("y", [1000])], add, weights=weights)
    return saved(path, made, save_as_external_data=True, location="weights.data", size_threshold=0)


def test_weights_beside_the_model_are_read(tmp_path):
    path = with_weights_outside(tmp_path / "m.onnx")

    loaded = onnx_model.load(path)

    assert numpy_helper.to_array(loaded.graph.initializer[0])[-1] == 999


def test_missing_weights_are_named(tmp_path):
    path = with_weights_outside(tmp_path / "m.onnx")
    (tmp_path / "weights.data").unlink()

    with pytest.raises(InputUnavailable, match="keeps weights in files that are not beside it") as caught:
        onnx_model.load(path)

    assert caught.value.evidence == ("missing: weights.data",)


def test_weights_outside_the_folder_of_the_model_are_not_read(tmp_path):
    (tmp_path / "inner").mkdir()
    path = with_weights_outside(tmp_path / "inner" / "m.onnx")
    (tmp_path / "inner" / "weights.data").rename(tmp_path / "weights.data")
    escaped = onnx.load(str(path), load_external_data=False)
    escaped.graph.initializer[0].external_data[0].value = "../weights.data"
    path.write_bytes(escaped.SerializeToString())

    with pytest.raises(InputUnavailable):
        onnx_model.load(path)


# Samples

ONE = (TensorSpec(name="x", dtype="float32", shape=(1, 3)),)
TWO = (*ONE, TensorSpec(name="ids", dtype="int64", shape=(2,)))


def test_a_sample_for_one_input_is_a_bare_array(tmp_path):
    np.save(tmp_path / "s.npy", np.asfortranarray(np.ones((1, 3), ">f4")))

    (array,) = samples.read(tmp_path / "s.npy", ONE).values()

    assert array.flags.c_contiguous
    assert array.dtype.isnative


def test_a_sample_for_several_inputs_is_an_archive_of_named_arrays(tmp_path):
    np.savez(tmp_path / "s.npz", ids=np.zeros(2, np.int64), x=np.ones((1, 3), np.float32))

    arrays = samples.read(tmp_path / "s.npz", TWO)

    assert list(arrays) == ["x", "ids"]


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.ones((1, 3), np.float64), "found   float64 1×3"),
        (np.ones((1, 4), np.float32), "found   float32 1×4"),
        (np.ones(3, np.float32), "found   float32 3"),
        (np.array([[1, np.nan, np.inf]], np.float32), "2 of 3 values"),
    ],
)
def test_a_sample_that_does_not_fit_is_named_with_what_was_found(tmp_path, array, said):
    np.save(tmp_path / "s7.npy", array)

    with pytest.raises(InputUnavailable, match=r"s7\.npy") as caught:
        samples.read(tmp_path / "s7.npy", ONE)

    assert caught.value.evidence[0] == said


def test_a_bare_array_for_two_inputs_is_refused(tmp_path):
    np.save(tmp_path / "s.npy", np.ones((1, 3), np.float32))

    with pytest.raises(InputUnavailable, match="holds one array, but the model has 2 inputs"):
        samples.read(tmp_path / "s.npy", TWO)


def test_a_misspelt_array_is_met_with_the_right_word(tmp_path):
    np.savez(tmp_path / "s.npz", x=np.ones((1, 3), np.float32), idz=np.zeros(2, np.int64))

    with pytest.raises(InputUnavailable) as caught:
        samples.read(tmp_path / "s.npz", TWO)

    assert caught.value.evidence == ("missing: ids", "not an input: idz (did you mean ids?)")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 but no more", b"\x93NUMPY\x01\x00", b"plain text"])
def test_a_damaged_sample_is_refused(tmp_path, content):
    (tmp_path / "s.npy").write_bytes(content)

    with pytest.raises(InputUnavailable, match="not a readable"):
        samples.read(tmp_path / "s.npy", ONE)


def test_a_sample_that_would_run_code_is_refused(tmp_path):
    np.save(tmp_path / "s.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)

    with pytest.raises(InputUnavailable, match="not a readable"):
        samples.read(tmp_path / "s.npy", ONE)


# Comparison


def runs(folder, *arrays):
    paths = [folder / f"{len(list(folder.iterdir()))}-{i}.npy" for i, _ in enumerate(arrays)]
    for path, array in zip(paths, arrays, strict=True):
        np.save(path, np.asarray(array))
    return [{"y": path} for path in paths]


def test_cosine_and_largest_difference_are_those_of_all_samples_together(tmp_path):
    found = runs(tmp_path, [1.0, 0.0], [0.0, 2.0])
    wanted = runs(tmp_path, [1.0, 0.0], [0.0, 1.0])

    result = proof.compare("y", found, wanted)

    assert result.cosine == pytest.approx(3 / np.sqrt(5 * 2))
    assert (result.max_abs, result.samples) == (1.0, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_nan_or_an_infinity_of_one_side_leaves_no_number(tmp_path, bad):
    result = proof.compare("y", runs(tmp_path, [bad, 1.0]), runs(tmp_path, [0.5, 1.0]))

    assert np.isnan(result.cosine)
    assert np.isnan(result.max_abs)


def test_an_infinity_on_both_sides_agrees(tmp_path):
    result = proof.compare("y", runs(tmp_path, [-np.inf, 1.0]), runs(tmp_path, [-np.inf, 1.0]))

    assert (result.cosine, result.max_abs) == (1.0, 0.0)


@pytest.mark.parametrize(("found", "cosine"), [([0.0, 0.0], 1.0), ([0.0, 0.1], 0.0)])
def test_a_reference_of_zeros_is_met_by_zeros_only(tmp_path, found, cosine):
    result = proof.compare("y", runs(tmp_path, found), runs(tmp_path, [0.0, 0.0]))

    assert result.cosine == cosine


def test_integers_and_truth_values_are_compared_as_numbers(tmp_path):
    integers = proof.compare("y", runs(tmp_path, np.array([7, 9])), runs(tmp_path, np.array([7, 8])))
    truths = proof.compare("y", runs(tmp_path, [True, False]), runs(tmp_path, [True, False]))

    assert integers.max_abs == 1.0
    assert (truths.cosine, truths.max_abs) == (1.0, 0.0)


def test_numbers_too_large_to_square_leave_no_cosine(tmp_path):
    result = proof.compare("y", runs(tmp_path, [1e200]), runs(tmp_path, [2e200]))

    assert np.isnan(result.cosine)
