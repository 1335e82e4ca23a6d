"""Sequences glued together: the last label in between dropped, last frames repeated, frames cut or padded to labels."""

from data_files import floats, ints, write_hdf, write_text

seqs = {
    "class": "ConcatSeqsDataset",
    "dataset": {"class": "HDFDataset", "files": ["a.hdf"]},
    "seq_list_file": "list.txt",
    "seq_len_file": "lens.py",
}
datasets = {
    "postfix": dict(seqs, remove_in_between_postfix={"classes": 0}, seq_ordering="random"),
    "pad": dict(seqs, pad_narrow_data_to_multiple_of_target_len={"data": ("classes", 2)}),
    "all": dict(
        seqs,
        remove_in_between_postfix={"classes": 0},
        repeat_in_between_last_frame_up_to_multiple_of={"classes": 3},
        pad_narrow_data_to_multiple_of_target_len={"data": ("classes", 2)},
    ),
    "all2": dict(
        seqs,
        remove_in_between_postfix={"classes": 0},
        repeat_in_between_last_frame_up_to_multiple_of={"data": 5},
        pad_narrow_data_to_multiple_of_target_len={"data": ("classes", 1)},
    ),
    "parts": dict(seqs, seq_ordering="sorted_reverse", partition_epoch=2),
    "other": dict(seqs, seq_list_file="list2.txt", seq_tag_delim="|"),
}


def make_files(folder):
    """Four sequences, whose last label is 0."""
    lens = [3, 2, 5, 4]
    classes = [ints(i, 5, n) for i, n in enumerate([2, 2, 3, 1])]
    for labels in classes:
        labels[-1] = 0
    tags = ["seq-%i" % i for i in range(4)]
    write_hdf(
        "a.hdf",
        tags,
        [floats(i, n, 2) for i, n in enumerate(lens)],
        {"classes": classes},
        dims={"classes": 5},
    )
    write_text("list.txt", "seq-0;seq-2\nseq-1\nseq-3;seq-3;seq-1\nseq-2;seq-0;seq-0\n")
    write_text("list2.txt", "seq-0|seq-2\nseq-1\n")
    write_text("lens.py", "{'seq-0': 3, 'seq-1': 2, 'seq-2': 5, 'seq-3': 4}\n")
