"""`sdm schema`: what editors need to complete and check a run file."""

import json


def schema() -> None:
    """Print the JSON Schema of a run file, for editors.

    **Example**:  sdm schema > sdm.schema.json
    """
    from sdm.options.reading import schema as run_schema

    print(json.dumps(run_schema(), indent=1))
