"""Charts as inline SVG without a style attribute or script, so that a strict content policy and a printer both take them."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from porter.model import Hours, Quantiles
from porter.render import numbers
from porter.render.neutral import one_line, shorten
from porter.render.tongue import ENGLISH, Tongue

MAP_WIDTH, MAP_HEIGHT, SHADES = 720.0, 260.0, 5
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


def effort_strip(effort: Quantiles, words: Tongue = ENGLISH) -> Markup:
    """The simulated total on a line from zero: the band from P10 to P90, a mark at P50 and one at P80."""
    if effort.p90 <= 0:
        return Markup("")
    width, left, right = 640.0, 8.0, 8.0
    unit = (width - left - right) / (effort.p90 * 1.08)
    p10, p50, p80, p90 = (left + value * unit for value in (effort.p10, effort.p50, effort.p80, effort.p90))
    ticks = Markup("").join(
        Markup('<path class="axis" d="M{x} 40V46"/><text class="tick" x="{x}" y="62" text-anchor="{a}">{t}</text>').format(
            x=_x(left + value * unit), a="start" if value == 0 else "middle", t=words.number(f"{value:,.10g}")
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
        label=words.say("Hours: P10 {p10}, P50 {p50}, P80 {p80}, P90 {p90}", **{
            name: numbers.hours(getattr(effort, name), words) for name in ("p10", "p50", "p80", "p90")
        }),
        p80label=Markup('<text class="mark-label" x="{}" y="9" text-anchor="middle">P80</text>').format(_x(p80)) if p80 - p50 > 40 else "",
    )  # fmt: skip


def _ticks(top: float) -> list[float]:
    """Round values from zero to ``top``, five to ten of them; zero alone for less than 0.4."""
    step = 10.0 ** len(str(int(top)))
    for divisor in (1, 2, 5, 10, 20, 50, 100):
        if top / (step / divisor) >= 4:
            step /= divisor
            break
    return [step * i for i in range(int(top / step) + 1)]


def share_bar(part: int, whole: int) -> Markup:
    """A bar filled to the share ``part`` of ``whole``."""
    width = BAR_WIDTH * part / max(whole, 1)
    return Markup(
        '<svg class="bar" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true" focusable="false" preserveAspectRatio="none">'
        '<rect class="bar-rest" x="0" y="3" width="{w}" height="10"/><rect class="bar-fill" x="0" y="3" width="{part}" height="10"/></svg>'
    ).format(w=BAR_WIDTH, h=BAR_HEIGHT, part=_x(width))


def treemap(cells: Sequence[tuple[str, float, int]], words: Tongue = ENGLISH) -> Markup:
    """Directories (name, hours, lines) as a squarified treemap: area by hours, shade by hours a thousand lines."""
    cells = sorted(cells, key=lambda cell: (-cell[1], cell[0]))
    density = sorted(1000 * hours / max(lines, 1) for _, hours, lines in cells)
    parts = []
    for (name, hours, lines), box in zip(cells, squarified([hours for _, hours, _ in cells], MAP_WIDTH, MAP_HEIGHT), strict=True):
        shade = density.index(1000 * hours / max(lines, 1)) * SHADES // len(density)
        parts.append(_cell(name if name != "." else words.text("(root)"), numbers.hours(hours, words), shade, box))
    return Markup('<svg class="treemap" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _x(MAP_WIDTH), _x(MAP_HEIGHT), words.text("Likely hours by directory; the table below has the numbers"), Markup("").join(parts)
    )


def _cell(name: str, hours: str, shade: int, box: Box) -> Markup:
    """One rectangle with as much of its label as fits."""
    x, y, width, height = box
    room = int((width - 10) / 6.6)
    label = Markup("")
    if room >= 4 and height >= 18:
        label = Markup('<text x="{}" y="{}">{}</text>').format(_x(x + 6), _x(y + 15), shorten(one_line(name), room))
        if height >= 34:
            label += Markup('<text class="h" x="{}" y="{}">{}</text>').format(_x(x + 6), _x(y + 30), shorten(hours, room))
    rect = Markup('<rect class="heat{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        shade, _x(x + 1), _x(y + 1), _x(max(width - 2, 0.5)), _x(max(height - 2, 0.5))
    )
    return Markup("<g><title>{}: {}</title>{}{}</g>").format(one_line(name), hours, rect, label)


Box = tuple[float, float, float, float]


def squarified(values: Sequence[float], width: float, height: float) -> list[Box]:
    """Boxes (x, y, width, height) with areas in proportion to the values, which come in falling order (Bruls et al., 2000)."""
    scale = width * height / (sum(values) or 1.0)
    areas = [value * scale for value in values]
    out: list[Box] = []
    x = y = 0.0
    at = 0
    while at < len(areas):
        side = min(width, height)
        row = [areas[at]]
        while at + len(row) < len(areas) and _worst([*row, areas[at + len(row)]], side) <= _worst(row, side):
            row.append(areas[at + len(row)])
        depth = sum(row) / side if side > 0 else 0.0
        along = 0.0
        for area in row:
            length = area / depth if depth > 0 else 0.0
            out.append((x, y + along, depth, length) if width >= height else (x + along, y, length, depth))
            along += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
        at += len(row)
    return out


def _worst(row: Sequence[float], side: float) -> float:
    """The worst aspect ratio in a row of areas laid along a side."""
    total = sum(row)
    if side <= 0 or min(row) <= 0:
        return float("inf")
    return max(side * side * max(row) / (total * total), total * total / (side * side * min(row)))
