"""The cluster of each sequence, from a map."""

from data_files import simple_hdf, write_text

clustering = {
    "class": "ClusteringDataset",
    "dataset": {"class": "HDFDataset", "files": ["a.hdf"], "seq_ordering": "random"},
    "cluster_map_file": "clusters.xml",
    "n_clusters": 4,
}
datasets = {"clusters": clustering, "single": dict(clustering, single_cluster=True)}


batches = [{"batch_size": 100}, {"batch_size": 12}, {"batch_size": 100, "max_seqs": 2}]


def make_files(folder):
    """Four sequences."""
    simple_hdf("a.hdf", [4, 2, 6, 3], dim=2)
    items = "".join('<map-item key="seq-%i" value="%i"/>\n' % (i, (i * 3 + 1) % 4) for i in range(4))
    write_text(
        "clusters.xml",
        '<?xml version="1.0" encoding="utf-8" ?>\n<coprus-key-map>\n%s</coprus-key-map>\n' % items,
    )
