"""The paper's own objective and its updates."""

from amcc.paper.estimator import PaperAMCC

__all__ = ["PaperAMCC"]
