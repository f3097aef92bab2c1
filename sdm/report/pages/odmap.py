"""The ODMAP protocol of a model as a table (Zurell et al. 2020): what its page says, under the names of the protocol.

The columns are those of the files that the ODMAP application writes and reads: section, subsection, element, Value.
"""

import re
from html.parser import HTMLParser

from sdm.report.pages import sections
from sdm.report.results import Results

# Every element of the protocol, and the rows of the page (section and name, or its beginning) that fill it in.
_ELEMENTS: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {
    "Overview": {
        "Authorship": {"Study title": (), "Author names": (), "Contact ": (), "Study link": ()},
        "Model objective": {"Model objective": (), "Target output": ("Prediction: Output",)},
        "Focal Taxon": {"Focal Taxon": ("Overview: Focal taxon",)},
        "Location": {"Location": ()},
        "Scale of Analysis": {
            "Spatial extent": ("Overview: Location",),
            "Spatial resolution": ("Overview: Scale of analysis",),
            "Temporal extent": (),
            "Temporal resolution": (),
            "Boundary": (),
        },
        "Biodiversity data": {"Observation type": (), "Response data type": ("Overview: Biodiversity data",)},
        "Predictors": {"Predictor types": ()},
        "Hypotheses": {"Hypotheses": ()},
        "Assumptions": {"Model assumptions": ("Overview: Assumptions",)},
        "Algorithms": {
            "Modelling techniques": ("Overview: Algorithm",),
            "Model complexity": (),
            "Model averaging": (),
        },
        "Workflow": {"Model workflow": ()},
        "Software": {"Software": ("Overview: Software",), "Code availability": (), "Data availability": ()},
    },
    "Data": {
        "Biodiversity data": {
            "Taxon names": ("Overview: Focal taxon",),
            "Taxonomic reference system": (),
            "Ecological level": (),
            "Data sources": ("Data: Taxon and source of records",),
            "Sampling design": (),
            "Sample size": ("Data: Taxon and source of records",),
            "Clipping": (),
            "Scaling": (),
            "Cleaning": ("Data: Cleaning",),
            "Absence data": (),
            "Background data": ("Data: Background",),
            "Errors and biases": ("Data: Sampling bias",),
        },
        "Data partitioning": {
            "Training data": (),
            "Validation data": ("Data: Data partitioning",),
            "Test data": (),
        },
        "Predictor variables": {
            "Predictor variables": ("Overview: Predictors",),
            "Data sources": ("Data: Predictor variables",),
            "Spatial extent": ("Overview: Location",),
            "Spatial resolution": ("Data: Resolution",),
            "Coordinate reference system": (),
            "Temporal extent": (),
            "Temporal resolution": (),
            "Data processing": ("Data: Classes",),
            "Errors and biases": (),
            "Dimension reduction": (),
        },
        "Transfer data": {
            "Data sources": ("Data: Layers for transfer",),
            "Spatial extent": (),
            "Spatial resolution": (),
            "Temporal extent": (),
            "Temporal resolution": (),
            "Models and scenarios": ("Prediction: Projections",),
            "Data processing": (),
            "Quantification of Novelty": (),
        },
    },
    "Model": {
        "Variable pre-selection": {"Variable pre-selection": ("Model: Pre-selection",)},
        "Multicollinearity": {"Multicollinearity": ()},
        "Model settings": {
            "Model settings (fitting)": ("Model: Model settings", "Model: Convergence"),
            "Model settings (extrapolation)": ("Prediction: Extrapolation",),
        },
        "Model estimates": {
            "Coefficients": ("Model: Estimates",),
            "Parameter uncertainty": (),
            "Variable importance": (),
        },
        "Model selection - model averaging - ensembles": {
            "Model selection": ("Model: Model selection",),
            "Model averaging": (),
            "Model ensembles": (),
        },
        "Analysis and Correction of non-independence": {
            "Spatial autocorrelation": (),
            "Temporal autocorrelation": (),
            "Nested data": (),
        },
        "Threshold selection": {"Threshold selection": ("Model: Threshold selection",)},
    },
    "Assessment": {
        "Performance statistics": {
            "Performance on training data": ("Assessment: On training", "Assessment: On sites: training"),
            "Performance on validation data": ("Assessment: By cross-validation", "Assessment: On held-out"),
            "Performance on test data": ("Assessment: On test", "Assessment: On sites: test", "Assessment: On survey"),
        },
        "Plausibility check": {"Response shapes": ("Assessment: Plausibility",), "Expert judgement": ()},
    },
    "Prediction": {
        "Prediction output": {"Prediction unit": ("Prediction: Output",), "Post-processing": ()},
        "Uncertainty quantification": {
            "Algorithmic uncertainty": (),
            "Input data uncertainty": (),
            "Parameter uncertainty": ("Prediction: Uncertainty",),
            "Scenario uncertainty": (),
            "Novel environments": (),
        },
    },
}


def odmap_rows(results: Results) -> list[dict[str, str]]:
    """Return every element of the protocol, with what the run knows of it; what the authors must state is empty."""
    known = _page_rows(results)
    rows = []
    for section, parts in _ELEMENTS.items():
        for part, elements in parts.items():
            for element, sources in elements.items():
                texts = [text for source in sources for name, text in known if name.startswith(source)]
                value = " ".join(dict.fromkeys(texts))
                rows.append({"section": section, "subsection": part, "element": element, "Value": value})
    return rows


def _page_rows(results: Results) -> list[tuple[str, str]]:
    """Return the rows of the protocol on the page, by section and name, without those that are left to the authors."""
    filled = sections.ODMAP.fill(results) or {}
    reader = _TableReader()
    reader.feed(sections.ODMAP.html({"results": results, "n": results.numbers, **filled}))
    return reader.rows


class _TableReader(HTMLParser):
    """Reads tables of a name and a text under headings."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, str]] = []
        self._heading = self._name = self._text = ""
        self._authors = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a heading, a name or a text."""
        if tag in ("h3", "th", "td"):
            self._text, self._authors = "", ("class", "author") in attrs

    def handle_data(self, data: str) -> None:
        """Take text."""
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        """Keep what was read."""
        said = re.sub(r"\s+", " ", self._text).strip()
        if tag == "h3":
            self._heading = said
        elif tag == "th":
            self._name = said
        elif tag == "td" and said and not self._authors:
            self.rows.append((f"{self._heading}: {self._name}", said))
