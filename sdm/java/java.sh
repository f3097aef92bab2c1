#!/bin/sh
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
