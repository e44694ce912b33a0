"""A trial on public text, before a run is paid for or begins.

Guarantee
    What cannot work at all, whatever the text, is said before anything is held for a run: a
    setting, a model or a class of somebody's own that fails at its first text fails here.

Why it holds
    The texts are constants, so the trial tells nothing of anybody, and its stream of noise is that
    of no line, so no noise of the run is drawn. It also loads what is loaded at the first use.
"""

from __future__ import annotations

from sfumato.mechanisms.selective import Selective
from sfumato.releases.workers import Shared
from sfumato.text.document import Document

_NO_LINE = 1 << 62
# Something of most types, in the languages that there are names for.
_PUBLIC = (
    "Write to Ann Smith, 12 Main Street, Boston, ann@example.org, +1 617-555-0154, on 3 May 2021",
    "Guten Tag, hier ist Jürgen Müller aus Berlin, IBAN DE89 3704 0044 0532 0130 00, mit 5 %",
    "Hola, soy María García, de Madrid; mi tarjeta es 4111 1111 1111 1111 y tengo 40 años",
    "Bonjour, je m'appelle Chloé Dupont, de Paris, http://192.0.2.1/a, commande AB-123456",
)


def try_out(shared: Shared) -> None:
    """Privatize the public texts, for nobody; of a model that writes, one is enough."""
    rewrites = isinstance(shared.selective, Selective) and shared.selective.rewrites
    public = [Document(text) for text in (_PUBLIC[:1] if rewrites else _PUBLIC)]
    shared.selective.privatize(public, shared.privatizer.randomness.stream(_NO_LINE))
