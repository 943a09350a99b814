"""build/chaos.json, and the summary at the end of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.chaos.protocols import PROTOCOLS
from tests.chaos.settings import Settings
from tests.chaos.unowned import ALLOWANCE_S
from tests.chaos.values import Duplicate, Fault, Unowned
from tests.chaos.verdict import Evidence

LONGEST_SHOWN = 10


def content(
    evidence: Evidence, settings: Settings, began: float, seconds: float, rebalances: int
) -> dict[str, Any]:
    """Times in it are seconds since the run began."""
    duplicated = evidence.duplicates
    take_overs = [u for u in evidence.unowned if u.fault is not None]
    judges_gaps = PROTOCOLS[settings.protocol].judges_gaps
    return {
        "protocol": settings.protocol,
        "direct": settings.direct,
        "produced": evidence.produced,
        "read": evidence.read,
        "missing": evidence.missing,
        "duplicates": [_duplicate(d, began) for d in duplicated],
        "delta_duplicates": evidence.delta_duplicates,
        "faults": [_fault(f, began) for f in evidence.faults],
        "right": not evidence.failures,
        "failures": evidence.failures,
        "counts": {
            "faults": len(evidence.faults),
            "faults_overlapping": sum(
                any(map(f.overlaps, evidence.faults)) for f in evidence.faults
            ),
            "transactions_aborted": evidence.aborted,
            "read_by_plain_consumers": evidence.plain,
            "faults_by_kind": dict(sorted(Counter(f.kind for f in evidence.faults).items())),
            "duplicate_records": sum(d.count * d.extra for d in duplicated),
            "duplicates_unexplained": sum(d.count for d in duplicated if not d.explained),
            "sessions_ended": len(evidence.noted),
            "rebalances": rebalances,
            "take_overs": len(take_overs),
        },
        "sessions_ended": [_fault(f, began) for f in evidence.noted],
        "unowned": {
            "judged": judges_gaps,
            "rule": (
                "session timeout (where the owner died or fell silent; max.poll.interval.ms where "
                "only its driver did) + for each rightful member in turn, as the assignor has it "
                "for those registered, one batch: of it what lies in the time of its right "
                f"+ time without ZooKeeper + {ALLOWANCE_S:.0f} s"
            ),
            "longest_s": _longest(evidence.unowned),
            "longest_without_fault_s": _longest([u for u in evidence.unowned if u.fault is None]),
            "take_over_s": _spread(take_overs),
            "by_partition": _by_partition(evidence.unowned),
            "too_long": [_unowned(u, began) for u in evidence.unowned if not u.within_bound],
            "longest": [
                _unowned(u, began)
                for u in sorted(evidence.unowned, key=lambda u: -u.seconds)[:LONGEST_SHOWN]
            ],
        },
        "run": {
            "seed": settings.seed,
            "minutes": settings.minutes,
            "seconds": round(seconds, 1),
            "session_s": settings.session_s,
            "trigger_s": settings.trigger_s,
            "per_second": settings.per_second,
        },
    }


def write(path: Path, report: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def lines(report: dict[str, Any]) -> Iterator[str]:
    counts, unowned = report["counts"], report["unowned"]
    yield (
        f"protocol {report['protocol']}{', delta.ingest' if report['direct'] else ''}: "
        f"produced {report['produced']} "
        f"({counts['transactions_aborted']} transactions aborted), read {report['read']}, "
        f"{counts['read_by_plain_consumers']} by plain consumers; missing {report['missing']}, "
        f"read again {counts['duplicate_records']} "
        f"(unexplained {counts['duplicates_unexplained']}), "
        f"twice in Delta {report['delta_duplicates']}"
    )
    gaps = (
        f"; longest without a living owner: {unowned['longest_s']} s after a fault or between two, "
        f"{unowned['longest_without_fault_s']} s at a clean hand-over"
    )
    yield (
        f"{counts['faults']} faults, of which {counts['faults_overlapping']} overlapped, "
        f"{counts['sessions_ended']} sessions ended, {counts['rebalances']} rebalances, "
        f"{counts['take_overs']} take-overs{gaps if unowned['judged'] else ''}"
    )
    for failure in report["failures"]:
        yield f"WRONG: {failure}"


def _duplicate(duplicate: Duplicate, began: float) -> dict[str, Any]:
    """`member`, `batch` and `fault` are those of the delivery that a fault has made one too many;
    where there is no fault, those of the first.
    """
    batch, fault = duplicate.faults[0] if duplicate.faults else (duplicate.reads[0], None)
    return {
        "topic": duplicate.partition.topic,
        "partition": duplicate.partition.partition,
        "from": duplicate.start,
        "until": duplicate.until,
        "member": batch.member,
        "batch": batch.number,
        "fault": None if fault is None else {"number": fault.number, "kind": fault.kind},
        "explained": duplicate.explained,
        "deliveries": [
            {
                "member": read.member,
                "batch": read.number,
                "began": round(read.began - began, 2),
                "delivered": round(read.delivered - began, 2),
            }
            for read in duplicate.reads
        ],
    }


def _fault(fault: Fault, began: float) -> dict[str, Any]:
    return {
        "number": fault.number,
        "at": round(fault.at - began, 2),
        "until": round(fault.until - began, 2),
        "healed": round(fault.healed - began, 2) if fault.healed else None,
        "kind": fault.kind,
        "target": fault.target,
        "members": list(fault.members),
        "hard": fault.hard,
        "settled": fault.settled,
        "detail": fault.detail,
        "over": round(fault.over - began, 2) if fault.over else None,
    }


def _unowned(unowned: Unowned, began: float) -> dict[str, Any]:
    return {
        "partition": str(unowned.partition),
        "from": round(unowned.start - began, 2),
        "seconds": round(unowned.seconds, 2),
        "at_most": round(unowned.bound_s, 2),
        "batches": round(unowned.batch_s, 2),
        "rightful": [
            {
                "member": wait.member,
                "from": round(wait.span.start - began, 2),
                "seconds": round(wait.span.seconds, 2),
                "granted": round(wait.granted_s, 2),
            }
            for wait in unowned.waits
        ],
        "before": unowned.before,
        "after": unowned.after,
        "fault": None if unowned.fault is None else unowned.fault.number,
    }


def _longest(some: Sequence[Unowned]) -> float:
    return round(max((u.seconds for u in some), default=0.0), 2)


def _spread(some: Sequence[Unowned]) -> dict[str, float]:
    if not some:
        return {}
    seconds = sorted(u.seconds for u in some)
    middle = seconds[len(seconds) // 2]
    return {
        "shortest": round(seconds[0], 2),
        "median": round(middle, 2),
        "longest": round(seconds[-1], 2),
    }


def _by_partition(some: Sequence[Unowned]) -> dict[str, dict[str, float]]:
    found: dict[str, list[float]] = {}
    for unowned in some:
        found.setdefault(str(unowned.partition), []).append(unowned.seconds)
    return {
        partition: {
            "times": len(times),
            "total_s": round(sum(times), 2),
            "longest_s": round(max(times), 2),
        }
        for partition, times in sorted(found.items())
    }
