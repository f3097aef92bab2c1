"""A `java` that passes calls of maxent.jar to sdm, so that scripts run as they are."""

import os
import shlex
import sys
from pathlib import Path

from sdm.errors import OutputError
from sdm.storage.files import write_text

_SCRIPT = """#!/bin/sh
# Written by 'sdm maxent --shim': calls of maxent.jar go to sdm, all others to the java that is next on the PATH.
maxent=
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
for word in "$@"; do
    case "$word" in
        density.MaxEnt | *[Mm]ax[Ee]nt.jar) maxent=1 ;;
        density.*) maxent= ; break ;;
    esac
done
if [ -n "$maxent" ]; then
    while [ $# -gt 0 ]; do
        case "$1" in
            density.MaxEnt) shift; break ;;
            *[Mm]ax[Ee]nt.jar) shift; [ "$1" = density.MaxEnt ] && shift; break ;;
        esac
        shift
    done
    exec {python} -m sdm_cli.main maxent "$@"
fi
IFS=:
for folder in $PATH; do
    if [ "$folder" != "$here" ] && [ -x "$folder/java" ]; then exec "$folder/java" "$@"; fi
done
echo "java: there is none besides the one of sdm in $here, which runs maxent.jar only" >&2
exit 127
"""


def write_shim(folder: Path, *, overwrite: bool = False) -> Path:
    """Write the program `java` into a folder, which must be there; nothing else is touched.

    With that folder first on the PATH, `java -jar maxent.jar …` runs `sdm maxent …`.
    """
    if not folder.is_dir():
        raise OutputError(f"the folder {folder} does not exist: make it first")
    place = write_text(folder / "java", _SCRIPT.replace("{python}", shlex.quote(sys.executable)), overwrite=overwrite)
    os.chmod(place, 0o755)  # noqa: S103 - a program that others may run
    return place
