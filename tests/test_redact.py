"""Redaction: nothing of the code's own words in any format, the same hashes every time, and no number changed."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from report_factory import HOSTILE_CODE, HOSTILE_PATH, make_report

from porter import pipeline
from porter.config import Config
from porter.model import Baseline, Quantiles, Suppression
from porter.model_report import Scope
from porter.redact import redact
from porter.render import FORMATS, render
from porter.render import json as report_json

SECRETS = ("zebra", "acme", "quxotic", "hiddenvar", "plutonium", "grommet")
CUDA = """#include <cuda_runtime.h>
#include "acme_private.h"
#define QUXOTIC_WARP 32  // plutonium
__global__ void zebraKernel(float *hiddenvar) {
  unsigned grommetMask = __ballot_sync(0xffffffff, hiddenvar[threadIdx.x] > 0);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(grommetMask), "l"(hiddenvar));
  hiddenvar[threadIdx.x / 32] = __popc(grommetMask) + __shfl_down_sync(0xffffffffu, hiddenvar[0], 16);
}
#ifdef USE_ROCM
int acmeHip;
#endif
void acmeLaunch(float *hiddenvar) { zebraKernel<<<1, QUXOTIC_WARP>>>(hiddenvar); cudaGrommetUnknown(hiddenvar); }
void broken( { zebra
"""


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    root = tmp_path_factory.mktemp("x") / "acme-corp"
    (root / "zebra_src").mkdir(parents=True)
    (root / "zebra_src/quxotic_kernels.cu").write_text(CUDA)
    (root / "requirements.txt").write_text("nvidia-nvshmem-cu12\nacme-private-lib==1.0\ntensorrt-llm\n")
    (root / "grommet_tool.py").write_text(
        "import torch\nimport tensorrt_llm as acme\nhiddenvar = torch.cuda.get_device_capability() >= (9, 0)\n"
    )
    (root / "broken_zebra.ipynb").write_text("{plutonium")
    return pipeline.audit(root, Config(jobs=0, rocm="7.2"), command="porter scan acme-corp")


def texts(report):
    out = {name: render(report, name) for name in FORMATS}
    with zipfile.ZipFile(io.BytesIO(out["xlsx"])) as archive:
        out["xlsx"] = " ".join(archive.read(name).decode() for name in archive.namelist())
    return out


def test_the_project_has_something_to_hide(secret):
    assert len(secret.findings) > 5 and secret.kernels and secret.problems and secret.insights and secret.amd_signs
    shown = texts(secret)
    assert all(any(word in shown[name].lower() for word in SECRETS) for name in FORMATS)


def test_no_format_of_a_redacted_report_tells_a_name(secret):
    for name, text in texts(redact(secret)).items():
        found = [word for word in SECRETS if word in text.lower()]
        assert found == [], (name, found)


def test_every_number_stays(secret):
    before, after = (json.loads(report_json.render(report)) for report in (secret, redact(secret)))
    assert before["summary"] == after["summary"]
    assert sorted(f["rule"] + str(f["line"]) for f in before["findings"]) == sorted(f["rule"] + str(f["line"]) for f in after["findings"])
    assert [line["hours"] for line in before["effort"]] == [line["hours"] for line in after["effort"]]


def test_names_are_the_same_in_every_run_and_others_under_another_key(secret):
    first, second, keyed = redact(secret), redact(secret), redact(secret, b"key")
    assert first == second
    assert {f.path for f in first.files}.isdisjoint({f.path for f in keyed.files})
    assert len({f.path for f in first.files}) == len(secret.files)
    assert {f.path.rsplit(".")[-1] for f in first.files if "/" in f.path} == {"cu"}
    assert {f.path for f in first.findings} <= {f.path for f in first.files}


def test_what_only_some_reports_have_goes_too():
    base = Baseline("secret-branch", "abc", 1, 1, 1, Quantiles(), Quantiles())
    report = make_report(baseline=base, suppressed=make_report().findings[:2])
    why = {finding.fingerprint: Suppression("inSource", HOSTILE_PATH, 3, "a secret reason") for finding in report.suppressed}
    more = {"baseline": base, "suppressed": report.suppressed, "suppressions": why, "fixed": report.findings[:1]}
    hidden = redact(make_report(**more, scope=Scope("secret-tag", "abc", 3, 4)))
    assert hidden.scope and (hidden.scope.changed, hidden.scope.unchanged) == (3, 4)
    words = (
        "secret",
        HOSTILE_PATH,
        HOSTILE_CODE[:20],
        "warp-tools",
        "vote_kernel",
        "cudaFoo",
        "0123456789abcdef",
        "launched",
        "run.py",
        "llama",
    )
    for name, text in texts(hidden).items():
        assert [word for word in words if word in text] == [], name


def test_the_page_says_that_it_is_redacted(secret):
    assert "Redacted." in render(redact(secret), "html") and "Redacted." not in render(secret, "html")
    assert json.loads(report_json.render(redact(secret)))["redacted"] is True and "redacted" not in json.loads(report_json.render(secret))
