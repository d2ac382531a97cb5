"""Images and wheels of the runbook: of the ROCm that was asked for, or named as what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter import pipeline
from porter.advise import software
from porter.advise.runbook import _book
from porter.config import Config
from porter.hipify import api
from porter.model import RunbookStep, Source

REPOS = Path(__file__).parent.parent / "fixtures/repos"


def steps(name: str, rocm: str) -> dict[str, RunbookStep]:
    return {step.id: step for step in pipeline.audit(REPOS / name, Config(jobs=0, rocm=rocm)).runbook}


def test_an_image_of_another_rocm_is_never_passed_off_as_the_one_asked_for() -> None:
    """The default of ROCm 10.2 got an image of 7.14 and wheels of 7.2 without a word."""
    exact, newer = steps("vllm-service", "10.1"), steps("vllm-service", "10.2")
    assert 'IMAGE="rocm/vllm:rocm10.1.0' in exact["image"].commands[0] and "look up" not in exact["image"].why
    assert newer["image"].commands[0].endswith("# of ROCm 10.1") and "for ROCm 10.2 look up its tag at https://" in newer["image"].why
    assert "+rocm10.1.0" in exact["wheels"].commands[0] and "device-gfx942,device-gfx950" in exact["wheels"].commands[0]
    assert newer["wheels"].commands[0].startswith("python -m pip index versions torch") and "ROCm 10.2" in newer["wheels"].why
    old = steps("torch-training", "7.2")
    assert "whl/rocm7.2" in " ".join(old["wheels"].commands) and "rocm7.0_" in old["image"].commands[0]
    assert all(step.sources and step.sources[0].checked for step in (exact["image"], newer["wheels"], old["wheels"]))
    none = steps("vllm-service", "6.4")["image"]
    assert none.commands[0].startswith('IMAGE="<a tag for ROCm 6.4 from https://') and "no such image for ROCm 6.4 or older" in none.why


def test_wheels_settle_what_is_about_wheels() -> None:
    """Installing torch was said to settle arguments of a server and variables of NCCL."""
    served, torch = steps("vllm-service", "10.1")["wheels"], steps("torch-training", "10.1")["wheels"]
    assert served.rules == () and "torch" in torch.rules
    assert all("wheel" in rule or "torch" in rule or rule in ("cuda-local-version", "pytorch-cuda-index") for rule in torch.rules)


@pytest.mark.parametrize("rocm", ["6.2", "6.4", "7.3"])
def test_an_index_of_one_release_is_not_asked_for_another(rocm: str) -> None:
    """whl/rocm6.3 was to be listed for what it has of ROCm 6.4: it holds one release."""
    made = software.wheels(_book().wheels, ("gfx942",), rocm)
    assert not made.commands and f"look up the index for ROCm {rocm} at https://pytorch.org/" in made.sentence


@pytest.mark.parametrize("rocm", list(api.rocm_versions()))
def test_every_release_gets_an_image_and_wheels_that_are_not_newer(rocm: str) -> None:
    book = _book()
    for trait in {image.trait for image in book.image}:
        made = software.image(book.image, (trait,), rocm)
        named = [image.rocm for image in book.image if f'"{image.name}"' in made.commands[0]]
        assert made.source.url and all(api.version(one)[:2] <= api.version(rocm)[:2] for one in named), trait
        assert named or "knows no such image" in made.sentence, trait
    made = software.wheels(book.wheels, ("gfx942",), rocm)
    (seen,) = (wheel.rocm for wheel in book.wheels if made.source == Source(wheel.url, wheel.says, wheel.checked))
    assert "oldest wheel" in made.sentence or api.version(seen)[:2] <= api.version(rocm)[:2]
    assert "{" not in made.fields["package"] and (made.sentence == "") == any(software.same_release(w.rocm, rocm) for w in book.wheels)
    for image in book.image:
        assert image.rocm in image.name, image.name
    assert all(wheel.rocm in wheel.index or f"rocm{wheel.rocm}" in wheel.package for wheel in book.wheels)


@pytest.mark.parametrize("trait", ["jax", "tensorflow", "torch", "vllm", "sglang", ""])
def test_the_newest_release_with_images_has_one_for_every_framework(trait: str) -> None:
    """JAX and TensorFlow were sent to images of ROCm 10.0 when those of 10.1 were out."""
    made = software.image(_book().image, (trait,), "10.1")
    assert made.commands[0].startswith('IMAGE="rocm/') and "# of ROCm" not in made.commands[0] and "10.1" in made.commands[0]


def test_sources_name_a_state_of_a_page_that_stays() -> None:
    """A page at HEAD says something else tomorrow; of one the state could not be had, and its sentence says what other states say."""
    moving = [one for one in (*_book().image, *_book().wheels) if "/blob/HEAD/" in one.url]
    assert all("states of the page" in one.says for one in moving) and len(moving) <= 1


def test_hip_counts_apart_from_rocm() -> None:
    assert [api.rocm_versions()[rocm] for rocm in ("7.2", "7.14", "10.0", "10.1", "10.2")] == ["7.2", "7.14", "7.15", "7.16", "7.17"]
