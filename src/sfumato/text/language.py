"""Which language a text is in, by its function words: a light guess, or none.

It reads nothing but frequent small words of eight languages and such as letters and forms are full
of ("Grüße", "Montant"), and answers only when one language is ahead. It is meant for choosing names
and word lists, where a wrong guess costs readability and never privacy; that the language of
a document shows is listed in guarantees.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

# Words that are frequent in one language and rare in most others.
_WORDS = {
    "en": """the of and so am as or in is was to per that with for not this are you have
        my your please on it be we i
        an by from at has had he she they but if will can could would been about there when our
        hello dear regards thanks hi name call order account since still see sent card""",
    "de": """der die das und ist nicht ich sie mit ein eine den dem auf für von wir zu bitte mein
        meine meiner meinen bei am im vom zum zur hat habe haben wird wurde war bin sind aber oder
        auch noch nach seit über unter unsere unser uns kein keine einen einem einer des es als wie
        hallo guten tag liebe lieber grüße grüßen grüssen danke frau herr herrn sehr geehrte
        geehrter geehrten konto kontoinhaber betrag rechnung kunde kundin kundennummer bestellung
        adresse patient patientin geb geboren jahre alt täglich gesendet betreff hiermit
        versichertennummer kennzeichen wohnhaft aufnahme entlassung aus um an so nur schon mehr was
        wenn dass sagt kommt wohnt straße uhr heute morgen gestern mutter vater mann sohn tochter
        passwort benutzer anmeldung vielen dank bis alles
        ehemann ehefrau privat allergie notfallkontakt""",
    "es": """el los las y es que no una por para con mi su está pero por favor del se al yo muy soy
        la un lo le me ha he en desde hasta como más también sin son fue este esta hola buenas
        buenos días gracias saludos atentamente estimado estimada estimados señor señora señores
        cuenta nombre importe factura pedido llamo correo hijo hija años paciente varón mujer
        ingresado ingresada teléfono vivo tiene calle sr sra nacido nacida mal de si ni ya hoy ayer
        mañana vez veces dos estoy vive vivo edad madre padre niña niño tarjeta dirección clave
        usuario contraseña después hago porque llevo esperando quiero""",
    "fr": """le les et est que ne pas une pour avec je vous nous mon ma dans du des il elle suis au
        la un en sur par qui ce cette mes votre vos notre sont ai avez depuis chez mais plus aux se
        bonjour bonsoir merci cordialement madame monsieur mme commande facture montant titulaire
        compte née né ans tél téléphone responsable rappeler c'est j'ai j'habite m'appelle n'ai
        n'est d'une d'un à contrat livreur père mère fils fille hospitalisé hospitalisée de et ou
        l'on svp carte numéro passe mot utilisateur serveur nom client fois sortie accès selon
        aujourd'hui demain hier son ses leur été""",
    "it": """il gli che non è una per con mio mia sono della di ho anche questo alla nel grazie
        buongiorno salve saluti ordine fattura signor signora anni""",
    "pt": """os não é uma para com meu minha você que do da em por estou mas ao obrigado muito
        olá obrigada pedido fatura senhor senhora anos cumprimentos""",
    "nl": """het een en is niet ik van met voor mijn dat op zijn wij naar maar deze graag ben
        hallo bestelling rekening mevrouw meneer groeten jaar""",
    "pl": "nie jest się na że z do w jak mój moja proszę dla ale to po jestem czy pan pani lat",
}
# Letters and ends of words that tell as much as a word that several languages have.
_LETTERS = {
    "de": frozenset("äöüß"),
    "es": frozenset("ñ¿¡áíóú"),
    "fr": frozenset("èêçàùûœîôë"),
    "pt": frozenset("ãõçáíóúêà"),
    "it": frozenset("èàùìò"),
    "pl": frozenset("ąęłńśźż"),
}
_ENDINGS = {
    "de": ("ung", "ungen", "keit", "lich", "liche", "nummer", "jährig", "schein"),
    "es": ("ción", "ciones", "mente", "idad", "amos", "ando"),
    "fr": ("ement", "eux", "euse", "ité", "oir", "ière", "aire"),
    "nl": ("ijk", "heid", "ing"),
    "en": ("ing", "tion", "ly", "ness", "ment", "n't"),
}
_EVERY_ENDING = tuple(ending for endings in _ENDINGS.values() for ending in endings)
LANGUAGES = tuple(_WORDS)
_OWN = 2  # what a word counts that only one language has; one of several counts half
_SHORTEST = 5  # longer words are told by their ends
_ENOUGH, _AHEAD = 3, 2  # so much is needed, and so much more than any other language has


def guess_language(words: Iterable[str]) -> str:
    """The ISO 639-1 code of the language of a text, or "" where it cannot be told.

    >>> guess_language("Ich habe mein Paket nicht erhalten und bin verärgert".split())
    'de'
    >>> guess_language("Ada Lovelace 12345".split())
    ''
    """
    counts = dict.fromkeys(LANGUAGES, 0)
    table = _table()
    for word in words:
        small = word.lower()
        languages = table.get(small)
        if languages is None:
            for language in _looks_like(small):
                counts[language] += 1
        elif len(languages) == 1:
            counts[languages[0]] += _OWN
        else:
            for language in languages:
                counts[language] += 1
    best = max(counts, key=counts.__getitem__)
    most = counts.pop(best)
    return best if most >= _ENOUGH and most - max(counts.values()) >= _AHEAD else ""


def _looks_like(word: str) -> list[str]:
    """The languages that a word may be of, by a letter or by its end."""
    found = []
    if not word.isascii():
        found = [one for one, letters in _LETTERS.items() if not letters.isdisjoint(word)]
    if len(word) > _SHORTEST and word.endswith(_EVERY_ENDING):
        found += [one for one, endings in _ENDINGS.items() if word.endswith(endings)]
    return found


@cache
def _table() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, words in _WORDS.items():
        for word in dict.fromkeys(words.split()):
            found[word] = (*found.get(word, ()), language)
    return found
