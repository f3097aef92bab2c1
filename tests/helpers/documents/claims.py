"""Numbers of pages that other tests compare, and numbers that are no facts."""

ELSEWHERE = {
    "test_documents.test_the_tutorial_says_what_a_newcomer_sees": [
        ("first_model", "```"), ("first_model", "the AUC is #, and the map correlates with the true suitability by #"),
    ],
    "test_tutorials.test_the_first_model_is_as_good_as_the_page_states": [
        ("first_model", "| measure |"),
        ("first_model", "AUC # instead of #, Boyce index # instead of #, 10p omission # instead of #"),
    ],
    "test_tutorials.test_the_study_has_the_measures_of_the_page": [
        ("study", "| |"), ("study", "(r = #)"), ("study", "10p omission of #"),
    ],
    "test_tutorials.test_future_climates_say_what_the_page_says": [("future", "```")],
    "test_tutorials.test_a_cluster_and_two_processes_give_the_same_bytes": [("many_species", "```")],
    "test_bradypus.test_the_table_of_tests_has_the_measures_of_the_runs": [("bradypus", "| held-out records |")],
    "test_bradypus.test_the_table_of_settings_has_the_results_of_tuning": [
        ("bradypus", "| setting |"), ("bradypus", "has # settings"),
        ("bradypus", "linear features with multiplier #. Hinge features with multiplier #"),
    ],
    "test_bradypus.test_the_text_has_the_numbers_of_the_final_model": [
        ("bradypus", "# of # records are used"), ("bradypus", "keeps # of the # variables"),
        ("bradypus", "`10p`, # % of the area"), ("bradypus", "# of # cells are outside"),
    ],
    "test_api.execute": [("notebook", "```"), ("notebook_figure", "```"), ("notebook_scikit_learn", "```")],
    "test_readme.test_the_badges_state_what_the_project_states": [("README", "Python # to #")],
    "test_figures.test_a_table_has_the_stored_figures": [("bias", "| correction |")],
    "test_true_change.test_the_page_has_these_measures": [
        ("scenarios", "| measure |"), ("scenarios", "# virtual species in # simulated regions, with # records each"),
    ],
    "test_levels.test_a_page_of_large_maps_stays_below_two_megabytes_and_is_finer_than_its_overview": [
        ("pages", "less than # MB"),
    ],
}  # fmt: skip
"""By the test: the page, and a text with numbers, a table by its heading, or all blocks of output."""

NOT_COMPARED = {
    "advice of the authors": [
        ("is_it_for_me", "With 3 to 10, use only shared axes"), ("bradypus", "Use 50 or more for a paper"),
        ("study", "For a paper use 50 replicates"), ("validation", "| 50 records or more |"),
        ("validation", "to 50 records"), ("shared", "with three to ten records"), ("shared", "Begin with 5"),
    ],
    "an example of a situation": [
        ("many_species", "An AUC of 0.99"), ("troubleshooting", "AUC is 0.99"),
        ("scale", "a workstation with 16 cores"), ("scale", "A hundred thousand species"),
        ("preparing", "Then −9999 is an elevation"), ("preparing", "| −9999 is missing"),
        ("preparing", "| 255 is missing"), ("preparing", "or 1, 2, 3, …"),
    ],
    "by definition": [
        ("first_model", "0.5 is chance"), ("notebook", "0.5 is chance"), ("validation", "0.5 is chance"),
        ("troubleshooting", "AUC below 0.5"),
        ("first_model", "about 0.10"), ("validation", "about 0.10"), ("bradypus", "should exclude 10 %"),
        ("joint", "2^S sets"), ("joint", "4 × weight is the log odds ratio"),
        ("preparing", "from −180 to 180° or from 0 to 360°"), ("preparing", "of more than 180°"),
        ("preparing", "The nineteen bioclimatic variables"), ("preparing", "Zero, −1 and values"),
    ],
    "data of others": [
        ("bradypus", "116 records with longitude and latitude"),
        ("bradypus", "14 rasters of Central and South America at 0.05° (about 5 km)"), ("bradypus", "WorldClim, 0.5°"),
    ],
    "a title": [
        (page, "First model in ten minutes") for page in ("first_model", "study", "future", "many_species", "bradypus")
    ],
}  # fmt: skip
"""By the reason: the page, and a text."""
