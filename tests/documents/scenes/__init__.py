"""Each block of the pages, and how it is run: as it is printed, in a story that makes sense of it.

A block is named by its page and its first line. One that is in no scene fails a test, so does a
scene whose block is gone.
"""

from __future__ import annotations

from tests.documents.scenes.delta import DELTA_SCENES
from tests.documents.scenes.operations import OTHER_SCENES, SECURITY_SCENES, STOP_SCENES
from tests.documents.scenes.readme import README_SCENES
from tests.documents.scenes.reads import BATCH_SCENES, COMING_SCENES
from tests.documents.scenes.tutorials import TUTORIAL_SCENES

PAGES = (
    *README_SCENES,
    *TUTORIAL_SCENES,
    *BATCH_SCENES,
    *COMING_SCENES,
    *DELTA_SCENES,
    *STOP_SCENES,
    *SECURITY_SCENES,
    *OTHER_SCENES,
)
