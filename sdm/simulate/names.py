"""Unique names of virtual species: genera with Greek parts and Latin epithets, one per number."""

_BEGINNINGS = (
    "Acantho Allo Aniso Astero Brachy Calli Campto Cerato Chloro Chryso Crypto Cyano Dasy Dendro Echino Erythro Eury "
    "Glauco Gymno Hemi Hetero Homalo Iso Lampro Lasio Lepto Leuco Macro Mega Melano Meso Micro Neo Oligo Oxy Pachy "
    "Para Phaeo Platy Poly Pseudo Rhodo Steno Tricho Xantho "
)
_ENDINGS = (
    "carpus cephalus cerus chilus cladus cormus dactylus dermus gonus lepidus lobus merus mimus phanus phyllus podius "
    "rhizus rhynchus stemon stictus stomus tarsus thamnus tropus xylus "
)
_EPITHETS = (
    "acutus affinis agrestis albus alpestris alpinus altus amabilis ambiguus angustus annuus apricus aquaticus "
    "arboreus arcticus arenarius argenteus asper ater aureus australis autumnalis bellus bicolor brevis brumalis "
    "caeruleus calcareus campestris candidus canescens carneus cinereus clivorum collinus communis concolor confusus "
    "coriaceus crassus crispus decorus demissus densus depressus desertorum dubius dulcis edulis elatus elegans "
    "erectus exiguus fallax fertilis flavus floridus fluvialis formosus fragilis fragrans frigidus fulvus fuscus "
    "gelidus glaber glacialis gracilis grandis griseus hirsutus hortensis humilis hybridus incanus insularis "
    "intermedius lacustris laevis latus laxus limosus littoreus longus lucidus luteus maculatus major maritimus "
    "medius minimus minor mirabilis modestus mollis monticola mutabilis nanus neglectus nemoralis niger nitidus "
    "nivalis nobilis obscurus occidentalis occultus odoratus orientalis ovatus pallidus paludosus parvus patens "
    "paucus perennis petraeus planus plenus praecox procerus profundus pumilus punctatus purpureus pusillus rarus "
    "repens rigidus riparius rivalis robustus roseus ruber rugosus rupestris sabulosus scaber segetum sericeus "
    "serotinus siccus similis solitarius speciosus spinosus splendens stellatus striatus sulcatus tardus tenuis "
    "terrestris tomentosus tortus tristis umbrosus vagus validus variabilis velutinus vernalis viridis vulgaris "
)
_begin, _end, _epithets = (words.split() for words in (_BEGINNINGS, _ENDINGS, _EPITHETS))
_genera = [beginning + ending for beginning in _begin for ending in _end]
_STEP = 75_011  # a prime that does not divide the length of a list: combinations repeat only after all have occurred
#: The pattern of a name in the name of a file.
FILE_NAME = rf"(?:{'|'.join(_begin)})(?:{'|'.join(_end)})_(?:{'|'.join(_epithets)})"
#: The number of distinct names.
MOST_SPECIES = 100_000


def virtual_name(number: int) -> str:
    """Return the name of species ``number``, from 0 to :data:`MOST_SPECIES`.

    Examples
    --------
    >>> virtual_name(0), virtual_name(1)
    ('Acanthocarpus acutus', 'Gymnodermus fuscus')
    """
    genus, epithet = divmod(number * _STEP % (len(_genera) * len(_epithets)), len(_epithets))
    return f"{_genera[genus]} {_epithets[epithet]}"
