"""Tables that users get back: one kind of frame by default, three to choose from."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from amcc import AMCC, ParameterError, pack_votes, write_votes
from amcc.engine.local import LocalEngine


def test_every_table_is_a_pandas_frame_unless_another_kind_is_wanted(toy_votes, tmp_path):
    write_votes(toy_votes, tmp_path / "votes.csv")
    engine = LocalEngine(pack_votes(tmp_path / "votes.csv", tmp_path / "packed"))
    model = AMCC().fit(toy_votes)
    makers = (model.pairs, model.sets, model.workers, model.groups, toy_votes.to_sets)
    for make in (*makers, lambda **kind: next(AMCC().fit(engine).tables(engine, **kind))):
        frames = make(), make(frame="pandas"), make(frame="polars"), make(frame="arrow")
        assert [type(frame) for frame in frames] == [pd.DataFrame, pd.DataFrame, pl.DataFrame, pa.Table]
        assert frames[0].to_dict("list") == frames[3].to_pydict()
        with pytest.raises(ParameterError, match="frame must be 'pandas', 'polars' or 'arrow'; got 'excel'"):
            make(frame="excel")
