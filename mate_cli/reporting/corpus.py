"""What a corpus holds."""

from __future__ import annotations

from rich.table import Table as RichTable

from mate_cli.encoding.shards import Manifest


def corpus_table(manifest: Manifest) -> RichTable:
    """Counts of the complete shards of a corpus."""
    table = RichTable(title="corpus")
    table.add_column("")
    table.add_column("", justify="right")
    tables, held_out = sum(manifest.tables), sum(map(len, manifest.held_out))
    table.add_row("tables", f"{tables:,}")
    table.add_row("  held out", f"{held_out:,} ({100 * held_out / tables:.1f}%)")
    table.add_row("broken, left out", f"{manifest.broken:,}")
    table.add_row("word pieces of a table and its texts", f"{manifest.pieces / tables:,.0f}")
    table.add_row("shards", f"{manifest.shards:,}")
    return table
