"""Coins cut by worker into shards, each kept where it is worked on: what a fit does between two passes over the votes.

Given what is believed of groups and labels, workers say nothing about each other: what is learned about a worker's
coins needs no coin of another. So coins can be cut by worker, as votes are cut by item, and what is known of a shard
need not leave the process that has it. Groups and labels need sums over workers only, and these are small.

A fit calls functions of a shard's coins, which stand at the top of a module and change nothing:

    found = shards.over(find_members, crowd, counts)     what the function returns stays with the shards
    sums = shards.total(sum_members, found)              named tuples are added up and come here

Arguments are the same for all shards, but for what was kept: of that, a shard gets its own part, however deep it stands
in dataclasses and named tuples. So a function reads as if its shard were all there is, and here, it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from amcc.votes import Coins

Result = TypeVar("Result")
State = TypeVar("State")


class Shards:
    """All coins as one shard in this process: what it keeps is the value itself, and nothing need be cut or gathered.

    coins : all (worker, label) combinations; total_of_votes : the sum over blocks, `Engine.total`
    """

    def __init__(self, coins: Coins, total_of_votes: Callable[..., Any] | None = None) -> None:
        self.coins = coins
        self._total_of_votes = total_of_votes

    def over(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """What function(coins, *arguments) returns for each shard, kept there; its attributes are kept likewise."""
        return function(self.coins, *arguments)

    def total(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Sum over shards, in their order, of function(coins, *arguments), a named tuple."""
        return function(self.coins, *arguments)

    def votes(self, function: Callable[..., Result], *shared: Any) -> Result:
        """As `Engine.total`, but sums over slots (fields declared as `Each("slot")`) are kept by the shards."""
        assert self._total_of_votes is not None  # for the type checker: whoever has votes said how they add up
        result: Result = self._total_of_votes(function, *shared)
        return result

    def cut(self, state: State) -> State:
        """The same with its arrays over workers, coins and slots (as their fields are declared) kept by the shards."""
        return state

    def gathered(self, state: State) -> State:
        """The same with all that the shards keep of it in whole arrays."""
        return state
