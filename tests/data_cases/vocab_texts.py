"""More of vocabularies and text functions: random splits, BPE of both versions, special symbols, transcriptions."""

import random

from data_files import write_text

from returnn.datasets.lm import get_post_processor_function
from returnn.datasets.util.vocabulary import Vocabulary
from returnn.util.basic import parse_orthography
from returnn.util.bpe import BpeOpts, CharSyncSearch, PrefixTree, StandardBytePairEncoder


def _words(rng, letters, number):
    return ["".join(rng.choice(letters) for _ in range(rng.randint(1, 9))) for _ in range(number)]


def values():
    """:return: what the functions give"""
    rng = random.Random(3)
    res = {}
    labels = "UNK,a,b,a@@,b@@,ab,ab@@,c,abb@@,ca".split(",")
    for prob in [0.0, 0.3, 0.5, 1.0]:
        vocab = Vocabulary.create_vocab(
            **{"class": "SamplingBytePairEncoding", "vocab_file": None, "labels": labels, "breadth_prob": prob}
        )
        vocab.set_random_seed(1)
        res["sampling_%s" % prob] = [vocab.get_seq(word) for word in _words(rng, "abc", 40)]
    for version in ["1", "2"]:
        bpe = StandardBytePairEncoder(bpe_codes_file="codes" + version, labels=res_labels())
        text = " ".join(_words(rng, "abcd", 100)) + " $x { abc } cab $y abc { abc"
        res["bpe" + version] = bpe.segment_sentence(text)
    tree = PrefixTree(opts=BpeOpts(label_postfix_merge_symbol="@@"))
    prefix_tree = PrefixTree(opts=BpeOpts(word_prefix_symbol="_"))
    for label in labels:
        tree.add(label)
    for label in ["_", "_a", "b", "_ab", "ab", "c"]:
        prefix_tree.add(label)
    for word in ["ab", "abab", "abbc", "x", "c"]:
        res["splits_" + word] = [CharSyncSearch(t, word).search() for t in (tree, prefix_tree)]
    vocab = Vocabulary(
        None,
        labels=list("abc"),
        special_symbols_via_file="special.py",
        bos_label="c",
        user_defined_symbols={"v": "a"},
    )
    res["special"] = [vocab.unknown_label_id, vocab.bos_label_id, vocab.eos_label_id, vocab.user_defined_symbol_ids]
    blanks = Vocabulary(None, labels=["a b", "c", "a", "b"], unknown_label="c", single_whitespace_split=True)
    res["blanks"] = [blanks.get_seq(text) for text in ["a b c", "c a b", "a  c", " c", "", "a", "a b x", "a b a"]]
    res["kinds"] = [
        type(Vocabulary.create_vocab_from_labels(x)).__name__
        for x in [["a", "b"], ["a", "bc"], list(map(chr, range(256)))]
    ]
    for i, (text, opts) in enumerate(
        [
            ("hello [Hes] there ", {"word_based": True}),
            ("a (b)  {c} x[Y]z", {"word_based": True}),
            ("a [b [c] d] e", {}),
            ("a [b c", {}),
            ("a ] b", {"word_based": True}),
            ("[x][y] z[q]", {"word_based": True}),
            ("[x] [y] z[q]", {}),
            ("a [b] c", {"square_brackets_for_specials": False, "word_based": True}),
            ("a [b] c", {"upper_case_special": False}),
            (" a  b ", {"collapse_spaces": False}),
            ("a\tb\u00a0c", {}),
            ("a b", {"prefix": ["<"], "postfix": []}),
        ]
    ):
        res["orthography_%i" % i] = parse_orthography(text, **opts)
    for opts in [
        "lowercase",
        "lowercase_keep_special",
        "collapse_whitespace",
        "expand_abbreviations",
        "basic_cleaners",
        "get_remove_chars(',.')",
        ["lowercase", "get_replace('a', 'b')"],
    ]:
        texts = ["Hello  [Noise] <SB>x", "Mr. Smith, Dr.Who st. 12", "A[B]C [D E] f <G H> I [J", " <U>,X [A[B]] [A>x"]
        res[str(opts)] = [get_post_processor_function(opts)(text) for text in texts]
    return res


def res_labels():
    """:return: labels of the BPE"""
    return ["a", "b", "c", "a@@", "b@@", "c@@", "ab", "ab@@", "abc", "cab@@", "bc", "d", "UNK", "cd@@"]


def make_files(folder):
    """Merges, and special symbols."""
    merges = ["a b", "ab c", "c a", "b c", "c ab", "a b"]
    write_text("codes1", "\n".join(merges + ["c d"]) + "\n")
    write_text("codes2", "\n".join(["#version: 0.2"] + merges + ["b c</w>", "a b</w>", "c d", "cd d</w>"]) + "\n")
    write_text(
        "special.py", "{'unknown_label': 'a', 'bos_label': 'b', 'eos_label': 2, 'user_defined_symbols': {'u': 'c'}}"
    )
