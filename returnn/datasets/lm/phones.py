"""Random sequences of allophone states for texts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.label_file import load_labels

from .allophone import AllophoneState
from .lexicon import Lexicon, StateTying


class UnknownWord(UserError, KeyError):
    """A word without a pronunciation."""

    def __init__(self, word: str, lexicon: str):
        super().__init__(f"word {word!r} is not in the lexicon {lexicon!r}")
        self.word = word

    def __str__(self) -> str:
        return str(self.args[0])


class PhoneSeqGenerator:
    """Each word gets a pronunciation, each phone its states, each state is repeated, and there is silence at random."""

    def __init__(
        self,
        *,
        lexicon_file: str,
        phoneme_vocab_file: str | None = None,
        allo_num_states: int = 3,
        allo_context_len: int = 1,
        state_tying_file: str | None = None,
        add_silence_beginning: float = 0.1,
        add_silence_between_words: float = 0.1,
        add_silence_end: float = 0.1,
        repetition: float = 0.9,
        silence_repetition: float = 0.95,
        silence_lemma_orth: str = "[SILENCE]",
        extra_begin_lemma: dict[str, Any] | None = None,
        add_extra_begin_lemma: float = 1.0,
        extra_end_lemma: dict[str, Any] | None = None,
        add_extra_end_lemma: float = 1.0,
        phon_pick_strategy: Literal["random", "first"] = "random",
    ):
        """
        :param lexicon_file: see :class:`Lexicon`
        :param phoneme_vocab_file: numbers of the phones; by default those of the lexicon
        :param allo_num_states: of each phone but silence, which has one
        :param allo_context_len: phones to each side
        :param state_tying_file: classes of the states; by default, those are the phones
        :param add_silence_beginning: probability
        :param add_silence_between_words: probability
        :param add_silence_end: probability
        :param repetition: probability that a state comes once more, and again
        :param silence_repetition: the same for silence
        :param silence_lemma_orth: its word in the lexicon
        :param extra_begin_lemma: ``{"phons": [{"phon": "a b"}]}``, before all words
        :param add_extra_begin_lemma: probability
        :param extra_end_lemma: the same behind all words
        :param add_extra_end_lemma: probability
        :param phon_pick_strategy: which pronunciation of a word
        """
        if phon_pick_strategy not in ("random", "first"):
            raise ConfigError(f"phon_pick_strategy must be 'random' or 'first', but is {phon_pick_strategy!r}")
        self.lexicon_file = lexicon_file
        self.lexicon = Lexicon(lexicon_file)
        self.phonemes = self.lexicon.phoneme_list
        self.phoneme_vocab = load_labels(phoneme_vocab_file) if phoneme_vocab_file else None
        self.state_tying = StateTying(state_tying_file) if state_tying_file else None
        self.allo_num_states = allo_num_states
        self.allo_context_len = allo_context_len
        self.add_silence_beginning = add_silence_beginning
        self.add_silence_between_words = add_silence_between_words
        self.add_silence_end = add_silence_end
        self.repetition = repetition
        self.silence_repetition = silence_repetition
        self.extra_begin_lemma = extra_begin_lemma
        self.add_extra_begin_lemma = add_extra_begin_lemma
        self.extra_end_lemma = extra_end_lemma
        self.add_extra_end_lemma = add_extra_end_lemma
        self.phon_pick_strategy = phon_pick_strategy
        if silence_lemma_orth not in self.lexicon.lemmas:
            raise ConfigError(f"lexicon {lexicon_file!r}: silence_lemma_orth {silence_lemma_orth!r} is not there")
        self.si_lemma = self.lexicon.lemmas[silence_lemma_orth]
        self.si_phone = self.si_lemma["phons"][0]["phon"]
        self.rnd = random.Random(0)

    def random_seed(self, seed: int) -> None:
        """
        :param seed: for all that follows
        """
        self.rnd.seed(seed)

    def get_class_labels(self) -> list[str]:
        """
        :return: of :meth:`seq_to_class_idxs`
        """
        if self.phoneme_vocab:
            return list(self.phoneme_vocab.labels)
        if self.state_tying:
            classes = self.state_tying.class_map
            return ["|".join(sorted(classes[i])) for i in range(self.state_tying.num_classes)]
        return list(self.phonemes)

    def seq_to_class_idxs(self, phones: Iterable[AllophoneState], dtype: str | None = None) -> numpy.ndarray:
        """
        :param phones: for example of :meth:`generate_seq`
        :param dtype: int32 by default
        :return: [time]
        """
        if self.phoneme_vocab:
            numbers: list[Any] = [self.phoneme_vocab.ids.get(allo.id or "") for allo in phones]
        elif self.state_tying:
            numbers = [self.state_tying.allo_map.get(allo.format()) for allo in phones]
        else:
            numbers = [self.lexicon.phonemes[allo.id or ""]["index"] for allo in phones]
        if None in numbers:
            allo = list(phones)[numbers.index(None)]
            raise UserError(f"allophone state {allo} of the lexicon {self.lexicon_file!r} has no class")
        return numpy.array(numbers, dtype=dtype or "int32")

    # Sequences.

    def generate_seq(self, orth: str) -> list[AllophoneState]:
        """
        :param orth: words with white space between
        :raises UnknownWord: one has no pronunciation
        """
        allos: list[AllophoneState] = []
        for lemma in self._lemmas(orth):
            phon = self._pick(lemma)
            allos += self._word(phon.split())
        return self._finish(allos)

    def orth_to_phones(self, orth: str) -> str:
        """
        :param orth: words with white space between
        :return: phones, without states
        """
        return " ".join(phon for lemma in self._lemmas(orth) if (phon := self._pick(lemma)))

    def generate_garbage_seq(self, target_len: int) -> list[AllophoneState]:
        """
        :param target_len: number of states
        :return: random words of random phones, silence between some of them
        """
        allos: list[AllophoneState] = []
        while len(allos) < target_len:
            allos += self._random_words()
            allos += self._finish(self._word(self.si_phone.split()))
        return allos[:target_len]

    def _random_words(self) -> list[AllophoneState]:
        allos: list[AllophoneState] = []
        while True:
            word = [self.rnd.choice(self.phonemes)]
            while self.rnd.random() < 0.8:
                word.append(self.rnd.choice(self.phonemes))
            allos += self._word(word)
            if self.rnd.random() >= 0.8:
                return self._finish(allos)

    def _lemmas(self, orth: str) -> Iterator[dict[str, Any]]:
        words = [lemma for word in orth.split() for lemma in self._lemmas_of_word(word, "/-")]
        if self.extra_begin_lemma and self.rnd.random() < self.add_extra_begin_lemma:
            yield self.extra_begin_lemma
        if self.rnd.random() < self.add_silence_beginning:
            yield self.si_lemma
        for i, lemma in enumerate(words):
            yield lemma
            if i < len(words) - 1 and self.rnd.random() < self.add_silence_between_words:
                yield self.si_lemma
        if self.rnd.random() < self.add_silence_end:
            yield self.si_lemma
        if self.extra_end_lemma and self.rnd.random() < self.add_extra_end_lemma:
            yield self.extra_end_lemma

    def _lemmas_of_word(self, word: str, separators: str) -> list[dict[str, Any]]:
        lemma = self.lexicon.lemmas.get(word)
        if lemma is not None and lemma["phons"]:
            return [lemma]
        if not separators:
            raise UnknownWord(word, self.lexicon_file)
        parts = [part for part in word.split(separators[0]) if part]
        if not parts:
            raise UnknownWord(word, self.lexicon_file)
        return [lemma for part in parts for lemma in self._lemmas_of_word(part, separators[1:])]

    def _pick(self, lemma: dict[str, Any]) -> str:
        phons = lemma["phons"]
        return (phons[0] if self.phon_pick_strategy == "first" else self.rnd.choice(phons))["phon"]

    def _word(self, phones: list[str]) -> list[AllophoneState]:
        """:return: without context and state"""
        allos = [AllophoneState(phone) for phone in phones]
        if allos:
            allos[0].mark_initial()
            allos[-1].mark_final()
        for allo in allos:
            if allo.id == self.si_phone:  # a word of its own
                allo.mark_initial()
                allo.mark_final()
        return allos

    def _finish(self, allos: list[AllophoneState]) -> list[AllophoneState]:
        self._set_context(allos)
        return list(self._add_states(allos))

    def _set_context(self, allos: list[AllophoneState]) -> None:
        alone = [self.lexicon.phonemes[allo.id or ""]["variation"] == "none" for allo in allos]
        for i, allo in enumerate(allos):
            if alone[i]:
                continue
            for step in (-1, 1):
                for offset in range(step, (self.allo_context_len + 1) * step, step):
                    if not 0 <= i + offset < len(allos) or alone[i + offset]:
                        break
                    allo.set_phoneme(offset, allos[i + offset].id or "")

    def _add_states(self, allos: list[AllophoneState]) -> Iterator[AllophoneState]:
        for allo in allos:
            is_silence = allo.id == self.si_phone
            for state in range(1 if is_silence else self.allo_num_states):
                with_state = allo.copy()
                with_state.state = state
                yield with_state
                while self.rnd.random() < (self.silence_repetition if is_silence else self.repetition):
                    yield with_state
