"""Tables and repositories of designs, runs and results: all that must survive a killed process.

Import from here alone. The database stores text, JSON and numbers, and knows nothing of what they mean.

>>> from db import Database, Design
>>> with Database.open("seis.sqlite") as database:               # doctest: +SKIP
...     with database.transaction() as tx:                       # a whole round, or nothing
...         tx.save_design(Design(design_hash=..., structure_hash=..., text=..., model=...))
"""

from db.columns import utc_now
from db.database import Database
from db.errors import (
    AmbiguousPrefixError,
    BusyError,
    ConflictError,
    DatabaseError,
    InvalidValueError,
    NewerDatabaseError,
    NotFoundError,
    OpenError,
    SearchTakenError,
)
from db.migrate import current_revision, downgrade, upgrade
from db.records import (
    Answer,
    Author,
    Baseline,
    Candidate,
    CandidateStatus,
    Certificate,
    Conditions,
    Design,
    Evaluation,
    Event,
    Exchange,
    Experience,
    FrontierPoint,
    Hypothesis,
    HypothesisVerdict,
    Job,
    JobState,
    JsonObject,
    Lineage,
    ModelSpending,
    Note,
    ReasonCount,
    RuleStatistics,
    Search,
    SearchState,
    Verdict,
)
from db.repositories.evaluations import pareto
from db.repository import Repository, Transaction
from db.revisions import HEAD
from db.service_records import (
    CatchUp,
    Overlap,
    RunState,
    Schedule,
    ScheduledRun,
    Token,
    TokenScope,
    Turn,
)

__all__ = [
    "HEAD",
    "AmbiguousPrefixError",
    "Answer",
    "Author",
    "Baseline",
    "BusyError",
    "Candidate",
    "CandidateStatus",
    "CatchUp",
    "Certificate",
    "Conditions",
    "ConflictError",
    "Database",
    "DatabaseError",
    "Design",
    "Evaluation",
    "Event",
    "Exchange",
    "Experience",
    "FrontierPoint",
    "Hypothesis",
    "HypothesisVerdict",
    "InvalidValueError",
    "Job",
    "JobState",
    "JsonObject",
    "Lineage",
    "ModelSpending",
    "NewerDatabaseError",
    "NotFoundError",
    "Note",
    "OpenError",
    "Overlap",
    "ReasonCount",
    "Repository",
    "RuleStatistics",
    "RunState",
    "Schedule",
    "ScheduledRun",
    "Search",
    "SearchState",
    "SearchTakenError",
    "Token",
    "TokenScope",
    "Transaction",
    "Turn",
    "Verdict",
    "current_revision",
    "downgrade",
    "pareto",
    "upgrade",
    "utc_now",
]
