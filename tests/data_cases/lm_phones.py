"""Random pronunciations: alone, with classes of states, and the texts of states."""

from data_files import write_text

from returnn.datasets.lm import Lexicon, PhoneSeqGenerator

phones = {
    "lexicon_file": "lexicon.xml",
    "repetition": 0.5,
    "silence_repetition": 0.4,
    "add_silence_beginning": 0.5,
    "add_silence_between_words": 0.3,
    "add_silence_end": 0.5,
}
lm = {"class": "LmDataset", "corpus_file": "text.txt", "phone_info": phones}
datasets = {
    "phones": lm,
    "garbage": dict(lm, add_random_phone_seqs=2, seq_ordering="random"),
    "vocab": dict(lm, phone_info=dict(phones, phoneme_vocab_file="phones.txt", allo_num_states=1)),
}
epochs = [1, 2]


def values():
    """:return: states of texts, and parts of the lexicon"""
    lexicon = Lexicon("lexicon.xml")
    res = {"phonemes": lexicon.phonemes, "phoneme_list": lexicon.phoneme_list, "lemmas": lexicon.lemmas}
    extra = {"extra_begin_lemma": {"phons": [{"phon": "c c"}]}, "extra_end_lemma": {"phons": [{"phon": "b"}]}}
    for name, opts in [
        ("default", {}),
        ("first", {"phon_pick_strategy": "first"}),
        ("wide", {"allo_context_len": 2}),
        ("none", {"allo_context_len": 0}),
        ("extra", dict(extra, add_extra_begin_lemma=0.5, add_extra_end_lemma=0.5)),
    ]:
        generator = PhoneSeqGenerator(**dict(phones, **opts))
        generator.random_seed(3)
        texts = ["foo bar q", "foo/bar q-foo", "foo [SILENCE] bar", ""]
        res[name] = [" ".join(x.format() for x in generator.generate_seq(text)) for text in texts for _ in range(3)]
        res[name + "_phones"] = [generator.orth_to_phones("foo bar q") for _ in range(3)]
        garbage = [generator.generate_garbage_seq(length) for length in (1, 7, 60, 60)]
        res[name + "_garbage"] = [" ".join(x.format() for x in seq) for seq in garbage]
        res[name + "_labels"] = generator.get_class_labels()
    return res


def make_files(folder):
    """A lexicon with a phoneme for silence."""
    write_text("text.txt", "foo bar\nq\nq/foo bar-foo\n")
    write_text("phones.txt", "c\na\nsi\nb\n")
    inventory = "".join("<phoneme><symbol>%s</symbol></phoneme>" % phone for phone in "abc")
    inventory += "<phoneme><symbol>si</symbol><variation>none</variation></phoneme>"
    lemmas = {
        "<orth>[SILENCE]</orth>": ["si"],
        "<orth>foo</orth><orth>Foo</orth>": ["a b", "b"],
        "<orth>bar</orth>": ["c a c"],
        "<orth> q </orth>": ["c", " b a"],
    }
    body = "".join(
        "<lemma>%s%s</lemma>" % (orth, "".join('<phon score="1.5">%s</phon>' % phon for phon in phons))
        for orth, phons in lemmas.items()
    )
    write_text("lexicon.xml", "<lexicon><phoneme-inventory>%s</phoneme-inventory>%s</lexicon>" % (inventory, body))
