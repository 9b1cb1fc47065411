"""A program as a worker: lease pages, pass their questions to a command as JSON, post its answers.

So any language model can work, with its maker's own tools: we ship none. Per question the command reads

    {"item": "clip1", "kind": "text", "content": "…", "label": "dog", "question": "Is there a dog?", "help": "…",
     "instructions": "…"}

and prints `{"answer": "yes"}`, "no" or "skip". With `whole_pages` it reads all questions of a page at once, in
"questions", and prints `{"answers": {"dog": "yes", …}}`. A command that fails is tried again; a page that it cannot
answer is given back, and after some of them in a row the judge stops: money is not spent on noise.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from amcc.errors import AmccError
from amcc.serve.client import CampaignClient, LeasedPage, LeasedQuestion, Nothing, Refused

# Pages in a row that cannot be answered, after which the command is broken rather than the pages.
MOST_FAILURES = 3

# Characters of what a command says about its failure: enough for the line that matters.
SHOWN = 300

# What counts as an answer; JSON's own true, false and null as well.
SPELLED = {"yes": "yes", "y": "yes", "true": "yes", "1": "yes", "no": "no", "n": "no", "false": "no", "0": "no",
           "skip": "skip", "cannot tell": "skip", "unsure": "skip", "none": "skip", "null": "skip"}  # fmt: skip

ENVIRONMENT_TOKEN = "AMCC_TOKEN"
"""Variable that may hold the token; commands do not get to see it."""


class CommandError(AmccError):
    """The command did not answer a question."""


@dataclass
class JudgeReport:
    """What a judge has done; money in minor units."""

    pages: int = 0
    answers: int = 0
    skips: int = 0
    refused: int = 0
    given_back: int = 0
    earned: int = 0
    why: str = ""
    problems: list[str] = field(default_factory=list)

    @property
    def is_broken(self) -> bool:
        """Whether it stopped because the command fails."""
        return self.why.startswith("the command failed")


@dataclass(frozen=True)
class JudgeCommand:
    """A command line that answers questions.

    timeout : seconds for one call. retries : further calls where one fails. whole_pages : all questions in one call.
    """

    words: Sequence[str]
    timeout: float = 60.0
    retries: int = 2
    whole_pages: bool = False

    def answers_to(self, page: LeasedPage, instructions: str, pool: ThreadPoolExecutor) -> dict[int, str]:
        """Yes, no or skip for each label of a page; CommandError where one is not answered."""
        about = {"item": page.item, "kind": page.kind, "content": page.content, "instructions": instructions}
        if self.whole_pages:
            asked = {**about, "questions": [_told(each) for each in page.questions]}
            found: dict[int, str] = self._try(asked, lambda told: _from_page(told, page.questions))
            return found
        calls = [
            pool.submit(self._try, {**about, **_told(each)}, lambda told: _from_question(told))
            for each in page.questions
        ]
        return {each.label_id: call.result() for each, call in zip(page.questions, calls, strict=True)}

    def _try(self, asked: Mapping[str, Any], read: Callable[[Any], Any]) -> Any:
        """Ask until it answers, but not for ever."""
        for left in range(self.retries, -1, -1):
            try:
                return read(self._call(asked))
            except CommandError:
                if not left:
                    raise
        raise AssertionError("not reached")

    def _call(self, asked: Mapping[str, Any]) -> Any:
        """What the command prints, as JSON."""
        environment = {name: value for name, value in os.environ.items() if name != ENVIRONMENT_TOKEN}
        try:
            run = subprocess.run(
                list(self.words), input=json.dumps(asked, ensure_ascii=False), capture_output=True, text=True,
                timeout=self.timeout, env=environment, encoding="utf-8", errors="replace", check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CommandError(f"the command took longer than {self.timeout:g} s") from None
        except OSError as error:
            raise CommandError(f"the command cannot be run: {error.strerror or error}") from None
        if run.returncode:
            said = run.stderr.strip()[-SHOWN:]
            raise CommandError(f"the command ended with exit code {run.returncode}{': ' * bool(said)}{said}")
        try:
            return json.loads(run.stdout)
        except ValueError:
            raise CommandError(f"the command must print one JSON object; got {run.stdout.strip()[:SHOWN]!r}") from None


@dataclass
class Judge:
    """Works with one token until there is no work, or `most` pages are answered, or the command is broken.

    wait : seconds to wait for new work where there is none. tell : called after each page.
    """

    client: CampaignClient
    command: JudgeCommand
    most: int | None = None
    wait: float = 0.0
    tell: Callable[[JudgeReport], None] = lambda report: None
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, pool: ThreadPoolExecutor) -> JudgeReport:
        """Work, and say what came of it; `pool` runs the calls of the command."""
        report, failures = JudgeReport(), 0
        instructions = self.client.instructions()
        end = time.monotonic() + self.wait
        while not report.why:
            if self.stop.is_set():
                report.why = "it was told to"
            elif self.most is not None and report.pages >= self.most:
                report.why = "enough pages are answered"
            elif failures >= MOST_FAILURES:
                report.why = f"the command failed on {failures} pages in a row: {report.problems[-1]}"
            else:
                page = self.client.lease()
                if isinstance(page, Nothing):
                    if time.monotonic() < end:
                        self.stop.wait(1.0)
                    else:
                        report.why = f"there is no work ({page.reason})"
                    continue
                end = time.monotonic() + self.wait
                failures = 0 if self._work(page, instructions, pool, report) else failures + 1
                self.tell(report)
        return report

    def _work(self, page: LeasedPage, instructions: str, pool: ThreadPoolExecutor, report: JudgeReport) -> bool:
        """Answer one page, or give it back; whether the command answered."""
        try:
            answers = self.command.answers_to(page, instructions, pool)
        except CommandError as error:
            report.problems.append(str(error))
            report.given_back += 1
            self.client.release(page)
            return False
        came = self.client.answer(page, answers)
        if isinstance(came, Refused):
            report.refused += 1
            report.problems.append(came.reason)
            return True
        report.pages += 1
        report.skips += sum(value == "skip" for value in answers.values())
        report.answers += sum(value != "skip" for value in answers.values())
        report.earned += came.earned
        return True


def _told(question: LeasedQuestion) -> dict[str, str]:
    """What a command gets to know of a question."""
    return {name: value for name, value in asdict(question).items() if name != "label_id"}


def _from_question(told: Any) -> str:
    """The answer in what a command printed about one question."""
    if isinstance(told, dict) and "answer" in told:
        return _spelled(told["answer"])
    raise CommandError(f'the command must print {{"answer": "yes"}}, "no" or "skip"; got {str(told)[:SHOWN]!r}')


def _from_page(told: Any, questions: Sequence[LeasedQuestion]) -> dict[int, str]:
    """The answers in what a command printed about a page; there must be one for each label."""
    answers = told.get("answers") if isinstance(told, dict) else None
    if not isinstance(answers, dict):
        raise CommandError(f'the command must print {{"answers": {{LABEL: "yes", …}}}}; got {str(told)[:SHOWN]!r}')
    missing = [each.label for each in questions if each.label not in answers]
    if missing:
        raise CommandError(f"the command must answer for every label, or skip it; {missing[0]!r} is missing")
    return {each.label_id: _spelled(answers[each.label]) for each in questions}


def _spelled(value: Any) -> str:
    """Yes, no or skip, however it is spelt.

    >>> _spelled(True), _spelled(" No "), _spelled(None)
    ('yes', 'no', 'skip')
    """
    found = SPELLED.get(str(value).strip().lower())
    if found is None:
        raise CommandError(f"an answer must be yes, no or skip; the command said {str(value)[:SHOWN]!r}")
    return found
