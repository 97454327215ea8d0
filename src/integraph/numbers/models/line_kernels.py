"""Lines below values at sorted points, compiled: their slopes, and how far below a function they have to be.

All kernels look for lines below; the function times −1 gives those above. A row of `x` is sorted.
"""

from __future__ import annotations

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.jit import cached_njit

ROUNDS = 12  # of the search for an edge of the hull
REFINEMENTS = 3
ROUNDING = 1e-15
ROUNDED = 1 + ROUNDING


@cached_njit(error_model="numpy")
def slope_kernel(x: Floats, values: Floats, sign: float, slopes: Floats) -> tuple[Floats, Floats]:
    """The slope of the line that is highest at the middle point among those below sign·values, and where it touches:
    the last point on the left and the first on the right. `slopes` holds the derivative at the middle point.

    At a vertex of the hull that is the tangent. Elsewhere an edge spans the middle point, and its ends are refined by
    parabolas.
    """
    rows, count = x.shape
    out, touch = np.empty(rows), np.empty((rows, 2))
    v = np.empty(count)
    half = count // 2
    for row in range(rows):
        u = x[row]
        for k in range(count):
            v[k] = sign * values[row, k]
        i, j = half, half
        left, right = -np.inf, np.inf
        for k in range(half):
            if u[k] < u[half]:
                steep = (v[half] - v[k]) / (u[half] - u[k])
                if steep > left:
                    left, i = steep, k
        for k in range(half + 1, count):
            if u[k] > u[half]:
                steep = (v[k] - v[half]) / (u[k] - u[half])
                if steep < right:
                    right, j = steep, k
        slope = sign * slopes[row]
        if left <= right or i == half or j == half:
            out[row] = min(max(slope, left), right)
            touch[row, 0], touch[row, 1] = u[half], u[half]
            continue
        for _ in range(ROUNDS):  # the edge (i, j) that is lowest at the middle point
            before = i, j
            best = np.inf
            for k in range(half + 1, count):
                steep = (v[k] - v[i]) / (u[k] - u[i])
                if u[k] > u[half] and steep < best:
                    best, j = steep, k
            best = -np.inf
            for k in range(half):
                steep = (v[j] - v[k]) / (u[j] - u[k])
                if u[k] < u[half] and steep > best:
                    best, i = steep, k
            if (i, j) == before:
                break
        slope = (v[j] - v[i]) / (u[j] - u[i])
        first, last = u[i], u[j]
        for _ in range(REFINEMENTS):
            first, low = _vertex(u, v, i, slope)
            last, high = _vertex(u, v, j, slope)
            if last <= first:
                first, last = u[i], u[j]
                break
            slope = (high - low) / (last - first)
        out[row] = slope
        touch[row, 0], touch[row, 1] = first, last
    return out, touch


@cached_njit(error_model="numpy")
def _vertex(u: Floats, v: Floats, k: int, slope: float) -> tuple[float, float]:
    """Where a parabola through three points has this slope, and its value there; an end stays where it is."""
    if k == 0 or k == len(u) - 1 or u[k - 1] >= u[k] or u[k] >= u[k + 1]:
        return u[k], v[k]
    before, after = (v[k] - v[k - 1]) / (u[k] - u[k - 1]), (v[k + 1] - v[k]) / (u[k + 1] - u[k])
    bend = (after - before) / (u[k + 1] - u[k - 1])
    if not bend > 0:
        return u[k], v[k]
    steep = before + bend * (u[k] - u[k - 1])
    at = min(max(u[k] + 0.5 * (slope - steep) / bend, u[k - 1]), u[k + 1])
    step = at - u[k]
    return at, v[k] + step * (steep + bend * step)


@cached_njit(error_model="numpy")
def offset_kernel(
    x: Floats,
    values: Floats,
    steep: tuple[Floats, Floats],
    ranges: tuple[Floats, Floats],
    bends: tuple[Floats, Floats],
    sign: float,
    slopes: Floats,
) -> Floats:
    """The smallest value of sign·f − slope·x over each row, from below, but for the rounding.

    Known are f at the points, where f' is there, and f' and f'' between them. A part that bends down is smallest at its
    ends; one that bends up lies above any mean of the tangents at its ends, and one mean is nearly horizontal. Of one
    that may do both, the range of f' says how far it falls, and either half lies above a parabola from its end.
    """
    rows, count = x.shape
    out = np.empty(rows)
    for row in range(rows):
        least, slope = np.inf, slopes[row]
        for k in range(count):
            least = min(least, sign * values[row, k] - slope * x[row, k])
        for k in range(count - 1):
            h = x[row, k + 1] - x[row, k]
            if not h > 0:
                continue
            if sign > 0:
                low, high = bends[0][row, k], bends[1][row, k]
                leave, arrive = steep[0][row, k] - slope, steep[1][row, k + 1] - slope
            else:
                low, high = -bends[1][row, k], -bends[0][row, k]
                leave, arrive = -steep[1][row, k] - slope, -steep[0][row, k + 1] - slope
            if high <= 0 or (low >= 0 and (leave >= 0 or arrive <= 0)):
                continue
            first = sign * values[row, k] - slope * x[row, k]
            last = sign * values[row, k + 1] - slope * x[row, k + 1]
            flattest = ranges[0][row, k] - slope if sign > 0 else -ranges[1][row, k] - slope
            sizes = abs(low) * h * h + (abs(leave) + abs(arrive)) * h + abs(first) + abs(last)
            if not (np.isfinite(sizes) and low <= high and flattest <= np.inf):
                least = -np.inf  # a NaN, or ∞ − ∞, would be lost in what follows
            elif low >= 0:
                share = arrive / (arrive - leave)  # of the left tangent
                at = share * first + (1 - share) * (last - arrive * h)
                least = min(least, at - abs(share * leave + (1 - share) * arrive) * h)
            else:
                falling = first + min(0.0, ROUNDED * flattest * h)
                half, bend = 0.5 * h, 0.125 * low * h * h
                left = min(0.0, leave * half + bend + ROUNDING * (bend - abs(leave) * half))
                right = min(0.0, bend - arrive * half + ROUNDING * (bend - abs(arrive) * half))
                steeply = min(first + left, last + right)
                least = min(least, max(min(first, last) - 0.125 * high * h * h, falling, steeply))
        out[row] = least
    return out
