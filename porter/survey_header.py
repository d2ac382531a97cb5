"""What C++ without a sign of CUDA tells the kernels that include it: read by its directives, and parsed only where that may say more."""

from __future__ import annotations

import msgspec

from porter import survey_widths
from porter.model import SourceFile
from porter.parse import cuda
from porter.survey import Survey, survey


def of_header(source: SourceFile) -> Survey:
    """Its macros and includes, and its constants where one may be the width of a warp."""
    told = survey(cuda.skim(source))
    if survey_widths.may_define(source.data):
        told = msgspec.structs.replace(told, constants=survey(cuda.parse(source)).constants)
    return told
