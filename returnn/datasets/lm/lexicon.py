"""Pronunciations, and classes of allophone states: Bliss lexica, state tying."""

from __future__ import annotations

import xml.etree.ElementTree
from typing import Any

from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.label_file import read_text
from returnn.util.packed import DAMAGED, open_unpacked
from returnn.util.suggest import file_not_found


class Lexicon:
    """A lexicon in Bliss XML."""

    def __init__(self, filename: str):
        """
        :param filename: may be packed (``.gz``)
        """
        print("Loading lexicon", filename, file=log.v4)
        self.filename = filename
        self.phoneme_list: list[str] = []
        self.phonemes: dict[str, dict[str, Any]] = {}
        """symbol -> ``{"index", "symbol", "variation"}``; variation "none": without context"""
        self.lemmas: dict[str, dict[str, Any]] = {}
        """orth -> ``{"orth", "phons": [{"phon": "a b", "score": 0.0}]}``"""
        try:
            with open_unpacked(filename) as f:
                self._read(f)
        except FileNotFoundError:
            raise ConfigError(file_not_found("lexicon", filename)) from None
        except (xml.etree.ElementTree.ParseError, *DAMAGED) as exc:
            raise UserError(f"lexicon {filename!r}: no XML: {exc}") from exc
        print("Finished whole lexicon, %i lemmas" % len(self.lemmas), file=log.v4)

    def _read(self, f: Any) -> None:
        root: Any = None
        for event, elem in xml.etree.ElementTree.iterparse(f, events=("start", "end")):
            if event == "start":
                root = elem if root is None else root
            elif elem.tag == "phoneme":
                self._add_phoneme(elem)
            elif elem.tag == "phoneme-inventory":
                print("Finished phoneme inventory, %i phonemes" % len(self.phonemes), file=log.v4)
                root.clear()
            elif elem.tag == "lemma":
                self._add_lemma(elem)
                root.clear()  # else all of it would stay in memory

    def _add_phoneme(self, elem: xml.etree.ElementTree.Element) -> None:
        symbol = (elem.findtext("symbol") or "").strip()
        variation = (elem.findtext("variation") or "context").strip()
        if not symbol or symbol in self.phonemes:
            raise UserError(f"lexicon {self.filename!r}: phoneme {symbol!r} is there twice, or has no symbol")
        if variation not in ("context", "none"):
            raise UserError(
                f"lexicon {self.filename!r}: phoneme {symbol!r} has variation {variation!r}, not context/none"
            )
        self.phonemes[symbol] = {"index": len(self.phoneme_list), "symbol": symbol, "variation": variation}
        self.phoneme_list.append(symbol)

    def _add_lemma(self, elem: xml.etree.ElementTree.Element) -> None:
        phons = [
            {"phon": (phon.text or "").strip(), "score": float(phon.attrib.get("score", 0))}
            for phon in elem.findall("phon")
        ]
        for orth_elem in elem.findall("orth"):
            orth = (orth_elem.text or "").strip()
            lemma = {"orth": orth, "phons": phons}
            old = self.lemmas.setdefault(orth, lemma)
            if old != lemma:
                raise UserError(
                    f"orth {orth!r} lemma duplicated in lexicon {self.filename!r}: once {old['phons']}, once {phons}"
                )


class StateTying:
    """Classes of allophone states."""

    def __init__(self, state_tying_file: str):
        """
        :param state_tying_file: lines ``allophone-state class``; may be packed (``.gz``)
        """
        self.allo_map: dict[str, int] = {}
        """allophone state in text form -> class"""
        self.class_map: dict[int, set[str]] = {}
        """class -> its allophone states"""
        for i, line in enumerate(read_text(state_tying_file, "state tying file").splitlines(), 1):
            place = f"state tying file {state_tying_file!r}, line {i}"
            if not line.strip():
                continue
            parts = line.split()
            if len(parts) != 2 or not parts[1].isdecimal():
                raise UserError(f"{place}: expected 'allophone-state class', got {line!r}")
            allo, number = parts[0], int(parts[1])
            if allo in self.allo_map:
                raise UserError(f"{place}: {allo!r} is there twice")
            self.allo_map[allo] = number
            self.class_map.setdefault(number, set()).add(allo)
        self.num_classes = max(self.class_map, default=-1) + 1
        missing = sorted(set(range(self.num_classes)) - self.class_map.keys())
        if missing or not self.class_map:
            raise UserError(
                f"state tying file {state_tying_file!r}: some classes are not represented, of"
                f" {self.num_classes} for example {missing[:5]}"
            )
