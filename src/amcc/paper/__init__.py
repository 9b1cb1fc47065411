"""The paper's own objective and its updates."""
