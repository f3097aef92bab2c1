"""`sdm variables`: which variables say the same, and which to keep."""

from functools import partial

from sdm_cli.console import Console, command_line
from sdm_cli.options import Given, Inputs, from_words, with_run_options


@partial(with_run_options, sections=["classes", "joint"], kinds=["species", "classes", "community"])
def variables(console: Console, given: Given, inputs: Inputs = None) -> None:
    """Correlate the variables over the background (or the sites), and suggest which to keep.

    With an output folder: the correlation matrices (Pearson, Spearman), one row per variable (VIF, gain alone, group,
    suggestion), and a heat map with a dendrogram. Nothing is left out here: `--drop-correlated` and `--drop-vif` do
    that in a run.

    **Examples**

    sdm variables records.csv layers/ -o variables

    sdm variables records.csv layers/ --categorical landcover --drop-correlated 0.8   (another limit, no files)

    sdm variables survey.csv layers/ --response presence -o variables   (over the sites of a survey)

    sdm variables sites.csv layers/ --kind community -o variables
    """
    from sdm.run.screening import screen_variables

    options = from_words(inputs, given)
    with console.progress(options.output.folder) as progress:
        found = screen_variables(options, command=command_line(), progress=progress)
    for notice in found.notices:
        console.log.info(notice)
    console.lines(found.lines())
    folder = None if found.folder is None else str(found.folder)
    for name in found.files.values():
        console.say(f"written      {folder}/{name}")
    answer = {"name": "variables", "kind": "variables", "folder": folder, "numbers": found.numbers()}
    console.result(folder=folder, models=[answer | {"files": found.files}], notices=found.notices)
