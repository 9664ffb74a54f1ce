"""What outlives a search: notes, hypotheses, what rules gained, and structures worth another try."""

from agent.memory.graft import Graft
from agent.memory.lessons import learn
from agent.memory.notes import Notes, StoredNotes
from agent.memory.recall import Recalled, recall
from agent.memory.similarity import Facts, similarity
from agent.memory.transfer import Transfer

__all__ = ["Facts", "Graft", "Notes", "Recalled", "StoredNotes", "Transfer", "learn", "recall", "similarity"]
