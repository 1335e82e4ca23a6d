"""Text in other orders, replaced symbols, own tags, packed files, Bliss XML, other parts of lines."""

from data_files import write_text

lm = {
    "class": "LmDataset",
    "corpus_file": "text.txt",
    "orth_symbols_map_file": "words.py",
    "word_based": True,
    "seq_end_symbol": "<sb>",
    "unknown_symbol": "<UNK>",
    "auto_replace_unknown_symbol": True,
}
datasets = {
    "sorted": dict(lm, seq_ordering="sorted"),
    "laplace": dict(lm, seq_ordering="laplace:2"),
    "replace": dict(lm, orth_replace_map_file="replace.json", dtype="int32"),
    "tags": dict(lm, seq_list_file="tags.txt", seq_ordering="reverse"),
    "empty_lines": dict(lm, skip_empty_lines=False, seq_end_symbol=None),
    "no_unknown": dict(lm, unknown_symbol=None),
    "parse": dict(lm, parse_orth_opts={"prefix": ["<sb>"], "postfix": [], "remove_chars": "(o)"}),
    "bliss": dict(lm, corpus_file=["corpus.xml", "more.txt.gz"]),
}
epochs = [1, 2]


def make_files(folder):
    """Lines, one of them blank, and segments."""
    write_text("text.txt", "the cat\n\nthe dog [x] sat\nfoo\n  sat  the (mat)\nthe the the dog\n[x]y the\n")
    write_text("more.txt.gz", "a dog\nthe cat sat\n")
    write_text("words.py", str({"<sb>": 0, "the": 1, "cat": 2, "dog": 3, "sat": 4, "<UNK>": 5, "[X]": 6}))
    write_text("tags.txt", "a\nb\nc\nd\ne\nf\n")
    write_text("replace.json", '{"the": "cat dog", "foo": "", "mat": "[X]"}')
    segments = ["<orth> the\n cat </orth>", "<orth></orth>", "<orth>dog &amp; cat</orth>"]
    body = "".join('<segment name="s%i" start="0" end="1">%s</segment>' % (i, x) for i, x in enumerate(segments))
    header = '<?xml version="1.0" encoding="utf-8"?>\n<corpus name="c">'
    write_text("corpus.xml", header + '<recording name="r" audio="a.wav">' + body + "</recording></corpus>")
