"""Draws the example's inputs: short pieces of text, upright and upside down.

    python make_samples.py

writes samples/*.npy for the numerical proof and calibration/*.npy for quantization, each one picture as the
classifier takes it: float32, 1×3×48×48, RGB, (x / 255 - 0.5) / 0.5. The same files come out on every run.
The letters are strokes drawn here, so that neither a font nor an imaging library is needed. An application of
your own would put cut-outs of real pictures in their place.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

SIDE = 48
SMOOTH = 3  # each pixel is the mean of SMOOTH × SMOOTH finer ones

# Polylines on a grid 4 wide and 6 high from the top left. No letter here looks the same upside down.
GLYPHS = {
    "A": ["06 20 46", "14 34"],
    "B": ["00 06 36 45 44 33 03", "33 42 41 30 00"],
    "E": ["40 00 06 46", "03 33"],
    "F": ["40 00 06", "03 33"],
    "G": ["41 30 10 01 05 16 36 45 43 23"],
    "J": ["40 45 36 16 05"],
    "K": ["00 06", "40 03 46"],
    "L": ["00 06 46"],
    "P": ["06 00 30 41 42 33 03"],
    "R": ["06 00 30 41 42 33 03", "23 46"],
    "T": ["00 40", "20 26"],
    "U": ["00 05 16 36 45 40"],
    "V": ["00 26 40"],
    "Y": ["00 23 40", "23 26"],
    "2": ["01 10 30 41 42 06 46"],
    "3": ["00 40 22 32 43 45 36 16 05"],
    "4": ["36 30 04 44"],
    "5": ["40 00 03 33 44 45 36 06"],
    "7": ["00 40 16"],
}
SAMPLES = ["EAT", "PLAY", "GATE", "FLY", "RATE", "TR4"]
CALIBRATION = ["KEY", "LEFT", "BAR", "47A", "JET", "YELP", "GULF", "25B", "PEAR", "VAT", "TAR", "F35", "EGG",
               "RUBY", "LAP", "TALK"]  # fmt: skip


def draw(word: str, rng: np.random.Generator, contrast: tuple[float, float]) -> np.ndarray:
    """One picture, float32 48×48×3 in 0…255, as a camera might see it: some faint, some out of focus."""
    ink = coverage(word, thickness=rng.uniform(2.2, 3.4), lift=rng.uniform(-2, 2))[..., None]
    paper, black = rng.uniform(120, 250, 3), rng.uniform(0, 70, 3)
    strength = ink * rng.uniform(*contrast)
    picture = paper * (1 - strength) + black * strength
    for _ in range(rng.integers(0, 3)):
        picture = blurred(picture)
    picture += rng.normal(0, 6, picture.shape)
    return np.clip(picture, 0, 255).astype(np.float32)


def blurred(picture: np.ndarray) -> np.ndarray:
    """Each pixel the mean of itself and its four neighbours."""
    padded = np.pad(picture, ((1, 1), (1, 1), (0, 0)), mode="edge")
    return (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] + picture) / 5


def coverage(word: str, thickness: float, lift: float) -> np.ndarray:
    """How much of each pixel the pen covers, 0…1, 48×48. Sizes in pixels."""
    fine = SIDE * SMOOTH
    axis = (np.arange(fine) + 0.5) / SMOOTH
    x, y = np.meshgrid(axis, axis)
    distance = np.full((fine, fine), np.inf)
    width = (SIDE - 4) / len(word)
    for place, letter in enumerate(word):
        left, across, down = 2 + place * width + 2, (width - 4.5) / 4, 32 / 6
        for line in GLYPHS[letter]:
            points = [(left + int(p[0]) * across, 8 + lift + int(p[1]) * down) for p in line.split()]
            for start, end in itertools.pairwise(points):
                distance = np.minimum(distance, to_segment(x, y, start, end))
    hit = (distance <= thickness / 2).astype(np.float64)
    return hit.reshape(SIDE, SMOOTH, SIDE, SMOOTH).mean(axis=(1, 3))


def to_segment(
    x: np.ndarray, y: np.ndarray, start: tuple[float, float], end: tuple[float, float]
) -> np.ndarray:
    """Distance of every point to the straight line between two others."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    along = np.clip(((x - start[0]) * dx + (y - start[1]) * dy) / (dx * dx + dy * dy), 0, 1)
    return np.hypot(x - start[0] - along * dx, y - start[1] - along * dy)


def to_input(picture: np.ndarray) -> np.ndarray:
    """The picture as the classifier takes it."""
    return ((picture / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].astype(np.float32)


def write(folder: Path, words: list[str], seed: int, contrast: tuple[float, float]) -> None:
    """One file for each word, every second one upside down; the name says which."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(seed)
    for number, word in enumerate(words):
        turned = number % 2 == 1
        picture = draw(word, rng, contrast)
        name = f"{number:02}-{word.lower()}-{'180' if turned else '0'}.npy"
        np.save(folder / name, to_input(picture[::-1, ::-1] if turned else picture))


def main() -> None:
    """Write both folders beside this file.

    The proof's pictures are faint, and their seed is one where the classifier is right but not always sure:
    where it is sure its softmax says exactly 0 and 1, and would hide what quantization loses.
    """
    here = Path(__file__).resolve().parent
    write(here / "samples", SAMPLES, seed=116, contrast=(0.15, 0.4))
    write(here / "calibration", CALIBRATION, seed=106, contrast=(0.15, 0.9))


if __name__ == "__main__":
    main()
