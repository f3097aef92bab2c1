"""What is wrong with a machine of a cluster: it has an old sdm, or none, or does not share the folder of the run."""

import os
import sys


def _blind(event: str, args: tuple) -> None:
    if event == "open" and ".sdm_probe_" in str(args[0]):
        raise FileNotFoundError(args[0])


match os.environ.get("SDM_TEST_FAULT"):
    case "old":
        import sdm._version

        sdm._version.__version__ = "0.0.1"
    case "none":
        sys.modules["sdm"] = None
    case "blind":
        sys.addaudithook(_blind)
