"""Charts as inline SVG without a style attribute or script, so that a strict content policy and a printer both take them."""

from __future__ import annotations

from markupsafe import Markup

from porter.model import Hours, Quantiles
from porter.render import numbers

BAR_WIDTH, BAR_HEIGHT = 240, 16


def _x(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def hours_bar(hours: Hours, scale: float) -> Markup:
    """A bar to the likely hours with a line from best to worst; ``scale`` is the value at the right edge."""
    if scale <= 0 or hours.worst <= 0:
        return Markup("")
    unit = BAR_WIDTH / scale
    best, likely, worst = (min(value, scale) * unit for value in (hours.best, hours.likely, hours.worst))
    middle = BAR_HEIGHT / 2
    return Markup(
        '<svg class="bar" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true" focusable="false" preserveAspectRatio="none">'
        '<rect class="bar-fill" x="0" y="3" width="{likely}" height="10" rx="1"/>'
        '<path class="bar-range" d="M{best} {mid}H{worst}M{worst} 4V12M{best} 4V12"/></svg>'
    ).format(w=BAR_WIDTH, h=BAR_HEIGHT, likely=_x(max(likely, 1)), best=_x(best), worst=_x(max(worst - 1, 1)), mid=_x(middle))


def severity_bar(counts: tuple[int, ...], names: tuple[str, ...], scale: int) -> Markup:
    """A bar stacked by severity; ``scale`` is the number of findings at the right edge."""
    parts = []
    at = 0.0
    for name, number in zip(names, counts, strict=True):
        if not number:
            continue
        width = max(BAR_WIDTH * number / max(scale, 1), 1.5)
        parts.append(Markup('<rect class="s-{}" x="{}" y="3" width="{}" height="10"/>').format(name, _x(at), _x(width)))
        at += width
    box = Markup(
        '<svg class="bar" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true" focusable="false" preserveAspectRatio="none">'
    ).format(w=BAR_WIDTH, h=BAR_HEIGHT)
    return box + Markup("").join(parts) + Markup("</svg>")


def effort_strip(effort: Quantiles) -> Markup:
    """The simulated total on a line from zero: the band from P10 to P90, a mark at P50 and one at P80."""
    if effort.p90 <= 0:
        return Markup("")
    width, left, right = 640.0, 8.0, 8.0
    unit = (width - left - right) / (effort.p90 * 1.08)
    p10, p50, p80, p90 = (left + value * unit for value in (effort.p10, effort.p50, effort.p80, effort.p90))
    ticks = Markup("").join(
        Markup('<path class="axis" d="M{x} 40V46"/><text class="tick" x="{x}" y="62" text-anchor="{a}">{t}</text>').format(
            x=_x(left + value * unit), a="start" if value == 0 else "middle", t=f"{value:,.10g}"
        )
        for value in _ticks(effort.p90 * 1.08)
    )
    return Markup(
        '<svg class="strip" viewBox="0 0 {w} 68" role="img" aria-label="{label}">'
        '<path class="axis" d="M{l} 40H{r}"/>{ticks}'
        '<rect class="band" x="{p10}" y="20" width="{span}" height="20"/>'
        '<path class="p80" d="M{p80} 16V40"/><path class="p50" d="M{p50} 12V40"/>'
        '<text class="mark-label" x="{p50}" y="9" text-anchor="middle">P50</text>{p80label}</svg>'
    ).format(
        w=_x(width), l=_x(left), r=_x(width - right), ticks=ticks, p10=_x(p10), span=_x(p90 - p10), p50=_x(p50), p80=_x(p80),
        label=f"Hours: P10 {numbers.hours(effort.p10)}, P50 {numbers.hours(effort.p50)}, "
        f"P80 {numbers.hours(effort.p80)}, P90 {numbers.hours(effort.p90)}",
        p80label=Markup('<text class="mark-label" x="{}" y="9" text-anchor="middle">P80</text>').format(_x(p80)) if p80 - p50 > 40 else "",
    )  # fmt: skip


def _ticks(top: float) -> list[float]:
    """Round values from zero to ``top``, four to seven of them."""
    step = 10.0 ** len(str(int(top)))
    for divisor in (1, 2, 5, 10, 20, 50, 100):
        if top / (step / divisor) >= 4:
            step /= divisor
            break
    return [step * i for i in range(int(top / step) + 1)]
