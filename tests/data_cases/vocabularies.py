"""Words, characters, bytes, byte pairs: ids of texts and texts of ids."""

from data_files import write_text

from returnn.datasets.util.vocabulary import Vocabulary


def values():
    """:return: what the vocabularies give"""
    words = Vocabulary.create_vocab(
        vocab_file="words.txt", unknown_label="<unk>", bos_label="<s>", eos_label="</s>", seq_postfix=[1]
    )
    as_dict = Vocabulary("words.py", unknown_label=None)
    bpe = Vocabulary.create_vocab(vocab_file="bpe.vocab", bpe_file="bpe.codes", unknown_label="<unk>", seq_postfix=[1])
    chars = Vocabulary.create_vocab(
        **{"class": "CharacterTargets", "vocab_file": None, "labels": list("@ab "), "seq_postfix": [3]}
    )
    utf8 = Vocabulary.create_vocab(**{"class": "Utf8ByteTargets"})
    texts = ["the cat", "the dog the cat", "cat", "tha"]
    return {
        "words": [words.get_seq(text) for text in texts],
        "words_text": words.get_seq_labels([3, 4, 2]),
        "ids": [words.num_labels, words.unknown_label_id, words.bos_label_id, words.eos_label_id, words.pad_label_id],
        "labels": [words.labels, bpe.labels, as_dict.labels, chars.labels],
        "dict": as_dict.get_seq("b a c"),
        "bpe": [bpe.get_seq(text) for text in texts + ["catthe th", "$cat { cat } the cat"]],
        "bpe_text": bpe.get_seq_labels(bpe.get_seq("tha cat")),
        "chars": chars.get_seq("abz a"),
        "chars_text": chars.get_seq_labels([1, 2, 3, 1]),
        "bytes": utf8.get_seq("äb"),
    }


def make_files(folder):
    """Vocabularies."""
    write_text("words.txt", "<s>\n</s>\n<unk>\nthe\ncat\ndog\n")
    write_text("words.py", "{'a': 1, 'b': 0, 'c': 2}\n")
    write_text("bpe.codes", "#version: 0.2\nt h\nth e</w>\nc a\nca t</w>\n")
    pieces = ["<s>", "</s>", "<unk>", "the", "cat", "ca@@", "t", "th@@", "t@@", "a", "h@@", "e", "c@@"]
    write_text("bpe.vocab", "\n".join(pieces) + "\n")
